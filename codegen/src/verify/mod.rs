//! The verifier of the kernel IR. It reports violations as data and never panics.

mod arrays;
mod assignment;
mod indirect;
mod nodes;
mod problem;
mod prologue;
mod types;
mod uniformity;

use crate::kernel_ir::{Body, Entry, Location, Program, WARP_SIZE};

pub use crate::kernel_ir::effects::{Flaw, Scope};
pub use problem::{Problem, Violation};

use problem::Report;

/// Every violation of the kernel IR's invariants in `program`; empty if it may be printed and run.
pub fn verify(program: &Program) -> Vec<Violation> {
    let mut violations = structure(program);
    if violations.is_empty() {
        for (body, kernel) in program.bodies() {
            let report = &mut Report { body, violations: &mut violations };
            nodes::check(kernel, report);
            arrays::check(kernel, report);
            uniformity::check(kernel, report);
            prologue::check(kernel, report);
            indirect::check(kernel, report);
        }
    }
    violations
}

/// The part of [`verify()`] on which the emulator relies: ids, types, places, widths, loops and definite assignment. It
/// leaves out uniformity, the indices of register arrays and the waits of nodes, which the emulator checks as it runs.
pub fn structure(program: &Program) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut of_program = |problem: Problem| {
        let location = Location { body: Body::Entry, path: Vec::new() };
        violations.push(Violation { location, problem });
    };
    if program.threads == 0 || !program.threads.is_multiple_of(WARP_SIZE) || program.threads > 1024 {
        of_program(Problem::Threads(program.threads));
    }
    match &program.entry {
        Entry::Nodes(nodes) if nodes.len() != program.kernels.len() => {
            of_program(Problem::Nodes { nodes: nodes.len(), kernels: program.kernels.len() });
        }
        Entry::Mixed(entries) => {
            let unknown = entries.nodes.keys().find(|kernel| program.kernels.get(**kernel).is_none());
            unknown.into_iter().for_each(|kernel| of_program(Problem::UnknownId(kernel.to_string())));
        }
        Entry::Persistent(_) | Entry::Nodes(_) => {}
    }
    for (body, kernel) in program.bodies() {
        let before = violations.len();
        types::check(program, kernel, &mut Report { body, violations: &mut violations });
        if violations.len() == before {
            assignment::check(kernel, &mut Report { body, violations: &mut violations });
        }
    }
    violations
}
