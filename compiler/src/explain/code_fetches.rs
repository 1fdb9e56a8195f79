//! How much code a plan's units run, and how much of it they fetch again.

use std::collections::BTreeMap;

use warpweave_fusion::schedule::simulation::{Event, Simulation};
use warpweave_graph::arena::Arena;
use warpweave_plan::plan::{Instruction, OperatorId};
use warpweave_plan::tables::Binding;
use warpweave_runtime::sass::program::{INSTRUCTION_BYTES, MachineCode};

/// Bytes of code that a multiprocessor is taken to keep: the largest size published for Volta and Turing. Not measured on an H200,
/// where `microbench code` measures it.
pub const CODE_CACHE_BYTES: u64 = 128 << 10;

/// Code of a plan, and what its busiest unit fetches of it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CodeFetches {
    /// Bytes of the code of all kernels.
    pub text_bytes: u64,
    /// Most changes from one kernel to another that a unit makes in a launch.
    pub switches: u64,
    /// Kernels that this unit fetches, those that it has fetched before included.
    pub fetches: u64,
    /// Their bytes.
    pub fetched_bytes: u64,
}

impl CodeFetches {
    /// Those of a simulated run whose rOperators are bound to kernels of these bytes. A unit keeps whole kernels, and lets go
    /// of the least recently used one first.
    pub(crate) fn of(run: &Simulation, bindings: &Arena<OperatorId, Binding>, bytes: &BTreeMap<u32, u64>) -> Self {
        let text_bytes = bytes.values().sum();
        let of_unit = |events: &Vec<Event>| {
            let kernels = events.iter().filter_map(|event| match event.instruction {
                Instruction::Run(task) => Some(bindings[task.operator].kernel),
                _ => None,
            });
            Self { text_bytes, ..of_kernels(kernels, bytes, CODE_CACHE_BYTES) }
        };
        let busiest = run.units.iter().map(of_unit).max_by_key(|unit| (unit.switches, unit.fetched_bytes));
        busiest.unwrap_or(Self { text_bytes, ..Self::default() })
    }
}

/// Most changes from one kernel body to another that a unit of a simulated run makes.
pub fn kernel_switches(run: &Simulation, bindings: &Arena<OperatorId, Binding>) -> u64 {
    let bytes: BTreeMap<u32, u64> = bindings.values().map(|binding| (binding.kernel, 0)).collect();
    CodeFetches::of(run, bindings, &bytes).switches
}

/// Bytes of each kernel's own code: of its function, or of its entry as a node.
pub(crate) fn kernel_bytes(code: &MachineCode, functions: &BTreeMap<u32, String>) -> BTreeMap<u32, u64> {
    let bytes = |name: &String| code.function(name).map_or(0, |own| (own.end - own.start) as u64 * INSTRUCTION_BYTES);
    functions.iter().map(|(kernel, name)| (*kernel, bytes(name))).collect()
}

/// What a unit switches and fetches that runs these kernels in turn and keeps so many bytes of them.
fn of_kernels(kernels: impl Iterator<Item = u32>, bytes: &BTreeMap<u32, u64>, capacity: u64) -> CodeFetches {
    let mut found = CodeFetches::default();
    // The most recently used one last.
    let mut kept: Vec<u32> = Vec::new();
    let mut last = None;
    for kernel in kernels.filter(|kernel| last.replace(*kernel) != Some(*kernel)) {
        found.switches += 1;
        let position = kept.iter().position(|other| *other == kernel);
        if let Some(position) = position {
            kept.remove(position);
        } else {
            found.fetches += 1;
            found.fetched_bytes += bytes[&kernel];
        }
        kept.push(kernel);
        while kept.iter().map(|kernel| bytes[kernel]).sum::<u64>() > capacity {
            kept.remove(0);
        }
    }
    found.switches = found.switches.saturating_sub(1);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kernels: &[u32], capacity: u64) -> (u64, u64, u64) {
        let bytes = BTreeMap::from([(0, 10), (1, 20), (2, 30), (3, 100)]);
        let CodeFetches { switches, fetches, fetched_bytes, .. } =
            of_kernels(kernels.iter().copied(), &bytes, capacity);
        (switches, fetches, fetched_bytes)
    }

    #[test]
    fn kernels_that_fit_are_fetched_once() {
        assert_eq!(of(&[], 60), (0, 0, 0));
        assert_eq!(of(&[0, 0, 0], 60), (0, 1, 10));
        assert_eq!(of(&[0, 1, 2, 0, 1, 2], 60), (5, 3, 60));
    }

    #[test]
    fn the_least_recently_used_kernel_is_let_go() {
        assert_eq!(of(&[0, 1, 2, 0, 1, 2], 59), (5, 6, 120), "a rotation that just does not fit misses always");
        assert_eq!(of(&[0, 1, 0, 2, 0], 59), (4, 3, 60), "kernel 0 was used again before kernel 2 came");
        assert_eq!(of(&[3, 0, 3], 60), (2, 3, 210), "a kernel that does not fit is not kept");
    }
}
