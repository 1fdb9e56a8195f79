//! `OneHot`: numbers as rows of which one element stands out.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, axes, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The second of two values where a new axis stands at the number that an index names, from the end where it is
/// negative. The first value stands elsewhere, and an index that names no place gives first values only. The depth is
/// constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneHot {
    axis: i64,
}

impl OneHot {
    /// Where the new axis stands, and its extent.
    fn place(&self, context: &Context) -> Result<(usize, usize), InferError> {
        let (indices, values) = (context.tensor(0)?, context.tensor(2)?);
        elementwise::number(indices.element)?;
        if *values.shape != [2] {
            return Err(InferError::Mismatch(format!("{values} are not two values")));
        }
        let place = axes::dimension(self.axis, indices.shape.len() + 1)?;
        let depth = context.integers(1)?.ok_or(InferError::Missing(1))?;
        match depth.as_slice() {
            [depth @ 1..=0x7fff_ffff] => Ok((place, *depth as usize)),
            _ => Err(InferError::Mismatch(format!("a depth of {depth:?} is not possible"))),
        }
    }
}

impl Operator for OneHot {
    const NAME: &'static str = "OneHot";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { axis: attributes.int("axis")?.unwrap_or(-1) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("axis", Attribute::Int(self.axis))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (place, depth) = self.place(context)?;
        let mut extents = context.tensor(0)?.shape.to_vec();
        extents.insert(place, depth);
        Ok(vec![TensorType::new(context.tensor(2)?.element, extents).into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let (place, _) = self.place(context).ok()?;
        (input == 0).then_some(dimension + usize::from(dimension >= place))
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (place, depth) = self.place(context).expect("inference accepted the depth");
        let output = self.output(context);
        let (indices, values) = (context.accepted(0), context.accepted(2));
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&output.shape);
        let others =
            axes.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, &axis)| Index::axis(axis)).collect();
        let (index, pair) = (expr.operand(indices), expr.operand(values));
        let named = expr.read(index, others).cast(indices.element, ElementType::I64);
        let [off, on] = [0, 1].map(|which| expr.read(pair, vec![Index::constant(which)]));
        let literal = |value: usize| Scalar::literal(ElementType::I64, value as f64);
        let negative = named.clone().binary(BinaryOp::Less, literal(0));
        let counted = named.clone().binary(BinaryOp::Add, literal(depth));
        let own = Scalar::Index(Index::axis(axes[place]), ElementType::I64);
        let body = negative.select(counted, named).binary(BinaryOp::Equal, own).select(on, off);
        let operands = [0, 2].map(|input| inputs[input].expect("inference found the input"));
        vec![program.compute(expr.map(output.element, body), &operands)]
    }
}
