//! Whether a program keeps its rules.

use super::skeleton::{SkeletonSource, SkeletonTensor};
use super::{Definition, Names, Statement, StatementId, TensorId};
use crate::arena::{Arena, Id};
use crate::legible::legible;
use crate::procedure::Opaque;
use crate::types::{MAX_RANK, TensorType};

/// A program that contradicts itself.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{fault}{}", part(name))]
pub struct ProgramError {
    pub fault: ProgramFault,
    /// The nodes of the model that the statement comes from, or the tensor's name; empty where there is neither.
    pub name: String,
}

fn part(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(", in {name}") }
}

/// What is wrong with a program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProgramFault {
    /// A tensor is named that does not exist.
    #[error("{0} is no tensor of the program")]
    UnknownTensor(TensorId),
    /// A tensor has too many dimensions or too many elements.
    #[error("{0} has an impossible shape")]
    Shape(TensorId),
    /// A tensor's source does not name it back.
    #[error("{0} is not what its source says")]
    Source(TensorId),
    /// A state becomes what does not exist or is of another type.
    #[error("the state {0} becomes a tensor of another type, or none of the program")]
    State(TensorId),
    /// A statement reads a tensor that is not defined before it, or of another type than it declares.
    #[error("{0} reads operands that it does not declare, or before they are defined")]
    Operands(StatementId),
    /// A statement's expression is ill-formed.
    #[error("the expression of {statement} is ill-formed: {reason}")]
    Expression { statement: StatementId, reason: &'static str },
    /// A statement defines a tensor of another type than it computes.
    #[error("{0} defines a tensor of another type")]
    Output(StatementId),
    /// A statement names a node that is not among the program's.
    #[error("{0} comes from a node that the program does not name")]
    Origin(StatementId),
    /// A name is given to what does not exist.
    #[error("a name is given to output {0}, which the program does not have")]
    OutputName(usize),
}

/// Part of a program that a fault is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Culprit {
    Tensor(TensorId),
    Statement(StatementId),
    Outputs,
}

impl ProgramFault {
    /// The remedy, for the author of the program.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::UnknownTensor(_) => "declare it, or name another",
            Self::Shape(_) => "choose smaller extents",
            Self::Source(_) => "let each tensor be one input or the output of one statement",
            Self::State(_) => "name a tensor of the state's type",
            Self::Operands(_) => "name tensors above it, of the types that it reads",
            Self::Expression { .. } => "write expressions as `compile --emit program` does",
            Self::Output(_) => "declare the type that its expression gives",
            Self::Origin(_) => "declare the node above",
            Self::OutputName(_) => "leave the name out",
        }
    }

    /// What of the program the fault is about.
    pub fn culprit(&self) -> Culprit {
        match self {
            Self::UnknownTensor(tensor) | Self::Shape(tensor) | Self::Source(tensor) | Self::State(tensor) => {
                Culprit::Tensor(*tensor)
            }
            Self::Operands(statement)
            | Self::Expression { statement, .. }
            | Self::Output(statement)
            | Self::Origin(statement) => Culprit::Statement(*statement),
            Self::OutputName(_) => Culprit::Outputs,
        }
    }
}

/// What the rules are about: all of a program but the values of constants.
pub(super) struct View<'p> {
    pub(super) tensors: &'p Arena<TensorId, SkeletonTensor>,
    pub(super) statements: &'p Arena<StatementId, Statement>,
    pub(super) inputs: &'p [TensorId],
    pub(super) outputs: &'p [TensorId],
    pub(super) names: &'p Names,
}

impl View<'_> {
    /// The first fault, with the name of what it is about.
    pub(super) fn check(&self) -> Result<(), ProgramError> {
        self.check_tensors().and_then(|()| self.check_statements()).and_then(|()| self.check_ends()).map_err(|fault| {
            let name = match fault.culprit() {
                Culprit::Tensor(tensor) => self.names.tensors.get(&tensor).map(|name| format!("`{}`", legible(name))),
                Culprit::Statement(statement) => self.statements.get(statement).map(|statement| {
                    let nodes = self.names.nodes(statement);
                    legible(&nodes.join(", ")).to_string()
                }),
                Culprit::Outputs => None,
            };
            ProgramError { fault, name: name.unwrap_or_default() }
        })
    }

    fn check_tensors(&self) -> Result<(), ProgramFault> {
        for (id, tensor) in self.tensors.iter() {
            let elements = tensor.ty.shape.checked_elements();
            let bytes = elements.and_then(|elements| elements.checked_mul(tensor.ty.element.bytes()));
            if tensor.ty.shape.len() > MAX_RANK || bytes.is_none() {
                return Err(ProgramFault::Shape(id));
            }
            let named_back = match tensor.source {
                SkeletonSource::Input(position) => self.inputs.get(position) == Some(&id),
                SkeletonSource::Constant => true,
                SkeletonSource::State(next) => {
                    let becomes = next.map(|next| self.tensors.get(next));
                    if becomes.is_some_and(|next| next.is_none_or(|next| next.ty != tensor.ty)) {
                        return Err(ProgramFault::State(id));
                    }
                    true
                }
                SkeletonSource::Statement(statement) => {
                    self.statements.get(statement).is_some_and(|statement| statement.output == id)
                }
            };
            if !named_back {
                return Err(ProgramFault::Source(id));
            }
        }
        Ok(())
    }

    fn check_ends(&self) -> Result<(), ProgramFault> {
        for (position, &input) in self.inputs.iter().enumerate() {
            let tensor = self.tensors.get(input).ok_or(ProgramFault::UnknownTensor(input))?;
            if tensor.source != SkeletonSource::Input(position) {
                return Err(ProgramFault::Source(input));
            }
        }
        let unknown = self.outputs.iter().chain(self.names.tensors.keys());
        let mut unknown = unknown.filter(|tensor| self.tensors.get(**tensor).is_none());
        if let Some(tensor) = unknown.next() {
            return Err(ProgramFault::UnknownTensor(*tensor));
        }
        let beyond = self.names.outputs.keys().find(|position| **position >= self.outputs.len());
        beyond.map_or(Ok(()), |position| Err(ProgramFault::OutputName(*position)))
    }

    fn check_statements(&self) -> Result<(), ProgramFault> {
        self.statements.iter().try_for_each(|(id, statement)| self.check_statement(id, statement))
    }

    fn check_statement(&self, id: StatementId, statement: &Statement) -> Result<(), ProgramFault> {
        let output = self.tensors.get(statement.output).ok_or(ProgramFault::UnknownTensor(statement.output))?;
        if output.source != SkeletonSource::Statement(id) {
            return Err(ProgramFault::Source(statement.output));
        }
        if statement.origins.iter().any(|origin| self.names.origins.get(*origin).is_none()) {
            return Err(ProgramFault::Origin(id));
        }
        let mut types = Vec::with_capacity(statement.operands.len());
        for &operand in &statement.operands {
            let tensor = self.tensors.get(operand).ok_or(ProgramFault::UnknownTensor(operand))?;
            match tensor.source {
                SkeletonSource::Statement(producer) if producer.index() >= id.index() => {
                    return Err(ProgramFault::Operands(id));
                }
                SkeletonSource::Statement(_)
                | SkeletonSource::Input(_)
                | SkeletonSource::Constant
                | SkeletonSource::State(_) => {}
            }
            types.push(&tensor.ty);
        }
        let checked = match &statement.definition {
            Definition::Compute(expr) => expr.check(),
            Definition::Opaque(opaque) => opaque.procedure.check(&opaque.access),
            Definition::Concat { .. } => Ok(()),
        };
        checked.map_err(|reason| ProgramFault::Expression { statement: id, reason })?;
        match &statement.definition {
            Definition::Compute(expr) | Definition::Opaque(Opaque { access: expr, .. }) => {
                if !expr.operands.iter().eq(types) {
                    return Err(ProgramFault::Operands(id));
                }
                if expr.output() != output.ty {
                    return Err(ProgramFault::Output(id));
                }
            }
            Definition::Concat { axis } => check_concat(id, *axis, &types, &output.ty)?,
        }
        Ok(())
    }
}

fn check_concat(id: StatementId, axis: usize, parts: &[&TensorType], output: &TensorType) -> Result<(), ProgramFault> {
    let agrees = |part: &&TensorType| {
        let same = |(at, (own, other)): (usize, (&usize, &usize))| at == axis || own == other;
        part.element == output.element
            && part.shape.len() == output.shape.len()
            && part.shape.iter().zip(output.shape.iter()).enumerate().all(same)
    };
    if axis >= output.shape.len() || parts.is_empty() || !parts.iter().all(agrees) {
        return Err(ProgramFault::Operands(id));
    }
    let extent = parts.iter().try_fold(0usize, |sum, part| sum.checked_add(part.shape[axis]));
    if extent != Some(output.shape[axis]) {
        return Err(ProgramFault::Output(id));
    }
    Ok(())
}
