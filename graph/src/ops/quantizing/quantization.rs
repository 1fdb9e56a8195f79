//! What the operators of quantisation have in common: scales and zero points beside what they belong to.

use crate::arithmetic::{highest, lowest};
use crate::expr::{AxisId, BinaryOp, Index, Range, Scalar, UnaryOp};
use crate::ops::cast::{element_number, element_type};
use crate::ops::conversion::{Conversion, bounded};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, axes, broadcast, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// The same type, if it is one that values are quantised to, those of storage only included.
pub fn quantized_or_stored(element: ElementType) -> Result<ElementType, InferError> {
    if element.is_storage() && element != ElementType::F8E8M0 { Ok(element) } else { quantized(element) }
}

/// The same type, if it is one of integers that values are quantised to and computed with.
pub fn quantized(element: ElementType) -> Result<ElementType, InferError> {
    if element.is_integer() && !element.is_storage() && element.bits() <= 16 {
        return Ok(element);
    }
    Err(InferError::Mismatch(format!("element type {element} is not a quantised one")))
}

/// Takes the type that the output is to have, an attribute that may be 0 for none.
pub fn output_type(attributes: &mut AttributeReader) -> Result<Option<ElementType>, AttributeError> {
    let name = "output_dtype";
    let number = attributes.int(name)?.unwrap_or(0);
    let reason = || format!("element type number {number} is not supported");
    match (number, element_type(number)) {
        (0, _) => Ok(None),
        (_, Some(element)) => Ok(Some(element)),
        (_, None) => Err(AttributeError::Value { name, reason: reason() }),
    }
}

/// The attribute from which [`output_type`] takes a type.
pub fn output_attribute(element: Option<ElementType>) -> Option<(&'static str, Attribute)> {
    element.map(|element| ("output_dtype", Attribute::Int(element_number(element))))
}

/// Along which axis there are several scales and zero points, and for how many places each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granularity {
    axis: i64,
    /// Places of a block; 0 where there are no blocks.
    block: usize,
}

impl Granularity {
    /// As where the attributes are left out.
    pub const NONE: Self = Self { axis: 1, block: 0 };

    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = "block_size";
        let block = attributes.int(name)?.unwrap_or(0);
        let reason = || format!("{block} is no number of places");
        let block = usize::try_from(block).map_err(|_| AttributeError::Value { name, reason: reason() })?;
        Ok(Self { axis: attributes.int("axis")?.unwrap_or(1), block })
    }

    pub fn attributes(self) -> Vec<(&'static str, Attribute)> {
        vec![("axis", Attribute::Int(self.axis)), ("block_size", Attribute::Int(self.block as i64))]
    }
}

/// The shape with which a scale or zero point of blocks, one each, broadcasts to data: that of the data.
fn in_blocks(ty: &TensorType, data: &Shape, Granularity { axis, block }: Granularity) -> Result<Shape, InferError> {
    let dimension = axes::dimension(axis, data.len())?;
    let blocks = |(at, &extent): (usize, &usize)| if at == dimension { extent.div_ceil(block.max(1)) } else { extent };
    let shape: Shape = data.iter().enumerate().map(blocks).collect();
    if block == 0 || ty.shape != shape {
        return Err(InferError::Mismatch(format!(
            "{ty} does not go with blocks of {block} along axis {axis} of [{data}]"
        )));
    }
    Ok(data.clone())
}

/// The shape with which a scale or zero point broadcasts to data: one for all, one a place of an axis, or one a block.
pub fn placed(ty: &TensorType, data: &Shape, granularity: Granularity) -> Result<Shape, InferError> {
    let axis = granularity.axis;
    if ty.shape.checked_elements() == Some(1) && ty.shape.len() <= 1 {
        return Ok(Shape::scalar());
    }
    if ty.shape.len() != 1 || granularity.block > 0 {
        return in_blocks(ty, data, granularity);
    }
    let dimension = axes::dimension(axis, data.len())?;
    if data[dimension] != ty.shape[0] {
        return Err(InferError::Mismatch(format!("{ty} does not go along axis {axis} of [{data}]")));
    }
    Ok(data.iter().enumerate().map(|(at, &extent)| if at == dimension { extent } else { 1 }).collect())
}

/// An input of this number, which inference has accepted, in the shape with which it broadcasts; none if it is left out.
pub fn parameter(
    context: &Context,
    inputs: &[Option<TensorId>],
    program: &mut ProgramBuilder,
    (input, granularity): (usize, Granularity),
) -> Option<TensorId> {
    let tensor = inputs.get(input).copied().flatten()?;
    let (ty, data) = (context.accepted(input), &context.accepted(0).shape);
    let shape = placed(ty, data, granularity).expect("inference accepted the input");
    if granularity.block == 0 || ty.shape.checked_elements() == shape.checked_elements() {
        return Some(movement::reshape(program, tensor, &shape));
    }
    let dimension = axes::dimension(granularity.axis, data.len()).expect("inference accepted the axis");
    Some(movement::rearrange(program, tensor, &shape, |axes| {
        let ranges = |axis: AxisId| {
            let at = axes.iter().position(|&known| known == axis);
            Range { minimum: 0, maximum: at.map_or(0, |at| shape[at] as i64 - 1).max(0) }
        };
        let place = |(at, &axis): (usize, &AxisId)| match Index::axis(axis) {
            index if at == dimension => index.floor_div(granularity.block.max(1) as i64, &ranges),
            index => index,
        };
        axes.iter().enumerate().map(place).collect()
    }))
}

/// A quantised value less its zero point: an integer in 32 bits, floating point as singles.
pub fn centered(element: ElementType, value: Scalar, zero: Option<Scalar>) -> Scalar {
    let wide = |scalar: Scalar| scalar.cast(element, centered_type(element));
    match zero {
        Some(zero) => wide(value).binary(BinaryOp::Subtract, wide(zero)),
        None => wide(value),
    }
}

/// The type in which a quantised value is brought to its zero point.
pub fn centered_type(element: ElementType) -> ElementType {
    if element.is_float() { ElementType::F32 } else { ElementType::I32 }
}

/// A factor less its zero point, in 32 bits; the zero point stands beside the shape with which it broadcasts.
pub fn centered_factor(program: &mut ProgramBuilder, factor: TensorId, zero: Option<(TensorId, Shape)>) -> TensorId {
    let element = program.ty(factor).element;
    let zero = zero.map(|(zero, shape)| movement::reshape(program, zero, &shape));
    let operands: Vec<Option<TensorId>> = [Some(factor)].into_iter().chain(zero.map(Some)).collect();
    broadcast::map(&operands, program, ElementType::I32, |operands| {
        let mut operands = operands.into_iter();
        let value = operands.next().expect("the factor is an operand");
        centered(element, value, operands.next())
    })
}

/// A number divided by its scale, moved by the zero point and brought between the bounds of `to`; before it is moved, what
/// becomes an integer is rounded to even.
pub fn rounded(element: ElementType, to: ElementType, value: Scalar, scale: Scalar, zero: Option<Scalar>) -> Scalar {
    quantized_value((element, to, Conversion::PLAIN), value, scale, zero)
}

/// As [`rounded`], with what a node says of the conversion from the first type to the second.
pub fn quantized_value(
    (element, to, conversion): (ElementType, ElementType, Conversion),
    value: Scalar,
    scale: Scalar,
    zero: Option<Scalar>,
) -> Scalar {
    let scaled = value.binary(BinaryOp::Divide, scale);
    let steps = if to.is_float() { scaled } else { scaled.unary(UnaryOp::RoundEven) };
    let moved = match zero {
        Some(zero) => steps.binary(BinaryOp::Add, zero.cast(to, element)),
        None => steps,
    };
    // Conversions to integers of fewer than 8 bits wrap; all others saturate.
    let wraps = to.is_storage() && !to.is_float();
    let within = if wraps { bounded(element, moved, (lowest(to) as f64, highest(to) as f64)) } else { moved };
    conversion.apply(element, to, within)
}
