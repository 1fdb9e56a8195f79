//! Reductions that compare each of many places with each of many keys, by sorting.
//!
//! Places and keys are sorted together, stably and places first. So a place stands behind the keys below it, and before those
//! that are equal to it.

use super::rebuild::Rebuild;
use crate::expr::{Axis, AxisId, AxisKind, BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar, TensorExpr};
use crate::ops::keyed_sums::{self, KEY};
use crate::ops::{compose, ordering};
use crate::procedure::sort::Direction;
use crate::program::{Definition, ProgramBuilder, TensorId, TensorProgram};
use crate::types::{ElementType, TensorType};

/// Most pairs of a place and a key that are compared: as many take a processor as long as sorting the places and keys.
const MOST_PAIRS: usize = 1 << 16;

/// The program with reductions over pairs of places and keys by sorting. Sums are taken in the order of the keys.
pub fn sort_keys(program: &TensorProgram) -> TensorProgram {
    let mut sorted = false;
    let mut rebuild = Rebuild::new(program);
    for statement in program.statements.values() {
        let found = match &statement.definition {
            Definition::Compute(expr) => {
                Keyed::of(expr).filter(|keyed| keyed.places.saturating_mul(keyed.keys) > MOST_PAIRS)
            }
            Definition::Opaque(_) | Definition::Concat { .. } => None,
        };
        match found {
            Some(keyed) => {
                let operands = [keyed.operand, keyed.slices].map(|operand| rebuild.map(statement.operands[operand]));
                rebuild.append(statement, |builder| keyed.append(builder, operands));
                sorted = true;
            }
            None => _ = rebuild.keep(statement),
        }
    }
    // A sum by sorted keys counts the keys below each place.
    if sorted { sort_keys(&rebuild.finish(program)) } else { program.clone() }
}

/// What is found of the keys for each place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    /// The number of the last key that is equal to it, or −1.
    Last,
    /// How many keys are below it, at most one less than there are.
    Below,
    /// The sum of the slices of the keys that are equal to it; a slice has so many elements.
    Sum { element: ElementType, width: usize },
}

/// A reduction of so many keys for each of so many places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Keyed {
    wanted: Wanted,
    places: usize,
    keys: usize,
    /// The operand with the keys.
    operand: usize,
    /// The operand with the slices, if there are any.
    slices: usize,
}

impl Keyed {
    fn of(expr: &TensorExpr) -> Option<Self> {
        let axes: Vec<(AxisId, &Axis)> = expr.axes.iter().collect();
        let (&(place, of_place), rest) = axes.split_first()?;
        let (&(key, of_key), inner) = rest.split_last()?;
        if of_place.kind != AxisKind::Parallel
            || of_key.kind != AxisKind::Reduced
            || expr.element != expr.body_element()
        {
            return None;
        }
        let is_number = |scalar: &Scalar, axis: AxisId| *scalar == Scalar::Index(Index::axis(axis), KEY);
        let read_at = |scalar: &Scalar, axes: &[AxisId]| {
            let Scalar::Read(read) = scalar else { return None };
            let read = &expr.reads[*read];
            let is_plain = read.guard.is_always() && read.index.len() == axes.len();
            let is_at = read.index.iter().zip(axes).all(|(index, &axis)| *index == Index::axis(axis));
            (is_plain && is_at).then_some(read.operand)
        };
        let found = |wanted, operand: usize, slices: usize| {
            let is_key = expr.operands[operand].element == KEY;
            let (places, keys) = (of_place.extent, of_key.extent);
            is_key.then_some(Self { wanted, places, keys, operand, slices })
        };
        match (&expr.body, expr.reducer, &expr.epilogue, inner) {
            (Scalar::Select(goes, then, otherwise), Some(reducer), None, inner) => {
                let Scalar::Binary(BinaryOp::Equal, named, own) = &**goes else { return None };
                let operand = read_at(named, &[key]).filter(|_| is_number(own, place))?;
                let is_none = |value: f64| **otherwise == Scalar::literal(expr.element, value);
                match (reducer, inner) {
                    (Reducer::Maximum, []) if expr.element == KEY && is_number(then, key) && is_none(-1.0) => {
                        found(Wanted::Last, operand, operand)
                    }
                    (Reducer::Sum, &[(inner, axis)]) if axis.kind == AxisKind::Parallel && is_none(0.0) => {
                        let slices = read_at(then, &[key, inner])?;
                        let wanted = Wanted::Sum { element: expr.element, width: axis.extent };
                        let is_exact = !expr.element.is_float() || expr.element.bits() >= 32;
                        let is_stored = expr.operands[slices].element == expr.element;
                        found(wanted, operand, slices).filter(|_| is_exact && is_stored)
                    }
                    _ => None,
                }
            }
            (Scalar::Cast(_, below), Some(Reducer::Sum), Some(epilogue), []) if expr.element == KEY => {
                let Scalar::Binary(BinaryOp::Less, named, own) = &**below else { return None };
                let operand = read_at(named, &[key]).filter(|_| is_number(own, place))?;
                let last = Scalar::Literal(Literal::integer(KEY, of_key.extent as i64 - 1));
                let is_capped = *epilogue == Scalar::Reduced.binary(BinaryOp::Minimum, last);
                found(Wanted::Below, operand, operand).filter(|_| is_capped)
            }
            _ => None,
        }
    }

    fn append(self, program: &mut ProgramBuilder, [keys, slices]: [TensorId; 2]) -> TensorId {
        match self.wanted {
            Wanted::Sum { element, width } => {
                let table = TensorType::new(element, [self.places, width]);
                keyed_sums::scatter_add(program, &table, 0, [slices, keys])
            }
            Wanted::Below => {
                let [_, stands] = self.joined(program, keys);
                let last = Scalar::Literal(Literal::integer(KEY, self.keys as i64 - 1));
                let mut expr = ExprBuilder::new();
                let place = expr.parallel(self.places);
                let operand = expr.operand(program.ty(stands));
                let stands_at = expr.read(operand, vec![Index::axis(place)]).cast(ElementType::I64, KEY);
                let below = stands_at.binary(BinaryOp::Subtract, Scalar::Index(Index::axis(place), KEY));
                program.compute(expr.map(KEY, below.binary(BinaryOp::Minimum, last)), &[stands])
            }
            Wanted::Last => {
                let [order, stands] = self.joined(program, keys);
                let before = self.before_the_next(program, stands);
                let mut expr = ExprBuilder::new();
                let place = expr.parallel(self.places);
                let [before_at, order_at] = [before, order].map(|tensor| expr.operand(program.ty(tensor)));
                let before_read = expr.read(before_at, vec![Index::axis(place)]);
                let stands = expr.indirect(&before_read, self.places + self.keys);
                let found = expr.read(order_at, vec![stands]).cast(ElementType::I64, KEY);
                let first = Scalar::Literal(Literal::integer(KEY, self.places as i64));
                let number = found.clone().binary(BinaryOp::Subtract, first.clone());
                let none = Scalar::literal(KEY, -1.0);
                let body = found.binary(BinaryOp::Less, first).select(none, number);
                program.compute(expr.map(KEY, body), &[before, order])
            }
        }
    }

    /// Appends places and keys, in this order, sorted together: the order, and where in it each of them stands.
    fn joined(self, program: &mut ProgramBuilder, keys: TensorId) -> [TensorId; 2] {
        let mut expr = ExprBuilder::new();
        let all = expr.parallel(self.places + self.keys);
        let own = Scalar::Index(Index::axis(all), KEY);
        let behind = Index::axis(all).plus(-(self.places as i64));
        let guard = expr.guard(Guard::always(), behind.clone(), 0, self.keys as i64);
        let operand = expr.operand(program.ty(keys));
        let key = expr.guarded_read(operand, vec![behind], guard, Literal::integer(KEY, 0));
        let is_place = own.clone().binary(BinaryOp::Less, Scalar::Literal(Literal::integer(KEY, self.places as i64)));
        let joined = program.compute(expr.map(KEY, is_place.select(own, key)), &[keys]);
        let order = ordering::by_keys(program, vec![joined], Direction::Ascending);
        let numbers = compose::cast(program, order, KEY);
        [order, ordering::by_keys(program, vec![numbers], Direction::Ascending)]
    }

    /// Appends, for each place, the number before that where the next place stands.
    fn before_the_next(self, program: &mut ProgramBuilder, stands: TensorId) -> TensorId {
        let mut expr = ExprBuilder::new();
        let place = expr.parallel(self.places);
        let next = Index::axis(place).plus(1);
        let guard = expr.guard(Guard::always(), next.clone(), 0, self.places as i64);
        let operand = expr.operand(program.ty(stands));
        let end = Literal::integer(ElementType::I64, (self.places + self.keys) as i64);
        let next = expr.guarded_read(operand, vec![next], guard, end);
        let one = Scalar::Literal(Literal::integer(ElementType::I64, 1));
        program.compute(expr.map(ElementType::I64, next.binary(BinaryOp::Subtract, one)), &[stands])
    }
}
