//! Where a value that is infinite or no number comes from.

use super::values::Values;
use super::{ReferenceError, given, watched};
use crate::arena::Arena;
use crate::program::{Source, Statement, TensorId, TensorProgram};
use crate::tensor::Tensor;

/// Which values that are not finite a tensor has.
#[derive(Clone, Copy, Default, Debug)]
struct Kinds {
    nan: bool,
    infinite: bool,
}

impl Kinds {
    fn of(values: &Values) -> Self {
        Self { nan: values.any(f64::is_nan), infinite: values.any(f64::is_infinite) }
    }
}

/// The first tensor of those along which what is no number, or else what is infinite, reaches the first output: an input, a
/// constant or a state, or else what a statement computes. What is no number comes from a result that overflows, if there is
/// one. Other tensors that have such values do not matter to the output.
pub fn source_of_not_finite(program: &TensorProgram, inputs: &[Tensor]) -> Result<Option<TensorId>, ReferenceError> {
    let kinds = kinds(program, inputs)?;
    let Some(&output) = program.outputs.first() else { return Ok(None) };
    if !kinds[output].nan {
        let infinite = reached(program, output, |tensor| kinds[tensor].infinite);
        return Ok(first(program, &infinite).filter(|_| kinds[output].infinite));
    }
    let nan = reached(program, output, |tensor| kinds[tensor].nan);
    let Some(source) = first(program, &nan) else { return Ok(None) };
    let infinite = reached(program, source, |tensor| kinds[tensor].infinite);
    let overflows = |statement: &&Statement| {
        let is_first = statement.operands.iter().all(|&operand| !kinds[operand].infinite);
        infinite[statement.output] && statement.output != source && is_first
    };
    let overflow = program.statements.values().find(overflows);
    Ok(Some(overflow.map_or(source, |statement| statement.output)))
}

/// A tensor, and what leads to it through tensors of which something holds.
fn reached(program: &TensorProgram, to: TensorId, holds: impl Fn(TensorId) -> bool) -> Arena<TensorId, bool> {
    let mut reached: Arena<TensorId, bool> = program.tensors.ids().map(|tensor| tensor == to).collect();
    for statement in program.statements.values().collect::<Vec<_>>().into_iter().rev() {
        if reached[statement.output] {
            statement.operands.iter().filter(|&&operand| holds(operand)).for_each(|&operand| reached[operand] = true);
        }
    }
    reached
}

/// The first of some tensors: those that are given stand before those that are computed.
fn first(program: &TensorProgram, of: &Arena<TensorId, bool>) -> Option<TensorId> {
    let is_given = |tensor: &TensorId| !matches!(program.tensors[*tensor].source, Source::Statement(_));
    let given = program.tensors.ids().filter(is_given).find(|&tensor| of[tensor]);
    given.or_else(|| program.statements.values().map(|statement| statement.output).find(|&tensor| of[tensor]))
}

fn kinds(program: &TensorProgram, inputs: &[Tensor]) -> Result<Arena<TensorId, Kinds>, ReferenceError> {
    let of_given = |tensor| given(program, tensor, inputs).map(|tensor| Kinds::of(&Values::from_tensor(tensor)));
    let mut kinds: Arena<TensorId, Kinds> =
        program.tensors.ids().map(|tensor| of_given(tensor).unwrap_or_default()).collect();
    watched(program, inputs, &mut |tensor, values| kinds[tensor] = Kinds::of(values))?;
    Ok(kinds)
}
