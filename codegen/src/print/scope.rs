//! What of a body must be declared at its top, and what a loop changes.

use std::collections::BTreeSet;

use crate::kernel_ir::effects::Access;
use crate::kernel_ir::location::visit;
use crate::kernel_ir::{ArrayId, Block, Expression, Function, LocalId, Place, SharedId};

/// The registers and shared arrays that a body uses. Variables used only inside the loops that bind them are declared
/// by those loops.
#[derive(Default)]
pub(super) struct Declarations {
    pub locals: BTreeSet<LocalId>,
    pub arrays: BTreeSet<ArrayId>,
    pub shared: BTreeSet<SharedId>,
}

impl Declarations {
    /// The declarations of `kernel`.
    pub fn of(kernel: &Function) -> Self {
        let mut declarations = Self::default();
        declarations.block(&kernel.body, &mut Vec::new());
        declarations
    }

    fn block(&mut self, block: &Block, bound: &mut Vec<LocalId>) {
        for statement in block {
            let (parts, effects) = (statement.parts(), statement.effects());
            if let Some(written) = parts.place {
                self.place(written.place, bound);
            }
            for read in parts.reads {
                self.expression(read.expression, bound);
            }
            self.arrays.extend(effects.arrays);
            self.shared.extend(effects.accesses.iter().filter_map(Access::shared));
            let variable = effects.control.variable();
            bound.extend(variable);
            parts.blocks.into_iter().for_each(|block| self.block(block, bound));
            bound.truncate(bound.len() - usize::from(variable.is_some()));
        }
    }

    fn place(&mut self, place: &Place, bound: &[LocalId]) {
        match place {
            Place::Local(local) => self.local(*local, bound),
            Place::Element(array, index) => {
                self.arrays.insert(*array);
                self.expression(index, bound);
            }
        }
    }

    fn local(&mut self, local: LocalId, bound: &[LocalId]) {
        if !bound.contains(&local) {
            self.locals.insert(local);
        }
    }

    fn expression(&mut self, expression: &Expression, bound: &[LocalId]) {
        expression.visit(&mut |inner| match inner {
            Expression::Local(local) => self.local(*local, bound),
            Expression::Element(array, _) => {
                self.arrays.insert(*array);
            }
            _ => {}
        });
    }
}

/// Whether `variable` is part of the index of a register array in `body`, so that the loop that binds it must be unrolled.
pub(super) fn chooses_registers(variable: LocalId, body: &Block) -> bool {
    let names = |index: &Expression| {
        let mut names = false;
        index.visit(&mut |inner| names |= matches!(inner, Expression::Local(local) if *local == variable));
        names
    };
    let mut chooses = false;
    visit(body, &mut |statement, _| {
        let parts = statement.parts();
        if let Some(Place::Element(_, index)) = parts.place.map(|written| written.place) {
            chooses |= names(index);
        }
        let places = parts.place.into_iter().filter_map(|written| match written.place {
            Place::Element(_, index) => Some(index),
            Place::Local(_) => None,
        });
        for expression in parts.reads.iter().map(|read| read.expression).chain(places) {
            expression.visit(&mut |inner| {
                if let Expression::Element(_, index) = inner {
                    chooses |= names(index);
                }
            });
        }
    });
    chooses
}

/// Whether `expression` may have another value after an iteration that binds `variable` and runs `body`.
pub(super) fn changes(expression: &Expression, variable: LocalId, body: &Block) -> bool {
    let mut locals = BTreeSet::from([variable]);
    let mut arrays = BTreeSet::new();
    assigned(body, &mut locals, &mut arrays);
    let mut changes = false;
    expression.visit(&mut |inner| match inner {
        Expression::Local(local) => changes |= locals.contains(local),
        Expression::Element(array, _) => changes |= arrays.contains(array),
        _ => {}
    });
    changes
}

fn assigned(block: &Block, locals: &mut BTreeSet<LocalId>, arrays: &mut BTreeSet<ArrayId>) {
    visit(block, &mut |statement, _| {
        match statement.parts().place.map(|written| written.place) {
            Some(Place::Local(local)) => _ = locals.insert(*local),
            Some(Place::Element(array, _)) => _ = arrays.insert(*array),
            None => {}
        }
        locals.extend(statement.effects().control.variable());
    });
}
