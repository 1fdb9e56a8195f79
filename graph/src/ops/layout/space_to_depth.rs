//! `SpaceToDepth`: blocks of the image to channels.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, Index, Range};
use crate::ops::depth_to_space::{BlockOffset, block, image};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// `[N, C, H · b, W · b]` to `[N, b² · C, H, W]`: the place in the block is the outer part of the channel, or the inner part in
/// mode `CRD`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpaceToDepth {
    block: i64,
    offset: BlockOffset,
}

impl Operator for SpaceToDepth {
    const NAME: &'static str = "SpaceToDepth";
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
        if height % block != 0 || width % block != 0 {
            return Err(InferError::Mismatch(format!("{height}x{width} is not made of blocks of {block}")));
        }
        let shape = [batch, channels.saturating_mul(block * block), height / block, width / block];
        Ok(vec![TensorType::new(context.tensor(0)?.element, shape).into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0 && dimension == 0).then_some(0)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let output = self.output(context).shape;
        let channels = context.accepted(0).shape[1].max(1) as i64;
        let index = |axes: &[AxisId]| {
            let extent = |axis: AxisId| axes.iter().position(|&known| known == axis).map_or(1, |at| output[at]);
            let ranges = |axis: AxisId| Range { minimum: 0, maximum: (extent(axis) as i64 - 1).max(0) };
            let channel = Index::axis(axes[1]);
            let (part, channel) = match self.offset {
                BlockOffset::Outer => (channel.floor_div(channels, &ranges), channel.modulo(channels, &ranges)),
                BlockOffset::Inner => {
                    let places = self.block * self.block;
                    (channel.modulo(places, &ranges), channel.floor_div(places, &ranges))
                }
            };
            let row = Index::axis(axes[2]).times(self.block).add(&part.floor_div(self.block, &ranges));
            let column = Index::axis(axes[3]).times(self.block).add(&part.modulo(self.block, &ranges));
            vec![Index::axis(axes[0]), channel, row, column]
        };
        vec![movement::rearrange(program, inputs[0].expect("inference found the input"), &output, index)]
    }
}
