//! Scaled dot-product attention over heads, as the attention operators share it.

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar, UnaryOp};
use crate::ops::softmax::Softmax;
use crate::ops::{compose, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// Queries `[N, H, S, D]`, keys `[N, G, T, D]` and values `[N, G, T, E]`, where G divides H: heads of one group share keys
/// and values.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    pub queries: TensorId,
    pub keys: TensorId,
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
    /// The keys that a query attends to, by their positions.
    pub window: Window,
    /// The number of valid keys of each element of the batch.
    pub lengths: Option<TensorId>,
    /// The output of a query whose keys are all masked.
    pub without_keys: WithoutKeys,
    /// The type in which the softmax is computed.
    pub precision: ElementType,
}

/// A sliding window of keys around each query's position.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Window {
    /// The positions of the queries.
    pub origin: Origin,
    /// The most keys before its position that a query attends to; `None` for no limit.
    pub before: Option<usize>,
    /// The most keys after its position that a query attends to; `None` for no limit.
    pub behind: Option<usize>,
}

impl Window {
    /// The causal window of queries that follow `past` cached keys.
    pub fn causal(past: usize) -> Self {
        Self { origin: Origin::Behind(past), before: None, behind: Some(0) }
    }
}

/// The position of the first query among the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// After this number of keys.
    Behind(usize),
    /// The last query is at the last valid key, by [`Scoring::lengths`].
    LastAtLength,
}

impl Default for Origin {
    fn default() -> Self {
        Self::Behind(0)
    }
}

/// The output of a query whose keys are all masked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WithoutKeys {
    /// NaN, as the softmax of infinities is.
    NotANumber,
    /// 0; the weights are 0, too.
    Zero,
}

/// What attention computes on the way.
#[derive(Clone, Copy, Debug)]
pub struct Attended {
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
    let bias = Bias { shape: program.ty(bounded).shape.clone(), scoring };
    let masked = bias.masked(program, bounded);
    let softmax = |program: &mut ProgramBuilder, scores: TensorId| {
        let precise = compose::cast(program, scores, scoring.precision);
        let weights = program.apply(&Softmax::along(3), &[Some(precise)], 1)[0];
        compose::cast(program, weights, element)
    };
    let Some(seen) = bias.seen(program) else {
        let weights = softmax(program, masked);
        let output = sums(program, weights, heads.values);
        return Attended { products, bounded, masked, weights, output };
    };
    // The softmax of finite scores, unlike that of −∞ alone, has finite gradients.
    let finite = where_seen(program, seen, masked);
    let weights = softmax(program, finite);
    let output = sums(program, weights, heads.values);
    let [weights, output] = [weights, output].map(|value| where_seen(program, seen, value));
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

/// A tensor `[N, H, S, ·]` with 0 for queries whose keys are all masked.
fn where_seen(program: &mut ProgramBuilder, seen: TensorId, of: TensorId) -> TensorId {
    let [seen_ty, ty] = [seen, of].map(|tensor| program.ty(tensor).clone());
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&ty.shape);
    let operand = expr.operand(&seen_ty);
    let seen_here = expr.broadcast_read(operand, &axes);
    let operand = expr.operand(&ty);
    let value = expr.broadcast_read(operand, &axes);
    let zero = Scalar::literal(ty.element, 0.0);
    let expr = expr.map(ty.element, seen_here.select(value, zero));
    program.compute(expr, &[seen, of])
}

/// The attention bias: masks of keys by query, and the numbers that are added to scores.
struct Bias<'s> {
    /// `[N, H, S, T]`.
    shape: Shape,
    scoring: &'s Scoring,
}

/// The parts of a bias in an expression over axes of batch, heads, queries and keys.
struct Parts {
    /// The element of [`Scoring::mask`] and its type.
    mask: Option<(Scalar, ElementType)>,
    /// The conditions under which a key is not masked, all of which must hold.
    counts: Vec<Scalar>,
    operands: Vec<TensorId>,
}

impl Bias<'_> {
    /// The biased scores: −∞ where a key is masked.
    fn masked(&self, program: &mut ProgramBuilder, scores: TensorId) -> TensorId {
        let ty = program.ty(scores).clone();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let operand = expr.operand(&ty);
        let score = expr.broadcast_read(operand, &axes);
        let parts = self.parts(program, &mut expr, &axes);
        if parts.mask.is_none() && parts.counts.is_empty() {
            return scores;
        }
        let never = || Scalar::Literal(Literal::lowest(ty.element));
        let added = match parts.mask {
            None => score,
            Some((mask, ElementType::Bool)) => mask.select(score, never()),
            Some((mask, element)) => score.binary(BinaryOp::Add, mask.cast(element, ty.element)),
        };
        let body = parts.counts.into_iter().fold(added, |score, counts| counts.select(score, never()));
        let operands: Vec<TensorId> = [scores].into_iter().chain(parts.operands).collect();
        program.compute(expr.map(ty.element, body), &operands)
    }

    /// Truth values that broadcast to `[N, H, S, 1]`: whether a query has a key that is not masked. `None` if every query has
    /// one, or if queries without one give NaN.
    fn seen(&self, program: &mut ProgramBuilder) -> Option<TensorId> {
        let Scoring { mask, window, lengths, without_keys, .. } = *self.scoring;
        let &[_, _, length, keys] = &self.shape[..] else { unreachable!("scores have four dimensions") };
        let reaches = |past: usize| window.before.is_none_or(|most| past + length <= keys.saturating_add(most));
        let is_reached = matches!(window.origin, Origin::Behind(past) if reaches(past));
        let always = keys == 0 || (is_reached && mask.is_none() && lengths.is_none());
        if without_keys == WithoutKeys::NotANumber || always {
            return None;
        }
        let mask_ty = mask.map(|mask| program.ty(mask).clone());
        let of_mask = |dimension: usize| {
            let aligned = |ty: &TensorType| (dimension + ty.shape.len()).checked_sub(4).map_or(1, |at| ty.shape[at]);
            mask_ty.as_ref().map_or(1, aligned)
        };
        let is_windowed = window.before.is_some() || window.behind.is_some();
        let batch = if lengths.is_some() { self.shape[0] } else { of_mask(0) };
        let queries = if is_windowed { self.shape[2] } else { of_mask(2) };
        let mut expr = ExprBuilder::new();
        let outer = expr.parallels(&[batch, of_mask(1), queries, 1]);
        let key = expr.reduced(self.shape[3]);
        let parts = self.parts(program, &mut expr, &[outer[0], outer[1], outer[2], key]);
        let [one, zero] = [1.0, 0.0].map(|value| Scalar::literal(ElementType::F32, value));
        let open = match parts.mask {
            None => one,
            Some((mask, ElementType::Bool)) => mask.select(one, zero.clone()),
            Some((mask, element)) => {
                let wide = if element == ElementType::F64 { element } else { ElementType::F32 };
                let lowest = Scalar::Literal(Literal::lowest(wide));
                lowest.binary(BinaryOp::Less, mask.cast(element, wide)).select(one, zero.clone())
            }
        };
        let counted = parts.counts.into_iter().fold(open, |open, counts| counts.select(open, zero.clone()));
        let any = zero.binary(BinaryOp::Less, Scalar::Reduced);
        let expr = expr.reduce(ElementType::Bool, Reducer::Maximum, counted, Some(any));
        Some(program.compute(expr, &parts.operands))
    }

    fn parts(&self, program: &ProgramBuilder, expr: &mut ExprBuilder, axes: &[AxisId]) -> Parts {
        let Scoring { mask, window, lengths, .. } = *self.scoring;
        let mut parts = Parts { mask: None, counts: Vec::new(), operands: Vec::new() };
        let [query, key] = [axes[2], axes[3]];
        if let Some(mask) = mask {
            let ty = program.ty(mask).clone();
            parts.operands.push(mask);
            let operand = expr.operand(&ty);
            let missing = axes.len() - ty.shape.len();
            let index = ty.shape.iter().zip(&axes[missing..]).zip(&self.shape[missing..]);
            let index = index.map(|((&extent, &axis), &whole)| match extent {
                1 if whole != 1 => Index::constant(0),
                _ => Index::axis(axis),
            });
            let read = expr.padded_read(operand, index.collect(), Literal::lowest(ty.element));
            parts.mask = Some((read, ty.element));
        }
        let length = lengths.map(|lengths| {
            let ty = program.ty(lengths).clone();
            parts.operands.push(lengths);
            let operand = expr.operand(&ty);
            (expr.read(operand, vec![Index::axis(axes[0])]), ty.element)
        });
        if let Some((length, element)) = &length {
            let at = Scalar::Index(Index::axis(key), *element);
            parts.counts.push(at.binary(BinaryOp::Less, length.clone()));
        }
        match (window.origin, length) {
            (Origin::Behind(past), _) => {
                // The query's position minus the key's.
                let before = Index::axis(query).plus(past as i64).add(&Index::axis(key).times(-1));
                let most = window.before.map_or(i64::MAX / 2, |most| most as i64);
                let least = window.behind.map_or(i64::MIN / 2, |most| -(most as i64));
                let guard = expr.guard(Guard::always(), before, least, most + 1);
                if !guard.is_always() {
                    parts.counts.push(Scalar::Holds(guard));
                }
            }
            (Origin::LastAtLength, Some((length, element))) => {
                // The same, without the number of keys that count.
                let before = Index::axis(query).plus(-(self.shape[2] as i64)).add(&Index::axis(key).times(-1));
                let before = length.binary(BinaryOp::Add, Scalar::Index(before, element));
                let bound = |value: i64| Scalar::Literal(Literal::integer(element, value));
                if let Some(most) = window.before {
                    parts.counts.push(before.clone().binary(BinaryOp::LessEqual, bound(most as i64)));
                }
                if let Some(most) = window.behind {
                    parts.counts.push(bound(-(most as i64)).binary(BinaryOp::LessEqual, before));
                }
            }
            (Origin::LastAtLength, None) => unreachable!("an operator with this origin has lengths"),
        }
        parts
    }
}
