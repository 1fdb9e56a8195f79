//! Sums of products over the same operand become one: queries, keys and values of attention, branches of a module.
//!
//! Siblings are statements with equal expressions but for the extent of one parallel axis, the *column*, on which constants
//! alone depend; everything else that they read is the same. Their constants are laid end to end and one statement
//! computes all columns. What follows each of them element by element, the same for all, follows the one. Readers get
//! slices, which views compose into them. Whatever is merged depends on nothing but what each of the siblings depends on,
//! so no path leaves it and comes back.

use std::collections::BTreeMap;

use super::rewriting::rebuild::{Rebuild, union};
use super::rewriting::uses::Uses;
use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Read, Reducer, Scalar, TensorExpr};
use crate::program::{Definition, Origins, Statement, StatementId, TensorId, TensorProgram};
use crate::tensor::Tensor;
use crate::types::{Shape, TensorType};

/// The program with siblings merged. Values are unchanged bit for bit.
pub fn merge_siblings(program: &TensorProgram) -> TensorProgram {
    let sets = accepted(program);
    if sets.is_empty() {
        return program.clone();
    }
    let mut member_of: BTreeMap<StatementId, (usize, usize)> = BTreeMap::new();
    for (number, set) in sets.iter().enumerate() {
        member_of.extend(set.members.iter().enumerate().map(|(at, &member)| (member, (number, at))));
    }
    let mut merging = Merging { program, sets: &sets, merged: vec![None; sets.len()], builder: Rebuild::new(program) };
    for (id, statement) in program.statements.iter() {
        match member_of.get(&id) {
            None => _ = merging.builder.keep(statement),
            Some(&(set, 0)) => merging.merge(set),
            Some(_) => {}
        }
    }
    merging.builder.finish(program).pruned()
}

/// Statements that become one.
struct Set {
    members: Vec<StatementId>,
    column: AxisId,
    /// The set whose tensors the members read, each that of one member.
    reads: Option<usize>,
}

impl Set {
    /// The dimension of the members' tensors along which their columns lie.
    fn dimension(&self, program: &TensorProgram) -> usize {
        let expr = compute(&program.statements[self.members[0]]);
        expr.parallel().position(|axis| axis == self.column).expect("a column is parallel")
    }
}

/// How an operand takes part in every member of a set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OperandRole {
    /// It is the same for all.
    Shared(TensorId),
    /// A constant of each member, whose columns lie along this dimension.
    Constant(usize),
    /// The tensor of the member of another set, whose columns lie along this dimension.
    Member(usize, usize),
}

/// The sets that are worth merging: those whose results are not needed in places of their own.
fn accepted(program: &TensorProgram) -> Vec<Set> {
    let uses = Uses::of(program);
    let mut found: Vec<Set> = Vec::new();
    for set in products(program) {
        let start = found.len();
        found.push(set);
        while let Some(next) = followers(program, &uses, &found[found.len() - 1], found.len() - 1) {
            found.push(next);
        }
        let last = &found[found.len() - 1];
        let wanted = last.members.iter().all(|&member| {
            let output = program.statements[member].output;
            !uses.is_live_out(output) && uses.readers(output).iter().all(|&reader| composes(program, &uses, reader))
        });
        if !wanted {
            found.truncate(start);
        }
    }
    found
}

/// Whether a reader takes a slice as it is: a reduction, or what is composed into reductions.
fn composes(program: &TensorProgram, uses: &Uses, reader: StatementId) -> bool {
    let reduces = |statement: StatementId| match &program.statements[statement].definition {
        Definition::Compute(expr) => expr.reducer.is_some(),
        Definition::Opaque(_) | Definition::Concat { .. } => false,
    };
    let statement = &program.statements[reader];
    let is_compute = matches!(statement.definition, Definition::Compute(_));
    let behind = uses.readers(statement.output);
    let only_reduced = !behind.is_empty() && behind.iter().all(|&reader| reduces(reader));
    reduces(reader) || is_compute && only_reduced && !uses.is_live_out(statement.output)
}

/// Products of which two or more read the same.
fn products(program: &TensorProgram) -> Vec<Set> {
    let mut groups: Vec<(TensorExpr, Vec<OperandRole>, Set)> = Vec::new();
    for (id, statement) in program.statements.iter() {
        let Definition::Compute(expr) = &statement.definition else { continue };
        let is_product =
            matches!((expr.reducer, &expr.body), (Some(Reducer::Sum), Scalar::Binary(BinaryOp::Multiply, ..)));
        let Some((column, parts)) = is_product.then(|| columns(program, statement, expr, None)).flatten() else {
            continue;
        };
        let shares =
            |part: &OperandRole| matches!(part, OperandRole::Shared(tensor) if program.packable(*tensor).is_none());
        if !parts.iter().any(shares) {
            continue;
        }
        let normal = normalised(expr, column, &parts);
        match groups.iter_mut().find(|group| group.1 == parts && group.0 == normal) {
            Some((.., set)) => set.members.push(id),
            None => groups.push((normal, parts, Set { members: vec![id], column, reads: None })),
        }
    }
    groups.into_iter().map(|(.., set)| set).filter(|set| set.members.len() > 1).collect()
}

/// The statements that follow each member of the set with this number, element by element, if they are siblings too.
fn followers(program: &TensorProgram, uses: &Uses, set: &Set, number: usize) -> Option<Set> {
    let mut members = Vec::with_capacity(set.members.len());
    let mut first: Option<(TensorExpr, Vec<OperandRole>, AxisId)> = None;
    for &member in &set.members {
        let output = program.statements[member].output;
        let &[reader] = uses.readers(output) else { return None };
        let statement = &program.statements[reader];
        let Definition::Compute(expr) = &statement.definition else { return None };
        if expr.reducer.is_some() || uses.is_live_out(output) || members.contains(&reader) {
            return None;
        }
        let read = MemberRead { tensor: output, set: number, dimension: set.dimension(program) };
        let (column, parts) = columns(program, statement, expr, Some(read))?;
        let own = (normalised(expr, column, &parts), parts, column);
        match &first {
            Some(first) if *first != own => return None,
            Some(_) => {}
            None => first = Some(own),
        }
        members.push(reader);
    }
    Some(Set { members, column: first?.2, reads: Some(number) })
}

/// An operand that is the tensor of a member of a set.
#[derive(Clone, Copy)]
struct MemberRead {
    tensor: TensorId,
    set: usize,
    /// The dimension along which its columns lie.
    dimension: usize,
}

/// The first parallel axis that can be a statement's column, and how its operands take part; along a member's columns if
/// one is read.
fn columns(
    program: &TensorProgram,
    statement: &Statement,
    expr: &TensorExpr,
    member: Option<MemberRead>,
) -> Option<(AxisId, Vec<OperandRole>)> {
    expr.parallel().find_map(|column| {
        let part = |(position, &operand): (usize, &TensorId)| -> Option<OperandRole> {
            let reads = expr.reads.values().filter(|read| read.operand == position);
            let mut dimensions = reads.map(|read| dimension(read, column));
            let first = dimensions.next()??;
            if dimensions.any(|other| other != Some(first)) {
                return None;
            }
            let whole = |at: usize| expr.operands[position].shape[at] == expr.axes[column].extent;
            match (first, member.filter(|member| member.tensor == operand)) {
                (Dimension::At(at), Some(member)) => {
                    (at == member.dimension).then_some(OperandRole::Member(member.set, at))
                }
                (Dimension::None, Some(_)) => None,
                (Dimension::None, None) => Some(OperandRole::Shared(operand)),
                (Dimension::At(at), None) => {
                    (program.packable(operand).is_some() && whole(at)).then_some(OperandRole::Constant(at))
                }
            }
        };
        let parts: Vec<OperandRole> = statement.operands.iter().enumerate().map(part).collect::<Option<_>>()?;
        let varies = parts.iter().any(|part| !matches!(part, OperandRole::Shared(_)));
        (varies && !positions_depend_on(expr, column)).then_some((column, parts))
    })
}

/// Where a read depends on a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dimension {
    None,
    /// In this dimension, which the column walks along.
    At(usize),
}

/// Where a read depends on a column; `None` if it does in any other way.
fn dimension(read: &Read, column: AxisId) -> Option<Dimension> {
    let conditions = read.guard.conditions().iter();
    if conditions.into_iter().any(|condition| depends(&condition.index, column)) {
        return None;
    }
    let mut found = Dimension::None;
    for (at, index) in read.index.iter().enumerate().filter(|(_, index)| depends(index, column)) {
        if index.as_axis() != Some(column) || found != Dimension::None {
            return None;
        }
        found = Dimension::At(at);
    }
    Some(found)
}

fn depends(index: &Index, column: AxisId) -> bool {
    let mut found = !index.is_free_of_reads();
    index.visit(&mut |axis| found |= axis == column, &mut |_| {});
    found
}

fn positions_depend_on(expr: &TensorExpr, column: AxisId) -> bool {
    let mut found = false;
    for scalar in [Some(&expr.body), expr.epilogue.as_ref()].into_iter().flatten() {
        scalar.visit(&mut |scalar| match scalar {
            Scalar::Index(index, _) => found |= depends(index, column),
            Scalar::Holds(guard) => {
                found |= guard.conditions().iter().any(|condition| depends(&condition.index, column));
            }
            _ => {}
        });
    }
    found
}

/// The expression with one column.
fn normalised(expr: &TensorExpr, column: AxisId, parts: &[OperandRole]) -> TensorExpr {
    with_columns(expr, column, parts, 1)
}

/// The expression with this many columns.
fn with_columns(expr: &TensorExpr, column: AxisId, parts: &[OperandRole], count: usize) -> TensorExpr {
    let mut expr = expr.clone();
    expr.axes[column].extent = count;
    for (ty, part) in expr.operands.iter_mut().zip(parts) {
        if let OperandRole::Constant(at) | OperandRole::Member(_, at) = *part {
            *ty = resized(ty, at, count);
        }
    }
    expr
}

fn resized(ty: &TensorType, dimension: usize, extent: usize) -> TensorType {
    let shape: Shape =
        ty.shape.iter().enumerate().map(|(at, &old)| if at == dimension { extent } else { old }).collect();
    TensorType { element: ty.element, shape }
}

/// A program whose sets are being merged.
struct Merging<'p> {
    program: &'p TensorProgram,
    sets: &'p [Set],
    /// What each set was merged into.
    merged: Vec<Option<TensorId>>,
    builder: Rebuild,
}

impl Merging<'_> {
    /// Computes a set's columns at once, and each member's tensor as a slice.
    fn merge(&mut self, number: usize) {
        let set = &self.sets[number];
        let lead = &self.program.statements[set.members[0]];
        let expr = compute(lead);
        let member = set.reads.map(|read| {
            let tensor = self.program.statements[self.sets[read].members[0]].output;
            MemberRead { tensor, set: read, dimension: self.sets[read].dimension(self.program) }
        });
        let (column, parts) = columns(self.program, lead, expr, member).expect("members of sets have a column");
        debug_assert_eq!(column, set.column);
        let extents: Vec<usize> =
            set.members.iter().map(|&member| compute(&self.program.statements[member]).axes[column].extent).collect();
        let operands: Vec<TensorId> =
            parts.iter().enumerate().map(|(position, part)| self.operand(set, position, *part)).collect();
        let origins = union(set.members.iter().map(|&member| &self.program.statements[member]));
        let wide = with_columns(expr, column, &parts, extents.iter().sum());
        let output = self.builder.compute(origins, wide, &operands);
        self.merged[number] = Some(output);
        let dimension = set.dimension(self.program);
        let mut first = 0;
        for (&member, extent) in set.members.iter().zip(extents) {
            let statement = &self.program.statements[member];
            let slice = slice(self.builder.ty(output), dimension, first, extent);
            // A slice is no node's work: its readers come from no more nodes for reading it.
            self.builder.define(statement, Origins::new(), slice, &[output]);
            first += extent;
        }
    }

    fn operand(&mut self, set: &Set, position: usize, part: OperandRole) -> TensorId {
        match part {
            OperandRole::Shared(tensor) => self.builder.map(tensor),
            OperandRole::Member(read, _) => self.merged[read].expect("a set comes after those that it reads"),
            OperandRole::Constant(dimension) => {
                let value = |&member: &StatementId| {
                    let tensor = self.program.statements[member].operands[position];
                    self.program.packable(tensor).expect("the operand is a constant")
                };
                let parts: Vec<&Tensor> = set.members.iter().map(value).collect();
                self.builder.constant(concat(&parts, dimension))
            }
        }
    }
}

fn compute(statement: &Statement) -> &TensorExpr {
    match &statement.definition {
        Definition::Compute(expr) => expr,
        Definition::Opaque(_) | Definition::Concat { .. } => unreachable!("concats are no siblings"),
    }
}

/// `extent` columns of a tensor from `first` on.
fn slice(ty: &TensorType, dimension: usize, first: usize, extent: usize) -> TensorExpr {
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&resized(ty, dimension, extent).shape);
    let mut index: Vec<Index> = axes.into_iter().map(Index::axis).collect();
    index[dimension] = index[dimension].plus(first as i64);
    let operand = expr.operand(ty);
    let read = expr.read(operand, index);
    expr.map(ty.element, read)
}

/// Tensors end to end along a dimension.
fn concat(parts: &[&Tensor], dimension: usize) -> Tensor {
    let first = parts[0].ty();
    let outer: usize = first.shape[..dimension].iter().product();
    let extent = parts.iter().map(|part| part.shape()[dimension]).sum();
    let mut bytes = Vec::with_capacity(parts.iter().map(|part| part.bytes().len()).sum());
    for at in 0..outer {
        for part in parts {
            let run = part.bytes().len() / outer;
            bytes.extend_from_slice(&part.bytes()[at * run..(at + 1) * run]);
        }
    }
    Tensor::from_bytes(resized(first, dimension, extent), bytes.into()).expect("as many bytes as the parts have")
}
