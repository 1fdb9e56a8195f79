//! Where a statement stands in a program, and what it consists of.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::KernelId;
use super::program::{Function, Program};
use super::statement::Statement;

/// One of the bodies of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Body {
    /// The entry that walks streams.
    Entry,
    /// The entry of a kernel as a node.
    Node(KernelId),
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
    pub fn bodies(&self) -> impl Iterator<Item = (Body, &Function)> {
        self.entries().into_iter().chain(self.kernels.iter().map(|(id, k)| (Body::Kernel(id), k)))
    }

    /// The entry that walks streams, then those of the nodes in the order of their kernels.
    pub fn entries(&self) -> Vec<(Body, &Function)> {
        let persistent = self.entry.persistent().map(|entry| (Body::Entry, entry));
        let nodes = self.entry.nodes().into_iter().map(|(id, node)| (Body::Node(id), node));
        persistent.into_iter().chain(nodes).collect()
    }
}

/// Calls `action` on all statements of a block and of its inner ones, from the outside in, with the paths that [`Location`]
/// names.
pub fn visit(block: &[Statement], action: &mut impl FnMut(&Statement, &[u32])) {
    visit_from(block, &mut Vec::new(), action);
}

fn visit_from(block: &[Statement], path: &mut Vec<u32>, action: &mut impl FnMut(&Statement, &[u32])) {
    for (index, statement) in block.iter().enumerate() {
        path.push(index as u32);
        action(statement, path);
        for (number, inner) in statement.blocks().into_iter().enumerate() {
            path.push(number as u32);
            visit_from(inner, path, action);
            path.pop();
        }
        path.pop();
    }
}
