//! `LRN`: normalisation by neighbouring channels.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// x / (bias + α / size · s)^β, where s is the sum of squares over `size` channels around each element's own; channels that do
/// not exist count as 0.
#[derive(Clone, PartialEq, Debug)]
pub struct Lrn {
    alpha: f32,
    beta: f32,
    bias: f32,
    size: usize,
}

impl Operator for Lrn {
    const NAME: &'static str = "LRN";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let size = attributes.int("size")?.ok_or(AttributeError::Missing("size"))?;
        let reason = || format!("{size} channels are not possible");
        let size = usize::try_from(size).ok().filter(|size| (1..=1 << 20).contains(size));
        let mut number = |name, default| Ok(attributes.float(name)?.unwrap_or(default));
        Ok(Self {
            alpha: number("alpha", 1e-4)?,
            beta: number("beta", 0.75)?,
            bias: number("bias", 1.0)?,
            size: size.ok_or_else(|| AttributeError::Value { name: "size", reason: reason() })?,
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![
            ("alpha", Attribute::Float(self.alpha)),
            ("beta", Attribute::Float(self.beta)),
            ("bias", Attribute::Float(self.bias)),
            ("size", Attribute::Int(self.size as i64)),
        ]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        if data.shape.len() < 2 {
            return Err(InferError::Mismatch(format!("{data} has no channels")));
        }
        Ok(vec![data.clone().into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = context.accepted(0);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let neighbour = expr.reduced(self.size);
        let own: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        let mut around = own.clone();
        let before = (self.size as i64 - 1) / 2;
        around[1] = own[1].add(&Index::axis(neighbour)).plus(-before);
        let operand = expr.operand(data);
        let x = expr.padded_read(operand, around, Literal::new(data.element, 0.0));
        let square = x.clone().binary(BinaryOp::Multiply, x);
        let literal = |value: f32| Scalar::literal(data.element, f64::from(value));
        let scale = Scalar::Reduced.binary(BinaryOp::Multiply, literal(self.alpha / self.size as f32));
        let power = scale.binary(BinaryOp::Add, literal(self.bias)).binary(BinaryOp::Power, literal(self.beta));
        let result = expr.read(operand, own).binary(BinaryOp::Divide, power);
        let expr = expr.reduce(data.element, Reducer::Sum, square, Some(result));
        vec![program.compute(expr, &[inputs[0].expect("inference found the input")])]
    }
}
