//! Online softmax: the law of its states, and what it is found in.

use proptest::prelude::*;
use warpweave_graph::ElementType;
use warpweave_graph::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar, TensorExpr, UnaryOp};
use warpweave_graph::online_softmax::{Arithmetic, Law, Named, OnlineSoftmax};
use warpweave_graph::types::TensorType;

/// Singles, as a kernel computes.
struct Numbers;

impl Arithmetic for Numbers {
    type Value = f32;

    fn number(&mut self, value: f32) -> f32 {
        value
    }

    fn maximum(&mut self, left: &f32, right: &f32) -> f32 {
        if left.is_nan() || right.is_nan() { f32::NAN } else { left.max(*right) }
    }

    fn sum(&mut self, left: &f32, right: &f32) -> f32 {
        left + right
    }

    fn difference(&mut self, left: &f32, right: &f32) -> f32 {
        left - right
    }

    fn product(&mut self, left: &f32, right: &f32) -> f32 {
        left * right
    }

    fn exponential(&mut self, of: &f32) -> f32 {
        of.exp()
    }

    fn replace(&mut self, of: &f32, [left, right]: [&f32; 2], then: &f32) -> f32 {
        if left == right { *then } else { *of }
    }
}

#[derive(Clone, Copy, Debug)]
struct State {
    maximum: f32,
    total: f32,
    weighed: f32,
}

const NEUTRAL: State = State { maximum: f32::NEG_INFINITY, total: 0.0, weighed: 0.0 };

impl State {
    fn of((score, value): (f32, f32)) -> Self {
        let reference = Law::reference(&mut Numbers, &score);
        let power = Law::power(&mut Numbers, &score, &reference);
        Self { maximum: score, total: power, weighed: power * value }
    }

    fn combined(self, other: Self) -> Self {
        let maximum = Numbers.maximum(&self.maximum, &other.maximum);
        let reference = Law::reference(&mut Numbers, &maximum);
        let [own, others] = [self, other].map(|state| Law::power(&mut Numbers, &state.maximum, &reference));
        let sum = |left: f32, right: f32| Law::rescaled(&mut Numbers, &left, &own, &(right * others));
        Self { maximum, total: sum(self.total, other.total), weighed: sum(self.weighed, other.weighed) }
    }

    fn finished(self) -> f32 {
        let finish = |sum: f32| Law::finished(&mut Numbers, &sum, &self.maximum);
        finish(self.weighed) / finish(self.total)
    }
}

/// The passes one after another, in doubles.
fn in_passes(elements: &[(f32, f32)]) -> f64 {
    let nan = elements.iter().any(|(score, _)| score.is_nan());
    let largest = elements.iter().map(|(score, _)| f64::from(*score)).fold(f64::NEG_INFINITY, f64::max);
    let maximum = if nan { f64::NAN } else { largest };
    let powers: Vec<f64> = elements.iter().map(|(score, _)| (f64::from(*score) - maximum).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.iter().zip(elements).map(|(power, (_, value))| power / total * f64::from(*value)).sum()
}

fn is_close(found: f32, expected: f64) -> bool {
    found.is_nan() && expected.is_nan() || (f64::from(found) - expected).abs() <= 1e-4 * expected.abs().max(1.0)
}

/// Combines states in the order that `cuts` chooses, one pair of neighbours after another.
fn combined(states: Vec<State>, cuts: &[usize]) -> State {
    let mut left = states;
    let mut cuts = cuts.iter().cycle();
    while left.len() > 1 {
        let at = cuts.next().copied().unwrap_or(0) % (left.len() - 1);
        let other = left.remove(at + 1);
        left[at] = left[at].combined(other);
    }
    left.pop().unwrap_or(NEUTRAL)
}

fn score() -> impl Strategy<Value = f32> {
    prop_oneof![
        12 => -80.0f32..80.0,
        4 => Just(f32::NEG_INFINITY),
        1 => Just(f32::INFINITY),
        1 => Just(f32::NAN),
    ]
}

proptest! {
    #[test]
    fn any_order_of_combination_agrees_with_passes(
        elements in prop::collection::vec((score(), -10.0f32..10.0), 1..24),
        cuts in prop::collection::vec(0usize..24, 1..24),
    ) {
        let found = combined(elements.iter().copied().map(State::of).collect(), &cuts).finished();
        let expected = in_passes(&elements);
        prop_assert!(is_close(found, expected), "{found} instead of {expected}");
    }

    #[test]
    fn masked_elements_are_neutral(
        elements in prop::collection::vec((-80.0f32..80.0, -10.0f32..10.0), 1..8),
        masked in prop::collection::vec(-10.0f32..10.0, 0..8),
    ) {
        let all = |elements: &[(f32, f32)]| combined(elements.iter().copied().map(State::of).collect(), &[0]).finished();
        let hidden = masked.iter().map(|value| (f32::NEG_INFINITY, *value));
        let with: Vec<(f32, f32)> = hidden.chain(elements.iter().copied()).collect();
        prop_assert_eq!(all(&with).to_bits(), all(&elements).to_bits());
        let state = State::of(elements[0]);
        prop_assert_eq!(NEUTRAL.combined(state).finished().to_bits(), state.finished().to_bits());
    }
}

/// What the expressions below read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Scores,
    Mask,
    Maximum,
    Total,
}

const ROWS: usize = 3;
const KEYS: usize = 5;

/// Where the expressions depart from a softmax, or say the same otherwise.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    Plain,
    /// `exp(s − m) · (1 / l)`, and `s + (−m)`.
    Inverse,
    /// No division.
    Exponentials,
    /// The sum is of the squares of the exponentials.
    OtherTotal,
    /// The maximum is of the scores without their mask.
    OtherMaximum,
    /// The maximum is a minimum.
    Minimum,
}

fn expressions(variant: Variant) -> [(TensorExpr, Vec<Name>); 3] {
    let whole = TensorType::new(ElementType::F32, [ROWS, KEYS]);
    let row = TensorType::new(ElementType::F32, [ROWS, 1]);
    let scored = |expr: &mut ExprBuilder, place: &[Index], mask: bool| {
        let operands = [expr.operand(&whole), expr.operand(&whole)];
        let [score, masked] = operands.map(|operand| expr.read(operand, place.to_vec()));
        if mask { score.binary(BinaryOp::Add, masked) } else { score }
    };
    let distance = |expr: &mut ExprBuilder, place: &[Index]| {
        let score = scored(expr, place, true);
        let operand = expr.operand(&row);
        let maximum = expr.read(operand, vec![place[0].clone(), Index::constant(0)]);
        match variant {
            Variant::Inverse => score.binary(BinaryOp::Add, maximum.unary(UnaryOp::Negate)),
            _ => score.binary(BinaryOp::Subtract, maximum),
        }
    };
    let rows = |expr: &mut ExprBuilder| {
        let axes = expr.parallels(&[ROWS, 1]);
        vec![Index::axis(axes[0]), Index::axis(expr.reduced(KEYS))]
    };

    let mut expr = ExprBuilder::new();
    let place = rows(&mut expr);
    let body = scored(&mut expr, &place, variant != Variant::OtherMaximum);
    let reducer = if variant == Variant::Minimum { Reducer::Minimum } else { Reducer::Maximum };
    let maximum = expr.reduce(ElementType::F32, reducer, body, None);

    let mut expr = ExprBuilder::new();
    let place = rows(&mut expr);
    let power = distance(&mut expr, &place).unary(UnaryOp::Exp);
    let body = match variant {
        Variant::OtherTotal => power.clone().binary(BinaryOp::Multiply, power),
        _ => power,
    };
    let total = expr.reduce(ElementType::F32, Reducer::Sum, body, None);

    let mut expr = ExprBuilder::new();
    let place: Vec<Index> = expr.parallels(&[ROWS, KEYS]).into_iter().map(Index::axis).collect();
    let power = distance(&mut expr, &place).unary(UnaryOp::Exp);
    let operand = expr.operand(&row);
    let sum = expr.read(operand, vec![place[0].clone(), Index::constant(0)]);
    let body = match variant {
        Variant::Exponentials => power,
        Variant::Inverse => {
            let one = Scalar::literal(ElementType::F32, 1.0);
            power.binary(BinaryOp::Multiply, one.binary(BinaryOp::Divide, sum))
        }
        _ => power.binary(BinaryOp::Divide, sum),
    };
    let weights = expr.map(ElementType::F32, body);
    let names = vec![Name::Scores, Name::Mask, Name::Maximum, Name::Total];
    [(weights, names.clone()), (maximum, names[..2].to_vec()), (total, names[..3].to_vec())]
}

#[track_caller]
fn check(variant: Variant, is_softmax: bool) {
    let [weights, maximum, total] = expressions(variant);
    let named = |(expr, operands): &'static (TensorExpr, Vec<Name>)| Named { expr, operands };
    let [weights, maximum, total] = [weights, maximum, total].map(|part| named(Box::leak(Box::new(part))));
    let found = OnlineSoftmax::of(weights, |name| match name {
        Name::Maximum => Some(maximum),
        Name::Total => Some(total),
        Name::Scores | Name::Mask => None,
    });
    let name = |read| weights.operands[weights.expr.reads[read].operand];
    let found = found.map(|found| (found.axis, name(found.maximum), name(found.total)));
    let keys = weights.expr.parallel().nth(1).expect("the weights have keys");
    assert_eq!(found, is_softmax.then_some((keys, Name::Maximum, Name::Total)));
}

#[test]
fn a_softmax_is_found_however_it_is_written() {
    check(Variant::Plain, true);
    check(Variant::Inverse, true);
}

#[test]
fn other_reductions_are_none() {
    for variant in [Variant::Exponentials, Variant::OtherTotal, Variant::OtherMaximum, Variant::Minimum] {
        check(variant, false);
    }
}
