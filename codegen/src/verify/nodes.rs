//! What a node does before its kernel.

use crate::kernel_ir::effects::Order;
use crate::kernel_ir::{Body, Kernel};

use super::problem::{Problem, Report};

/// A node waits for the node before it, before anything else, and leaves shared memory to its kernel.
pub(super) fn check(kernel: &Kernel, report: &mut Report<'_>) {
    match report.body {
        Body::Entry | Body::Kernel(_) => return,
        Body::Node(_) => {}
    }
    if kernel.body.first().is_none_or(|statement| statement.effects().order != Order::Dependencies) {
        report.add(&[], Problem::NoDependencyWait);
    }
    if !kernel.shared.is_empty() {
        report.add(&[], Problem::Misplaced("a shared array"));
    }
}
