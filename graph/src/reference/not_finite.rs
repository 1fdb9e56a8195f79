//! Where a value that is infinite or no number comes from.

use super::values::Values;
use super::{ReferenceError, given, watched};
use crate::arena::Arena;
use crate::program::{Source, TensorId, TensorProgram};
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
/// constant or a state, or else what a statement computes. Others that have such values do not matter to the output.
pub fn source_of_not_finite(program: &TensorProgram, inputs: &[Tensor]) -> Result<Option<TensorId>, ReferenceError> {
    let kinds = kinds(program, inputs)?;
    let Some(&output) = program.outputs.first() else { return Ok(None) };
    let of_output = kinds[output];
    if !of_output.nan && !of_output.infinite {
        return Ok(None);
    }
    let matters = |tensor: TensorId| if of_output.nan { kinds[tensor].nan } else { kinds[tensor].infinite };
    let mut reaches: Arena<TensorId, bool> = program.tensors.ids().map(|tensor| tensor == output).collect();
    for statement in program.statements.values().collect::<Vec<_>>().into_iter().rev() {
        if reaches[statement.output] {
            statement.operands.iter().filter(|&&operand| matters(operand)).for_each(|&operand| reaches[operand] = true);
        }
    }
    let is_given = |tensor: &TensorId| !matches!(program.tensors[*tensor].source, Source::Statement(_));
    let found = |tensor: &TensorId| reaches[*tensor];
    let of_given = program.tensors.ids().filter(is_given).find(found);
    Ok(of_given.or_else(|| program.statements.values().map(|statement| statement.output).find(found)))
}

fn kinds(program: &TensorProgram, inputs: &[Tensor]) -> Result<Arena<TensorId, Kinds>, ReferenceError> {
    let of_given = |tensor| given(program, tensor, inputs).map(|tensor| Kinds::of(&Values::from_tensor(tensor)));
    let mut kinds: Arena<TensorId, Kinds> =
        program.tensors.ids().map(|tensor| of_given(tensor).unwrap_or_default()).collect();
    watched(program, inputs, &mut |tensor, values| kinds[tensor] = Kinds::of(values))?;
    Ok(kinds)
}
