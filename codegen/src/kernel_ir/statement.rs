//! Statements: assignments, memory, control flow and synchronisation of one thread.

use serde::{Deserialize, Serialize};

use super::expression::Expression;
use super::ids::{ArrayId, KernelId, LocalId, SharedId};
use super::memory::{
    ControlWord, GlobalSpace, Half, Matrices, MemoryOrder, MemoryType, ShuffleMode, SpecialRegister, Table, Width,
};

/// Statements in order.
pub type Block = Vec<Statement>;

/// A register that can be written. Accesses wider than one take an array place and use consecutive elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Place {
    /// A scalar variable.
    Local(LocalId),
    /// An element of a register array.
    Element(ArrayId, Expression),
}

/// Where the operands of a call are.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CallOperands {
    /// The array of the entry into which the first [`HELD_OPERANDS`](warpweave_plan::tables::HELD_OPERANDS) were fetched.
    pub array: SharedId,
    /// The element of the first, `I32`.
    pub index: Expression,
    /// The index of the first in [`Table::Operands`], `I32`; where the others are.
    pub first: Expression,
}

/// The waits that a kernel does itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CallWaits {
    /// The array of the entry that holds instructions, number `n` at `n` modulo
    /// [`RING_INSTRUCTIONS`](warpweave_plan::tables::RING_INSTRUCTIONS).
    pub ring: SharedId,
    /// Index of the first in [`Table::Instructions`], `I32`.
    pub first: Expression,
    /// How many there are, one after another, `I32`.
    pub count: Expression,
    /// What is written: a `Bool`, block-uniform, whether one of them gave up.
    pub stopped: Place,
}

/// One step of a thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Statement {
    /// `place = value`.
    Assign {
        /// What is written.
        place: Place,
        value: Expression,
    },
    /// Reads `width` consecutive elements of global memory from element `index` on.
    LoadGlobal {
        /// What is written; the first of `width` array elements.
        place: Place,
        space: GlobalSpace,
        /// The element type in memory.
        memory: MemoryType,
        /// Elements moved.
        width: Width,
        /// The element index in the space, `I64` or `I32`.
        index: Expression,
    },
    /// Writes `values.len()` consecutive elements of the arena from element `index` on.
    StoreGlobal {
        /// The element type in memory.
        memory: MemoryType,
        /// The element index in the arena, `I64` or `I32`.
        index: Expression,
        /// One, two or four values; eight of floating point of 16 bits.
        values: Vec<Expression>,
    },
    /// Polls elements that carry their own validity until each bears this tag of the launch, and reads them; orders no
    /// other access. All are asked for before the first is looked at. Gives up with any value, as [`Statement::Wait`] does,
    /// after the time limit or an abort. Only inside kernels.
    LoadTagged {
        /// What is written, `F32`; the first of `count` array elements.
        place: Place,
        /// Elements polled: one, two neighbours, or up to [`MOST_POLLED`](warpweave_plan::plan::MOST_POLLED) that lie apart.
        count: u32,
        /// The first element's index in the arena, in units of eight bytes, `I64` or `I32`.
        index: Expression,
        /// Elements from one to the next, `I64` or `I32`; neighbours without it.
        apart: Option<Expression>,
        /// Which of the launch's tags, `I32`.
        tag: Expression,
    },
    /// Writes an element together with a tag of the launch, at once; orders no other access. Only inside kernels.
    StoreTagged {
        /// The element index in the arena, in units of eight bytes, `I64` or `I32`.
        index: Expression,
        /// Which of the launch's tags, `I32`.
        tag: Expression,
        /// An `F32`.
        value: Expression,
    },
    /// The place that an index names: `place = value` where that is not negative, else `value + extent`.
    ///
    /// Outside of 0 … `extent` − 1 it is the nearest place that there is, and the faulty index is recorded. Each of
    /// both words of its record becomes the larger of what it holds and what
    /// [`record_words`](warpweave_plan::plan::index_records::record_words) gives. Orders no other access. Only inside
    /// kernels.
    CheckIndex {
        /// What is written, `I32`.
        place: Place,
        /// The index, `I64` or `I32`.
        value: Expression,
        /// The places that there are, `I32`; positive.
        extent: Expression,
        /// Where the index was read: an element of a global space, −1 for one that stands around a tensor, `I32`.
        element: Expression,
        /// The first word of the record, in units of eight bytes of the arena, `I32`.
        record: Expression,
    },
    /// Reads `width` elements of shared memory.
    LoadShared {
        /// What is written; the first of `width` array elements.
        place: Place,
        array: SharedId,
        /// Elements moved.
        width: Width,
        /// The element index, `I32`.
        index: Expression,
    },
    /// Writes `values.len()` consecutive elements of shared memory.
    StoreShared {
        array: SharedId,
        /// The element index, `I32`.
        index: Expression,
        /// One, two or four values; eight of floating point of 16 bits.
        values: Vec<Expression>,
    },
    /// Begins to copy `width` elements of global memory into shared memory, as part of the thread's open group of copies;
    /// zeros where `exists` does not hold. Together the elements are 4, 8 or 16 bytes. The thread may touch the copied elements after a
    /// [`Statement::AsyncWait`] for the group, other threads after a barrier that follows.
    AsyncCopy {
        /// The array that is written.
        array: SharedId,
        /// The first element there, `I32`.
        index: Expression,
        /// The memory that is read, elements of the array's type.
        space: GlobalSpace,
        /// The first element there, `I64` or `I32`.
        source: Expression,
        /// Elements moved.
        width: Width,
        /// A `Bool`.
        exists: Expression,
    },
    /// Begins to copy words of a plan table into a shared array of the entry, the threads sharing the words, as part of
    /// each thread's open group of copies; block-uniform. Only in entries.
    Fetch {
        /// The array that is written, of `I32`.
        array: SharedId,
        /// The first element there, `I32`; a multiple of four.
        index: Expression,
        table: Table,
        /// The first word there, `I32`; a multiple of four.
        first: Expression,
        /// How many; a multiple of four.
        words: u32,
    },
    /// Closes the thread's open group of copies.
    AsyncCommit,
    /// Waits until at most `pending` of the thread's last groups of copies are under way. When a kernel ends, none of its own
    /// may be.
    AsyncWait {
        /// Groups.
        pending: u32,
    },
    /// Every lane of the warp reads another lane's `value`; all lanes must be active.
    Shuffle {
        /// What is written.
        place: Place,
        /// The value that the lane offers.
        value: Expression,
        /// Which lane is read.
        mode: ShuffleMode,
    },
    /// Reads matrices of 8 rows of 8 elements of floating point of 16 bits from shared memory, all lanes of the warp
    /// together; PTX's `ldmatrix`. Lane 8 *m* + *r* says where row *r* of matrix *m* begins; the lanes behind the last
    /// matrix say nothing. All lanes must be active.
    LoadMatrices {
        /// What is written, `I32`; the first of as many array elements as there are matrices. Of matrix *m* lane *l*
        /// receives in element *m* those of row *l* / 4 and columns 2 (*l* mod 4) and the next, the first in the lower
        /// half. Transposed, rows are columns.
        place: Place,
        array: SharedId,
        matrices: Matrices,
        /// The first element of the lane's row, `I32`; a multiple of 8.
        index: Expression,
        /// Whether the matrices are transposed on their way.
        transposed: bool,
    },
    /// `place = left · right + sums`: matrices of 16 × 16, 16 × 8 and 16 × 8 elements; PTX's `mma.m16n8k16`. The lanes of
    /// the warp hold them together, as
    /// [`FragmentKind::position`](warpweave_plan::tensor_core::fragment::FragmentKind::position) says. The sums are those
    /// of [`TensorCore::dot`](warpweave_plan::tensor_core::sum::TensorCore::dot). All lanes must be active.
    MultiplyMatrices {
        /// What is written, `F32`; the first of four array elements.
        place: Place,
        /// The type of the elements of both factors.
        factors: Half,
        /// Four words, `I32`.
        left: Vec<Expression>,
        /// Two words, `I32`.
        right: Vec<Expression>,
        /// Four values, `F32`.
        sums: Vec<Expression>,
    },
    /// `body` for `variable` = 0, 1, … below `extent` (block-uniform unless the body holds no barrier or shuffle).
    For {
        /// The loop variable, `I32`.
        variable: LocalId,
        /// The number of iterations, `I32`.
        extent: Expression,
        /// Whether the printed loop is unrolled; `extent` is then a literal.
        unroll: bool,
        /// What is repeated.
        body: Block,
    },
    /// `then` where `condition` holds, `otherwise` elsewhere.
    If {
        /// A `Bool`.
        condition: Expression,
        /// Where it holds.
        then: Block,
        /// Where it does not.
        otherwise: Block,
    },
    /// Repeats `body` until [`Statement::Break`]; block-uniform.
    Loop {
        /// What is repeated.
        body: Block,
    },
    /// Leaves the innermost [`Statement::Loop`]; block-uniform.
    Break,
    /// Runs the case of index `selector`, none if there is none; block-uniform.
    Switch {
        /// An `I32`.
        selector: Expression,
        cases: Vec<Block>,
    },
    /// Runs a kernel that has no waits of its own; block-uniform. Only in an entry.
    Call {
        kernel: KernelId,
        operands: CallOperands,
        /// The tile index, `I32`.
        tile: Expression,
    },
    /// Runs the kernel of a number, whichever it is; block-uniform. Only in an entry.
    Dispatch {
        /// The index of the kernel among those of the program, `I32`.
        number: Expression,
        operands: CallOperands,
        /// The tile index, `I32`.
        tile: Expression,
        /// The waits of the call; a kernel that does none of its own passes over them.
        waits: CallWaits,
    },
    /// Does the waits of the call, one after another, as [`Statement::Wait`] does; then all threads of the block meet.
    /// Leaves the kernel if one of them gave up; the call says so. Does nothing where the call has no waits.
    ///
    /// Stands at most once in a kernel, in none of its inner blocks; before it a kernel touches nothing of the arena.
    Await {
        /// [`MemoryOrder::Acquire`] in every correct program.
        order: MemoryOrder,
        /// Arrays whose loads stand before the waits and are to be under way meanwhile.
        loaded: Vec<ArrayId>,
    },
    /// `body` for the rTask of the call, then for every other that is the call's own, one after another. The
    /// instructions say which rTasks follow the call's and are its own. The signals between them are given; before a
    /// signal the block meets. An operand in `body` is that of the rTask at hand.
    ///
    /// Stands at most once in a kernel, in none of its inner blocks.
    Steps {
        /// [`MemoryOrder::Release`] in every correct program.
        order: MemoryOrder,
        /// One rTask.
        body: Block,
    },
    /// All threads of the block meet; what each did before happens before what each does after.
    BlockBarrier,
    /// A block barrier that also tells every thread whether `condition` held in any.
    BlockBarrierOr {
        /// What is written: a `Bool`, block-uniform.
        place: Place,
        /// A `Bool`.
        condition: Expression,
    },
    /// All lanes of the warp meet; shared-memory accesses before happen before those after.
    WarpBarrier,
    /// Reads an `I32` of a plan table; block-uniform index.
    LoadTable {
        /// What is written.
        place: Place,
        table: Table,
        /// The word, `I32`.
        index: Expression,
    },
    /// Reads a control word, relaxed.
    LoadControl {
        /// What is written, `I32`.
        place: Place,
        word: ControlWord,
    },
    /// Reads a special register; every thread for itself. Only in the entry.
    ReadSpecial {
        /// What is written, `I32`.
        place: Place,
        register: SpecialRegister,
    },
    /// Writes a control word, relaxed.
    StoreControl {
        word: ControlWord,
        /// An `I32`.
        value: Expression,
    },
    /// Adds to a control word, acquire and release, and reads what it held before.
    AddControl {
        /// What is written: the word before the addition, `I32`.
        place: Place,
        word: ControlWord,
        /// An `I32`.
        value: Expression,
    },
    /// Polls a counter until `(counter − target) ≥ 0` in wrapping 32 bits. Gives up, raising [`ControlWord::Abort`]
    /// and writing the status buffer, when the session's time limit has passed; gives up also when abort is raised.
    Wait {
        /// What is written: a `Bool`, whether the counter reached the target.
        place: Place,
        /// The counter's index, `I32`.
        counter: Expression,
        /// The value to reach, `I32`.
        target: Expression,
        /// [`MemoryOrder::Acquire`] in every correct program.
        order: MemoryOrder,
        /// The instruction index, for the status buffer, `I32`.
        position: Expression,
    },
    /// Adds one to a counter.
    Signal {
        /// The counter's index, `I32`.
        counter: Expression,
        /// [`MemoryOrder::Release`] in every correct program.
        order: MemoryOrder,
    },
    /// Waits for the node before this one: all its blocks have ended, and what they stored is visible. Only in nodes, where
    /// nothing may touch the arena before it.
    DependencyWait,
    /// Lets the blocks of the next node become resident once every block of this one has come here, or left. It orders
    /// nothing. Only in nodes.
    DependentLaunch,
}
