//! How the times of a measurement are distributed.

use crate::bench::BenchResult;

use super::chart::{Chart, Frame, HEIGHT, Table, WIDTH, cells};
use warpweave::svg::scale::{Linear, short, time, time_unit};
use warpweave::svg::{Anchor, Class, Drawing};

/// At most so many bars.
const MOST_BINS: usize = 24;

/// A bar: from, to, and how many runs lie between.
struct Bin {
    from: f64,
    to: f64,
    count: usize,
}

/// The histogram of a result's samples; `None` without any.
pub fn chart(result: &BenchResult) -> Option<Chart> {
    let device = result.samples.device_time.as_ref().filter(|times| !times.is_empty());
    let title = if device.is_some() { "Time on the device" } else { "Latency" };
    let mut times: Vec<f64> = device.unwrap_or(&result.samples.latency).clone();
    times.retain(|time| time.is_finite() && *time >= 0.0);
    times.sort_by(f64::total_cmp);
    let (shortest, longest) = (*times.first()?, *times.last()?);
    let cut = cut(&times);
    let (bins, rest) = bins(&times, shortest, cut);
    let (factor, unit) = time_unit(longest);
    let frame = Frame::usual();
    let plot_right = if rest > 0 { frame.right - 26.0 } else { frame.right };
    let x = Linear::new((shortest * factor, cut.max(shortest) * factor), (frame.left, plot_right));
    let most = bins.iter().map(|bin| bin.count).chain([rest]).max().unwrap_or(1);
    let y = Linear::new((0.0, most as f64), (frame.bottom, frame.top));
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    let whole = y.ticks(4).into_iter().filter(|tick| tick.fract() == 0.0);
    let ticks: Vec<_> = whole.map(|tick| (y.at(tick), short(tick))).collect();
    frame.vertical_axis(&mut drawing, "runs", &ticks);
    let ticks: Vec<_> = x.labelled_ticks(6);
    let mut rows = Vec::new();
    let mut before = 0;
    let mut row = |from: String, to: String, count: usize| {
        before += count;
        let share = before as f64 / times.len() as f64 * 1e2;
        rows.push(cells![from, to, count, format!("{share:.1} %")]);
    };
    let width = (plot_right - frame.left) / bins.len() as f64;
    for (position, bin) in bins.iter().enumerate() {
        let left = frame.left + position as f64 * width;
        let (from, to) = (time(bin.from), time(bin.to));
        let title = format!("{from} to {to}: {} runs", bin.count);
        drawing.rectangle(Class::Bar, (left + 0.5, frame.bottom), (left + width - 0.5, y.at(bin.count as f64)), &title);
        row(from, to, bin.count);
    }
    if rest > 0 {
        let title = format!("longer than {}: {rest} runs", time(cut));
        drawing.rectangle(Class::RestBar, (frame.right - 18.0, frame.bottom), (frame.right, y.at(rest as f64)), &title);
        row(time(cut), time(longest), rest);
    }
    frame.horizontal_axis(&mut drawing, unit, &ticks);
    let times_of = result.device_time.unwrap_or(result.latency);
    let median = x.at(times_of.p50 * factor).clamp(frame.left, plot_right);
    drawing.line(Class::Mark, (median, frame.top - 4.0), (median, frame.bottom));
    let (anchor, at) = if median > WIDTH * 0.6 { (Anchor::End, median - 4.0) } else { (Anchor::Start, median + 4.0) };
    let at = at.max(48.0);
    drawing.text(Class::Label, anchor, (at, frame.top - 8.0), &format!("median {}", time(times_of.p50)));
    let mut note = format!(
        "p90 {}, p95 {}, p99 {}, longest {}; coefficient of variation {:.1} %",
        time(times_of.p90),
        time(times_of.p95),
        time(times_of.p99),
        time(times_of.max),
        times_of.coefficient_of_variation * 1e2
    );
    if rest > 0 {
        note.push_str(&format!(". The bar apart gathers what is longer than {}", time(cut)));
    }
    if result.samples.every > 1 {
        note.push_str(&format!(". Of {} runs one is shown", result.samples.every));
    }
    let headings = cells!["from", "to", "runs", "cumulative"];
    Some(Chart { title: title.to_owned(), note, drawing, legend: Vec::new(), table: Table { headings, rows } })
}

/// The largest percentile of sorted times that leaves the bulk of them more than a sliver of the axis.
fn cut(times: &[f64]) -> f64 {
    let rank = |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1];
    let bulk = rank(50) - times[0];
    let fits = |percent: &usize| rank(*percent) - times[0] <= 8.0 * bulk;
    rank([99, 95, 90, 75].into_iter().find(fits).unwrap_or(75))
}

/// Sorted times in bins of one width from the shortest to `cut`, and how many are longer.
fn bins(times: &[f64], shortest: f64, cut: f64) -> (Vec<Bin>, usize) {
    let inside = times.iter().take_while(|time| **time <= cut).count();
    let rest = times.len() - inside;
    let number = ((inside as f64).sqrt().ceil() as usize).clamp(1, MOST_BINS);
    let number = if cut > shortest { number } else { 1 };
    let width = (cut - shortest) / number as f64;
    let edge = |position: usize| shortest + width * position as f64;
    let mut bins: Vec<Bin> =
        (0..number).map(|position| Bin { from: edge(position), to: edge(position + 1), count: 0 }).collect();
    for time in &times[..inside] {
        let position = if width > 0.0 { ((time - shortest) / width) as usize } else { 0 };
        bins[position.min(number - 1)].count += 1;
    }
    (bins, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_a_bin_or_beyond() {
        let times: Vec<f64> = (0..1000).map(|run| 1.0 + f64::from(run) * 1e-3).collect();
        let (found, rest) = bins(&times, 1.0, times[989]);
        assert_eq!(found.len(), MOST_BINS);
        assert_eq!(found.iter().map(|bin| bin.count).sum::<usize>() + rest, times.len());
        assert_eq!(rest, 10);
        assert_eq!(cut(&times), times[989]);
        let tail: Vec<f64> = (0..100).map(|run| if run < 92 { 1.0 + f64::from(run) * 1e-3 } else { 50.0 }).collect();
        assert_eq!(cut(&tail), tail[89]);
        let (same, rest) = bins(&[2.0; 5], 2.0, 2.0);
        assert_eq!((same.len(), same[0].count, rest), (1, 5, 0));
    }
}
