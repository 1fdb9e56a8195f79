//! `ReverseSequence`: the first elements of every sequence in reverse.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, ValueType};

/// The first elements along the time axis in reverse, as many as the second input says for each element of the batch axis;
/// the elements behind them stay. A length that no sequence can have is an error of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReverseSequence {
    batch: usize,
    time: usize,
}

impl Operator for ReverseSequence {
    const NAME: &'static str = "ReverseSequence";
    const OPSETS: RangeInclusive<i64> = 10..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let mut axis = |name, default| match attributes.int(name)?.unwrap_or(default) {
            0 => Ok(0),
            1 => Ok(1),
            other => Err(AttributeError::Value { name, reason: format!("{other} is neither 0 nor 1") }),
        };
        let (batch, time) = (axis("batch_axis", 1)?, axis("time_axis", 0)?);
        if batch == time {
            let reason = format!("{time} is the batch axis");
            return Err(AttributeError::Value { name: "time_axis", reason });
        }
        Ok(Self { batch, time })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("batch_axis", Attribute::Int(self.batch as i64)), ("time_axis", Attribute::Int(self.time as i64))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (data, lengths) = (context.tensor(0)?, context.tensor(1)?);
        let fits = data.shape.len() >= 2 && lengths.element == ElementType::I64;
        if !fits || *lengths.shape != [data.shape[self.batch]] {
            return Err(InferError::Mismatch(format!("{lengths} is not a length a sequence of {data}")));
        }
        Ok(vec![data.clone().into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (data, lengths) = (context.accepted(0), context.accepted(1));
        let [data_id, lengths_id] = [0, 1].map(|input| inputs[input].expect("inference found the inputs"));
        let mut expr = ExprBuilder::new();
        let (sequence, step) = (expr.parallel(lengths.shape[0]), expr.parallel(data.shape[self.time]));
        let operand = expr.operand(lengths);
        let length = expr.read(operand, vec![Index::axis(sequence)]);
        let own = Scalar::Index(Index::axis(step), ElementType::I64);
        let one = Scalar::literal(ElementType::I64, 1.0);
        let mirrored = length.clone().binary(BinaryOp::Subtract, own.clone()).binary(BinaryOp::Subtract, one);
        let body = own.clone().binary(BinaryOp::Less, length).select(mirrored, own);
        let places = program.compute(expr.map(ElementType::I64, body), &[lengths_id]);

        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let mut index: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        let operand = expr.operand(program.ty(places));
        let place = expr.read(operand, vec![index[self.batch].clone(), index[self.time].clone()]);
        index[self.time] = expr.indirect(&place, data.shape[self.time]);
        let source = expr.operand(data);
        let body = expr.read(source, index);
        vec![program.compute(expr.map(data.element, body), &[places, data_id])]
    }
}
