//! What a kernel does before the waits that it does itself needs none of them.

use super::{Problem, Violation};
use crate::kernel_ir::{Body, GlobalSpace, Kernel, Location, Statement};

pub(super) fn check(body: Body, kernel: &Kernel, violations: &mut Vec<Violation>) {
    let Some(waits) = kernel.body.iter().position(|statement| matches!(statement, Statement::Await { .. })) else {
        return;
    };
    let mut path = Vec::new();
    visit(&kernel.body[..waits], &mut path, &mut |statement, path| {
        if touches_arena(statement) {
            let location = Location { body, path: path.to_vec() };
            violations.push(Violation { location, problem: Problem::BeforeWaits });
        }
    });
}

/// Calls `action` on all statements of a block and of its inner ones.
fn visit(block: &[Statement], path: &mut Vec<u32>, action: &mut impl FnMut(&Statement, &[u32])) {
    for (index, statement) in block.iter().enumerate() {
        path.push(index as u32);
        action(statement, path);
        for (number, inner) in statement.blocks().into_iter().enumerate() {
            path.push(number as u32);
            visit(inner, path, action);
            path.pop();
        }
        path.pop();
    }
}

fn touches_arena(statement: &Statement) -> bool {
    match statement {
        Statement::LoadGlobal { space, .. } | Statement::AsyncCopy { space, .. } => match space {
            GlobalSpace::Arena => true,
            GlobalSpace::Weights => false,
        },
        Statement::StoreGlobal { .. } | Statement::LoadSentinel { .. } | Statement::StoreSentinel { .. } => true,
        // Nothing in a launch reads a record.
        Statement::CheckIndex { .. }
        | Statement::Assign { .. }
        | Statement::LoadShared { .. }
        | Statement::StoreShared { .. }
        | Statement::AsyncCommit
        | Statement::AsyncWait { .. }
        | Statement::Shuffle { .. }
        | Statement::For { .. }
        | Statement::If { .. }
        | Statement::Loop { .. }
        | Statement::Break
        | Statement::Switch { .. }
        | Statement::Call { .. }
        | Statement::Await { .. }
        | Statement::BlockBarrier
        | Statement::BlockBarrierOr { .. }
        | Statement::WarpBarrier
        | Statement::LoadTable { .. }
        | Statement::LoadControl { .. }
        | Statement::ReadSpecial { .. }
        | Statement::DependencyWait
        | Statement::DependentLaunch
        | Statement::StoreControl { .. }
        | Statement::AddControl { .. }
        | Statement::Wait { .. }
        | Statement::Signal { .. } => false,
    }
}
