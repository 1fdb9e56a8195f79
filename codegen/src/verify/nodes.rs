//! What a node does before its kernel.

use crate::kernel_ir::effects::{Control, Order};
use crate::kernel_ir::{Body, Function};

use super::problem::{Problem, Report};

/// A node waits for the node before it, and before that touches nothing that a node writes.
pub(super) fn check(kernel: &Function, report: &mut Report<'_>) {
    match report.body {
        Body::Entry | Body::Kernel(_) => return,
        Body::Node(_) => {}
    }
    let before = kernel.body.iter().take_while(|statement| statement.effects().order != Order::Dependencies);
    let waits = before.clone().count() < kernel.body.len();
    let is_harmless = |control: Control| match control {
        Control::Next => true,
        Control::Branch
        | Control::Count { .. }
        | Control::Repeat
        | Control::Leave
        | Control::Select
        | Control::Call { .. }
        | Control::Dispatch => false,
    };
    let mut effects = before.map(|statement| statement.effects());
    if !waits || effects.any(|effects| effects.touches_arena() || !is_harmless(effects.control)) {
        report.add(&[], Problem::NoDependencyWait);
    }
}
