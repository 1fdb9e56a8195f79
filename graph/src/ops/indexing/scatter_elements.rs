//! `ScatterElements`: elements put where indices along an axis say.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar};
use crate::ops::scatter::{self, Combination, KnownUpdates, NUMBER};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, axes, compose, indices,
    movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The first input, in which every element of the third is put at its own place, except along an axis, where the second
/// gives the index. A negative one counts from the back; one that lies outside is an error.
///
/// Every element of the output looks through the updates along the axis, unless the indices are constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScatterElements {
    axis: i64,
    combination: Combination,
}

impl ScatterElements {
    /// The last update along an axis replaces what is there.
    pub fn replacing(axis: i64) -> Self {
        Self { axis, combination: Combination::Replace }
    }

    /// The axis, for inputs that fit together.
    fn dimension(&self, context: &Context) -> Result<usize, InferError> {
        let (data, places, updates) = (context.tensor(0)?, context.tensor(1)?, context.tensor(2)?);
        let dimension = axes::dimension(self.axis, data.shape.len())?;
        let mut pairs = data.shape.iter().zip(places.shape.iter()).enumerate();
        let same = places.shape == updates.shape && data.element == updates.element;
        if !same
            || places.shape.len() != data.shape.len()
            || !pairs.all(|(at, (have, put))| at == dimension || put <= have)
        {
            return Err(InferError::Mismatch(format!(
                "{updates} cannot be put at {places} along axis {dimension} of {data}"
            )));
        }
        if data.shape[dimension] == 0 && places.shape.checked_elements() != Some(0) {
            return Err(InferError::Mismatch(format!("{data} has no place along axis {dimension}")));
        }
        let compared = data.shape.checked_elements().and_then(|count| count.checked_mul(places.shape[dimension]));
        indices::accept(context, 1, data.shape[dimension])?;
        let few = scatter::can_be_compared(compared, [&data.shape, &places.shape].map(|shape| shape[dimension]));
        if !few && self.known(context, dimension).is_none() {
            return Err(InferError::Unsupported(format!("{updates} are too many updates of {data}")));
        }
        Ok(dimension)
    }

    /// Which updates go to each place of the flat output, where the indices are known.
    fn known(&self, context: &Context, dimension: usize) -> Option<KnownUpdates> {
        let indices = context.fact(1).and_then(|fact| fact.value.as_ref())?;
        let (shape, given) = (&context.accepted(0).shape, indices.shape().clone());
        let (strides, own) = (shape.strides(), given.strides());
        let extent = shape[dimension];
        let place = |(update, index): (usize, i64)| {
            let along = |at: usize| match at == dimension {
                true => index.rem_euclid(extent as i64) as usize,
                false => update / own[at] % given[at],
            };
            (0..given.len()).map(|at| along(at) * strides[at]).sum()
        };
        let goes_to: Vec<usize> = indices.to_i64().into_iter().enumerate().map(place).collect();
        KnownUpdates::new(shape.checked_elements()?, &goes_to, self.combination)
    }
}

impl Operator for ScatterElements {
    const NAME: &'static str = "ScatterElements";
    const OPSETS: RangeInclusive<i64> = 11..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let axis = attributes.int("axis")?.unwrap_or(0);
        Ok(Self { axis, combination: Combination::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("axis", Attribute::Int(self.axis)), self.combination.attribute()]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        self.dimension(context)?;
        Ok(vec![context.tensor(0)?.clone().into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let dimension = self.dimension(context).expect("inference accepted the shapes");
        let (data, given, updates) = (context.accepted(0), context.accepted(1), context.accepted(2));
        let [data_id, given_id, updates_id] = [0, 1, 2].map(|input| inputs[input].expect("inference found the inputs"));
        if given.shape.elements() == 0 {
            return vec![data_id];
        }
        if let Some(known) = self.known(context, dimension) {
            let flat = [data_id, updates_id].map(|id| {
                let elements = program.ty(id).shape.elements();
                movement::reshape(program, id, &[elements, 1].into())
            });
            let result = known.apply(program, self.combination, flat);
            return vec![movement::reshape(program, result, &data.shape)];
        }
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&given.shape);
        let operand = expr.operand(given);
        let named = expr.read(operand, axes.iter().map(|&axis| Index::axis(axis)).collect());
        let body = Scalar::Index(expr.indirect(&named, data.shape[dimension]), NUMBER);
        let places = program.compute(expr.map(NUMBER, body), &[given_id]);

        // The update that is looked at: the output's own place, except along the axis.
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let own: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        let number = expr.reduced(given.shape[dimension]);
        let mut index = own.clone();
        index[dimension] = Index::axis(number);
        let inside = |expr: &ExprBuilder, index: &[Index]| {
            let bounds = index.iter().zip(given.shape.iter()).enumerate().filter(|(at, _)| *at != dimension);
            bounds.fold(Guard::always(), |guard, (_, (index, &extent))| {
                expr.guard(guard, index.clone(), 0, extent as i64)
            })
        };
        let guard = inside(&expr, &index);
        let operand = expr.operand(program.ty(places));
        let nowhere = Literal::integer(NUMBER, -1);
        let place = expr.guarded_read(operand, index.clone(), guard.clone(), nowhere);
        let own_place = Scalar::Index(own[dimension].clone(), NUMBER);
        let goes_there = place.binary(BinaryOp::Equal, own_place);
        match self.combination {
            Combination::With(reducer) => {
                let wide = data.element.compute();
                let updates_id = compose::cast(program, updates_id, wide);
                let operand = expr.operand(program.ty(updates_id));
                let update = expr.guarded_read(operand, index, guard, Literal::new(wide, 0.0));
                let body = scatter::contribution(wide, reducer, goes_there, update);
                let total = program.compute(expr.reduce(wide, reducer, body, None), &[places, updates_id]);
                vec![scatter::combined(program, reducer, data_id, total)]
            }
            Combination::Replace => {
                let body = scatter::last(goes_there, Scalar::Index(Index::axis(number), NUMBER));
                let last = program.compute(expr.reduce(NUMBER, Reducer::Maximum, body, None), &[places]);
                let mut expr = ExprBuilder::new();
                let axes = expr.parallels(&data.shape);
                let own: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
                let operand = expr.operand(program.ty(last));
                let number = expr.read(operand, own.clone());
                let mut index = own.clone();
                let guard = inside(&expr, &index);
                index[dimension] = expr.indirect(&number, given.shape[dimension]);
                let (data_operand, updates_operand) = (expr.operand(data), expr.operand(updates));
                let there = expr.read(data_operand, own);
                let update = expr.guarded_read(updates_operand, index, guard, Literal::new(data.element, 0.0));
                let body = scatter::replaced(number, update, there);
                vec![program.compute(expr.map(data.element, body), &[last, data_id, updates_id])]
            }
        }
    }
}
