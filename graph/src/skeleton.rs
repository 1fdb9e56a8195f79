//! Programs without the values of their constants: what is stored beside the weights.

use serde::{Deserialize, Serialize};

use crate::arena::{Arena, Id};
use crate::procedure::Opaque;
use crate::program::{Definition, Source, Statement, StatementId, TensorDefinition, TensorId, TensorProgram};
use crate::tensor::Tensor;
use crate::types::{MAX_RANK, TensorType};

/// Where a tensor's elements come from, without the elements of a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SkeletonSource {
    /// The caller; the position among the program's inputs.
    Input(usize),
    /// The weights.
    Constant,
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
    /// All tensors.
    pub tensors: Arena<TensorId, SkeletonTensor>,
    /// All statements, in execution order.
    pub statements: Arena<StatementId, Statement>,
    /// What the caller provides.
    pub inputs: Vec<TensorId>,
    /// What the caller gets.
    pub outputs: Vec<TensorId>,
}

/// A stored program that contradicts itself.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SkeletonError {
    /// A tensor is named that does not exist.
    #[error("{0} is no tensor of the program")]
    UnknownTensor(TensorId),
    /// A tensor has too many dimensions or too many elements.
    #[error("{0} has an impossible shape")]
    Shape(TensorId),
    /// A tensor's source does not name it back.
    #[error("{0} is not what its source says")]
    Source(TensorId),
    /// A statement reads a tensor that is not defined before it, or of another type than it declares.
    #[error("{0} reads operands that it does not declare, or before they are defined")]
    Operands(StatementId),
    /// A statement's expression is ill-formed.
    #[error("the expression of {statement} is ill-formed: {reason}")]
    Expression {
        /// The statement.
        statement: StatementId,
        /// What is wrong.
        reason: &'static str,
    },
    /// A statement defines a tensor of another type than it computes.
    #[error("{0} defines a tensor of another type")]
    Output(StatementId),
}

impl ProgramSkeleton {
    /// The program without its constants' values.
    pub fn of(program: &TensorProgram) -> Self {
        let tensor = |tensor: &TensorDefinition| SkeletonTensor {
            ty: tensor.ty.clone(),
            source: match &tensor.source {
                Source::Input(position) => SkeletonSource::Input(*position),
                Source::Constant(_) => SkeletonSource::Constant,
                Source::Statement(statement) => SkeletonSource::Statement(*statement),
            },
        };
        Self {
            tensors: program.tensors.values().map(tensor).collect(),
            statements: program.statements.clone(),
            inputs: program.inputs.clone(),
            outputs: program.outputs.clone(),
        }
    }

    /// Checks everything that [`TensorProgram`] promises, so that a damaged program is refused before it is used.
    pub fn check(&self) -> Result<(), SkeletonError> {
        for (id, tensor) in self.tensors.iter() {
            let elements = tensor.ty.shape.checked_elements();
            let bytes = elements.and_then(|elements| elements.checked_mul(tensor.ty.element.bytes()));
            if tensor.ty.shape.len() > MAX_RANK || bytes.is_none() {
                return Err(SkeletonError::Shape(id));
            }
            let named_back = match tensor.source {
                SkeletonSource::Input(position) => self.inputs.get(position) == Some(&id),
                SkeletonSource::Constant => true,
                SkeletonSource::Statement(statement) => {
                    self.statements.get(statement).is_some_and(|statement| statement.output == id)
                }
            };
            if !named_back {
                return Err(SkeletonError::Source(id));
            }
        }
        for (position, &input) in self.inputs.iter().enumerate() {
            let tensor = self.tensors.get(input).ok_or(SkeletonError::UnknownTensor(input))?;
            if tensor.source != SkeletonSource::Input(position) {
                return Err(SkeletonError::Source(input));
            }
        }
        for (id, statement) in self.statements.iter() {
            self.check_statement(id, statement)?;
        }
        let unknown = self.outputs.iter().find(|output| self.tensors.get(**output).is_none());
        unknown.map_or(Ok(()), |output| Err(SkeletonError::UnknownTensor(*output)))
    }

    fn check_statement(&self, id: StatementId, statement: &Statement) -> Result<(), SkeletonError> {
        let output = self.tensors.get(statement.output).ok_or(SkeletonError::UnknownTensor(statement.output))?;
        if output.source != SkeletonSource::Statement(id) {
            return Err(SkeletonError::Source(statement.output));
        }
        let mut types = Vec::with_capacity(statement.operands.len());
        for &operand in &statement.operands {
            let tensor = self.tensors.get(operand).ok_or(SkeletonError::UnknownTensor(operand))?;
            match tensor.source {
                SkeletonSource::Statement(producer) if producer.index() >= id.index() => {
                    return Err(SkeletonError::Operands(id));
                }
                SkeletonSource::Statement(_) | SkeletonSource::Input(_) | SkeletonSource::Constant => {}
            }
            types.push(&tensor.ty);
        }
        let checked = match &statement.definition {
            Definition::Compute(expr) => expr.check(),
            Definition::Opaque(opaque) => opaque.procedure.check(&opaque.access),
            Definition::Join { .. } => Ok(()),
        };
        checked.map_err(|reason| SkeletonError::Expression { statement: id, reason })?;
        match &statement.definition {
            Definition::Compute(expr) | Definition::Opaque(Opaque { access: expr, .. }) => {
                if !expr.operands.iter().eq(types) {
                    return Err(SkeletonError::Operands(id));
                }
                if expr.output() != output.ty {
                    return Err(SkeletonError::Output(id));
                }
            }
            Definition::Join { axis } => check_join(id, *axis, &types, &output.ty)?,
        }
        Ok(())
    }

    /// The tensors whose values are needed to make it a program again.
    pub fn constants(&self) -> impl Iterator<Item = (TensorId, &TensorType)> {
        let constants = self.tensors.iter().filter(|(_, tensor)| tensor.source == SkeletonSource::Constant);
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
                SkeletonSource::Statement(statement) => Source::Statement(statement),
            };
            tensors.push(TensorDefinition { ty: tensor.ty.clone(), source });
        }
        Ok(TensorProgram { tensors, statements: self.statements, inputs: self.inputs, outputs: self.outputs })
    }
}

fn check_join(id: StatementId, axis: usize, parts: &[&TensorType], output: &TensorType) -> Result<(), SkeletonError> {
    let agrees = |part: &&TensorType| {
        let same = |(at, (own, other)): (usize, (&usize, &usize))| at == axis || own == other;
        part.element == output.element
            && part.shape.len() == output.shape.len()
            && part.shape.iter().zip(output.shape.iter()).enumerate().all(same)
    };
    if axis >= output.shape.len() || parts.is_empty() || !parts.iter().all(agrees) {
        return Err(SkeletonError::Operands(id));
    }
    let extent = parts.iter().try_fold(0usize, |sum, part| sum.checked_add(part.shape[axis]));
    if extent != Some(output.shape[axis]) {
        return Err(SkeletonError::Output(id));
    }
    Ok(())
}
