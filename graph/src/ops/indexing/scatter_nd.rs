//! `ScatterND`: slices put where tuples of indices say.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use crate::ops::indices::{Tuples, volume};
use crate::ops::scatter::{self, Combination, KnownUpdates, NUMBER};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, compose, movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, ValueType};

/// The first input, in which every slice of the third is put where a tuple of the second's last dimension says. A negative
/// index counts from the back; one that lies outside is an error.
///
/// Every place looks through all tuples, unless these are constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScatterNd {
    combination: Combination,
}

/// The dimensions of the inputs as three: places, updates, and the elements of a slice.
struct Extents {
    tuples: Tuples,
    places: usize,
    updates: usize,
    slice: usize,
}

impl ScatterNd {
    fn extents(context: &Context) -> Result<Extents, InferError> {
        let (data, indices, updates) = (context.tensor(0)?, context.tensor(1)?, context.tensor(2)?);
        let tuples = Tuples::accept(context, 0)?;
        let (named, slice) = data.shape.split_at(tuples.length);
        let listed = &indices.shape[..indices.shape.len() - 1];
        let expected: Shape = listed.iter().chain(slice).copied().collect();
        if updates.shape != expected || updates.element != data.element {
            return Err(InferError::Mismatch(format!("{updates} are not the slices of {data} that {indices} names")));
        }
        Ok(Extents { places: volume(named), updates: volume(listed), slice: volume(slice), tuples })
    }

    /// Which updates go to each place, where the tuples are known.
    fn known(&self, context: &Context, extents: &Extents) -> Option<KnownUpdates> {
        let tuples = context.fact(1).and_then(|fact| fact.value.as_ref())?.to_i64();
        let named = &context.accepted(0).shape[..extents.tuples.length];
        let place = |update: usize| {
            let tuple = &tuples[update * named.len()..][..named.len()];
            let pairs = named.iter().zip(tuple);
            pairs.fold(0, |place, (&extent, &index)| place * extent + index.rem_euclid(extent as i64) as usize)
        };
        let goes_to: Vec<usize> = (0..extents.updates).map(place).collect();
        KnownUpdates::new(extents.places, &goes_to, self.combination)
    }
}

impl Operator for ScatterNd {
    const NAME: &'static str = "ScatterND";
    const OPSETS: RangeInclusive<i64> = 11..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { combination: Combination::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![self.combination.attribute()]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let extents = Self::extents(context)?;
        let each = if self.combination == Combination::Replace { 1 } else { extents.slice };
        let compared = extents.places.checked_mul(extents.updates).and_then(|pairs| pairs.checked_mul(each));
        let few = scatter::can_be_compared(compared, [extents.places, extents.updates]);
        if !few && self.known(context, &extents).is_none() {
            let (data, updates) = (context.tensor(0)?, context.tensor(2)?);
            return Err(InferError::Unsupported(format!("{updates} are too many updates of {data}")));
        }
        Ok(vec![context.tensor(0)?.clone().into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = Self::extents(context).expect("inference accepted the shapes");
        let [data, tuples, updates] = [0, 1, 2].map(|input| inputs[input].expect("inference found the inputs"));
        let (shape, element) = (context.accepted(0).shape.clone(), context.accepted(0).element);
        if extents.updates == 0 || shape.elements() == 0 {
            return vec![data];
        }
        let flat = movement::reshape(program, data, &[extents.places, extents.slice].into());
        let updates = movement::reshape(program, updates, &[extents.updates, extents.slice].into());
        if let Some(known) = self.known(context, &extents) {
            let result = known.apply(program, self.combination, [flat, updates]);
            return vec![movement::reshape(program, result, &shape)];
        }
        let result = match self.combination {
            Combination::Replace => {
                let places = places(program, context, &extents, tuples);
                let last = last_update(program, &extents, places);
                let last = movement::reshape(program, last, &[extents.places, 1].into());
                scatter::replace(program, flat, updates, last)
            }
            Combination::With(reducer) => {
                let places = places(program, context, &extents, tuples);
                let wide = element.compute();
                let updates = compose::cast(program, updates, wide);
                let mut expr = ExprBuilder::new();
                let (place, inner) = (expr.parallel(extents.places), expr.parallel(extents.slice));
                let update = expr.reduced(extents.updates);
                let operand = expr.operand(program.ty(places));
                let goes = expr.read(operand, vec![Index::axis(update)]);
                let own = Scalar::Index(Index::axis(place), NUMBER);
                let operand = expr.operand(program.ty(updates));
                let value = expr.read(operand, vec![Index::axis(update), Index::axis(inner)]);
                let body = scatter::contribution(wide, reducer, goes.binary(BinaryOp::Equal, own), value);
                let total = program.compute(expr.reduce(wide, reducer, body, None), &[places, updates]);
                scatter::combined(program, reducer, flat, total)
            }
        };
        vec![movement::reshape(program, result, &shape)]
    }
}

/// The number of the place that each tuple names.
fn places(program: &mut ProgramBuilder, context: &Context, extents: &Extents, tuples: TensorId) -> TensorId {
    let length = extents.tuples.length;
    let named: Shape = context.accepted(0).shape[..length].into();
    let tuples = movement::reshape(program, tuples, &[extents.updates, length].into());
    let mut expr = ExprBuilder::new();
    let update = expr.parallel(extents.updates);
    let operand = expr.operand(program.ty(tuples));
    let indices = extents.tuples.places(&mut expr, operand, &[update], &named);
    let body = Scalar::Index(Index::linear(&indices, &named.strides(), 0), NUMBER);
    program.compute(expr.map(NUMBER, body), &[tuples])
}

/// The number of the last update of every place, −1 where there is none.
fn last_update(program: &mut ProgramBuilder, extents: &Extents, places: TensorId) -> TensorId {
    let mut expr = ExprBuilder::new();
    let place = expr.parallel(extents.places);
    let update = expr.reduced(extents.updates);
    let operand = expr.operand(program.ty(places));
    let goes = expr.read(operand, vec![Index::axis(update)]);
    let [own, number] = [place, update].map(|axis| Scalar::Index(Index::axis(axis), NUMBER));
    let body = scatter::last(goes.binary(BinaryOp::Equal, own), number);
    program.compute(expr.reduce(NUMBER, Reducer::Maximum, body, None), &[places])
}
