//! A partition as a picture: a box a group, a column a step of dependence, an edge for every value that is handed on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use warpweave_fusion::partition::search::Partition;
use warpweave_graph::arena::Id;
use warpweave_graph::program::{StatementId, TensorProgram};
use warpweave_plan::template::text::names;

use crate::svg::escape;

const BOX: (f64, f64) = (132.0, 34.0);
const GAP: (f64, f64) = (44.0, 12.0);
const MARGIN: (f64, f64) = (16.0, 40.0);

const STYLE: &str = "<style>.page{fill:#fff}.ink{fill:#1c1f23}.head{font-size:14px;font-weight:600}.edge{fill:none;\
    stroke:#9aa3ae}.group{stroke:#6b7480}@media(prefers-color-scheme:dark){.page{fill:#16181c}.head{fill:#dfe3e8}\
    .edge{stroke:#59626d}}</style>\n";

/// The attribute of the first element of every picture that names this program.
pub const PICTURE_GENERATOR: &str = "data-generator=\"warpweave\"";

/// The picture as a self-contained SVG, light or dark as the viewer prefers.
pub fn picture(title: &str, program: &TensorProgram, partition: &Partition) -> String {
    let edges = edges(program, partition);
    let places = places(partition.groups.len(), &edges);
    let columns = places.iter().map(|(column, _)| column + 1).max().unwrap_or(1);
    let rows = places.iter().map(|(_, row)| row + 1).max().unwrap_or(1);
    let width = 2.0 * MARGIN.0 + columns as f64 * (BOX.0 + GAP.0);
    let height = MARGIN.1 + rows as f64 * (BOX.1 + GAP.1) + MARGIN.0;
    let at = |group: usize| {
        let (column, row) = places[group];
        (MARGIN.0 + column as f64 * (BOX.0 + GAP.0), MARGIN.1 + row as f64 * (BOX.1 + GAP.1))
    };
    let mut svg = format!(
        "<svg {PICTURE_GENERATOR} xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"10\" role=\"img\">\n<title>{title}</title>\n\
         {STYLE}<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"ink head\" x=\"{}\" y=\"22\">{title}</text>\n",
        MARGIN.0,
        title = escape(title)
    );
    for &(from, to) in &edges {
        let ((x1, y1), (x2, y2)) = (at(from), at(to));
        let (x1, y1, y2) = (x1 + BOX.0, y1 + BOX.1 / 2.0, y2 + BOX.1 / 2.0);
        let bend = (x2 - x1) / 2.0;
        let _ = writeln!(
            svg,
            "<path class=\"edge\" d=\"M{x1:.0} {y1:.0}C{:.0} {y1:.0} {:.0} {y2:.0} {x2:.0} {y2:.0}\"/>",
            x1 + bend,
            x2 - bend
        );
    }
    for (position, group) in partition.groups.iter().enumerate() {
        let (x, y) = at(position);
        let members: Vec<String> = group.statements.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            svg,
            "<g><title>group {position}: {}; {}</title><rect class=\"group\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{}\" \
             height=\"{}\" rx=\"4\" fill=\"{}\"/><text class=\"ink\" x=\"{:.0}\" y=\"{:.0}\">{position} · {}</text>\
             <text class=\"ink\" x=\"{:.0}\" y=\"{:.0}\">{} statements · {:.1} µs</text></g>",
            escape(&group.kernel.params().to_string()),
            escape(&members.join(" ")),
            BOX.0,
            BOX.1,
            colour(group.kernel.rules().name()),
            x + 6.0,
            y + 14.0,
            group.kernel.rules().name(),
            x + 6.0,
            y + 27.0,
            members.len(),
            group.microseconds
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// A light colour for each template: hues evenly apart.
fn colour(name: &str) -> String {
    let (number, count) = (names().position(|known| known == name).unwrap_or(0), names().count());
    format!("hsl({} 60% 87%)", 360 * number / count)
}

/// Pairs of groups of which the second reads what the first writes, through concats too.
fn edges(program: &TensorProgram, partition: &Partition) -> BTreeSet<(usize, usize)> {
    let mut group_of: BTreeMap<StatementId, usize> = BTreeMap::new();
    for (position, group) in partition.groups.iter().enumerate() {
        group_of.extend(group.statements.iter().map(|&statement| (statement, position)));
    }
    let mut writers: Vec<BTreeSet<usize>> = Vec::with_capacity(program.statements.len());
    let mut edges = BTreeSet::new();
    for (id, statement) in program.statements.iter() {
        let read = statement.operands.iter().filter_map(|&operand| program.producer(operand));
        let read: BTreeSet<usize> = read.flat_map(|producer| writers[producer.index()].iter().copied()).collect();
        match group_of.get(&id) {
            Some(&own) => {
                edges.extend(read.into_iter().filter(|&other| other != own).map(|other| (other, own)));
                writers.push(BTreeSet::from([own]));
            }
            None => writers.push(read),
        }
    }
    edges
}

/// Column and row of every group: a column after those that it reads, rows in order.
fn places(groups: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut columns = vec![0; groups];
    // Groups stand in topological order, so the columns of what a group reads are known.
    for group in 0..groups {
        let read = edges.iter().filter(|(_, to)| *to == group).map(|(from, _)| columns[*from] + 1);
        columns[group] = read.max().unwrap_or(0);
    }
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let place = |column: usize| {
        let row = taken.entry(column).or_default();
        *row += 1;
        (column, *row - 1)
    };
    columns.into_iter().map(place).collect()
}
