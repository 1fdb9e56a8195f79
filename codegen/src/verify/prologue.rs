//! What a kernel does before the waits that it does itself needs none of them.

use super::problem::{Problem, Report};
use crate::kernel_ir::Function;
use crate::kernel_ir::effects::Order;
use crate::kernel_ir::location::visit;

pub(super) fn check(kernel: &Function, report: &mut Report<'_>) {
    let Some(waits) = kernel.body.iter().position(|statement| statement.effects().order == Order::OwnWaits) else {
        return;
    };
    visit(&kernel.body[..waits], &mut |statement, path| {
        if statement.effects().touches_arena() {
            report.add(path, Problem::BeforeWaits);
        }
    });
}
