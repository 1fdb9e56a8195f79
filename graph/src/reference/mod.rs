//! The oracle: evaluates programs as their definition reads, in doubles and 64-bit integers.
//!
//! Floating point is computed in doubles and rounded to the element type wherever a tensor is stored or a cast names a
//! type. Integers wrap at the width of their type. Nothing here is shared with the code that makes kernels, except the
//! meaning of the expressions.

mod expression;
mod form;
mod lanes;
mod not_finite;
mod opaque;
mod values;

use crate::arena::{Arena, Id};
use crate::expr::{IndirectIndex, TensorExpr};
use crate::index_check::{FaultyIndex, IndexCheck, IndexFault};
use crate::procedure::Opaque;
use crate::program::{Definition, Source, TensorId, TensorProgram};
use crate::tensor::Tensor;
use crate::types::{Shape, TensorType};
pub use not_finite::source_of_not_finite;
use values::Values;

/// Why a program has no value for some inputs.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The number of inputs is not the program's.
    #[error("the program has {expected} inputs, {found} are given")]
    Inputs {
        /// What the program declares.
        expected: usize,
        /// What the caller gave.
        found: usize,
    },
    /// An input or operand is not of the declared type.
    #[error("operand {position} is declared as {expected} and given as {found}")]
    Type {
        /// The position among the inputs or operands.
        position: usize,
        expected: TensorType,
        found: TensorType,
    },
    /// A read lies outside its operand.
    #[error("operand {operand} is read outside its extents")]
    OutOfBounds {
        /// The position among the operands.
        operand: usize,
    },
    /// An element of a tensor that names places of a dimension names none. Of several it is the first.
    #[error("{0}")]
    Index(IndexFault),
}

/// The outputs of a program for these inputs, in order: those of its first launch.
pub fn evaluate(program: &TensorProgram, inputs: &[Tensor]) -> Result<Vec<Tensor>, ReferenceError> {
    Ok(evaluate_launch(program, inputs)?.0)
}

/// The same, and what the next launch finds in each state that launches replace, in order.
pub fn evaluate_launch(
    program: &TensorProgram,
    inputs: &[Tensor],
) -> Result<(Vec<Tensor>, Vec<Tensor>), ReferenceError> {
    watched(program, inputs, &mut |_, _| {})
}

/// Outputs, and what states become; `watch` is shown what every statement computes.
fn watched(
    program: &TensorProgram,
    inputs: &[Tensor],
    watch: &mut dyn FnMut(TensorId, &Values),
) -> Result<(Vec<Tensor>, Vec<Tensor>), ReferenceError> {
    let declared: Vec<&TensorType> = program.inputs.iter().map(|&input| &program.tensors[input].ty).collect();
    check(&declared, inputs)?;
    let mut uses = uses(program);
    let mut fault_found: Option<IndexFault> = None;
    let mut values: Arena<TensorId, Option<Values>> = program.tensors.ids().map(|_| None).collect();
    for statement in program.statements.values() {
        for &operand in &statement.operands {
            if values[operand].is_none() {
                let tensor = given(program, operand, inputs).expect("a statement reads what is defined before it");
                values[operand] = Some(Values::from_tensor(tensor));
            }
        }
        let operands: Vec<&Values> = statement.operands.iter().filter_map(|&id| values[id].as_ref()).collect();
        let output = match &statement.definition {
            Definition::Compute(expr) | Definition::Opaque(Opaque { access: expr, .. }) => {
                let (output, found) = match &statement.definition {
                    Definition::Opaque(opaque) => opaque::evaluate(opaque, &operands)?,
                    Definition::Compute(_) | Definition::Concat { .. } => expression::evaluate(expr, &operands)?,
                };
                let fault = |(place, found): (IndirectIndex, FaultyIndex)| {
                    let tensor = statement.operands[expr.reads[place.read].operand];
                    IndexFault { check: IndexCheck { tensor, extent: place.extent }, found }
                };
                fault_found = found.into_iter().map(fault).chain(fault_found).min();
                output
            }
            Definition::Concat { axis } => {
                let types = statement.operands.iter().map(|&operand| &program.tensors[operand].ty);
                let shapes: Vec<&Shape> = types.map(|ty| &ty.shape).collect();
                Values::concat(&operands, &shapes, *axis)
            }
        };
        watch(statement.output, &output);
        values[statement.output] = Some(output);
        for operand in &statement.operands {
            uses[operand.index()] -= 1;
            if uses[operand.index()] == 0 {
                values[*operand] = None;
            }
        }
    }
    if let Some(fault) = fault_found {
        return Err(ReferenceError::Index(fault));
    }
    let output = |id: TensorId| match given(program, id, inputs) {
        Some(tensor) => tensor.clone(),
        None => {
            let values = values[id].as_ref().expect("outputs stay until the end");
            values.to_tensor(&program.tensors[id].ty)
        }
    };
    let next = program.states().map(|(_, next)| output(next)).collect();
    Ok((program.outputs.iter().map(|&id| output(id)).collect(), next))
}

/// The value of one expression over these operands. An element that names no place of a dimension stands for the nearest one.
pub fn evaluate_expression(expr: &TensorExpr, operands: &[Tensor]) -> Result<Tensor, ReferenceError> {
    check(&expr.operands.iter().collect::<Vec<_>>(), operands)?;
    let values: Vec<Values> = operands.iter().map(Values::from_tensor).collect();
    let (values, _) = expression::evaluate(expr, &values.iter().collect::<Vec<_>>())?;
    Ok(values.to_tensor(&expr.output()))
}

fn check(declared: &[&TensorType], given: &[Tensor]) -> Result<(), ReferenceError> {
    if declared.len() != given.len() {
        return Err(ReferenceError::Inputs { expected: declared.len(), found: given.len() });
    }
    for (position, (&expected, tensor)) in declared.iter().zip(given).enumerate() {
        if expected != tensor.ty() {
            return Err(ReferenceError::Type { position, expected: expected.clone(), found: tensor.ty().clone() });
        }
    }
    Ok(())
}

/// The tensor behind an input or constant.
fn given<'a>(program: &'a TensorProgram, tensor: TensorId, inputs: &'a [Tensor]) -> Option<&'a Tensor> {
    match &program.tensors[tensor].source {
        Source::Input(position) => inputs.get(*position),
        Source::Constant(_) | Source::State(_) | Source::Statement(_) => program.stored(tensor),
    }
}

/// How often each tensor is read; an output and what a state becomes count as one more.
fn uses(program: &TensorProgram) -> Vec<usize> {
    let mut uses = vec![0; program.tensors.len()];
    let operands = program.statements.values().flat_map(|statement| &statement.operands);
    for tensor in operands.copied().chain(program.live_out()) {
        uses[tensor.index()] += 1;
    }
    uses
}
