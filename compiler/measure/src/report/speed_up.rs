//! Measurements beside peers.

use crate::bench::{BenchResult, PeerComparison, PeerKey};

use super::chart::{Chart, Legend, Table, WIDTH, cells};
use super::label;
use warpweave::svg::scale::{short, time};
use warpweave::svg::{Anchor, Class, Drawing, fitted};

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
        let key = PeerKey { batch: Some(point.batch), ..result.key() };
        rows.extend(usable(&point.peers, &key).map(|peer| Row {
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
        let PeerComparison { peer, mode, median_seconds, speed_up, .. } = &row.peer;
        let (name, value) = (name(row), format!("{} ×", short(*speed_up)));
        drawing.text(Class::Label, Anchor::Start, (0.0, top + 11.0), &fitted(&name, WIDTH - VALUE_WIDTH));
        drawing.text(Class::Value, Anchor::End, (WIDTH, top + 11.0), &fitted(&value, VALUE_WIDTH));
        let class = if *speed_up >= 1.0 { Class::Bar } else { Class::WorseBar };
        let end = middle + speed_up.ln() / reach * middle;
        drawing.line(Class::Grid, (0.0, top + 21.0), (WIDTH, top + 21.0));
        drawing.rectangle(class, (middle, top + 16.0), (end, top + 26.0), &format!("{name}: {value}"));
        // The axis leaves out the rows' names.
        drawing.line(Class::Axis, (middle, top + 14.0), (middle, top + 28.0));
        table.push(cells![
            row.measurement,
            peer,
            mode,
            equal_in(&row.peer),
            time(row.seconds),
            time(*median_seconds),
            value
        ]);
    }
    let note = "A peer's median, on the same device at the same precision and batch, by the measured median; lengths are logarithmic";
    let note = note.to_owned();
    let headings = cells!["measurement", "peer", "mode", "both on", "median", "peer's median", "speed-up"];
    let legend = [(Class::Bar, "faster than the peer"), (Class::WorseBar, "slower than the peer")];
    let legend = legend.map(|(class, text)| Legend { class, text: text.to_owned() }).to_vec();
    Some(Chart { title: title.to_owned(), note, drawing, legend, table: Table { headings, rows: table } })
}

/// The peers that are equal to a measurement in all that makes times comparable, and of whose speed-up there is a logarithm.
pub fn usable<'p>(peers: &'p [PeerComparison], key: &'p PeerKey) -> impl Iterator<Item = &'p PeerComparison> {
    peers.iter().filter(|peer| key.fits(peer) && peer.speed_up.is_finite() && peer.speed_up > 0.0)
}

/// What a peer and its measurement have in common.
fn equal_in(peer: &PeerComparison) -> String {
    let device = peer.device.as_ref().map(ToString::to_string);
    let precision = peer.precision.map(|precision| precision.to_string());
    let batch = peer.batch.map(|batch| format!("batch {batch}"));
    [device, precision, batch].into_iter().flatten().collect::<Vec<String>>().join(", ")
}

/// A result's peers, fastest first.
fn rows(result: &BenchResult) -> Vec<Row> {
    let row = |peer: &PeerComparison| Row {
        measurement: label(result),
        seconds: result.median_seconds(),
        peer: peer.clone(),
    };
    usable(&result.peers, &result.key()).map(row).collect()
}

/// How many peers of a result are in no chart, since they are not known to be equal to it.
pub fn left_out(result: &BenchResult) -> usize {
    let of_batch = |peers: &[PeerComparison], batch: Option<usize>| {
        let key = PeerKey { batch, ..result.key() };
        peers.iter().filter(|peer| !key.fits(peer)).count()
    };
    let points = result.sweep.iter().flat_map(|sweep| &sweep.points);
    let points = points.filter(|point| Some(point.batch) != result.model.batch);
    let others: usize = points.map(|point| of_batch(&point.peers, Some(point.batch))).sum();
    of_batch(&result.peers, result.model.batch) + others
}
