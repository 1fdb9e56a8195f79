//! A plan's groups under the roofs of the device.

use crate::bench::{BenchResult, GroupProfile, LowerBounds};

use super::chart::{Chart, Frame, HEIGHT, Legend, Table, WIDTH, cells};
use warpweave::svg::scale::{Logarithmic, digits, short, time};
use warpweave::svg::{Anchor, Class, Drawing};

/// Operations a byte and operations a second.
#[derive(Clone, Copy)]
struct Point {
    intensity: f64,
    rate: f64,
}

impl Point {
    fn of(operations: u64, bytes: u64, seconds: f64) -> Option<Self> {
        let (operations, bytes) = (operations as f64, bytes as f64);
        let usable = operations > 0.0 && bytes > 0.0 && seconds > 0.0;
        usable.then(|| Self { intensity: operations / bytes, rate: operations / seconds })
    }
}

/// The groups of a result by the cost model's estimates, and the whole program as measured; `None` where no group has
/// an estimate.
pub fn chart(result: &BenchResult) -> Option<Chart> {
    let plan = result.plan.as_ref()?;
    let point = |group: &GroupProfile| Point::of(group.operations, group.bytes, group.estimated_seconds?);
    let groups: Vec<(usize, &GroupProfile, Point)> =
        plan.groups.iter().enumerate().filter_map(|(position, group)| Some((position, group, point(group)?))).collect();
    if groups.is_empty() {
        return None;
    }
    let whole = Point::of(plan.operations, plan.bytes, result.median_seconds());
    let limits = result.achieved.and_then(|achieved| achieved.limits);
    let points = || groups.iter().map(|(_, _, point)| *point).chain(whole);
    let ridge = limits.map(|limits| limits.operations_per_second / limits.bytes_per_second);
    let frame = Frame::usual();
    let x = Logarithmic::new(points().map(|point| point.intensity).chain(ridge), (frame.left, frame.right));
    let roof = limits.map(|limits| limits.operations_per_second);
    let y = Logarithmic::new(points().map(|point| point.rate).chain(roof), (frame.bottom, frame.top));
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    let ticks: Vec<_> = y.ticks().into_iter().map(|tick| (y.at(tick), decade(tick))).collect();
    frame.vertical_axis(&mut drawing, "operations / s", &ticks);
    let ticks: Vec<_> = x.ticks().into_iter().map(|tick| (x.at(tick), decade(tick))).collect();
    frame.horizontal_axis(&mut drawing, "operations / byte", &ticks);
    if let Some(limits) = limits {
        roofs(&mut drawing, &x, &y, limits);
    }
    let mut rows = Vec::new();
    let mut row = |name: String, operations: u64, bytes: u64, seconds: f64, point: Point| {
        let numbers = [short(operations as f64), short(bytes as f64), digits(point.intensity), time(seconds)];
        rows.push([vec![name], numbers.to_vec(), vec![short(point.rate)]].concat());
    };
    for (position, group, point) in &groups {
        let name = match group.nodes.as_str() {
            "" => format!("group {position}"),
            nodes => format!("group {position}: {nodes}"),
        };
        let title = format!("{name}: {} operations/byte, {} operations/s", digits(point.intensity), short(point.rate));
        drawing.dot(Class::Dot, (x.at(point.intensity), y.at(point.rate)), 3.0, &title);
        let seconds = group.estimated_seconds.unwrap_or_default();
        row(name, group.operations, group.bytes, seconds, *point);
    }
    if let Some(point) = whole {
        let title = format!("whole program, measured: {} operations/s", short(point.rate));
        drawing.dot(Class::WholeDot, (x.at(point.intensity), y.at(point.rate)), 5.0, &title);
        row("whole program, measured".to_owned(), plan.operations, plan.bytes, result.median_seconds(), point);
    }
    let mut note = "Groups are estimated by the cost model; the whole program is measured".to_owned();
    let left_out = plan.groups.len() - groups.len();
    if left_out > 0 {
        note.push_str(&format!(". {left_out} groups that only move data are not shown"));
    }
    let title = "Roofline of the groups".to_owned();
    let headings = cells!["", "operations", "bytes", "operations / byte", "time", "operations / s"];
    let mut legend = vec![Legend { class: Class::Dot, text: "group, estimated".to_owned() }];
    legend.extend(whole.map(|_| Legend { class: Class::WholeDot, text: "whole program, measured".to_owned() }));
    legend.extend(limits.map(|_| Legend { class: Class::Mark, text: "limits: memory, fp32 arithmetic".to_owned() }));
    Some(Chart { title, note, drawing, legend, table: Table { headings, rows } })
}

/// The slope of the memory's bandwidth and the flat roof of the arithmetic, cut to the frame.
fn roofs(drawing: &mut Drawing, x: &Logarithmic, y: &Logarithmic, limits: LowerBounds) {
    let ((x_low, x_high), (y_low, _)) = (x.domain(), y.domain());
    let (flat, bandwidth) = (limits.operations_per_second, limits.bytes_per_second);
    let begin = x_low.max(y_low / bandwidth);
    let ridge = (flat / bandwidth).clamp(begin, x_high);
    let at = |intensity: f64| (x.at(intensity), y.at((intensity * bandwidth).min(flat)));
    drawing.polyline(Class::Mark, &[at(begin), at(ridge), at(x_high)]);
    let (right, top) = at(x_high);
    drawing.text(Class::Label, Anchor::End, (right, top - 5.0), &format!("{} operations/s", short(flat)));
}

/// A power of ten.
fn decade(value: f64) -> String {
    match value {
        _ if value >= 1e3 => {
            let (scaled, suffix) = match value {
                _ if value >= 1e12 => (value / 1e12, "T"),
                _ if value >= 1e9 => (value / 1e9, "G"),
                _ if value >= 1e6 => (value / 1e6, "M"),
                _ => (value / 1e3, "k"),
            };
            format!("{scaled:.0}{suffix}")
        }
        _ => digits(value),
    }
}
