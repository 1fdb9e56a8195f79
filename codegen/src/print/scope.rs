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
            if let Some(place) = place_of(statement) {
                self.place(place, bound);
            }
            for value in values(statement) {
                self.expression(value, bound);
            }
            match statement {
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
                _ => blocks(statement).into_iter().for_each(|block| self.block(block, bound)),
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
        if let Some(place) = place_of(statement) {
            match place {
                Place::Local(local) => locals.insert(*local),
                Place::Element(array, _) => arrays.insert(*array),
            };
        }
        if let Statement::For { variable, .. } = statement {
            locals.insert(*variable);
        }
        blocks(statement).into_iter().for_each(|block| assigned(block, locals, arrays));
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

/// The blocks directly inside `statement`.
fn blocks(statement: &Statement) -> Vec<&Block> {
    match statement {
        Statement::For { body, .. } | Statement::Loop { body } => vec![body],
        Statement::If { then, otherwise, .. } => vec![then, otherwise],
        Statement::Switch { cases, .. } => cases.iter().collect(),
        _ => Vec::new(),
    }
}

/// The place that `statement` itself writes.
fn place_of(statement: &Statement) -> Option<&Place> {
    match statement {
        Statement::Assign { place, .. }
        | Statement::LoadGlobal { place, .. }
        | Statement::LoadSentinel { place, .. }
        | Statement::LoadShared { place, .. }
        | Statement::Shuffle { place, .. }
        | Statement::BlockBarrierOr { place, .. }
        | Statement::LoadTable { place, .. }
        | Statement::LoadControl { place, .. }
        | Statement::ReadSpecial { place, .. }
        | Statement::AddControl { place, .. }
        | Statement::Wait { place, .. } => Some(place),
        Statement::StoreGlobal { .. }
        | Statement::StoreSentinel { .. }
        | Statement::StoreShared { .. }
        | Statement::AsyncCopy { .. }
        | Statement::AsyncCommit
        | Statement::AsyncWait { .. }
        | Statement::For { .. }
        | Statement::If { .. }
        | Statement::Loop { .. }
        | Statement::Break
        | Statement::Switch { .. }
        | Statement::Call { .. }
        | Statement::BlockBarrier
        | Statement::WarpBarrier
        | Statement::StoreControl { .. }
        | Statement::Signal { .. }
        | Statement::DependencyWait
        | Statement::DependentLaunch => None,
    }
}

/// The expressions that `statement` itself evaluates, places apart.
fn values(statement: &Statement) -> Vec<&Expression> {
    match statement {
        Statement::Assign { value, .. }
        | Statement::Shuffle { value, .. }
        | Statement::StoreControl { value, .. }
        | Statement::AddControl { value, .. } => vec![value],
        Statement::LoadGlobal { index, .. }
        | Statement::LoadSentinel { index, .. }
        | Statement::LoadShared { index, .. }
        | Statement::LoadTable { index, .. } => vec![index],
        Statement::StoreGlobal { index, values, .. } | Statement::StoreShared { index, values, .. } => {
            std::iter::once(index).chain(values).collect()
        }
        Statement::StoreSentinel { index, value } => vec![index, value],
        Statement::AsyncCopy { index, source, exists, .. } => vec![index, source, exists],
        Statement::For { extent, .. } => vec![extent],
        Statement::If { condition, .. } | Statement::BlockBarrierOr { condition, .. } => vec![condition],
        Statement::Switch { selector, .. } => vec![selector],
        Statement::Call { operands, tile, .. } => vec![operands, tile],
        Statement::Wait { counter, target, position, .. } => vec![counter, target, position],
        Statement::Signal { counter, .. } => vec![counter],
        Statement::AsyncCommit
        | Statement::AsyncWait { .. }
        | Statement::Loop { .. }
        | Statement::Break
        | Statement::BlockBarrier
        | Statement::WarpBarrier
        | Statement::LoadControl { .. }
        | Statement::ReadSpecial { .. }
        | Statement::DependencyWait
        | Statement::DependentLaunch => Vec::new(),
    }
}
