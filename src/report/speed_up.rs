//! Measurements beside peers.

use crate::bench::{BenchResult, PeerComparison};

use super::chart::{Chart, Legend, Table, WIDTH, cells};
use super::label;
use super::scale::{digits, time};
use super::svg::{Anchor, Class, Drawing, fitted};

/// With more bars than this, only the fastest peer of each measurement is shown.
const MOST_BARS: usize = 40;
const ROW: f64 = 32.0;
const TOP: f64 = 20.0;
/// Room for the speed-up in figures at the right end of a row.
const VALUE_WIDTH: f64 = 56.0;
/// The axis reaches at least this far from 1, as a factor.
const LEAST_FACTOR: f64 = 2.0;

struct Row {
    model: String,
    seconds: f64,
    peer: PeerComparison,
}

/// The speed-ups of all results over their peers; `None` without peers.
pub fn chart(results: &[BenchResult]) -> Option<Chart> {
    let every: usize = results.iter().map(|result| rows(result, usize::MAX).len()).sum();
    let most = if every > MOST_BARS { 1 } else { usize::MAX };
    let rows: Vec<Row> = results.iter().flat_map(|result| rows(result, most)).collect();
    let factors = rows.iter().map(|row| row.peer.speed_up.max(1.0 / row.peer.speed_up));
    let reach = factors.reduce(f64::max)?.max(LEAST_FACTOR).ln() * 1.05;
    let middle = WIDTH / 2.0;
    let height = TOP + rows.len() as f64 * ROW + 4.0;
    let mut drawing = Drawing::new(WIDTH, height);
    drawing.text(Class::Name, Anchor::Start, (0.0, 11.0), "← slower");
    drawing.text(Class::Name, Anchor::Middle, (middle, 11.0), "as fast");
    drawing.text(Class::Name, Anchor::End, (WIDTH, 11.0), "faster →");
    let mut table = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let top = TOP + position as f64 * ROW;
        let PeerComparison { peer, mode, median_seconds, speed_up } = &row.peer;
        let (name, value) = (format!("{}: {peer} {mode}", row.model), format!("{} ×", digits(*speed_up)));
        drawing.text(Class::Label, Anchor::Start, (0.0, top + 11.0), &fitted(&name, WIDTH - VALUE_WIDTH));
        drawing.text(Class::Value, Anchor::End, (WIDTH, top + 11.0), &value);
        let class = if *speed_up >= 1.0 { Class::Bar } else { Class::WorseBar };
        let end = middle + speed_up.ln() / reach * middle;
        drawing.rectangle(class, (middle, top + 16.0), (end, top + 26.0), &format!("{name}: {value}"));
        table.push(cells![row.model, peer, mode, time(row.seconds), time(*median_seconds), value]);
    }
    drawing.line(Class::Axis, (middle, TOP - 4.0), (middle, height - 4.0));
    let mut note = "Lengths are logarithmic. A peer's median by the measured median".to_owned();
    if most == 1 {
        note.push_str("; of each measurement only the fastest peer is shown");
    }
    let title = "Speed-up over peers".to_owned();
    let headings = cells!["measurement", "peer", "mode", "median", "peer's median", "speed-up"];
    let legend = vec![
        Legend { class: Class::Bar, text: "faster than the peer".to_owned() },
        Legend { class: Class::WorseBar, text: "slower than the peer".to_owned() },
    ];
    Some(Chart { svg: drawing.finish(&title), title, note, legend, table: Table { headings, rows: table } })
}

/// A result's peers, at most so many at each batch, fastest first.
fn rows(result: &BenchResult, most: usize) -> Vec<Row> {
    let usable = |peer: &&PeerComparison| peer.speed_up.is_finite() && peer.speed_up > 0.0;
    let of = |name: &str, seconds: f64, peers: &[PeerComparison]| {
        let rows = peers.iter().filter(usable).take(most);
        rows.map(|peer| Row { model: name.to_owned(), seconds, peer: peer.clone() }).collect::<Vec<Row>>()
    };
    let name = label(result);
    let mut found = of(&name, result.median_seconds(), &result.peers);
    let others = result.sweep.iter().flat_map(|sweep| &sweep.points);
    for point in others.filter(|point| Some(point.batch) != result.model.batch) {
        let mut at_batch = result.clone();
        at_batch.model.batch = Some(point.batch);
        let seconds = point.device_time.unwrap_or(point.latency).p50;
        found.extend(of(&label(&at_batch), seconds, &point.peers));
    }
    found
}
