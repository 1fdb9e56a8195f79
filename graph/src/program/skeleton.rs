//! Programs without the values of their constants: what is stored beside the weights.

use serde::{Deserialize, Serialize};

use super::verify::{ProgramError, View};
use super::{Names, Source, State, Statement, StatementId, TensorDefinition, TensorId, TensorProgram};
use crate::arena::Arena;
use crate::tensor::Tensor;
use crate::types::TensorType;

/// Where a tensor's elements come from, without the elements of a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SkeletonSource {
    /// The caller; the position among the program's inputs.
    Input(usize),
    /// The weights.
    Constant,
    /// The launch before, at first the weights; and what it becomes.
    State(Option<TensorId>),
    /// A statement of the program.
    Statement(StatementId),
}

/// A tensor of a stored program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SkeletonTensor {
    /// Element type and shape.
    pub ty: TensorType,
    /// Where the elements come from.
    pub source: SkeletonSource,
}

/// A [`TensorProgram`] whose constants have types and no values.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProgramSkeleton {
    pub tensors: Arena<TensorId, SkeletonTensor>,
    /// All statements, in execution order.
    pub statements: Arena<StatementId, Statement>,
    /// What the caller provides.
    pub inputs: Vec<TensorId>,
    /// What the caller gets.
    pub outputs: Vec<TensorId>,
    /// What the parts are called in the model.
    pub names: Names,
}

impl ProgramSkeleton {
    /// The program without its constants' values.
    pub fn of(program: &TensorProgram) -> Self {
        Self {
            tensors: tensors(program),
            statements: program.statements.clone(),
            inputs: program.inputs.clone(),
            outputs: program.outputs.clone(),
            names: program.names.clone(),
        }
    }

    /// Checks everything that [`TensorProgram`] promises, so that a damaged program is refused before it is used.
    pub fn check(&self) -> Result<(), ProgramError> {
        let Self { tensors, statements, inputs, outputs, names } = self;
        View { tensors, statements, inputs, outputs, names }.check()
    }

    /// The tensors whose values are needed to make it a program again.
    pub fn constants(&self) -> impl Iterator<Item = (TensorId, &TensorType)> {
        let constants = self
            .tensors
            .iter()
            .filter(|(_, tensor)| matches!(tensor.source, SkeletonSource::Constant | SkeletonSource::State(_)));
        constants.map(|(id, tensor)| (id, &tensor.ty))
    }

    /// The program with the values that `value` gives; its errors come back.
    pub fn fill<E>(
        self,
        mut value: impl FnMut(TensorId, &TensorType) -> Result<Tensor, E>,
    ) -> Result<TensorProgram, E> {
        let mut tensors = Arena::new();
        for (id, tensor) in self.tensors.iter() {
            let source = match tensor.source {
                SkeletonSource::Input(position) => Source::Input(position),
                SkeletonSource::Constant => Source::Constant(value(id, &tensor.ty)?),
                SkeletonSource::State(next) => Source::State(State { initial: value(id, &tensor.ty)?, next }),
                SkeletonSource::Statement(statement) => Source::Statement(statement),
            };
            tensors.push(TensorDefinition { ty: tensor.ty.clone(), source });
        }
        let Self { statements, inputs, outputs, names, .. } = self;
        Ok(TensorProgram { tensors, statements, inputs, outputs, names })
    }
}

impl TensorProgram {
    /// Checks everything that a program promises.
    pub fn verify(&self) -> Result<(), ProgramError> {
        let Self { statements, inputs, outputs, names, .. } = self;
        View { tensors: &tensors(self), statements, inputs, outputs, names }.check()
    }
}

fn tensors(program: &TensorProgram) -> Arena<TensorId, SkeletonTensor> {
    let tensor = |tensor: &TensorDefinition| SkeletonTensor {
        ty: tensor.ty.clone(),
        source: match &tensor.source {
            Source::Input(position) => SkeletonSource::Input(*position),
            Source::Constant(_) => SkeletonSource::Constant,
            Source::State(State { next, .. }) => SkeletonSource::State(*next),
            Source::Statement(statement) => SkeletonSource::Statement(*statement),
        },
    };
    program.tensors.values().map(tensor).collect()
}
