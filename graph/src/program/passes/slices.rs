//! Products whose slices are consumed one after another, such as the projected input of a recurrent layer, computed a
//! slice at a time. A slice then waits for nothing but what it reads, and may share a kernel with its reader.

use std::collections::{BTreeMap, BTreeSet};

use super::rewriting::rebuild::Rebuild;
use super::rewriting::uses::Uses;
use crate::arena::Arena;
use crate::expr::{Axis, AxisId, Index, TensorExpr, merge_operands, substitute};
use crate::program::{Definition, Statement, StatementId, TensorId, TensorProgram};

/// The program with every reduction whose slices are consumed one after another computed a slice at a time.
///
/// A slice holds one coordinate of one dimension. Each reads the constants and states of the whole reduction again, so this is done
/// only while those of all such reductions come to no more than `most_constant_bytes`.
pub fn slice_reductions(program: &TensorProgram, most_constant_bytes: usize) -> TensorProgram {
    let uses = Uses::of(program);
    let sliced: BTreeMap<StatementId, usize> = program
        .statements
        .iter()
        .filter_map(|(id, statement)| Some((id, sliced_dimension(program, statement, &uses)?)))
        .collect();
    let constants: BTreeSet<TensorId> =
        sliced.keys().flat_map(|&id| program.statements[id].operands.iter().copied()).collect();
    let is_weight =
        |tensor: &TensorId| program.constant(*tensor).is_some() || program.states().any(|(state, _)| state == *tensor);
    let bytes = constants.into_iter().filter(is_weight).map(|tensor| program.tensors[tensor].ty.bytes());
    if sliced.is_empty() || bytes.sum::<usize>() > most_constant_bytes {
        return program.clone();
    }
    rebuild(program, &sliced)
}

/// The dimension along which a reduction is consumed slice by slice, if there is one.
fn sliced_dimension(program: &TensorProgram, statement: &Statement, uses: &Uses) -> Option<usize> {
    let Definition::Compute(expr) = &statement.definition else { return None };
    let tensor = statement.output;
    if expr.reducer.is_none() || uses.is_live_out(tensor) {
        return None;
    }
    let rank = program.tensors[tensor].ty.shape.len();
    (0..rank).find(|&dimension| {
        let first_readers = coordinates(program, tensor, dimension, uses.readers(tensor));
        first_readers.is_some_and(|first| first.len() > 1 && are_ordered(program, &first))
    })
}

/// The coordinates of a dimension that are read, each with its first reader; `None` if something reads several.
fn coordinates(
    program: &TensorProgram,
    tensor: TensorId,
    dimension: usize,
    readers: &[StatementId],
) -> Option<BTreeMap<i64, StatementId>> {
    let mut found: BTreeMap<i64, StatementId> = BTreeMap::new();
    for &reader in readers {
        let statement = &program.statements[reader];
        let Definition::Compute(expr) = &statement.definition else { return None };
        for read in expr.reads.values().filter(|read| statement.operands[read.operand] == tensor) {
            let coordinate = coordinate(expr, &read.index[dimension])?;
            found.entry(coordinate).or_insert(reader);
        }
    }
    Some(found)
}

/// The one place that an index of an expression names, if it is one.
fn coordinate(expr: &TensorExpr, index: &Index) -> Option<i64> {
    let range = index.is_free_of_reads().then(|| index.range(&|axis| expr.range(axis)))?;
    (range.minimum == range.maximum).then_some(range.minimum)
}

/// Whether each of these readers, in program order, depends on the one before it.
fn are_ordered(program: &TensorProgram, first_readers: &BTreeMap<i64, StatementId>) -> bool {
    let mut order: Vec<StatementId> = first_readers.values().copied().collect();
    order.sort_unstable();
    order.windows(2).all(|pair| depends(program, pair[1], pair[0]))
}

fn depends(program: &TensorProgram, later: StatementId, earlier: StatementId) -> bool {
    let mut seen: BTreeSet<StatementId> = BTreeSet::new();
    let mut open = vec![later];
    while let Some(statement) = open.pop() {
        if statement == earlier && later != earlier {
            return true;
        }
        let read = program.statements[statement].operands.iter().filter_map(|&operand| program.producer(operand));
        open.extend(read.filter(|&producer| producer >= earlier && seen.insert(producer)));
    }
    false
}

fn rebuild(program: &TensorProgram, sliced: &BTreeMap<StatementId, usize>) -> TensorProgram {
    let mut slicer = Slicer { program, sliced, builder: Rebuild::new(program), slices: BTreeMap::new() };
    for (_, statement) in program.statements.iter().filter(|(id, _)| !sliced.contains_key(id)) {
        match &statement.definition {
            Definition::Compute(expr) => {
                let output = slicer.compute(statement, expr.clone());
                slicer.builder.replace(statement.output, output);
            }
            Definition::Opaque(_) | Definition::Concat { .. } => _ = slicer.builder.keep(statement),
        }
    }
    slicer.builder.finish(program)
}

struct Slicer<'a> {
    program: &'a TensorProgram,
    sliced: &'a BTreeMap<StatementId, usize>,
    builder: Rebuild,
    slices: BTreeMap<(TensorId, i64), TensorId>,
}

impl Slicer<'_> {
    /// Appends an expression of a statement, after the slices that it reads.
    fn compute(&mut self, statement: &Statement, mut expr: TensorExpr) -> TensorId {
        let mut operands: Vec<Option<TensorId>> =
            statement.operands.iter().map(|operand| self.builder.mapped(*operand)).collect();
        for read in expr.reads.ids() {
            let Some(&tensor) = statement.operands.get(expr.reads[read].operand) else { continue };
            let producer = self.program.producer(tensor);
            let Some((&id, &dimension)) = producer.and_then(|id| self.sliced.get_key_value(&id)) else { continue };
            let coordinate = coordinate(&expr, &expr.reads[read].index[dimension]);
            let coordinate = coordinate.expect("every reader reads one slice");
            let slice = self.slice(id, dimension, coordinate);
            operands.push(Some(slice));
            expr.operands.push(self.builder.ty(slice).clone());
            expr.reads[read].operand = operands.len() - 1;
            expr.reads[read].index[dimension] = Index::constant(0);
        }
        let (expr, operands) = merge_operands(&expr, &operands);
        let operands: Vec<TensorId> = operands.into_iter().flatten().collect();
        self.builder.compute(statement.origins.clone(), expr, &operands)
    }

    /// One slice of a reduction, appended where it is read first.
    fn slice(&mut self, id: StatementId, dimension: usize, coordinate: i64) -> TensorId {
        let statement = &self.program.statements[id];
        if let Some(&known) = self.slices.get(&(statement.output, coordinate)) {
            return known;
        }
        let Definition::Compute(expr) = &statement.definition else { unreachable!("only reductions are sliced") };
        let cut = expr.parallel().nth(dimension).expect("a dimension has an axis");
        let axes: Arena<AxisId, Axis> =
            expr.axes.iter().map(|(id, axis)| if id == cut { Axis { extent: 1, ..*axis } } else { *axis }).collect();
        let place = |axis: AxisId| if axis == cut { Index::constant(coordinate) } else { Index::axis(axis) };
        let replacement: Vec<Index> = expr.axes.ids().map(place).collect();
        let slice = self.compute(statement, substitute::replace_axes(expr, &axes, &replacement));
        self.slices.insert((statement.output, coordinate), slice);
        slice
    }
}
