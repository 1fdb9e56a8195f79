//! A run of a plan as a picture: a row a unit, time to the right, a hue for the rOperators that share weights.

use std::collections::BTreeMap;
use std::fmt::Write;

use warpweave_fusion::schedule::simulation::{Event, Simulation};
use warpweave_graph::program::Names;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::plan::OperatorId;

use super::clock::Clock;
use super::colours::colours;
use super::picture::PICTURE_GENERATOR;
use crate::svg::escape;
use crate::svg::scale::Linear;

const LEFT: f64 = 56.0;
const TOP: f64 = 44.0;
const WIDTH: f64 = 1400.0;
const BOTTOM: f64 = 56.0;
/// Columns of the picture. What is shorter than one is drawn as often as it takes a column's time, so a row has colour for as
/// much of its length as its unit runs rTasks.
const COLUMNS: usize = 1400;

/// The picture of a run, whose rOperators are numbered through the segments, as a self-contained SVG, light or dark as the
/// viewer prefers.
pub fn timeline(name: &str, plan: &ExecutionPlan, names: &Names, run: &Simulation, clock: Clock) -> String {
    let operators = plan.operators();
    let units = run.units.len().max(1);
    let row = (640.0 / units as f64).clamp(3.0, 24.0);
    let bottom = TOP + row * units as f64;
    let axis = Linear::new((0.0, run.makespan), (LEFT, LEFT + WIDTH));
    let title = escape(&format!("{name}: {} on {units} units, {}", clock.label(run.makespan), clock.words()));
    let mut svg = format!(
        "<svg {PICTURE_GENERATOR} xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" \
         font-size=\"11\" role=\"img\">\n<title>{title}</title>\n{STYLE}<rect class=\"page\" width=\"100%\" \
         height=\"100%\"/>\n<text class=\"ink head\" x=\"{LEFT}\" y=\"18\">{title}</text>\n",
        LEFT + WIDTH + 16.0,
        bottom + BOTTOM,
    );
    draw_axis(&mut svg, &axis, bottom, clock);
    for (unit, label) in (0..units).step_by(units.div_ceil(16)).map(|unit| (unit, format!("vEU {unit}"))) {
        let (x, y) = (LEFT - 6.0, TOP + row * (unit as f64 + 0.5) + 4.0);
        let _ = writeln!(svg, "<text class=\"ink\" text-anchor=\"end\" x=\"{x:.0}\" y=\"{y:.1}\">{label}</text>");
    }
    let _ = writeln!(
        svg,
        "<text class=\"ink\" x=\"{LEFT}\" y=\"{:.1}\">{} rTasks of {} rOperators; a hue for those that share weights, \
         lighter from one to the next and dark again after ten; grey: units that wait, poll or have nothing to do; a row is coloured \
         for its unit's busy time</text>",
        bottom + 42.0,
        plan.tasks(),
        operators.len()
    );
    let _ = writeln!(svg, "<path class=\"idle\" d=\"{}\"/>", rows(units, row));
    let colours = colours(&operators, &plan.memory);
    for (operator, path) in paths(run, row) {
        let planned = &operators[operator];
        let about = names.labelled(operator, &planned.origins);
        let about = escape(&format!("{about}: {}, {} rTasks", planned.kernel, planned.tasks()));
        let _ = writeln!(svg, "<path fill=\"{}\" d=\"{path}\"><title>{about}</title></path>", colours[operator]);
    }
    svg.push_str("</svg>\n");
    svg
}

const STYLE: &str = "<style>.page{fill:#fff}.ink{fill:#222}.head{font-size:14px;font-weight:600}.idle{fill:#eceef1}\
    .grid{stroke:#c4c9d0}@media(prefers-color-scheme:dark){.page{fill:#16181c}.ink{fill:#dfe3e8}.idle{fill:#23272d}\
    .grid{stroke:#4a515b}}</style>\n";

fn draw_axis(svg: &mut String, axis: &Linear, bottom: f64, clock: Clock) {
    for tick in axis.ticks(10) {
        let x = axis.at(tick);
        let label = escape(&clock.label(tick));
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

/// Where and when an rOperator runs: first and last column, first and last unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Block {
    columns: (usize, usize),
    units: (usize, usize),
}

/// The outline of all rows, in the words of a path of SVG.
fn rows(units: usize, row: f64) -> String {
    let gap = gap(row);
    let outline =
        |unit| format!("M{LEFT} {:.1}h{WIDTH}v{:.1}h-{WIDTH}z", TOP + row * unit as f64 + gap / 2.0, row - gap);
    (0..units).map(outline).collect()
}

/// The space between rows; none between thin ones.
fn gap(row: f64) -> f64 {
    if row > 6.0 { 1.0 } else { 0.0 }
}

/// Per rOperator, the outline of where and when it runs.
fn paths(run: &Simulation, row: f64) -> BTreeMap<OperatorId, String> {
    let mut blocks: BTreeMap<OperatorId, Vec<Block>> = BTreeMap::new();
    for (unit, events) in run.units.iter().enumerate() {
        for (operator, first, last) in columns(events, run.makespan) {
            let block = Block { columns: (first, last), units: (unit, unit) };
            blocks.entry(operator).or_default().push(block);
        }
    }
    let gap = gap(row);
    let column = WIDTH / COLUMNS as f64;
    let outline = |mut blocks: Vec<Block>| {
        blocks.sort_unstable();
        let mut path = String::new();
        for Block { columns, units } in if gap > 0.0 { blocks } else { joined(&blocks) } {
            let x = LEFT + columns.0 as f64 * column;
            let width = (columns.1 + 1 - columns.0) as f64 * column;
            let y = TOP + row * units.0 as f64 + gap / 2.0;
            let height = row * (units.1 + 1 - units.0) as f64 - gap;
            let _ = write!(path, "M{x} {y:.1}h{width}v{height:.1}h-{width}z");
        }
        path
    };
    blocks.into_iter().map(|(operator, blocks)| (operator, outline(blocks))).collect()
}

/// Blocks of neighbouring units over the same columns as one.
fn joined(sorted: &[Block]) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::new();
    for block in sorted {
        match joined.last_mut() {
            Some(last) if last.columns == block.columns && last.units.1 + 1 == block.units.0 => {
                last.units.1 = block.units.1;
            }
            _ => joined.push(*block),
        }
    }
    joined
}

/// Runs of columns of one rOperator: first and last column. Time that is not drawn yet is kept for each rOperator. A column shows
/// the one that has most of it, once at least half a column's time is kept.
fn columns(events: &[Event], makespan: f64) -> Vec<(OperatorId, usize, usize)> {
    let mut kept: BTreeMap<OperatorId, f64> = BTreeMap::new();
    let mut runs: Vec<(OperatorId, usize, usize)> = Vec::new();
    for (column, run) in busy(events, makespan).into_iter().enumerate() {
        run.into_iter().for_each(|(operator, part)| *kept.entry(operator).or_default() += part);
        if kept.values().sum::<f64>() < 0.5 {
            continue;
        }
        let Some((&operator, most)) = kept.iter_mut().max_by(|a, b| a.1.total_cmp(b.1)) else { continue };
        *most -= 1.0;
        match runs.last_mut() {
            Some((same, _, last)) if *same == operator && *last + 1 == column => *last = column,
            _ => runs.push((operator, column, column)),
        }
    }
    runs
}

/// Per column, what runs in it and for which part of its time.
fn busy(events: &[Event], makespan: f64) -> Vec<Vec<(OperatorId, f64)>> {
    let scale = COLUMNS as f64 / makespan.max(f64::MIN_POSITIVE);
    let mut busy = vec![Vec::new(); COLUMNS];
    for event in events {
        let Some(task) = event.instruction.task() else { continue };
        let (start, end) = ((event.start + event.polled) * scale, event.end * scale);
        let last = (end as usize).min(COLUMNS - 1);
        for (column, run) in busy.iter_mut().enumerate().take(last + 1).skip(start as usize) {
            let part = end.min(column as f64 + 1.0) - start.max(column as f64);
            if part > 0.0 {
                run.push((task.operator, part));
            }
        }
    }
    busy
}

#[cfg(test)]
mod tests {
    use warpweave_graph::arena::Id;
    use warpweave_plan::plan::{Instruction, RTask};

    use super::*;

    /// A row of rTasks of three rOperators in turn, each of a length and with a pause behind it.
    fn in_turn(length: f64, pause: f64) -> (Vec<Event>, f64) {
        let events = (0..3000).map(|number| {
            let task = RTask { operator: OperatorId::from_index(number % 3), tile: 0 };
            let start = number as f64 * (length + pause);
            Event { instruction: Instruction::Run(task), start, polled: 0.0, end: start + length, released_by: None }
        });
        (events.collect(), 3000.0 * (length + pause))
    }

    #[test]
    fn as_much_is_coloured_as_is_busy() {
        for (length, pause) in [(1.0, 0.0), (1.0, 9.0), (0.2, 0.5), (3.0, 0.1)] {
            let (events, makespan) = in_turn(length, pause);
            let runs = columns(&events, makespan);
            let drawn = |of: Option<usize>| {
                let wanted = runs.iter().filter(|(operator, _, _)| of.is_none_or(|of| operator.index() == of));
                wanted.map(|(_, first, last)| last + 1 - first).sum::<usize>() as f64 / COLUMNS as f64
            };
            let share = length / (length + pause);
            assert!((drawn(None) - share).abs() < 1e-3, "{} of {share}", drawn(None));
            (0..3).for_each(|operator| assert!((drawn(Some(operator)) - share / 3.0).abs() < 2e-3));
        }
    }
}
