//! Throughput by batch.

use crate::bench::{BenchResult, PeerKey, SweepPoint};

use super::chart::{Chart, Frame, HEIGHT, Legend, Table, WIDTH, cells};
use super::speed_up::usable;
use warpweave::svg::scale::{Linear, digits, short, time};
use warpweave::svg::{Anchor, Class, Drawing};

/// The sweep of a result; `None` without one.
pub fn chart(result: &BenchResult) -> Option<Chart> {
    let sweep = result.sweep.as_ref()?;
    let points: Vec<&SweepPoint> = sweep.points.iter().filter(|point| point.items_per_second.is_finite()).collect();
    let frame = Frame::usual();
    let largest = points.iter().flat_map(|point| [Some(point.items_per_second), peer_rate(result, point)]).flatten();
    let y = Linear::new((0.0, largest.reduce(f64::max)? * 1.05), (frame.bottom, frame.top));
    // Batches stand side by side, whatever their distance.
    let x = Linear::new((-0.5, points.len() as f64 - 0.5), (frame.left, frame.right));
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    let ticks: Vec<_> = y.ticks(4).into_iter().map(|tick| (y.at(tick), short(tick))).collect();
    frame.vertical_axis(&mut drawing, "items / s", &ticks);
    let ticks: Vec<_> =
        points.iter().enumerate().map(|(position, point)| (x.at(position as f64), point.batch.to_string())).collect();
    frame.horizontal_axis(&mut drawing, "batch", &ticks);
    if let Some(position) = points.iter().position(|point| Some(point.batch) == sweep.saturation_batch) {
        let at = x.at(position as f64);
        drawing.line(Class::Mark, (at, frame.top - 4.0), (at, frame.bottom));
        drawing.text(Class::Label, Anchor::Middle, (at.max(130.0), frame.top - 8.0), "saturated");
    }
    let peers: Vec<(f64, f64)> = points
        .iter()
        .enumerate()
        .filter_map(|(position, point)| Some((x.at(position as f64), y.at(peer_rate(result, point)?))))
        .collect();
    drawing.polyline(Class::PeerLine, &peers);
    peers.iter().for_each(|&at| drawing.dot(Class::PeerDot, at, 3.5, "fastest peer"));
    let place = |(position, point): (usize, &&SweepPoint)| (x.at(position as f64), y.at(point.items_per_second));
    let own: Vec<(f64, f64)> = points.iter().enumerate().map(place).collect();
    drawing.polyline(Class::Line, &own);
    let mut rows = Vec::new();
    for (point, at) in points.iter().zip(&own) {
        let rate = short(point.items_per_second);
        drawing.dot(Class::Dot, *at, 4.0, &format!("batch {}: {rate} items/s", point.batch));
        let median = time(point.device_time.unwrap_or(point.latency).p50);
        let arena = point.arena_bytes.map_or_else(|| "–".to_owned(), |bytes| short(bytes as f64));
        let peer = peer_rate(result, point).map_or_else(|| "–".to_owned(), short);
        rows.push(cells![point.batch, median, rate, peer, arena]);
    }
    let note = match sweep.saturation_batch {
        Some(batch) => format!("From batch {batch} on, the next batch gains less than 10 %"),
        None => format!("Not saturated: every one of {} batches gains at least 10 %", digits(points.len() as f64)),
    };
    let mut legend = Vec::new();
    if !peers.is_empty() {
        legend.push(Legend { class: Class::Dot, text: "measured".to_owned() });
        legend.push(Legend { class: Class::PeerDot, text: "fastest peer".to_owned() });
    }
    let title = "Throughput by batch".to_owned();
    let headings = cells!["batch", "median", "items / s", "fastest peer, items / s", "arena bytes"];
    Some(Chart { title, note, drawing, legend, table: Table { headings, rows } })
}

/// Items a second of the fastest peer.
fn peer_rate(result: &BenchResult, point: &SweepPoint) -> Option<f64> {
    let key = PeerKey { batch: Some(point.batch), ..result.key() };
    let fastest = usable(&point.peers, &key).next()?.median_seconds;
    Some(point.batch as f64 / fastest).filter(|rate| rate.is_finite())
}
