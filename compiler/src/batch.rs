//! How many items a run computes at once.

use std::collections::HashMap;

use warpweave_graph::ProgramSkeleton;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, Read, TensorExpr};
use warpweave_graph::program::{Definition, OriginId, Phase, Statement, TensorId};
use warpweave_graph::training::{LEARNING_RATE, SEED};
use warpweave_runtime::bundle::Signature;

use crate::training::samples;

/// Points of an expression at which its reads are looked at.
const POINTS: usize = 96;
/// Dimensions of an input that may be the batch: the first, or the second behind a time axis.
const CANDIDATES: usize = 2;

/// How the items of a batch lie in a tensor: an element belongs to the item ⌊coordinate / stride⌋ mod batch, by its coordinate along
/// an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Layout {
    axis: usize,
    stride: usize,
}

impl Layout {
    fn item(self, coordinate: usize, batch: usize) -> usize {
        coordinate / self.stride % batch
    }
}

/// The items that a run of a program computes independently of one another: the extent of a first or second dimension that all
/// inputs have, and along which no output mixes elements. `None` where there is no such dimension, or none is recognised.
pub fn batch(program: &ProgramSkeleton) -> Option<usize> {
    let first = &program.tensors[*program.inputs.first()?].ty.shape;
    let of_axis = |axis: usize| {
        let batch = *first.get(axis).filter(|extent| **extent > 0)?;
        let layouts = program.inputs.iter().map(|&input| Some((input, of_input(program, input, (axis, batch))?)));
        let layouts: HashMap<TensorId, Layout> = layouts.collect::<Option<_>>()?;
        // One item has no other to be mixed with.
        (batch == 1 || is_independent(program, layouts, batch)).then_some(batch)
    };
    (0..CANDIDATES.min(first.len())).find_map(of_axis)
}

/// Operators whose layers go through time along a dimension of their inputs, mostly the first one.
const RECURRENT: [&str; 3] = ["LSTM", "GRU", "RNN"];

/// How many samples a batch of a training step has: the first dimension of what it is given, where that is shared. Behind recurrent
/// layers it is the first or second one along which the last of them mixes nothing; statistics of a batch may mix its samples.
pub fn samples_of(program: &ProgramSkeleton, signature: &Signature) -> Option<usize> {
    let phase = |statement: &Statement| program.names.phase(&statement.origins);
    let forward: Vec<&Statement> = program.statements.values().filter(|next| phase(next) == Phase::Forward).collect();
    let is_recurrent = |origin: &OriginId| {
        program.names.origins.get(*origin).is_some_and(|origin| RECURRENT.contains(&origin.operator.as_str()))
    };
    let Some(last) = forward.iter().rfind(|statement| statement.origins.iter().any(is_recurrent)) else {
        return samples(signature);
    };
    let given = signature.inputs.iter().zip(&program.inputs);
    let given: Vec<TensorId> = given
        .filter(|(port, _)| ![SEED, LEARNING_RATE].contains(&port.name.as_str()))
        .map(|(_, input)| *input)
        .collect();
    let first = &program.tensors[*given.first()?].ty.shape;
    (0..CANDIDATES.min(first.len())).find_map(|axis| {
        let batch = *first.get(axis).filter(|extent| **extent > 0)?;
        let layouts = given.iter().map(|&input| Some((input, of_input(program, input, (axis, batch))?)));
        let mut layouts: HashMap<TensorId, Layout> = layouts.collect::<Option<_>>()?;
        forward.iter().for_each(|statement| _ = follow(statement, &mut layouts, batch));
        (batch == 1 || layouts.contains_key(&last.output)).then_some(batch)
    })
}

/// Where an input has its items: along the given axis, or else along another one of that extent.
fn of_input(program: &ProgramSkeleton, input: TensorId, (axis, batch): (usize, usize)) -> Option<Layout> {
    let shape = &program.tensors[input].ty.shape;
    let axis = std::iter::once(axis).chain(0..CANDIDATES).find(|axis| shape.get(*axis) == Some(&batch))?;
    Some(Layout { axis, stride: 1 })
}

/// Whether every element that follows from inputs follows from those of one item.
fn is_independent(program: &ProgramSkeleton, mut layouts: HashMap<TensorId, Layout>, batch: usize) -> bool {
    program.statements.values().all(|statement| follow(statement, &mut layouts, batch))
}

/// Notes how the items lie in what a statement defines, if it reads any; `false` if it mixes them.
fn follow(statement: &Statement, layouts: &mut HashMap<TensorId, Layout>, batch: usize) -> bool {
    let operands: Vec<Option<Layout>> = statement.operands.iter().map(|id| layouts.get(id).copied()).collect();
    if operands.iter().all(Option::is_none) {
        return true;
    }
    let layout = of_output(statement, &operands, batch);
    layouts.extend(layout.map(|layout| (statement.output, layout)));
    layout.is_some()
}

/// How the items lie in what a statement defines; `None` if they are mixed.
fn of_output(statement: &Statement, operands: &[Option<Layout>], batch: usize) -> Option<Layout> {
    match &statement.definition {
        Definition::Compute(expr) => of_expression(expr, operands, batch),
        Definition::Opaque(opaque) => of_expression(&opaque.access, operands, batch),
        Definition::Concat { axis } => {
            let mut known = operands.iter().flatten();
            let first = *known.next()?;
            (first.axis != *axis && known.all(|other| *other == first)).then_some(first)
        }
    }
}

fn of_expression(expr: &TensorExpr, operands: &[Option<Layout>], batch: usize) -> Option<Layout> {
    let reads: Vec<(&Read, Layout)> =
        expr.reads.values().filter_map(|read| Some((read, operands[read.operand]?))).collect();
    if reads.iter().any(|(read, layout)| !read.index[layout.axis].is_free_of_reads()) {
        return None;
    }
    let mut possible = possible(expr, batch);
    for point in points(expr) {
        for (read, layout) in &reads {
            let Some(item) = item_read(read, *layout, &point, batch) else { continue };
            possible.retain(|output| output.item(point[output.axis], batch) == item);
        }
    }
    possible.first().copied()
}

/// The ways in which items may lie in an expression's output. Its dimensions are the first axes.
fn possible(expr: &TensorExpr, batch: usize) -> Vec<Layout> {
    let extents = expr.parallel().map(|axis| expr.axes[axis].extent);
    let of_axis = |(axis, extent): (usize, usize)| {
        let inner = if extent.is_multiple_of(batch) { extent / batch } else { 0 };
        divisors(inner).into_iter().map(move |stride| Layout { axis, stride })
    };
    extents.enumerate().flat_map(of_axis).collect()
}

fn divisors(number: usize) -> Vec<usize> {
    let smaller =
        (1..).take_while(|divisor| divisor * divisor <= number).filter(|divisor| number.is_multiple_of(*divisor));
    let mut all: Vec<usize> = smaller.flat_map(|divisor| [divisor, number / divisor]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The item of the element that is read at a point; `None` where nothing is read.
fn item_read(read: &Read, layout: Layout, point: &[usize], batch: usize) -> Option<usize> {
    let value = |index: &Index| index.evaluate(&|axis: AxisId| point[axis.index()] as i64, &|_| 0);
    let conditions = read.guard.conditions().iter().filter(|condition| condition.index.is_free_of_reads());
    let mut holds = conditions.map(|condition| (condition.lower..condition.upper).contains(&value(&condition.index)));
    if !holds.all(|holds| holds) {
        return None;
    }
    usize::try_from(value(&read.index[layout.axis])).ok().map(|coordinate| layout.item(coordinate, batch))
}

/// Points of all axes that tell layouts apart: the first and the last one, and others of which every axis has its own.
fn points(expr: &TensorExpr) -> impl Iterator<Item = Vec<usize>> {
    let extents: Vec<usize> = expr.axes.values().map(|axis| axis.extent).collect();
    let count = if extents.contains(&0) { 0 } else { POINTS };
    let mut state = 0x2545_f491_4f6c_dd1du64;
    (0..count).map(move |number| {
        let mut coordinate = |extent: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match number {
                0 => 0,
                1 => extent - 1,
                _ => (state >> 33) as usize % extent,
            }
        };
        extents.iter().map(|&extent| coordinate(extent)).collect()
    })
}
