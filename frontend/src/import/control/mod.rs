//! Control flow over graphs: folded where what it depends on is known at import, else made a choice or refused.

mod block;
mod branch;
mod decided;
mod either;
mod guard;
mod repeat;
mod scan;
mod stack;

use super::flatten::FlatNode;
use super::walk::{Refusal, Walk};
pub(super) use block::operator;
pub(super) use guard::Guards;
pub(super) use stack::{Order, stack};

/// The operators whose attributes are graphs that are expanded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ControlFlow {
    If,
    Loop,
    Scan,
}

impl ControlFlow {
    /// The control flow that a node is, if it is one.
    pub(super) fn of(node: &FlatNode) -> Option<Self> {
        match node.operator.as_str() {
            _ if !node.domain.is_empty() => None,
            "If" => Some(Self::If),
            "Loop" => Some(Self::Loop),
            "Scan" => Some(Self::Scan),
            _ => None,
        }
    }

    /// Takes the node's graphs into the walk's.
    pub(super) fn fold<'m>(self, walk: &mut Walk<'m>, node: &FlatNode<'m>) -> Result<(), Refusal> {
        match self {
            Self::If => branch::fold(walk, node),
            Self::Loop => repeat::fold(walk, node),
            Self::Scan => scan::fold(walk, node),
        }
    }
}
