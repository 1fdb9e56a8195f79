//! `com.microsoft.EmbedLayerNormalization`: the normalised sum of embeddings.

use std::ops::RangeInclusive;

use crate::expr::Reducer;
use crate::ops::add::Add;
use crate::ops::gather::Gather;
use crate::ops::layer_normalization::LayerNormalization;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator, movement, reduction,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The layer normalisation of the sum of the embeddings of words, of positions and, optionally, of segments. The inputs are the
/// words, the segments, the three tables, gamma, beta, a mask, and the positions, which are 0, 1, … where they are left out. The
/// outputs are the normalised sum, how many words of each row the mask has, and the sum.
#[derive(Clone, PartialEq, Debug)]
pub struct EmbedLayerNormalization {
    epsilon: f32,
    counts: bool,
}

const SEGMENTS: usize = 1;
const MASK: usize = 7;
const POSITIONS: usize = 8;

fn mismatch(what: &TensorType, with: &TensorType) -> InferError {
    InferError::Mismatch(format!("{what} does not go with {with}"))
}

impl EmbedLayerNormalization {
    /// The type of the sum.
    fn sum(&self, context: &Context) -> Result<TensorType, InferError> {
        let (words, table) = (context.tensor(0)?, context.tensor(2)?);
        let (&[batch, length], &[_, width]) = (&words.shape[..], &table.shape[..]) else {
            return Err(mismatch(words, table));
        };
        let sum = TensorType::new(table.element, [batch, length, width]);
        let mut lookups = vec![(0, 2)];
        if context.optional(SEGMENTS)?.is_some() {
            lookups.push((SEGMENTS, 4));
        }
        let positions = context.tensor(3)?;
        match context.optional(POSITIONS)? {
            Some(places) if places.shape != words.shape && *places.shape != [1, length] => {
                return Err(mismatch(places, words));
            }
            Some(_) => lookups.push((POSITIONS, 3)),
            None if positions.shape.first().is_none_or(|&rows| rows < length) => {
                return Err(mismatch(positions, words));
            }
            None => {}
        }
        for (indices, table) in lookups {
            let found = context.tensor(table)?;
            let same = indices == POSITIONS || context.tensor(indices)?.shape == words.shape;
            if found.element != sum.element || found.shape.len() != 2 || found.shape[1] != width || !same {
                return Err(mismatch(found, &sum));
            }
            let facts = [context.fact(table).cloned(), context.fact(indices).cloned()];
            Gather::along(0).infer(&Context::new(&facts, 1))?;
        }
        if positions.element != sum.element || positions.shape.len() != 2 || positions.shape[1] != width {
            return Err(mismatch(positions, &sum));
        }
        match context.optional(MASK)? {
            Some(mask) if mask.shape != words.shape || mask.element != ElementType::I32 => Err(mismatch(mask, words)),
            Some(_) | None => Ok(sum),
        }
    }
}

impl Operator for EmbedLayerNormalization {
    const NAME: &'static str = "EmbedLayerNormalization";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 7..=9;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let epsilon = attributes.float("epsilon")?.unwrap_or(1e-12);
        Ok(Self { epsilon, counts: attributes.int("mask_index_type")?.unwrap_or(1) != 0 })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("epsilon", Attribute::Float(self.epsilon)), ("mask_index_type", Attribute::Int(i64::from(self.counts)))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let sum = self.sum(context)?;
        let facts =
            [Some(Fact { ty: sum.clone().into(), value: None }), context.fact(5).cloned(), context.fact(6).cloned()];
        let types = LayerNormalization::along_last(self.epsilon).infer(&Context::new(&facts, 1))?;
        let counts = TensorType::new(ElementType::I32, [sum.shape[0]]);
        Ok(vec![types[0].clone(), counts.into(), sum.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let ty = self.sum(context).expect("inference accepted the inputs");
        let input = |at: usize| inputs.get(at).copied().flatten();
        let gather = |program: &mut ProgramBuilder, table: usize, indices: TensorId| {
            program.apply(&Gather::along(0), &[inputs[table], Some(indices)], 1)[0]
        };
        let mut sum = gather(program, 2, inputs[0].expect("inference found the words"));
        let places = match input(POSITIONS) {
            Some(places) => gather(program, 3, places),
            None => {
                let table = inputs[3].expect("inference found the table");
                movement::slice(program, table, &[0, 0], &[1, 1], &[ty.shape[1], ty.shape[2]])
            }
        };
        sum = program.apply(&Add, &[Some(sum), Some(places)], 1)[0];
        if let Some(segments) = input(SEGMENTS) {
            let segments = gather(program, 4, segments);
            sum = program.apply(&Add, &[Some(sum), Some(segments)], 1)[0];
        }
        let layer = LayerNormalization::along_last(self.epsilon);
        let normalised = program.apply(&layer, &[Some(sum), inputs[5], inputs[6]], 1)[0];
        let rows = Shape::from([ty.shape[0]]);
        let counts = match input(MASK).filter(|_| self.counts) {
            Some(mask) => reduction::along(program, mask, &[1], &rows, Reducer::Sum, |_| None),
            None => program.constant(Tensor::new(rows, &vec![0i32; ty.shape[0]])),
        };
        vec![normalised, counts, sum]
    }
}
