//! `TensorScatter`: a stretch of a sequence written into a cache.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::{
    ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, axes, scatter,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, ValueType};

/// The first input, in which the second is written from the place on that the third names for each element of the first
/// dimension, 0 without it. What reaches beyond the end is left out, or goes on at the front if that is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorScatter {
    axis: i64,
    circular: bool,
}

impl TensorScatter {
    fn dimension(&self, context: &Context) -> Result<usize, InferError> {
        let (cache, update) = (context.tensor(0)?, context.tensor(1)?);
        let dimension = axes::dimension(self.axis, cache.shape.len())?;
        let mismatch = || InferError::Mismatch(format!("{update} is no stretch of {cache} along axis {dimension}"));
        let mut pairs = cache.shape.iter().zip(update.shape.iter()).enumerate();
        let fits = pairs.all(|(at, (have, new))| have == new || at == dimension && new <= have);
        if !fits || dimension == 0 || cache.shape.len() != update.shape.len() || cache.element != update.element {
            return Err(mismatch());
        }
        match context.optional(2)? {
            Some(starts) if *starts.shape != [cache.shape[0]] || starts.element != ElementType::I64 => Err(mismatch()),
            Some(_) | None => Ok(dimension),
        }
    }
}

impl Operator for TensorScatter {
    const NAME: &'static str = "TensorScatter";
    const OPSETS: RangeInclusive<i64> = 24..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=3;
    const STORAGE: &'static [ElementType] = match ALL_STORAGE {
        [wider @ .., ElementType::I2, ElementType::U2] => wider,
        all => all,
    };

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let circular = match attributes.string("mode")?.as_deref() {
            None | Some("linear") => false,
            Some("circular") => true,
            Some(other) => {
                let reason = format!("`{other}` is neither linear nor circular");
                return Err(AttributeError::Value { name: "mode", reason });
            }
        };
        Ok(Self { axis: attributes.int("axis")?.unwrap_or(-2), circular })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mode = if self.circular { "circular" } else { "linear" };
        vec![("axis", Attribute::Int(self.axis)), ("mode", Attribute::String(mode.to_owned()))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        self.dimension(context)?;
        Ok(vec![context.tensor(0)?.clone().into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let dimension = self.dimension(context).expect("inference accepted the shapes");
        let (cache, update) = (context.accepted(0), context.accepted(1));
        let [cache_id, update_id] = [0, 1].map(|input| inputs[input].expect("inference found the inputs"));
        let (whole, stretch) = (cache.shape[dimension], update.shape[dimension]);
        if update.shape.elements() == 0 {
            return vec![cache_id];
        }
        let number = |value: i64| Scalar::literal(ElementType::I64, value as f64);
        let mut expr = ExprBuilder::new();
        let (batch, place) = (expr.parallel(cache.shape[0]), expr.parallel(whole));
        let own = Scalar::Index(Index::axis(place), ElementType::I64);
        let starts = inputs.get(2).copied().flatten();
        let mut step = match starts {
            None => own,
            Some(starts) => {
                let operand = expr.operand(program.ty(starts));
                own.binary(BinaryOp::Subtract, expr.read(operand, vec![Index::axis(batch)]))
            }
        };
        if self.circular {
            let rest = step.binary(BinaryOp::Remainder, number(whole as i64));
            let negative = rest.clone().binary(BinaryOp::Less, number(0));
            step = negative.select(rest.clone().binary(BinaryOp::Add, number(whole as i64)), rest);
        }
        let beyond = number(stretch as i64 - 1).binary(BinaryOp::Less, step.clone());
        let outside = step.clone().binary(BinaryOp::Less, number(0)).binary(BinaryOp::Or, beyond);
        let body = outside.select(number(-1), step).cast(ElementType::I64, scatter::NUMBER);
        let operands: Vec<TensorId> = starts.into_iter().collect();
        let steps = program.compute(expr.map(scatter::NUMBER, body), &operands);

        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&cache.shape);
        let own: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        let operand = expr.operand(program.ty(steps));
        let step = expr.read(operand, vec![own[0].clone(), own[dimension].clone()]);
        let mut index = own.clone();
        index[dimension] = expr.indirect(&step, stretch);
        let (cache_operand, update_operand) = (expr.operand(cache), expr.operand(update));
        let there = expr.read(cache_operand, own);
        let value = expr.read(update_operand, index);
        let body = scatter::replaced(step, value, there);
        vec![program.compute(expr.map(cache.element, body), &[steps, cache_id, update_id])]
    }
}
