//! Programs: bodies, and what is launched.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpweave_graph::arena::Arena;

use super::effects::Order;
use super::expression::{Expression, ScalarType};
use super::ids::{ArrayId, KernelId, LocalId, SharedId};
use super::location::visit;
use super::memory::MemoryType;
use super::statement::Block;

/// A register array: `length` scalars, indexed by constants after unrolling.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RegisterArray {
    /// The type of each element.
    pub scalar: ScalarType,
    /// The number of elements.
    pub length: u32,
}

/// A shared-memory array: `length` elements in the block's shared memory. Its contents are undefined when a kernel is
/// entered, unless it is [`Function::kept`], and it is aligned to 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SharedArray {
    /// The type of each element in memory.
    pub memory: MemoryType,
    /// The number of elements.
    pub length: u32,
}

impl SharedArray {
    /// Bytes, up to where the next array may begin.
    pub fn bytes(&self) -> u32 {
        (self.memory.bytes() * self.length).next_multiple_of(16)
    }
}

/// A function of a program: declarations and statements. Its kernels and its entries are functions.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Function {
    /// Scalar variables.
    pub locals: Arena<LocalId, ScalarType>,
    pub arrays: Arena<ArrayId, RegisterArray>,
    /// Shared-memory arrays; a block's shared memory is the maximum over its kernels, not the sum.
    pub shared: Arena<SharedId, SharedArray>,
    /// The array whose contents last from call to call: it lies where every kernel's kept array begins, and no other array
    /// of a kernel overlaps it. Undefined until a kernel of the launch has written it.
    pub kept: Option<SharedId>,
    pub body: Block,
}

impl Function {
    /// Whether the kernel does the waits of its calls itself.
    pub fn awaits(&self) -> bool {
        self.body.iter().any(|statement| statement.effects().order == Order::OwnWaits)
    }

    /// Whether a call may be of several rTasks, one after another.
    pub fn takes_steps(&self) -> bool {
        self.body.iter().any(|statement| statement.effects().order == Order::OwnSteps)
    }

    /// Whether instructions behind that of a call are the kernel's own: its waits, or its further rTasks and their signals.
    pub fn owns_instructions(&self) -> bool {
        self.awaits() || self.takes_steps()
    }

    /// Operands: one more than the largest number that an expression names.
    pub fn operands(&self) -> u32 {
        let mut count = 0;
        visit(&self.body, &mut |statement, _| {
            for read in statement.parts().reads {
                read.expression.visit(&mut |inner| match inner {
                    Expression::Operand(number) => count = count.max(number.saturating_add(1)),
                    Expression::FastDivide(_, number) => count = count.max(number.saturating_add(2)),
                    _ => {}
                });
            }
        });
        count
    }

    /// Bytes of shared memory beside the kept array, each array aligned to 16 bytes.
    pub fn shared_bytes(&self) -> u32 {
        let own = self.shared.iter().filter(|(id, _)| Some(*id) != self.kept);
        own.map(|(_, array)| array.bytes()).sum()
    }

    /// Bytes of the kept array.
    pub fn resident_bytes(&self) -> u32 {
        self.kept.and_then(|kept| self.shared.get(kept)).map_or(0, |array| array.bytes())
    }
}

/// What is launched.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Entry {
    /// One cooperative launch, whose every block walks its stream.
    Persistent(Function),
    /// Kernel nodes of a graph, one after another: the entry of each kernel, by its id. A node begins with
    /// [`Statement::DependencyWait`](super::Statement::DependencyWait).
    Nodes(Arena<KernelId, Function>),
    /// Both, one after another.
    Mixed(MixedEntries),
}

/// The entries of a program whose segments are of both kinds.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct MixedEntries {
    /// What every persistent segment launches cooperatively, each on streams of its own.
    pub persistent: Function,
    /// The entries of the kernels that are nodes.
    pub nodes: BTreeMap<KernelId, Function>,
}

impl Entry {
    /// What walks streams, if anything does.
    pub fn persistent(&self) -> Option<&Function> {
        match self {
            Self::Persistent(entry) => Some(entry),
            Self::Nodes(_) => None,
            Self::Mixed(entries) => Some(&entries.persistent),
        }
    }

    /// What walks streams, if anything does.
    pub fn persistent_mut(&mut self) -> Option<&mut Function> {
        match self {
            Self::Persistent(entry) => Some(entry),
            Self::Nodes(_) => None,
            Self::Mixed(entries) => Some(&mut entries.persistent),
        }
    }

    /// The entries of kernels that are nodes, in the order of the kernels.
    pub fn nodes(&self) -> Vec<(KernelId, &Function)> {
        match self {
            Self::Persistent(_) => Vec::new(),
            Self::Nodes(nodes) => nodes.iter().collect(),
            Self::Mixed(entries) => entries.nodes.iter().map(|(id, node)| (*id, node)).collect(),
        }
    }

    /// Whether a kernel is a node.
    pub fn is_node(&self, kernel: KernelId) -> bool {
        match self {
            Self::Persistent(_) => false,
            Self::Nodes(_) => true,
            Self::Mixed(entries) => entries.nodes.contains_key(&kernel),
        }
    }
}

/// Bytes of shared memory that hold the arguments of a launch, a multiple of 16.
pub const LAUNCH_BYTES: u32 = 80;

/// A program of kernels: one cooperative launch, or launches one after another, with a fixed number of threads per block.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Threads of each block; a multiple of [`WARP_SIZE`](super::WARP_SIZE).
    pub threads: u32,
    /// The deduplicated rKernel bodies.
    pub kernels: Arena<KernelId, Function>,
    /// What every block runs.
    pub entry: Entry,
}

impl Program {
    /// Shared-memory bytes that a block needs: the maximum over the kernels, what they keep, and the entry's own.
    pub fn shared_bytes(&self) -> u32 {
        let kernels = self.kernels.values().map(Function::shared_bytes).max().unwrap_or(0);
        kernels + self.resident_bytes() + self.entry_shared_bytes()
    }

    /// Shared-memory bytes of the entries themselves, before those of the kernels.
    pub fn entry_shared_bytes(&self) -> u32 {
        self.launch_bytes() + self.entries().into_iter().map(|(_, entry)| entry.shared_bytes()).max().unwrap_or(0)
    }

    /// Shared-memory bytes in which a block keeps the arguments of its launch, before all else. The kernels of a program that
    /// are all nodes have theirs from their entries.
    pub fn launch_bytes(&self) -> u32 {
        match self.entry {
            Entry::Persistent(_) | Entry::Mixed(_) => LAUNCH_BYTES,
            Entry::Nodes(_) => 0,
        }
    }

    /// Shared-memory bytes that a block of each kernel's node needs; none if no kernel is a node. A kernel's arrays lie where
    /// they lie in a persistent segment of the same program.
    pub fn node_shared_bytes(&self) -> Vec<u32> {
        let before = self.entry_shared_bytes() + self.resident_bytes();
        match &self.entry {
            Entry::Persistent(_) => Vec::new(),
            Entry::Nodes(_) | Entry::Mixed(_) => {
                self.kernels.values().map(|kernel| before + kernel.shared_bytes()).collect()
            }
        }
    }

    /// Bytes of the largest kept array: where the kernels' other arrays begin.
    pub fn resident_bytes(&self) -> u32 {
        self.kernels.values().map(Function::resident_bytes).max().unwrap_or(0)
    }
}
