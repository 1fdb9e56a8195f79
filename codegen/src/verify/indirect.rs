//! What memory holds decides about no address, unless it has been checked.

use std::collections::BTreeSet;

use crate::kernel_ir::{ArrayId, Block, Body, Expression, Kernel, LocalId, Location, Place, Statement};

use super::{Problem, Violation};

pub(super) fn check(body: Body, kernel: &Kernel, violations: &mut Vec<Violation>) {
    let mut loaded = Loaded::default();
    while loaded.grow(&kernel.body) {}
    let mut checker = Checker { body, loaded, path: Vec::new(), violations };
    checker.block(&kernel.body);
}

/// Registers whose values depend on what memory held, wherever in the body they are read.
#[derive(Default)]
struct Loaded {
    locals: BTreeSet<LocalId>,
    arrays: BTreeSet<ArrayId>,
}

impl Loaded {
    /// Adds what a block writes; whether anything is new.
    fn grow(&mut self, block: &Block) -> bool {
        let mut grew = false;
        for statement in block {
            let is_loaded = match statement {
                Statement::LoadGlobal { .. } | Statement::LoadSentinel { .. } | Statement::LoadShared { .. } => true,
                Statement::Assign { value, .. } | Statement::Shuffle { value, .. } => self.holds(value),
                // A checked index is as good as a constant, and the others write nothing, truth values, or what the plan says.
                _ => false,
            };
            if let (true, Some(place)) = (is_loaded, statement.place()) {
                grew |= match place {
                    Place::Local(local) => self.locals.insert(*local),
                    Place::Element(array, _) => self.arrays.insert(*array),
                };
            }
            for inner in statement.blocks() {
                grew |= self.grow(inner);
            }
        }
        grew
    }

    fn holds(&self, expression: &Expression) -> bool {
        let own = match expression {
            Expression::Local(local) => self.locals.contains(local),
            Expression::Element(array, _) => self.arrays.contains(array),
            _ => false,
        };
        own || expression.children().into_iter().any(|child| self.holds(child))
    }
}

struct Checker<'a> {
    body: Body,
    loaded: Loaded,
    path: Vec<u32>,
    violations: &'a mut Vec<Violation>,
}

impl Checker<'_> {
    fn block(&mut self, block: &Block) {
        for (index, statement) in block.iter().enumerate() {
            self.path.push(index as u32);
            if addresses(statement).into_iter().any(|address| self.loaded.holds(address)) {
                let location = Location { body: self.body, path: self.path.clone() };
                self.violations.push(Violation { location, problem: Problem::UncheckedIndex });
            }
            for (number, inner) in statement.blocks().into_iter().enumerate() {
                self.path.push(number as u32);
                self.block(inner);
                self.path.pop();
            }
            self.path.pop();
        }
    }
}

/// The expressions that say where a statement reads or writes memory.
fn addresses(statement: &Statement) -> Vec<&Expression> {
    match statement {
        Statement::LoadGlobal { index, .. }
        | Statement::StoreGlobal { index, .. }
        | Statement::StoreSentinel { index, .. }
        | Statement::LoadShared { index, .. }
        | Statement::StoreShared { index, .. } => vec![index],
        Statement::LoadSentinel { index, apart, .. } => std::iter::once(index).chain(apart).collect(),
        Statement::AsyncCopy { index, source, .. } => vec![index, source],
        Statement::CheckIndex { record, .. } => vec![record],
        Statement::Assign { .. }
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
        | Statement::StoreControl { .. }
        | Statement::AddControl { .. }
        | Statement::Wait { .. }
        | Statement::Signal { .. }
        | Statement::DependencyWait
        | Statement::DependentLaunch => Vec::new(),
    }
}
