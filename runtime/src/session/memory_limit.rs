//! What a run may take of this machine's memory: asked before it is allocated, since a system that grants more than it has
//! ends the process instead of refusing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use warpweave_graph::program::TensorId;
use warpweave_graph::{TensorProgram, TensorType};
use warpweave_plan::plan::ExecutionPlan;

/// More memory than there is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the run takes {needed} bytes of memory, the tensor {largest} among them, and {available} are available; choose smaller \
     shapes, or a machine with more"
)]
pub struct NotEnoughMemory {
    /// Bytes that the run takes.
    pub needed: u64,
    /// Bytes that are available.
    pub available: u64,
    /// The type of the largest tensor.
    pub largest: TensorType,
}

/// Whether copies of a plan's arena fit into memory, and the outputs that a run hands out beside them.
pub fn check_plan(plan: &ExecutionPlan, copies: u64) -> Result<(), NotEnoughMemory> {
    let types = || plan.memory.tensors.values().map(|tensor| &tensor.ty);
    check(plan_bytes(plan, copies), available(), types)
}

/// Whether the values fit into memory that the reference holds at once.
pub(super) fn check_reference(program: &TensorProgram) -> Result<(), NotEnoughMemory> {
    check(reference_bytes(program), available(), || program.tensors.values().map(|tensor| &tensor.ty))
}

fn plan_bytes(plan: &ExecutionPlan, copies: u64) -> u64 {
    let outputs = plan.memory.outputs.iter().map(|&output| plan.memory.tensors[output].ty.bytes() as u64);
    outputs.fold(plan.memory.arena_bytes.saturating_mul(copies), u64::saturating_add)
}

/// The most bytes of the reference's values at a time: eight an element from where a tensor is first read or computed to where
/// it is last read. What lives on is there as a tensor as well in the end.
fn reference_bytes(program: &TensorProgram) -> u64 {
    const VALUE_BYTES: u64 = 8;
    let bytes = |tensor: TensorId| (program.tensors[tensor].ty.shape.elements() as u64).saturating_mul(VALUE_BYTES);
    let mut left: BTreeMap<TensorId, usize> = BTreeMap::new();
    let operands = program.statements.values().flat_map(|statement| &statement.operands);
    operands.copied().chain(program.live_out()).for_each(|tensor| *left.entry(tensor).or_default() += 1);
    let (mut held, mut total, mut most) = (BTreeSet::new(), 0u64, 0);
    for statement in program.statements.values() {
        for &tensor in statement.operands.iter().chain([&statement.output]) {
            total = total.saturating_add(if held.insert(tensor) { bytes(tensor) } else { 0 });
        }
        most = total.max(most);
        for operand in &statement.operands {
            let left = left.entry(*operand).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 && held.remove(operand) {
                total = total.saturating_sub(bytes(*operand));
            }
        }
    }
    let handed_out = program.live_out().map(|tensor| program.tensors[tensor].ty.bytes() as u64);
    handed_out.fold(total, u64::saturating_add).max(most)
}

fn check<'a, I: Iterator<Item = &'a TensorType>>(
    needed: u64,
    available: Option<u64>,
    types: impl FnOnce() -> I,
) -> Result<(), NotEnoughMemory> {
    let Some(largest) = types().max_by_key(|ty| ty.bytes()) else { return Ok(()) };
    match available {
        Some(available) if needed > available => Err(NotEnoughMemory { needed, available, largest: largest.clone() }),
        Some(_) | None => Ok(()),
    }
}

/// Bytes that this process may still take, if the system says: what the machine has left, and what the limit of the address
/// space allows.
fn available() -> Option<u64> {
    let number = |text: &str| text.split_whitespace().find_map(|word| word.parse::<u64>().ok());
    let field = |file: &str, name: &str| -> Option<u64> {
        number(fs::read_to_string(file).ok()?.lines().find(|line| line.starts_with(name))?)
    };
    let free = field("/proc/meminfo", "MemAvailable:").map(|kilobytes| kilobytes.saturating_mul(1 << 10));
    let limit = field("/proc/self/limits", "Max address space").map(|bytes| {
        let taken = field("/proc/self/status", "VmSize:").unwrap_or(0).saturating_mul(1 << 10);
        bytes.saturating_sub(taken)
    });
    free.into_iter().chain(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweave_graph::expr::ExprBuilder;
    use warpweave_graph::program::ProgramBuilder;
    use warpweave_graph::{ElementType, Shape};

    /// A program that repeats one number.
    fn repeats(elements: usize) -> TensorProgram {
        let mut program = ProgramBuilder::new();
        let one = TensorType::new(ElementType::F32, Shape::scalar());
        let input = program.input(one.clone());
        let mut expr = ExprBuilder::new();
        expr.parallels(&[elements]);
        let operand = expr.operand(&one);
        let body = expr.read(operand, Vec::new());
        let output = program.compute(expr.map(ElementType::F32, body), &[input]);
        program.finish(vec![output])
    }

    #[test]
    fn what_is_handed_out_counts() {
        let elements = 1usize << 31;
        let program = repeats(elements);
        // The output's values, and beside them the same as a tensor.
        let needed = (8 + 4) << 31;
        assert_eq!(reference_bytes(&program), needed);
        let types = || program.tensors.values().map(|tensor| &tensor.ty);
        let error = check(needed, Some(needed - 1), types).expect_err("there is less");
        assert_eq!((error.needed, error.available), (needed, needed - 1));
        assert_eq!(error.largest.shape.elements(), elements);
        assert_eq!(check(needed, Some(needed), types), Ok(()));
        assert_eq!(check(u64::MAX, None, types), Ok(()));
    }
}
