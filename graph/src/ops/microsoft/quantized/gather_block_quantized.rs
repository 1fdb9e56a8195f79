//! `com.microsoft.GatherBlockQuantized`: slices of a table that is quantised in blocks.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::microsoft::DOMAIN;
use crate::ops::microsoft::quantized::packed::half_of_byte;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, elementwise, indices,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// `Gather` of a table whose elements along an axis are quantised in blocks, as numbers of the scales' type. The inputs are the table,
/// the indices, a scale a block and a zero point a block. Two elements of 4 bits may share a byte, along the last axis, the earlier
/// one in the lower bits. Without zero points bytes are centred at half of their range, and others at 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatherBlockQuantized {
    gathered: i64,
    quantized: i64,
    block: i64,
    bits: i64,
}

const SCALES: usize = 2;
const ZEROS: usize = 3;

/// What attributes and shapes say.
struct Layout {
    /// The axis that indices name places of.
    gathered: usize,
    /// The axis along which there are blocks.
    quantized: usize,
    /// The extents of the table, its bytes taken apart.
    extents: Vec<usize>,
    /// Elements of a byte.
    packed: usize,
}

impl GatherBlockQuantized {
    fn layout(&self, context: &Context) -> Result<Layout, InferError> {
        let data = context.tensor(0)?;
        let few = matches!(data.element, ElementType::I4 | ElementType::U4);
        if !few && data.element != ElementType::U8 {
            return Err(InferError::Unsupported(format!("a table of {data} is not supported")));
        }
        let rank = data.shape.len();
        let (gathered, quantized) = (axes::dimension(self.gathered, rank)?, axes::dimension(self.quantized, rank)?);
        let packed = if data.element == ElementType::U8 && self.bits == 4 { 2 } else { 1 };
        let mut extents = data.shape.to_vec();
        extents[rank - 1] *= packed;
        if extents[gathered] == 0 {
            return Err(InferError::Mismatch("nothing can be picked from an axis of extent 0".to_owned()));
        }
        if gathered == quantized || (packed > 1 && (quantized + 1 != rank || gathered + 1 == rank)) {
            return Err(InferError::Unsupported("indices along the blocks are not supported".to_owned()));
        }
        Ok(Layout { gathered, quantized, extents, packed })
    }

    /// Checks scales and zero points.
    fn check(&self, context: &Context, layout: &Layout) -> Result<(), InferError> {
        let (data, scales) = (context.tensor(0)?, context.tensor(SCALES)?);
        elementwise::floating(scales.element)?;
        let mut blocks = layout.extents.clone();
        blocks[layout.quantized] = blocks[layout.quantized].div_ceil(self.block as usize);
        if *scales.shape != *blocks {
            return Err(InferError::Mismatch(format!("scales of {scales} are not [{}]", Shape::from(blocks))));
        }
        blocks[layout.quantized] = blocks[layout.quantized].div_ceil(layout.packed);
        match context.optional(ZEROS)? {
            Some(zeros) if zeros.element != data.element || *zeros.shape != *blocks => {
                Err(InferError::Mismatch(format!("zero points of {zeros} do not go with {data} and {scales}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The element at a place of an operand, whose index along the last axis is that of an element.
    fn element(
        &self,
        expr: &mut ExprBuilder,
        (operand, ty): (usize, &TensorType),
        index: &[Index],
        packed: usize,
    ) -> Scalar {
        let mut bytes = index.to_vec();
        let (Some(last), Some(place)) = (bytes.last_mut(), index.last()) else { return expr.read(operand, bytes) };
        *last = place.floor_div(packed as i64, &|axis| expr.range(axis));
        let byte = expr.read(operand, bytes).cast(ty.element, ElementType::I32);
        if packed == 1 { byte } else { half_of_byte(byte, place, expr) }
    }
}

impl Operator for GatherBlockQuantized {
    const NAME: &'static str = "GatherBlockQuantized";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 3..=4;
    const STORAGE: &'static [ElementType] = &[ElementType::I4, ElementType::U4];

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let gathered = attributes.int("gather_axis")?.unwrap_or(0);
        let quantized = attributes.int("quantize_axis")?.unwrap_or(1);
        let (block, bits) = (attributes.int("block_size")?.unwrap_or(128), attributes.int("bits")?.unwrap_or(4));
        if !(1..1 << 32).contains(&block) {
            return Err(AttributeError::Value { name: "block_size", reason: format!("{block} is not possible") });
        }
        if bits != 4 && bits != 8 {
            return Err(AttributeError::Value { name: "bits", reason: format!("{bits} bits are not supported") });
        }
        Ok(Self { gathered, quantized, block, bits })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let all = [
            ("gather_axis", self.gathered),
            ("quantize_axis", self.quantized),
            ("block_size", self.block),
            ("bits", self.bits),
        ];
        all.into_iter().map(|(name, value)| (name, Attribute::Int(value))).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let layout = self.layout(context)?;
        self.check(context, &layout)?;
        let picks = context.tensor(1)?;
        indices::accept(context, 1, layout.extents[layout.gathered])?;
        let (before, behind) = (&layout.extents[..layout.gathered], &layout.extents[layout.gathered + 1..]);
        let shape = before.iter().chain(picks.shape.iter()).chain(behind).copied().collect();
        Ok(vec![TensorType { element: context.tensor(SCALES)?.element, shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let layout = self.layout(context).expect("inference accepted the axes");
        let output = self.output(context);
        let [data, picks, scales] = [0, 1, SCALES].map(|input| context.accepted(input));
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&output.shape);
        let axes: Vec<Index> = axes.into_iter().map(Index::axis).collect();
        let named = layout.gathered..layout.gathered + picks.shape.len();
        let operand = expr.operand(picks);
        let pick = expr.read(operand, axes[named.clone()].to_vec());
        let place = expr.indirect(&pick, layout.extents[layout.gathered]);
        let index: Vec<Index> = axes[..named.start].iter().chain([&place]).chain(&axes[named.end..]).cloned().collect();
        let mut blocks = index.clone();
        blocks[layout.quantized] = index[layout.quantized].floor_div(self.block, &|axis| expr.range(axis));
        let operand = expr.operand(data);
        let value = self.element(&mut expr, (operand, data), &index, layout.packed);
        let operand = expr.operand(scales);
        let scale = expr.read(operand, blocks.clone());
        let zero = match context.optional(ZEROS).ok().flatten() {
            Some(zeros) => {
                let operand = expr.operand(zeros);
                self.element(&mut expr, (operand, zeros), &blocks, layout.packed)
            }
            None if data.element == ElementType::U8 => {
                Scalar::literal(ElementType::I32, f64::from(1u32 << (self.bits - 1)))
            }
            None => Scalar::literal(ElementType::I32, 0.0),
        };
        let steps = value.binary(BinaryOp::Subtract, zero).cast(ElementType::I32, output.element);
        let operands: Vec<TensorId> =
            [1, 0, SCALES, ZEROS].into_iter().filter_map(|input: usize| inputs.get(input).copied().flatten()).collect();
        vec![program.compute(expr.map(output.element, steps.binary(BinaryOp::Multiply, scale)), &operands)]
    }
}
