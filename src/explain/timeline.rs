//! A simulated run as a picture: a row a unit, time to the right, a colour an rOperator.

use std::collections::BTreeMap;
use std::fmt::Write;

use warpweave_fusion::schedule::Instruction;
use warpweave_fusion::schedule::plan::{OperatorId, ROperator};
use warpweave_fusion::schedule::simulate::{Event, Simulation};
use warpweave_graph::arena::{Arena, Id};

use crate::report::scale::{Linear, time};
use crate::report::svg::escape;

const LEFT: f64 = 56.0;
const TOP: f64 = 44.0;
const WIDTH: f64 = 1400.0;
const BOTTOM: f64 = 34.0;
/// Columns of the picture: what is shorter is shown by what takes most of a column.
const COLUMNS: usize = 1400;

/// The picture as a self-contained SVG, light or dark as the viewer prefers.
pub fn timeline(title: &str, operators: &Arena<OperatorId, ROperator>, simulation: &Simulation) -> String {
    let units = simulation.units.len().max(1);
    let row = (640.0 / units as f64).clamp(3.0, 24.0);
    let height = TOP + row * units as f64 + BOTTOM;
    let axis = Linear::new((0.0, simulation.makespan), (LEFT, LEFT + WIDTH));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {height:.0}\" font-family=\"sans-serif\" \
         font-size=\"11\" role=\"img\">\n<title>{}</title>\n{STYLE}<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
        LEFT + WIDTH + 16.0,
        escape(title)
    );
    let _ = writeln!(svg, "<text class=\"ink head\" x=\"{LEFT}\" y=\"18\">{}</text>", escape(title));
    draw_axis(&mut svg, &axis, TOP + row * units as f64);
    for (unit, label) in (0..units).step_by(units.div_ceil(16)).map(|unit| (unit, format!("vEU {unit}"))) {
        let y = TOP + row * (unit as f64 + 0.5) + 4.0;
        let _ = writeln!(
            svg,
            "<text class=\"ink\" text-anchor=\"end\" x=\"{:.0}\" y=\"{y:.1}\">{label}</text>",
            LEFT - 6.0
        );
    }
    let bottom = row * units as f64;
    let _ = writeln!(svg, "<rect class=\"idle\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{WIDTH}\" height=\"{bottom:.1}\"/>");
    for (operator, path) in paths(simulation, row) {
        let planned = &operators[operator];
        let about = escape(&format!("{operator}: {}, {} rTasks", planned.params, planned.tasks()));
        // Steps of the golden angle keep the hues of neighbours apart.
        let hue = (operator.index() as f64 * 137.508) % 360.0;
        let light = 45 + 6 * (operator.index() % 4);
        let _ = writeln!(svg, "<path fill=\"hsl({hue:.0} 62% {light}%)\" d=\"{path}\"><title>{about}</title></path>");
    }
    svg.push_str("</svg>\n");
    svg
}

const STYLE: &str = "<style>.page{fill:#fff}.ink{fill:#222}.head{font-size:14px;font-weight:600}.idle{fill:#eceef1}\
    .grid{stroke:#c4c9d0}@media(prefers-color-scheme:dark){.page{fill:#16181c}.ink{fill:#dfe3e8}.idle{fill:#23272d}\
    .grid{stroke:#4a515b}}</style>\n";

fn draw_axis(svg: &mut String, axis: &Linear, bottom: f64) {
    for tick in axis.ticks(10) {
        let x = axis.at(tick);
        let label = escape(&time(tick * 1e-6));
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{x:.1} {:.1}V{:.1}\"/><text class=\"ink\" text-anchor=\"middle\" x=\"{x:.1}\" \
             y=\"{:.1}\">{label}</text>",
            TOP - 6.0,
            bottom + 6.0,
            bottom + 20.0
        );
    }
}

/// Per rOperator, the outline of where and when it runs.
fn paths(simulation: &Simulation, row: f64) -> BTreeMap<OperatorId, String> {
    let mut paths: BTreeMap<OperatorId, String> = BTreeMap::new();
    let gap = if row > 6.0 { 1.0 } else { 0.4 };
    for (unit, events) in simulation.units.iter().enumerate() {
        let y = TOP + row * unit as f64 + gap / 2.0;
        let height = row - gap;
        for (operator, first, last) in columns(events, simulation.makespan) {
            let x = LEFT + first as f64 * WIDTH / COLUMNS as f64;
            let width = (last + 1 - first) as f64 * WIDTH / COLUMNS as f64;
            let path = paths.entry(operator).or_default();
            let _ = write!(path, "M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z");
        }
    }
    paths
}

/// Runs of columns in which one rOperator takes most of the time: first and last column.
fn columns(events: &[Event], makespan: f64) -> Vec<(OperatorId, usize, usize)> {
    let scale = COLUMNS as f64 / makespan.max(f64::MIN_POSITIVE);
    let mut most: Vec<(f64, Option<OperatorId>)> = vec![(0.0, None); COLUMNS];
    for event in events {
        let Instruction::Run(task) = event.instruction else { continue };
        let (start, end) = (event.start * scale, event.end * scale);
        let last = (end as usize).min(COLUMNS - 1);
        for (column, most) in most.iter_mut().enumerate().take(last + 1).skip(start as usize) {
            let covered = end.min(column as f64 + 1.0) - start.max(column as f64);
            // A column that is mostly idle stays idle.
            if covered > most.0.max(0.3) || most.1 == Some(task.operator) {
                *most = (covered + if most.1 == Some(task.operator) { most.0 } else { 0.0 }, Some(task.operator));
            }
        }
    }
    let mut runs: Vec<(OperatorId, usize, usize)> = Vec::new();
    for (column, (_, operator)) in most.into_iter().enumerate() {
        let Some(operator) = operator else { continue };
        match runs.last_mut() {
            Some((same, _, last)) if *same == operator && *last + 1 == column => *last = column,
            _ => runs.push((operator, column, column)),
        }
    }
    runs
}
