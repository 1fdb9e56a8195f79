//! What a run may take of this machine's memory: asked before it is allocated, since a system that grants more than it has
//! ends the process instead of refusing.

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

/// Whether copies of a plan's arena fit into memory.
pub fn check_plan(plan: &ExecutionPlan, copies: u64) -> Result<(), NotEnoughMemory> {
    let types = || plan.memory.tensors.values().map(|tensor| &tensor.ty);
    check(plan.memory.arena_bytes.saturating_mul(copies), types)
}

/// Whether the values fit into memory that the reference holds at once: eight bytes an element, those of the statement with
/// the most, and the inputs.
pub(super) fn check_reference(program: &TensorProgram) -> Result<(), NotEnoughMemory> {
    const VALUE_BYTES: u64 = 8;
    let elements = |&tensor: &TensorId| program.tensors[tensor].ty.shape.elements() as u64;
    let inputs = program.inputs.iter().map(elements).fold(0, u64::saturating_add);
    let statements = program.statements.values().map(|statement| {
        statement.operands.iter().chain([&statement.output]).map(elements).fold(0, u64::saturating_add)
    });
    let needed = inputs.saturating_add(statements.max().unwrap_or(0)).saturating_mul(VALUE_BYTES);
    check(needed, || program.tensors.values().map(|tensor| &tensor.ty))
}

fn check<'a, I: Iterator<Item = &'a TensorType>>(
    needed: u64,
    types: impl FnOnce() -> I,
) -> Result<(), NotEnoughMemory> {
    let Some(largest) = types().max_by_key(|ty| ty.bytes()) else { return Ok(()) };
    match available() {
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
