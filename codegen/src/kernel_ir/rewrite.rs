//! Rewriting of kernel IR in place.

use super::effects::Role;
use super::expression::Expression;
use super::statement::{Block, Place, Statement};

/// Applies `rewrite` to every expression of a block, those inside places and nested blocks included, except to the extents
/// of loops; operands of an expression come before it.
pub fn rewrite_expressions(block: &mut Block, rewrite: &mut impl FnMut(&mut Expression)) {
    for statement in block {
        let parts = statement.parts_mut();
        if let Some(Place::Element(_, index)) = parts.place.map(|written| written.place) {
            rewrite_tree(index, rewrite);
        }
        for read in parts.reads.into_iter().filter(|read| read.role != Role::Extent) {
            rewrite_tree(read.expression, rewrite);
        }
        for inner in parts.blocks {
            rewrite_expressions(inner, rewrite);
        }
    }
}

fn rewrite_tree(expression: &mut Expression, rewrite: &mut impl FnMut(&mut Expression)) {
    for child in expression.children_mut() {
        rewrite_tree(child, rewrite);
    }
    rewrite(expression);
}

impl Statement {
    /// The blocks inside the statement, in the order in which [`Location`](super::Location) numbers them.
    pub fn blocks_mut(&mut self) -> Vec<&mut Block> {
        self.parts_mut().blocks
    }
}
