//! What of a body must be declared at its top, and what a loop changes.

use std::collections::BTreeSet;

use crate::kernel_ir::{ArrayId, Block, Expression, Kernel, LocalId, Place, SharedId, Statement};

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
    pub fn of(kernel: &Kernel) -> Self {
        let mut declarations = Self::default();
        declarations.block(&kernel.body, &mut Vec::new());
        declarations
    }

    fn block(&mut self, block: &Block, bound: &mut Vec<LocalId>) {
        for statement in block {
            if let Some(place) = statement.place() {
                self.place(place, bound);
            }
            for value in statement.expressions() {
                self.expression(value, bound);
            }
            match statement {
                Statement::Await { loaded, .. } => self.arrays.extend(loaded),
                Statement::LoadShared { array, .. }
                | Statement::StoreShared { array, .. }
                | Statement::AsyncCopy { array, .. } => {
                    self.shared.insert(*array);
                }
                Statement::For { variable, body, .. } => {
                    bound.push(*variable);
                    self.block(body, bound);
                    bound.pop();
                }
                _ => statement.blocks().into_iter().for_each(|block| self.block(block, bound)),
            }
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
        visit(expression, &mut |inner| match inner {
            Expression::Local(local) => self.local(*local, bound),
            Expression::Element(array, _) => {
                self.arrays.insert(*array);
            }
            _ => {}
        });
    }
}

/// Whether `expression` may have another value after an iteration that binds `variable` and runs `body`.
pub(super) fn changes(expression: &Expression, variable: LocalId, body: &Block) -> bool {
    let mut locals = BTreeSet::from([variable]);
    let mut arrays = BTreeSet::new();
    assigned(body, &mut locals, &mut arrays);
    let mut changes = false;
    visit(expression, &mut |inner| match inner {
        Expression::Local(local) => changes |= locals.contains(local),
        Expression::Element(array, _) => changes |= arrays.contains(array),
        _ => {}
    });
    changes
}

fn assigned(block: &Block, locals: &mut BTreeSet<LocalId>, arrays: &mut BTreeSet<ArrayId>) {
    for statement in block {
        if let Some(place) = statement.place() {
            match place {
                Place::Local(local) => locals.insert(*local),
                Place::Element(array, _) => arrays.insert(*array),
            };
        }
        if let Statement::For { variable, .. } = statement {
            locals.insert(*variable);
        }
        statement.blocks().into_iter().for_each(|block| assigned(block, locals, arrays));
    }
}

/// Calls `action` on `expression` and on all that it holds.
fn visit(expression: &Expression, action: &mut impl FnMut(&Expression)) {
    action(expression);
    match expression {
        Expression::Constant(_)
        | Expression::Local(_)
        | Expression::Builtin(_)
        | Expression::Operand(_)
        | Expression::Tile => {}
        Expression::Element(_, value)
        | Expression::Unary(_, value)
        | Expression::Cast(_, value)
        | Expression::FastDivide(value, _) => visit(value, action),
        Expression::Binary(_, left, right) => {
            visit(left, action);
            visit(right, action);
        }
        Expression::FusedMultiplyAdd(first, second, third) | Expression::Select(first, second, third) => {
            visit(first, action);
            visit(second, action);
            visit(third, action);
        }
    }
}
