//! Factors that many products read across are transposed once.
//!
//! A block fetches neighbours along columns together. Where a factor's neighbours lie along the reduction instead, every
//! product transposes what it fetches. The steps of a sequence read the same weights, so that one transposed copy serves all.

use std::collections::BTreeMap;

use super::rewriting::rebuild::Rebuild;
use crate::expr::{AxisKind, BinaryOp, ExprBuilder, Index, Read, ReadId, Reducer, Scalar, TensorExpr};
use crate::program::{Definition, Statement, TensorId, TensorProgram};
use crate::types::{Shape, TensorType};

/// Products that read a factor across, from which a copy on pays.
const FEWEST_READERS: usize = 16;
/// Rows of a product from which blocks of threads share what they fetch of its columns. Products of fewer rows walk along the
/// reduction.
const FEWEST_ROWS: usize = 16;

/// A tensor and the dimension that changes places with its innermost.
type Transposition = (TensorId, usize);

/// The program with a transposed copy of every factor that so many products read across. Values are unchanged bit for bit.
pub fn transpose_factors(program: &TensorProgram) -> TensorProgram {
    let mut readers: BTreeMap<Transposition, usize> = BTreeMap::new();
    for statement in program.statements.values() {
        transpositions(statement).for_each(|(_, transposition)| *readers.entry(transposition).or_default() += 1);
    }
    readers.retain(|_, count| *count >= FEWEST_READERS);
    if readers.is_empty() {
        return program.clone();
    }
    let mut builder = Rebuild::new(program);
    let mut copies: BTreeMap<Transposition, TensorId> = BTreeMap::new();
    for statement in program.statements.values() {
        let chosen = transpositions(statement).find(|(_, transposition)| readers.contains_key(transposition));
        let (Some((read, transposition)), Definition::Compute(expr)) = (chosen, &statement.definition) else {
            builder.keep(statement);
            continue;
        };
        let (tensor, dimension) = transposition;
        let copy = *copies.entry(transposition).or_insert_with(|| {
            let copy = movement(&program.tensors[tensor].ty, dimension);
            let original = builder.map(tensor);
            builder.compute(statement.origins.clone(), copy, &[original])
        });
        let mut operands: Vec<TensorId> = statement.operands.iter().map(|&operand| builder.map(operand)).collect();
        let mut expr = expr.clone();
        let operand = expr.reads[read].operand;
        operands[operand] = copy;
        expr.operands[operand] = builder.ty(copy).clone();
        swap_with_last(&mut expr.reads[read].index, dimension);
        builder.define(statement, statement.origins.clone(), expr, &operands);
    }
    builder.finish(program).pruned()
}

/// The factors that a statement reads across.
fn transpositions(statement: &Statement) -> impl Iterator<Item = (ReadId, Transposition)> {
    let product = statement.definition.expr().and_then(|expr| Some((expr, factors(expr)?)));
    product.into_iter().flat_map(move |(expr, factors)| {
        factors.into_iter().flatten().filter_map(move |id| {
            let read = &expr.reads[id];
            let dimension = across(expr, read)?;
            Some((id, (statement.operands[read.operand], dimension)))
        })
    })
}

/// The reads that are the factors of a sum of products.
fn factors(expr: &TensorExpr) -> Option<[Option<ReadId>; 2]> {
    let Scalar::Binary(BinaryOp::Multiply, left, right) = &expr.body else { return None };
    let read = |factor: &Scalar| match factor {
        Scalar::Read(id) => Some(*id),
        _ => None,
    };
    (expr.reducer == Some(Reducer::Sum)).then(|| [read(left), read(right)])
}

/// The dimension of columns of a plain read of a whole tensor whose innermost dimension is the reduction, if the product has
/// enough rows.
fn across(expr: &TensorExpr, read: &Read) -> Option<usize> {
    let shape = &expr.operands[read.operand].shape;
    let whole = |dimension: usize, kind: AxisKind| {
        let axis = read.index[dimension].as_axis()?;
        (expr.axes[axis].kind == kind && expr.axes[axis].extent == shape[dimension]).then_some(axis)
    };
    let last = shape.len().checked_sub(1)?;
    let mut others = (0..last).filter(|&dimension| shape[dimension] != 1);
    let (dimension, None) = (others.next()?, others.next()) else { return None };
    let column = whole(dimension, AxisKind::Parallel)?;
    let is_only_read = expr.reads.values().filter(|other| other.operand == read.operand).count() == 1;
    let rows: usize = expr.parallel().filter(|axis| *axis != column).map(|axis| expr.axes[axis].extent).product();
    let is_across = whole(last, AxisKind::Reduced).is_some() && read.guard.is_always() && is_only_read;
    (is_across && rows >= FEWEST_ROWS).then_some(dimension)
}

/// A copy with a dimension and the innermost in each other's places.
fn movement(ty: &TensorType, dimension: usize) -> TensorExpr {
    let mut shape: Vec<usize> = ty.shape.to_vec();
    swap_with_last(&mut shape, dimension);
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&Shape::from(shape));
    let mut index: Vec<Index> = axes.into_iter().map(Index::axis).collect();
    swap_with_last(&mut index, dimension);
    let operand = expr.operand(ty);
    let read = expr.read(operand, index);
    expr.map(ty.element, read)
}

fn swap_with_last<T>(places: &mut [T], dimension: usize) {
    let last = places.len() - 1;
    places.swap(dimension, last);
}
