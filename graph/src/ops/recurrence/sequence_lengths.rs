//! Sequences of a batch that end at different steps.

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::recurrent::{Extents, Recurrent, State};
use crate::ops::{Context, InferError};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ElementType;

/// How many steps each sequence of a batch has, if not all have every step.
#[derive(Clone, Copy, Debug)]
pub struct SequenceLengths(Option<TensorId>);

/// The input that holds the lengths.
const INPUT: usize = 4;

impl SequenceLengths {
    /// Whether the optional lengths fit; constants lie between 0 and the number of steps.
    pub fn accept(context: &Context, extents: &Extents) -> Result<(), InferError> {
        let Some(ty) = context.optional(INPUT)? else { return Ok(()) };
        if *ty.shape != [extents.batch] || !matches!(ty.element, ElementType::I32 | ElementType::I64) {
            return Err(InferError::Mismatch(format!("{ty} is not a length a sequence of {}", extents.batch)));
        }
        let constant = context.fact(INPUT).and_then(|fact| fact.value.as_ref());
        let steps = extents.steps as i64;
        let outside =
            constant.and_then(|value| value.to_i64().into_iter().find(|length| !(0..=steps).contains(length)));
        match outside {
            Some(length) => Err(InferError::Mismatch(format!("no sequence of {steps} steps has length {length}"))),
            None => Ok(()),
        }
    }

    /// The lengths of inputs that were accepted.
    pub fn of(context: &Context, inputs: &[Option<TensorId>], extents: &Extents) -> Self {
        let constant = context.fact(INPUT).and_then(|fact| fact.value.as_ref());
        let whole = |value: &crate::tensor::Tensor| value.to_i64().iter().all(|&length| length == extents.steps as i64);
        let given = inputs.get(INPUT).copied().flatten();
        Self(given.filter(|_| !constant.is_some_and(whole)))
    }

    /// What a sequence shows at a step: zero behind its end.
    pub fn shown(self, recurrent: &Recurrent, program: &mut ProgramBuilder, step: usize, next: TensorId) -> TensorId {
        self.chosen(recurrent, program, step, next, State::Zero)
    }

    /// The state of a sequence after a step: the one before it behind its end.
    pub fn kept(
        self,
        recurrent: &Recurrent,
        program: &mut ProgramBuilder,
        step: usize,
        next: TensorId,
        before: State,
    ) -> TensorId {
        self.chosen(recurrent, program, step, next, before)
    }

    fn chosen(
        self,
        recurrent: &Recurrent,
        program: &mut ProgramBuilder,
        step: usize,
        next: TensorId,
        otherwise: State,
    ) -> TensorId {
        let Some(lengths) = self.0 else { return next };
        let ty = program.ty(next).clone();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let (batch, feature) = recurrent.step_axes(&axes);
        let operand = expr.operand(program.ty(lengths));
        let length = expr.read(operand, vec![batch.clone()]);
        let own = Scalar::Index(Index::constant(step as i64), program.ty(lengths).element);
        let mut operands = vec![lengths];
        let state = State::Step(next);
        let next = recurrent.read(state, batch.clone(), feature.clone(), &mut expr, &mut operands, program);
        let other = recurrent.read(otherwise, batch, feature, &mut expr, &mut operands, program);
        let zero = Scalar::literal(ty.element, 0.0);
        let body = own.binary(BinaryOp::Less, length);
        let body = body.select(next.expect("a step is computed"), other.unwrap_or(zero));
        program.compute(expr.map(ty.element, body), &operands)
    }
}
