//! Kernels on tensor cores that lack a barrier or a wait for copies: the emulator reports each, and text gives other results without a
//! wait.

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::kernel_ir::{Block, Program, Statement};
use warpweave_tests::machine::Machine;
use warpweave_tests::suite::{Suite, is_full};

use super::{CASES, Case, case};
use crate::text::run_text;

/// Kernels of a full run, and of any other.
const MUTANTS: usize = 200;
const FEWER: usize = 24;
/// Of kernels without a wait, one in so many is run as text.
const TEXT_STRIDE: usize = 8;
/// Steps of the reduction from which on every barrier keeps something apart.
const STEPS: usize = 3;

pub fn add(suite: &mut Suite) {
    suite.trial("tensor_mutants", || {
        let wanted = if is_full() { MUTANTS } else { FEWER };
        let (mut found, mut waits) = (0, 0);
        // Cases one after another have different shapes.
        for case in (0..CASES).map(|number| case(number * 5 % CASES)) {
            if found < wanted {
                found += check(&case, &mut waits);
            }
        }
        assert!(found >= wanted, "{found} kernels without a statement, of {wanted}");
    });
}

/// Runs the kernels of a case without one of their statements each; how many. Those without a wait that text runs are counted, too.
fn check(case: &Case, waits: &mut usize) -> usize {
    let (compiled, order) = case.compile();
    let points: usize = order.reduction.iter().product::<usize>() / order.shape.split_k;
    if points < STEPS * order.shape.k_tile {
        return 0;
    }
    let mut machine = Machine::new(&compiled);
    let right = machine.run(&case.inputs, 0);
    let whole = machine.program.clone();
    let mut found = 0;
    while let Some((mutant, left_out)) = without(&whole, found) {
        machine.program = mutant;
        let (report, _) = machine.launch(&case.inputs, &LaunchOptions::seeded(found as u64));
        assert!(!report.is_clean(), "{:?} without {left_out:?}, number {found}", compiled.params());
        found += 1;
        // Behind the last wait, which leaves nothing under way, nothing is read.
        if matches!(left_out, Statement::AsyncWait { pending: 1.. }) {
            if waits.is_multiple_of(TEXT_STRIDE) {
                assert_ne!(run_text(&machine, &case.inputs), right, "{:?} as text", compiled.params());
            }
            *waits += 1;
        }
    }
    found
}

/// The program without the `number`-th barrier or wait of its kernels, and that statement.
fn without(program: &Program, number: usize) -> Option<(Program, Statement)> {
    let mut mutant = program.clone();
    let mut before = number;
    let left_out = mutant.kernels.values_mut().find_map(|kernel| remove(&mut kernel.body, &mut before))?;
    Some((mutant, left_out))
}

fn remove(block: &mut Block, before: &mut usize) -> Option<Statement> {
    for at in 0..block.len() {
        if matches!(block[at], Statement::BlockBarrier | Statement::AsyncWait { .. }) {
            if *before == 0 {
                return Some(block.remove(at));
            }
            *before -= 1;
        }
        let inner = block[at].blocks_mut().into_iter().find_map(|inner| remove(inner, before));
        if inner.is_some() {
            return inner;
        }
    }
    None
}
