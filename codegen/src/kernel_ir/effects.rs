//! What statements are made of and what they do: the words in which [`Statement::parts`](super::Statement::parts) and
//! [`Statement::effects`](super::Statement::effects) declare it.

use std::fmt;

use thiserror::Error;

use super::expression::ScalarType;
use super::ids::{ArrayId, KernelId, LocalId, SharedId};
use super::memory::GlobalSpace;

/// What a statement is made of, borrowed or borrowed to be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts<P, E, B> {
    /// The register that is written, if any.
    pub place: Option<Written<P>>,
    /// The expressions that the statement itself reads: not those of its blocks, not the index of its place.
    pub reads: Vec<Read<E>>,
    /// The blocks inside it, in the order in which [`Location`](super::Location) numbers them.
    pub blocks: Vec<B>,
}

/// A register that a statement writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written<P> {
    /// The place; the first one of several.
    pub place: P,
    /// Consecutive elements.
    pub elements: u32,
    /// What its type must be, where the values that are read do not say it.
    pub needed: Option<Needed>,
}

/// An expression that a statement reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read<E> {
    pub expression: E,
    /// What it is for.
    pub role: Role,
    /// What its type must be.
    pub needed: Needed,
}

/// The type that a statement needs of what it reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needed {
    Scalar(ScalarType),
    /// `I32` or `I64`.
    Integer,
    /// That of the elements of a shared array.
    Element(SharedId),
    /// That of the place that the statement writes.
    Place,
}

/// What a statement reads an expression for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// What is written to a register or to memory.
    Value,
    /// Where a tensor or a shared array is touched.
    Address,
    /// The number of iterations.
    Extent,
    /// What decides about control flow.
    Condition,
    /// A word of the plan or of the protocol between blocks.
    Word,
}

/// What running a statement does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effects<'s> {
    /// The bodies in which it may stand.
    pub home: Home,
    /// The memory that it touches itself.
    pub accesses: Vec<Access>,
    /// Register arrays that it names beside its parts.
    pub arrays: &'s [ArrayId],
    /// What its place holds afterwards.
    pub outcome: Outcome,
    /// What runs next.
    pub control: Control,
    /// What must be the same for which threads.
    pub uniform: Option<Uniform>,
    /// What it orders.
    pub order: Order,
    /// What is wrong with it wherever it stands.
    pub flaw: Option<Flaw>,
}

/// The bodies in which a statement may stand, with its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    Anywhere,
    Entry(&'static str),
    /// The entry that walks streams.
    Persistent(&'static str),
    /// The entries of nodes.
    Node(&'static str),
    Kernel(&'static str),
    /// Kernels whose blocks share a launch with all others: none that is a node.
    Exchange(&'static str),
}

/// An access of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// What is touched.
    pub memory: Memory,
    /// How.
    pub kind: AccessKind,
    /// The type in registers that the elements must have, where the access takes only one.
    pub element: Option<ScalarType>,
    /// Elements that a thread moves at once.
    pub elements: usize,
    /// The fewest bytes that the access may move.
    pub fewest_bytes: u32,
}

/// Memory that threads share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Elements of tensors.
    Global(GlobalSpace),
    /// Elements of the arena that carry their own validity.
    Tagged,
    /// Records of faulty indices; nothing in a launch reads them.
    IndexRecord,
    /// A shared array.
    Shared(SharedId),
    /// The tables of the plan.
    Table,
    /// The control words of a session.
    Control,
    /// The counters of a session.
    Counter,
}

/// How memory is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// Into registers, or into a shared array.
    Read,
    /// From registers, or from a tensor.
    Write,
    /// Both, as one.
    Update,
}

/// What the place of a statement holds afterwards, over the threads that arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// What the expressions that are read give, in this thread or in another one of its warp.
    Values,
    /// What they give in one lane of the warp.
    OfOneLane,
    /// What a shared array held where the expressions say.
    OfShared,
    /// What may differ from thread to thread.
    OfThread,
    /// The same in all of them.
    Common,
}

/// What runs next, and the variables that this binds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// The next statement.
    Next,
    /// The first block where the condition holds, the second elsewhere; then the next statement.
    Branch,
    /// The block for each value of a variable; then the next statement.
    Count {
        /// The variable; it keeps its value only inside.
        variable: LocalId,
        /// The number of iterations, if it is a literal.
        extent: Option<i32>,
        /// Whether the loop is unrolled.
        unroll: bool,
    },
    /// The block, until something leaves it; then the next statement.
    Repeat,
    /// What follows the innermost [`Self::Repeat`].
    Leave,
    /// One of the blocks, or none; then the next statement.
    Select,
    /// A kernel; then the next statement.
    Call { kernel: KernelId },
    /// Any kernel; then the next statement.
    Dispatch,
}

/// What must be the same for which threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uniform {
    pub scope: Scope,
    /// What is the same for them.
    pub part: UniformPart,
    /// This, in words.
    pub what: &'static str,
}

/// What of a statement must be uniform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UniformPart {
    /// Whether they arrive.
    ControlFlow,
    /// What it reads.
    Reads,
    /// Both.
    All,
}

/// Threads over which something must be uniform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The lanes of a warp.
    Warp,
    /// The threads of a block.
    Block,
}

/// What a statement orders for all threads that meet in it. Words of the session have their orders in the statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Nothing.
    None,
    /// What these threads do before it and after it.
    Barrier(Scope),
    /// What other blocks did, by the waits of the call; then the block.
    OwnWaits,
    /// Each rTask of the call and what other blocks do once it is signalled; then the block.
    OwnSteps,
    /// What the node before did.
    Dependencies,
}

/// What is wrong with a statement wherever it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Flaw {
    /// An access of more elements than one moves, or of a number that is no power of two.
    #[error("an access of {0} elements of this type")]
    Width(usize),
    /// A poll of no elements, or of more than one poll may ask for.
    #[error("a poll of {0} elements")]
    TaggedCount(u32),
    /// A fetch of words of which some are in no access.
    #[error("a fetch of {0} words")]
    FetchedWords(u32),
    /// A lane number that no warp has.
    #[error("lane {0} of a shuffle")]
    ShuffleLane(u32),
    /// A matrix of a product in another number of registers than it takes.
    #[error("a matrix in {0} registers")]
    Fragment(usize),
    /// A row of a matrix at an index that is no multiple of its length.
    #[error("a row of a matrix at element {0}")]
    MatrixRow(i32),
    /// An unrolled loop whose extent is not a literal.
    #[error("an unrolled loop without a literal extent")]
    UnrolledExtent,
}

impl Effects<'_> {
    /// Those of a statement that is allowed everywhere and touches nothing.
    pub(super) const NONE: Self = Self {
        home: Home::Anywhere,
        accesses: Vec::new(),
        arrays: &[],
        outcome: Outcome::OfThread,
        control: Control::Next,
        uniform: None,
        order: Order::None,
        flaw: None,
    };

    /// Whether it reads or writes tensors of the arena, states as a launch finds them apart.
    pub fn touches_arena(&self) -> bool {
        self.accesses.iter().any(|access| match access.memory {
            Memory::Global(GlobalSpace::Arena) | Memory::Tagged => true,
            Memory::Global(GlobalSpace::Weights | GlobalSpace::States)
            | Memory::IndexRecord
            | Memory::Shared(_)
            | Memory::Table
            | Memory::Control
            | Memory::Counter => false,
        })
    }

    /// Whether its place holds what tensors or shared arrays held.
    pub fn loads(&self) -> bool {
        self.accesses.iter().filter(|access| access.kind == AccessKind::Read).any(|access| match access.memory {
            Memory::Global(_) | Memory::Tagged | Memory::Shared(_) => true,
            Memory::IndexRecord | Memory::Table | Memory::Control | Memory::Counter => false,
        })
    }
}

impl Control {
    /// The variable that is bound inside the statement, if one is.
    pub fn variable(self) -> Option<LocalId> {
        match self {
            Self::Count { variable, .. } => Some(variable),
            Self::Next
            | Self::Branch
            | Self::Repeat
            | Self::Leave
            | Self::Select
            | Self::Call { .. }
            | Self::Dispatch => None,
        }
    }
}

impl Access {
    /// The shared array that is touched, if it is one.
    pub fn shared(&self) -> Option<SharedId> {
        match self.memory {
            Memory::Shared(array) => Some(array),
            Memory::Global(_)
            | Memory::Tagged
            | Memory::IndexRecord
            | Memory::Table
            | Memory::Control
            | Memory::Counter => None,
        }
    }
}

impl<P, E, B> Parts<P, E, B> {
    pub(super) fn new() -> Self {
        Self { place: None, reads: Vec::new(), blocks: Vec::new() }
    }

    pub(super) fn writes(self, place: P, elements: u32, needed: Option<Needed>) -> Self {
        Self { place: Some(Written { place, elements, needed }), ..self }
    }

    pub(super) fn reads(mut self, role: Role, needed: Needed, expressions: impl IntoIterator<Item = E>) -> Self {
        self.reads.extend(expressions.into_iter().map(|expression| Read { expression, role, needed }));
        self
    }

    pub(super) fn holds(self, blocks: impl IntoIterator<Item = B>) -> Self {
        Self { blocks: blocks.into_iter().collect(), ..self }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warp => "warp",
            Self::Block => "block",
        })
    }
}
