//! `DepthToSpace`: channels to blocks of the image.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, Index, Range};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// `[N, C · b², H, W]` to `[N, C, H · b, W · b]`: the outer or inner part of the channel gives the place in the block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DepthToSpace {
    block: i64,
    offset: BlockOffset,
}

/// How a channel's index splits into an offset in a block and the index of a smaller channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockOffset {
    /// The offset in the block is the quotient: `DCR`, depth, column, row.
    Outer,
    /// The offset in the block is the remainder: `CRD`, column, row, depth.
    Inner,
}

impl BlockOffset {
    /// Reads ONNX's attribute `mode`, which is `DCR` unless given.
    ///
    /// # Errors
    /// If the mode is neither `DCR` nor `CRD`.
    pub fn of(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        match attributes.string("mode")?.as_deref() {
            None | Some("DCR") => Ok(Self::Outer),
            Some("CRD") => Ok(Self::Inner),
            Some(other) => Err(AttributeError::Value { name: "mode", reason: format!("`{other}` is unknown") }),
        }
    }

    /// The value of the attribute `mode`.
    pub fn mode(self) -> &'static str {
        match self {
            Self::Outer => "DCR",
            Self::Inner => "CRD",
        }
    }
}

/// Takes the extent of a block.
pub fn block(attributes: &mut AttributeReader) -> Result<i64, AttributeError> {
    let block = attributes.int("blocksize")?.ok_or(AttributeError::Missing("blocksize"))?;
    let reason = || format!("{block} is not possible");
    let valid = (1..1 << 16).contains(&block);
    if valid { Ok(block) } else { Err(AttributeError::Value { name: "blocksize", reason: reason() }) }
}

/// The extents of an image `[N, C, H, W]`.
pub fn image(context: &Context) -> Result<[usize; 4], InferError> {
    let data = context.tensor(0)?;
    <[usize; 4]>::try_from(&data.shape[..]).map_err(|_| InferError::Mismatch(format!("{data} is no image")))
}

impl Operator for DepthToSpace {
    const NAME: &'static str = "DepthToSpace";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { block: block(attributes)?, offset: BlockOffset::of(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("blocksize", Attribute::Int(self.block)), ("mode", Attribute::String(self.offset.mode().to_owned()))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let [batch, channels, height, width] = image(context)?;
        let block = self.block as usize;
        if channels % (block * block) != 0 {
            return Err(InferError::Mismatch(format!("{channels} channels do not fill blocks of {block}")));
        }
        let (height, width) = (height.saturating_mul(block), width.saturating_mul(block));
        let shape = [batch, channels / (block * block), height, width];
        Ok(vec![TensorType::new(context.tensor(0)?.element, shape).into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0 && dimension == 0).then_some(0)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let output = self.output(context).shape;
        let index = |axes: &[AxisId]| {
            let extent = |axis: AxisId| axes.iter().position(|&known| known == axis).map_or(1, |at| output[at]);
            let ranges = |axis: AxisId| Range { minimum: 0, maximum: (extent(axis) as i64 - 1).max(0) };
            let [row, column] = [axes[2], axes[3]].map(Index::axis);
            let part = row.modulo(self.block, &ranges).times(self.block).add(&column.modulo(self.block, &ranges));
            let channel = match self.offset {
                BlockOffset::Inner => Index::axis(axes[1]).times(self.block * self.block).add(&part),
                BlockOffset::Outer => part.times(output[1] as i64).add(&Index::axis(axes[1])),
            };
            let (row, column) = (row.floor_div(self.block, &ranges), column.floor_div(self.block, &ranges));
            vec![Index::axis(axes[0]), channel, row, column]
        };
        vec![movement::rearrange(program, inputs[0].expect("inference found the input"), &output, index)]
    }
}
