//! Measurements beside peers.

use crate::bench::{BenchResult, PeerComparison};

use super::chart::{Chart, Legend, Table, WIDTH, cells};
use super::label;
use super::scale::{short, time};
use super::svg::{Anchor, Class, Drawing, fitted};

const ROW: f64 = 32.0;
const TOP: f64 = 22.0;
/// Room for the speed-up in figures at the right end of a row.
const VALUE_WIDTH: f64 = 62.0;
/// The axis reaches at least this far from 1, as a factor.
const LEAST_FACTOR: f64 = 2.0;

struct Row {
    measurement: String,
    seconds: f64,
    peer: PeerComparison,
}

/// The speed-ups of every result over its fastest peer; `None` unless several have one.
pub fn overview(results: &[BenchResult]) -> Option<Chart> {
    let fastest = results.iter().filter_map(|result| rows(result).into_iter().next());
    let rows: Vec<Row> = fastest.collect();
    if rows.len() < 2 {
        return None;
    }
    draw("Speed-up over the fastest peer", &rows, |row| row.measurement.clone())
}

/// The speed-ups of a result over all its peers; `None` without peers.
pub fn chart(result: &BenchResult) -> Option<Chart> {
    let mut rows = rows(result);
    for point in result.sweep.iter().flat_map(|sweep| &sweep.points) {
        if Some(point.batch) == result.model.batch {
            continue;
        }
        let seconds = point.device_time.unwrap_or(point.latency).p50;
        rows.extend(usable(&point.peers).map(|peer| Row {
            measurement: format!("batch {}", point.batch),
            seconds,
            peer: peer.clone(),
        }));
    }
    let of_sweep = result.sweep.is_some();
    if let (true, Some(batch)) = (of_sweep, result.model.batch) {
        let own = label(result);
        rows.iter_mut().filter(|row| row.measurement == own).for_each(|row| row.measurement = format!("batch {batch}"));
    }
    draw("Speed-up over peers", &rows, |row| {
        let PeerComparison { peer, mode, .. } = &row.peer;
        if of_sweep { format!("{}: {peer} {mode}", row.measurement) } else { format!("{peer} {mode}") }
    })
}

fn draw(title: &str, rows: &[Row], name: impl Fn(&Row) -> String) -> Option<Chart> {
    let factors = rows.iter().map(|row| row.peer.speed_up.max(1.0 / row.peer.speed_up));
    let reach = factors.reduce(f64::max)?.max(LEAST_FACTOR).ln() * 1.05;
    let middle = WIDTH / 2.0;
    let mut drawing = Drawing::new(WIDTH, TOP + rows.len() as f64 * ROW);
    drawing.text(Class::Name, Anchor::Start, (0.0, 11.0), "← slower");
    drawing.text(Class::Name, Anchor::Middle, (middle, 11.0), "as fast");
    drawing.text(Class::Name, Anchor::End, (WIDTH, 11.0), "faster →");
    let mut table = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let top = TOP + position as f64 * ROW;
        let PeerComparison { peer, mode, median_seconds, speed_up } = &row.peer;
        let (name, value) = (name(row), format!("{} ×", short(*speed_up)));
        drawing.text(Class::Label, Anchor::Start, (0.0, top + 11.0), &fitted(&name, WIDTH - VALUE_WIDTH));
        drawing.text(Class::Value, Anchor::End, (WIDTH, top + 11.0), &fitted(&value, VALUE_WIDTH));
        let class = if *speed_up >= 1.0 { Class::Bar } else { Class::WorseBar };
        let end = middle + speed_up.ln() / reach * middle;
        drawing.line(Class::Grid, (0.0, top + 21.0), (WIDTH, top + 21.0));
        drawing.rectangle(class, (middle, top + 16.0), (end, top + 26.0), &format!("{name}: {value}"));
        // The axis leaves out the rows' names.
        drawing.line(Class::Axis, (middle, top + 14.0), (middle, top + 28.0));
        table.push(cells![row.measurement, peer, mode, time(row.seconds), time(*median_seconds), value]);
    }
    let note = "A peer's median by the measured median; lengths are logarithmic".to_owned();
    let headings = cells!["measurement", "peer", "mode", "median", "peer's median", "speed-up"];
    let legend = [(Class::Bar, "faster than the peer"), (Class::WorseBar, "slower than the peer")];
    let legend = legend.map(|(class, text)| Legend { class, text: text.to_owned() }).to_vec();
    Some(Chart { title: title.to_owned(), note, drawing, legend, table: Table { headings, rows: table } })
}

/// What a logarithm can be taken of.
fn usable(peers: &[PeerComparison]) -> impl Iterator<Item = &PeerComparison> {
    peers.iter().filter(|peer| peer.speed_up.is_finite() && peer.speed_up > 0.0)
}

/// A result's peers, fastest first.
fn rows(result: &BenchResult) -> Vec<Row> {
    let row = |peer: &PeerComparison| Row {
        measurement: label(result),
        seconds: result.median_seconds(),
        peer: peer.clone(),
    };
    usable(&result.peers).map(row).collect()
}
