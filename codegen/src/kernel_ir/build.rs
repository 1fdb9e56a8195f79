//! Statements and expressions that the entries of programs are made of.

use super::expression::{BinaryOp, Builtin, Expression};
use super::ids::LocalId;
use super::statement::{Block, Place, Statement};

/// `local = value`.
pub(crate) fn assign(local: LocalId, value: Expression) -> Statement {
    Statement::Assign { place: Place::Local(local), value }
}

/// `then` in thread 0 of the block.
pub(crate) fn on_first_thread(then: Block) -> Statement {
    when(Expression::binary(BinaryOp::Equal, Expression::Builtin(Builtin::Thread), Expression::i32(0)), then)
}

/// `then` where the condition holds.
pub(crate) fn when(condition: Expression, then: Block) -> Statement {
    Statement::If { condition, then, otherwise: Block::new() }
}

/// `body` until something leaves it.
pub(crate) fn repeat(body: Block) -> Statement {
    Statement::Loop { body }
}

/// Leaves the innermost loop where the variable, block-uniform, holds.
pub(crate) fn leave_if(local: LocalId) -> Statement {
    when(local.into(), vec![Statement::Break])
}

/// A barrier of the block that tells every thread whether the condition held in any.
pub(crate) fn any(local: LocalId, condition: Expression) -> Statement {
    Statement::BlockBarrierOr { place: Place::Local(local), condition }
}
