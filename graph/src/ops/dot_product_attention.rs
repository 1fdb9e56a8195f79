//! Scaled dot-product attention over heads, as the attention operators share it.

use super::softmax::Softmax;
use super::{compose, movement};
use crate::expr::{BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar, UnaryOp};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType};

/// Queries `[N, H, S, D]`, keys `[N, G, T, D]` and values `[N, G, T, E]`, where G divides H: heads of one group share keys
/// and values.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// The queries.
    pub queries: TensorId,
    /// The keys.
    pub keys: TensorId,
    /// The values.
    pub values: TensorId,
}

/// What becomes of a query's product with a key before the softmax.
#[derive(Clone, Copy, Debug)]
pub struct Scoring {
    /// Multiplies the product.
    pub scale: f32,
    /// The bound c of c · tanh(x / c), if scores are bounded.
    pub softcap: Option<f32>,
    /// A mask that broadcasts to `[N, H, S, T]` and may end before T: truth values that say which keys count, or numbers that
    /// are added. Keys behind its end do not count.
    pub mask: Option<TensorId>,
    /// Query `i` sees keys up to `i + offset`, if that is limited.
    pub causal: Option<usize>,
    /// How many keys of each element of the batch count.
    pub lengths: Option<TensorId>,
    /// The type in which the softmax is computed.
    pub precision: ElementType,
}

/// What attention computes on the way.
#[derive(Clone, Copy, Debug)]
pub struct Attended {
    /// The scaled products.
    pub products: TensorId,
    /// The bounded products.
    pub bounded: TensorId,
    /// What the softmax is applied to.
    pub masked: TensorId,
    /// The softmax.
    pub weights: TensorId,
    /// The sums of values, `[N, H, S, E]`.
    pub output: TensorId,
}

/// Appends attention.
pub fn attend(program: &mut ProgramBuilder, heads: Heads, scoring: &Scoring) -> Attended {
    let element = program.ty(heads.queries).element;
    let products = products(program, heads, scoring.scale);
    let bounded = match scoring.softcap {
        None => products,
        Some(bound) => compose::map(program, [products], element, |[x]| {
            let bound = || Scalar::literal(element, f64::from(bound));
            x.binary(BinaryOp::Divide, bound()).unary(UnaryOp::Tanh).binary(BinaryOp::Multiply, bound())
        }),
    };
    let masked = masked(program, bounded, scoring);
    let precise = compose::cast(program, masked, scoring.precision);
    let weights = program.apply(&Softmax::along(3), &[Some(precise)], 1)[0];
    let weights = compose::cast(program, weights, element);
    let output = sums(program, weights, heads.values);
    Attended { products, bounded, masked, weights, output }
}

/// `[N, S, H · D]` as `[N, H, S, D]`.
pub fn split_heads(program: &mut ProgramBuilder, tensor: TensorId, heads: usize) -> TensorId {
    let [batch, length, width] = extents(program.ty(tensor));
    let split = movement::reshape(program, tensor, &[batch, length, heads, width / heads.max(1)].into());
    movement::transpose(program, split, &[0, 2, 1, 3])
}

/// `[N, H, S, D]` as `[N, S, H · D]`.
pub fn merge_heads(program: &mut ProgramBuilder, tensor: TensorId) -> TensorId {
    let [batch, heads, length, width] = extents(program.ty(tensor));
    let moved = movement::transpose(program, tensor, &[0, 2, 1, 3]);
    movement::reshape(program, moved, &[batch, length, heads * width].into())
}

fn extents<const N: usize>(ty: &TensorType) -> [usize; N] {
    std::array::from_fn(|at| ty.shape[at])
}

fn products(program: &mut ProgramBuilder, heads: Heads, scale: f32) -> TensorId {
    let (queries, keys) = (program.ty(heads.queries).clone(), program.ty(heads.keys).clone());
    let ([batch, count, length, width], [_, groups, total, _]) = (extents(&queries), extents(&keys));
    let mut expr = ExprBuilder::new();
    let [n, h, i, j] = [batch, count, length, total].map(|extent| expr.parallel(extent));
    let d = expr.reduced(width);
    let group = Index::axis(h).floor_div((count / groups.max(1)).max(1) as i64, &|axis| expr.range(axis));
    let (q, k) = (expr.operand(&queries), expr.operand(&keys));
    let q = expr.read(q, [n, h, i, d].map(Index::axis).to_vec());
    let k = expr.read(k, vec![Index::axis(n), group, Index::axis(j), Index::axis(d)]);
    let scaled = Scalar::Reduced.binary(BinaryOp::Multiply, Scalar::literal(queries.element, f64::from(scale)));
    let expr = expr.reduce(queries.element, Reducer::Sum, q.binary(BinaryOp::Multiply, k), Some(scaled));
    program.compute(expr, &[heads.queries, heads.keys])
}

fn sums(program: &mut ProgramBuilder, weights: TensorId, values: TensorId) -> TensorId {
    let (weights_ty, values_ty) = (program.ty(weights).clone(), program.ty(values).clone());
    let ([batch, count, length, total], [_, groups, _, width]) = (extents(&weights_ty), extents(&values_ty));
    let mut expr = ExprBuilder::new();
    let [n, h, i, e] = [batch, count, length, width].map(|extent| expr.parallel(extent));
    let j = expr.reduced(total);
    let group = Index::axis(h).floor_div((count / groups.max(1)).max(1) as i64, &|axis| expr.range(axis));
    let (w, v) = (expr.operand(&weights_ty), expr.operand(&values_ty));
    let w = expr.read(w, [n, h, i, j].map(Index::axis).to_vec());
    let v = expr.read(v, vec![Index::axis(n), group, Index::axis(j), Index::axis(e)]);
    let expr = expr.reduce(values_ty.element, Reducer::Sum, w.binary(BinaryOp::Multiply, v), None);
    program.compute(expr, &[weights, values])
}

/// The scores with −∞ where a key does not count for a query.
fn masked(program: &mut ProgramBuilder, scores: TensorId, scoring: &Scoring) -> TensorId {
    if scoring.mask.is_none() && scoring.causal.is_none() && scoring.lengths.is_none() {
        return scores;
    }
    let ty = program.ty(scores).clone();
    let mut operands = vec![scores];
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&ty.shape);
    let operand = expr.operand(&ty);
    let mut score = expr.read(operand, axes.iter().map(|&axis| Index::axis(axis)).collect());
    let never = || Scalar::Literal(Literal::lowest(ty.element));
    if let Some(mask) = scoring.mask {
        let mask_ty = program.ty(mask).clone();
        operands.push(mask);
        let operand = expr.operand(&mask_ty);
        let aligned = &axes[axes.len() - mask_ty.shape.len()..];
        let repeats = |at: usize, extent: usize| extent == 1 && ty.shape[axes.len() - mask_ty.shape.len() + at] != 1;
        let index: Vec<Index> = mask_ty
            .shape
            .iter()
            .enumerate()
            .map(|(at, &extent)| if repeats(at, extent) { Index::constant(0) } else { Index::axis(aligned[at]) })
            .collect();
        let fill = Literal::lowest(mask_ty.element);
        let read = expr.padded_read(operand, index, fill);
        score = match mask_ty.element {
            ElementType::Bool => read.select(score, never()),
            element => score.binary(BinaryOp::Add, read.cast(element, ty.element)),
        };
    }
    if let Some(offset) = scoring.causal {
        let before = Index::axis(axes[2]).plus(offset as i64).add(&Index::axis(axes[3]).times(-1));
        let guard = expr.guard(Guard::always(), before, 0, i64::MAX / 2);
        if !guard.is_always() {
            score = Scalar::Holds(guard).select(score, never());
        }
    }
    if let Some(lengths) = scoring.lengths {
        let lengths_ty = program.ty(lengths).clone();
        operands.push(lengths);
        let operand = expr.operand(&lengths_ty);
        let length = expr.read(operand, vec![Index::axis(axes[0])]);
        let key = Scalar::Index(Index::axis(axes[3]), lengths_ty.element);
        score = key.binary(BinaryOp::Less, length).select(score, never());
    }
    program.compute(expr.map(ty.element, score), &operands)
}
