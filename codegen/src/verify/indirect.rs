//! What memory holds decides about no address, unless it has been checked.

use std::collections::BTreeSet;

use crate::kernel_ir::effects::{AccessKind, Memory, Outcome, Role};
use crate::kernel_ir::location::visit;
use crate::kernel_ir::{ArrayId, Block, Expression, Function, LocalId, Place, SharedId, Statement};

use super::problem::{Problem, Report};

pub(super) fn check(kernel: &Function, report: &mut Report<'_>) {
    let mut loaded = Loaded { fetched: fetched(&kernel.body), ..Loaded::default() };
    while loaded.grow(&kernel.body) {}
    visit(&kernel.body, &mut |statement, path| {
        let reads = statement.parts().reads;
        let mut addresses = reads.into_iter().filter(|read| read.role == Role::Address);
        if addresses.any(|address| loaded.holds(address.expression)) {
            report.add(path, Problem::UncheckedIndex);
        }
    });
}

/// Registers whose values depend on what memory held, wherever in the body they are read.
#[derive(Default)]
struct Loaded {
    locals: BTreeSet<LocalId>,
    arrays: BTreeSet<ArrayId>,
    /// Shared arrays that hold words of tables alone, which say what a plan is and nothing of data.
    fetched: BTreeSet<SharedId>,
}

/// The shared arrays that a body writes by fetches alone.
fn fetched(block: &Block) -> BTreeSet<SharedId> {
    let (mut fetched, mut written) = (BTreeSet::new(), BTreeSet::new());
    visit(block, &mut |statement, _| {
        let accesses = statement.effects().accesses;
        let of_table = accesses.iter().any(|access| access.memory == Memory::Table);
        let writes = accesses.iter().filter(|access| access.kind == AccessKind::Write);
        let arrays = writes.filter_map(|access| access.shared());
        if of_table { fetched.extend(arrays) } else { written.extend(arrays) }
    });
    fetched.difference(&written).copied().collect()
}

impl Loaded {
    /// Adds what a block writes; whether anything is new.
    fn grow(&mut self, block: &Block) -> bool {
        let mut grew = false;
        visit(block, &mut |statement, _| {
            let Some(written) = statement.parts().place else { return };
            if self.is_loaded(statement) {
                grew |= match written.place {
                    Place::Local(local) => self.locals.insert(*local),
                    Place::Element(array, _) => self.arrays.insert(*array),
                };
            }
        });
        grew
    }

    /// Whether what a statement writes depends on what memory held. A checked index is as good as a constant.
    fn is_loaded(&self, statement: &Statement) -> bool {
        let effects = statement.effects();
        match effects.outcome {
            Outcome::Values | Outcome::OfOneLane => {
                let reads = statement.parts().reads;
                reads.into_iter().any(|read| read.role == Role::Value && self.holds(read.expression))
            }
            Outcome::OfShared => {
                effects.accesses.iter().filter_map(|access| access.shared()).any(|array| !self.fetched.contains(&array))
            }
            Outcome::OfThread | Outcome::Common => effects.loads(),
        }
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
