//! Where a statement stands in a program, and what it consists of.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Block, Expression, Kernel, KernelId, Place, Program, Statement};

/// One of the bodies of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Body {
    /// The entry that walks streams.
    Entry,
    /// The entry of a kernel as a node.
    Node(KernelId),
    /// A kernel.
    Kernel(KernelId),
}

/// A statement of a program: `k2 at 3.1.0` is statement 0 of block 1 of statement 3 of kernel 2.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Location {
    /// The body that holds it.
    pub body: Body,
    /// Statement index and block index alternating, from the outside in; empty for the body itself.
    pub path: Vec<u32>,
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry => f.write_str("entry"),
            Self::Node(kernel) => write!(f, "node {kernel}"),
            Self::Kernel(kernel) => write!(f, "{kernel}"),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.body)?;
        for (position, step) in self.path.iter().enumerate() {
            write!(f, "{}{step}", if position == 0 { " at " } else { "." })?;
        }
        Ok(())
    }
}

impl Program {
    /// All bodies: the entries, then the kernels in order.
    pub fn bodies(&self) -> impl Iterator<Item = (Body, &Kernel)> {
        self.entries().into_iter().chain(self.kernels.iter().map(|(id, k)| (Body::Kernel(id), k)))
    }

    /// The entry that walks streams, then those of the nodes in the order of their kernels.
    pub fn entries(&self) -> Vec<(Body, &Kernel)> {
        let persistent = self.entry.persistent().map(|entry| (Body::Entry, entry));
        let nodes = self.entry.nodes().into_iter().map(|(id, node)| (Body::Node(id), node));
        persistent.into_iter().chain(nodes).collect()
    }
}

impl Statement {
    /// The blocks inside the statement, in the order in which [`Location`] numbers them.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Self::For { body, .. } | Self::Loop { body } => vec![body],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            Self::Switch { cases, .. } => cases.iter().collect(),
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

    /// The place that the statement writes.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Assign { place, .. }
            | Self::LoadGlobal { place, .. }
            | Self::LoadSentinel { place, .. }
            | Self::CheckIndex { place, .. }
            | Self::LoadShared { place, .. }
            | Self::Shuffle { place, .. }
            | Self::BlockBarrierOr { place, .. }
            | Self::LoadTable { place, .. }
            | Self::LoadControl { place, .. }
            | Self::ReadSpecial { place, .. }
            | Self::AddControl { place, .. }
            | Self::Wait { place, .. } => Some(place),
            Self::Call { waits, .. } => waits.as_ref().map(|waits| &waits.stopped),
            Self::StoreGlobal { .. }
            | Self::StoreSentinel { .. }
            | Self::StoreShared { .. }
            | Self::AsyncCopy { .. }
            | Self::AsyncCommit
            | Self::AsyncWait { .. }
            | Self::For { .. }
            | Self::If { .. }
            | Self::Loop { .. }
            | Self::Break
            | Self::Switch { .. }
            | Self::Await { .. }
            | Self::BlockBarrier
            | Self::WarpBarrier
            | Self::StoreControl { .. }
            | Self::Signal { .. }
            | Self::DependencyWait
            | Self::DependentLaunch => None,
        }
    }

    /// The expressions that the statement itself reads, not those of its blocks and not the index of its place.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Self::Assign { value, .. }
            | Self::Shuffle { value, .. }
            | Self::StoreControl { value, .. }
            | Self::AddControl { value, .. } => vec![value],
            Self::LoadGlobal { index, .. } | Self::LoadShared { index, .. } | Self::LoadTable { index, .. } => {
                vec![index]
            }
            Self::LoadSentinel { index, apart, mark, .. } => [index].into_iter().chain(apart).chain([mark]).collect(),
            Self::StoreSentinel { index, mark, value } => vec![index, mark, value],
            Self::CheckIndex { value, extent, element, record, .. } => vec![value, extent, element, record],
            Self::StoreGlobal { index, values, .. } | Self::StoreShared { index, values, .. } => {
                std::iter::once(index).chain(values).collect()
            }
            Self::AsyncCopy { index, source, exists, .. } => vec![index, source, exists],
            Self::For { extent, .. } => vec![extent],
            Self::If { condition, .. } | Self::BlockBarrierOr { condition, .. } => vec![condition],
            Self::Switch { selector, .. } => vec![selector],
            Self::Call { operands, tile, waits, .. } => {
                let waits = waits.iter().flat_map(|waits| [&waits.first, &waits.count]);
                [operands, tile].into_iter().chain(waits).collect()
            }
            Self::Wait { counter, target, position, .. } => vec![counter, target, position],
            Self::Signal { counter, .. } => vec![counter],
            Self::AsyncCommit
            | Self::AsyncWait { .. }
            | Self::Loop { .. }
            | Self::Break
            | Self::Await { .. }
            | Self::BlockBarrier
            | Self::WarpBarrier
            | Self::LoadControl { .. }
            | Self::ReadSpecial { .. }
            | Self::DependencyWait
            | Self::DependentLaunch => Vec::new(),
        }
    }
}

impl Expression {
    /// The direct operands.
    pub fn children(&self) -> Vec<&Expression> {
        match self {
            Self::Constant(_) | Self::Local(_) | Self::Builtin(_) | Self::Operand(_) | Self::Tile => Vec::new(),
            Self::Element(_, x) | Self::Unary(_, x) | Self::Cast(_, x) | Self::FastDivide(x, _) => vec![x],
            Self::Binary(_, x, y) => vec![x, y],
            Self::FusedMultiplyAdd(x, y, z) | Self::Select(x, y, z) => vec![x, y, z],
        }
    }
}
