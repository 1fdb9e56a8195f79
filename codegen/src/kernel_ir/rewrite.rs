//! Rewriting of kernel IR in place.

use super::{Block, CallWaits, Expression, Place, Statement};

/// Applies `rewrite` to every expression of a block, those inside places and nested blocks included, except to the extents
/// of loops; operands of an expression come before it.
pub fn rewrite_expressions(block: &mut Block, rewrite: &mut impl FnMut(&mut Expression)) {
    for statement in block {
        for expression in own_expressions(statement) {
            rewrite_tree(expression, rewrite);
        }
        for inner in statement.blocks_mut() {
            rewrite_expressions(inner, rewrite);
        }
    }
}

fn rewrite_tree(expression: &mut Expression, rewrite: &mut impl FnMut(&mut Expression)) {
    match expression {
        Expression::Constant(_)
        | Expression::Local(_)
        | Expression::Builtin(_)
        | Expression::Operand(_)
        | Expression::Tile => {}
        Expression::Element(_, x) | Expression::Unary(_, x) | Expression::Cast(_, x) | Expression::FastDivide(x, _) => {
            rewrite_tree(x, rewrite);
        }
        Expression::Binary(_, x, y) => {
            rewrite_tree(x, rewrite);
            rewrite_tree(y, rewrite);
        }
        Expression::FusedMultiplyAdd(x, y, z) | Expression::Select(x, y, z) => {
            rewrite_tree(x, rewrite);
            rewrite_tree(y, rewrite);
            rewrite_tree(z, rewrite);
        }
    }
    rewrite(expression);
}

impl Statement {
    /// The blocks inside the statement.
    pub fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            Self::For { body, .. } | Self::Loop { body } => vec![body],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            Self::Switch { cases, .. } => cases.iter_mut().collect(),
            Self::Assign { .. }
            | Self::LoadGlobal { .. }
            | Self::StoreGlobal { .. }
            | Self::LoadSentinel { .. }
            | Self::StoreSentinel { .. }
            | Self::CheckIndex { .. }
            | Self::LoadShared { .. }
            | Self::StoreShared { .. }
            | Self::AsyncCopy { .. }
            | Self::AsyncCommit
            | Self::AsyncWait { .. }
            | Self::Shuffle { .. }
            | Self::Break
            | Self::Call { .. }
            | Self::Await { .. }
            | Self::BlockBarrier
            | Self::BlockBarrierOr { .. }
            | Self::WarpBarrier
            | Self::LoadTable { .. }
            | Self::LoadControl { .. }
            | Self::ReadSpecial { .. }
            | Self::StoreControl { .. }
            | Self::AddControl { .. }
            | Self::Wait { .. }
            | Self::Signal { .. }
            | Self::DependencyWait
            | Self::DependentLaunch => Vec::new(),
        }
    }
}

fn index_of(place: &mut Place) -> Option<&mut Expression> {
    match place {
        Place::Local(_) => None,
        Place::Element(_, index) => Some(index),
    }
}

/// What the statement itself reads, and the index of its place; not the extent of a loop.
fn own_expressions(statement: &mut Statement) -> Vec<&mut Expression> {
    match statement {
        Statement::Assign { place, value }
        | Statement::Shuffle { place, value, .. }
        | Statement::AddControl { place, value, .. } => index_of(place).into_iter().chain([value]).collect(),
        Statement::LoadGlobal { place, index, .. }
        | Statement::LoadShared { place, index, .. }
        | Statement::LoadTable { place, index, .. } => index_of(place).into_iter().chain([index]).collect(),
        Statement::BlockBarrierOr { place, condition } => index_of(place).into_iter().chain([condition]).collect(),
        Statement::LoadControl { place, .. } | Statement::ReadSpecial { place, .. } => {
            index_of(place).into_iter().collect()
        }
        Statement::Wait { place, counter, target, position, .. } => {
            index_of(place).into_iter().chain([counter, target, position]).collect()
        }
        Statement::StoreGlobal { index, values, .. } | Statement::StoreShared { index, values, .. } => {
            std::iter::once(index).chain(values).collect()
        }
        Statement::LoadSentinel { place, index, apart, mark, .. } => {
            index_of(place).into_iter().chain([index]).chain(apart).chain([mark]).collect()
        }
        Statement::StoreSentinel { index, mark, value } => vec![index, mark, value],
        Statement::CheckIndex { place, value, extent, element, record } => {
            index_of(place).into_iter().chain([value, extent, element, record]).collect()
        }
        Statement::AsyncCopy { index, source, exists, .. } => vec![index, source, exists],
        Statement::If { condition, .. } => vec![condition],
        Statement::Switch { selector, .. } => vec![selector],
        Statement::Call { operands, tile, waits, .. } => {
            let of_waits = waits
                .iter_mut()
                .flat_map(|CallWaits { first, count, stopped }| [first, count].into_iter().chain(index_of(stopped)));
            [operands, tile].into_iter().chain(of_waits).collect()
        }
        Statement::Signal { counter, .. } => vec![counter],
        Statement::StoreControl { value, .. } => vec![value],
        Statement::AsyncCommit
        | Statement::AsyncWait { .. }
        | Statement::For { .. }
        | Statement::Loop { .. }
        | Statement::Break
        | Statement::Await { .. }
        | Statement::BlockBarrier
        | Statement::WarpBarrier
        | Statement::DependencyWait
        | Statement::DependentLaunch => Vec::new(),
    }
}
