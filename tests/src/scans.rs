//! Machine code that suites compile, scanned for instructions that are not executed.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use warpweave::runtime::sass::execute::scan::Scan;
use warpweave::runtime::sass::operation::Operation;
use warpweave::runtime::sass::program::MachineCode;

/// Instructions and operations that the smallest program has: one of fewer was not read.
const LEAST: (usize, usize) = (32, 10);
/// Instructions that a message lists.
const LISTED: usize = 8;

static SCANNED: LazyLock<Mutex<(usize, BTreeSet<Operation>)>> = LazyLock::new(Mutex::default);

/// Fails unless each instruction of a compiled program can be executed, reached or not.
#[track_caller]
pub fn check(machine: &MachineCode) {
    let Scan { instructions, operations, unexecuted } = Scan::of(machine);
    let listed: Vec<String> = unexecuted.iter().take(LISTED).map(ToString::to_string).collect();
    assert!(unexecuted.is_empty(), "{} instructions are not executed, such as {listed:#?}", unexecuted.len());
    let found = (instructions, operations.len());
    assert!(found.0 >= LEAST.0 && found.1 >= LEAST.1, "only {found:?} instructions and operations are read");
    let mut all = SCANNED.lock().unwrap_or_else(PoisonError::into_inner);
    all.0 += instructions;
    all.1.extend(operations);
}

/// How many instructions this process has checked, and of how many operations.
pub fn scanned() -> (usize, usize) {
    let all = SCANNED.lock().unwrap_or_else(PoisonError::into_inner);
    (all.0, all.1.len())
}
