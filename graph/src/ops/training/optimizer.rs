//! What the optimisers have in common: groups of tensors of one type, behind a learning rate and a count of updates.

use crate::expr::{BinaryOp, Scalar};
use crate::ops::{Context, InferError, compose, elementwise, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// Most inputs of an optimiser.
pub(super) const MOST_INPUTS: usize = 2 + 4 * 256;

/// The inputs of an optimiser: the rate, the count, then the tensors of each role, one role after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roles(pub(super) usize);

/// Rate and count as scalars of an element type, and the tensors of each role.
pub(super) struct Update {
    pub(super) rate: TensorId,
    pub(super) count: TensorId,
    /// One list a role.
    pub(super) tensors: Vec<Vec<TensorId>>,
}

impl Roles {
    /// The types of the tensors of one role; those of all roles are alike.
    pub(super) fn types(self, context: &Context) -> Result<Vec<TensorType>, InferError> {
        let given = context.inputs() - 2;
        if given == 0 || !given.is_multiple_of(self.0) {
            return Err(InferError::Mismatch(format!("{given} tensors are not {} for each that is updated", self.0)));
        }
        let (rate, count) = (context.tensor(0)?, context.tensor(1)?);
        let is_one = |ty: &TensorType| ty.shape.checked_elements() == Some(1);
        if !is_one(rate) || !rate.element.is_float() || !is_one(count) || count.element != ElementType::I64 {
            return Err(InferError::Mismatch(format!("{rate} and {count} are no learning rate and count of updates")));
        }
        let each = given / self.0;
        let first: Result<Vec<TensorType>, InferError> = (0..each).map(|at| context.tensor(2 + at).cloned()).collect();
        let first = first?;
        for (at, ty) in (0..given).map(|at| (at, &first[at % each])) {
            elementwise::floating(ty.element)?;
            let other = context.tensor(2 + at)?;
            if other != ty {
                return Err(InferError::Mismatch(format!("input {} is {other} and goes with {ty}", 2 + at)));
            }
        }
        Ok(first)
    }

    /// The types of as many outputs a tensor.
    pub(super) fn outputs(self, context: &Context, each: usize) -> Result<Vec<ValueType>, InferError> {
        let types = self.types(context)?;
        let count = types.len() * each;
        Ok(types.into_iter().cycle().take(count).map(ValueType::from).collect())
    }

    /// The inputs, of which rate and count become scalars.
    pub(super) fn update(self, program: &mut ProgramBuilder, inputs: &[Option<TensorId>]) -> Update {
        let all: Vec<TensorId> = inputs.iter().map(|input| input.expect("inference found the inputs")).collect();
        let [rate, count] = [all[0], all[1]].map(|tensor| movement::reshape(program, tensor, &Shape::scalar()));
        let each = (all.len() - 2) / self.0;
        Update { rate, count, tensors: all[2..].chunks(each).map(<[TensorId]>::to_vec).collect() }
    }
}

/// Appends `norm · x + gradient`.
pub(super) fn regularized(program: &mut ProgramBuilder, norm: f32, x: TensorId, gradient: TensorId) -> TensorId {
    if norm == 0.0 {
        return gradient;
    }
    let element = program.ty(x).element;
    compose::map(program, [x, gradient], element, |[x, gradient]| {
        x.binary(BinaryOp::Multiply, Scalar::literal(element, f64::from(norm))).binary(BinaryOp::Add, gradient)
    })
}

/// Appends a scalar of type `element` as a function of rate and count, which are of that type too.
pub(super) fn scalar(
    program: &mut ProgramBuilder,
    update: &Update,
    element: ElementType,
    body: impl FnOnce([Scalar; 2]) -> Scalar,
) -> TensorId {
    let (rate, count) = (program.ty(update.rate).element, program.ty(update.count).element);
    compose::map(program, [update.rate, update.count], element, |[r, t]| {
        body([r.cast(rate, element), t.cast(count, element)])
    })
}
