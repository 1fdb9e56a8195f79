//! What a node does before its kernel.

use crate::kernel_ir::{Body, Kernel, Location, Statement};

use super::{Problem, Violation};

/// A node waits for the node before it, before anything else, and leaves shared memory to its kernel.
pub(super) fn check(body: Body, kernel: &Kernel, violations: &mut Vec<Violation>) {
    match body {
        Body::Entry | Body::Kernel(_) => return,
        Body::Node(_) => {}
    }
    let mut report = |problem: Problem| {
        violations.push(Violation { location: Location { body, path: Vec::new() }, problem });
    };
    if kernel.body.first() != Some(&Statement::DependencyWait) {
        report(Problem::NoDependencyWait);
    }
    if !kernel.shared.is_empty() {
        report(Problem::Misplaced("a shared array"));
    }
}
