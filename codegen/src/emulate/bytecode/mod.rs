//! The flat, resumable form of a body: instructions over numbered 32-lane registers.

pub mod scalar;

use warpweave_plan::plan::MOST_POLLED;
use warpweave_plan::tensor_core::fragment::FragmentKind;

use crate::kernel_ir::{
    ControlWord, GlobalSpace, KernelId, Location, MemoryOrder, MemoryType, ShuffleMode, SpecialRegister, Table,
};

use scalar::{NarrowBinary, NarrowUnary, WideBinary, WideCompare, WideUnary};

/// A narrow register of a frame: 32 lanes of 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub u32);

/// A wide register of a frame: 32 lanes of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WideSlot(pub u32);

/// An `I32` or `I64` index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Index {
    Narrow(Slot),
    Wide(WideSlot),
}

/// What a load writes or a store reads: `count` registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registers {
    /// Slot numbers, narrow or wide after the memory type.
    pub slots: [u32; MOST_POLLED],
    pub count: u32,
}

/// Parameters of a global access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GlobalAccess {
    pub registers: Registers,
    pub space: GlobalSpace,
    pub memory: MemoryType,
    pub index: Index,
}

/// Parameters of a poll or of a store with a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaggedAccess {
    pub registers: Registers,
    pub index: Index,
    /// Elements from one to the next; neighbours without it.
    pub apart: Option<Index>,
    /// Which of the launch's tags.
    pub tag: Slot,
}

/// Parameters of the check of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexCheckAccess {
    pub place: Slot,
    pub value: Index,
    pub extent: Slot,
    pub element: Slot,
    /// The first word of the record.
    pub record: Slot,
}

/// Parameters of a shared access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedAccess {
    pub registers: Registers,
    pub memory: MemoryType,
    /// First emulated word of the array; an element is one word, two for `I64`.
    pub base: u32,
    /// First byte of the array on the device.
    pub base_bytes: u32,
    /// Elements of the array.
    pub length: u32,
    /// Whether the array lasts from call to call.
    pub kept: bool,
    pub index: Slot,
}

/// Parameters of a load of as many matrices as there are registers; the index is that of a row's first element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatricesAccess {
    pub rows: SharedAccess,
    pub transposed: bool,
}

/// Parameters of a product of matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProductAccess {
    pub kind: FragmentKind,
    pub to: Registers,
    pub left: Registers,
    pub right: Registers,
    pub sums: Registers,
}

/// Parameters of an asynchronous copy of `count` elements of four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyAccess {
    /// The type of the elements that are copied.
    pub memory: MemoryType,
    pub count: u32,
    pub space: GlobalSpace,
    pub source: Index,
    pub exists: Slot,
    /// First emulated word of the array, and its length.
    pub base: u32,
    pub length: u32,
    pub index: Slot,
}

/// Parameters of a fetch of `words` words of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FetchAccess {
    pub table: Table,
    pub first: Slot,
    pub words: u32,
    pub array: SharedWords,
    pub index: Slot,
}

/// A shared array of the entry: its first emulated word, and its length.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SharedWords {
    pub base: u32,
    pub length: u32,
}

/// Which kernel is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    Kernel(KernelId),
    /// That of this index.
    Numbered(Slot),
}

/// Parameters of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallAccess {
    pub callee: Callee,
    /// Where the first operands were fetched to.
    pub array: SharedWords,
    pub index: Slot,
    /// The first operand in its table.
    pub first: Slot,
    pub tile: Slot,
}

/// Parameters of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitAccess {
    pub place: Slot,
    pub counter: Slot,
    pub target: Slot,
    pub order: MemoryOrder,
    pub position: Slot,
}

/// One step. Arithmetic writes its destination in the active lanes only; jumps go to instruction numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Instruction {
    Unary {
        op: NarrowUnary,
        to: Slot,
        x: Slot,
    },
    Binary {
        op: NarrowBinary,
        to: Slot,
        x: Slot,
        y: Slot,
    },
    FusedMultiplyAdd {
        to: Slot,
        x: Slot,
        y: Slot,
        z: Slot,
    },
    Select {
        to: Slot,
        condition: Slot,
        x: Slot,
        y: Slot,
    },
    Move {
        to: Slot,
        x: Slot,
    },
    FastDivide {
        to: Slot,
        x: Slot,
        multiplier: Slot,
        shift: Slot,
    },
    UnaryWide {
        op: WideUnary,
        to: WideSlot,
        x: WideSlot,
    },
    BinaryWide {
        op: WideBinary,
        to: WideSlot,
        x: WideSlot,
        y: WideSlot,
    },
    CompareWide {
        op: WideCompare,
        to: Slot,
        x: WideSlot,
        y: WideSlot,
    },
    SelectWide {
        to: WideSlot,
        condition: Slot,
        x: WideSlot,
        y: WideSlot,
    },
    MoveWide {
        to: WideSlot,
        x: WideSlot,
    },
    /// `I32` to `I64`.
    Widen {
        to: WideSlot,
        x: Slot,
    },
    /// `F32` to `I64`.
    WidenF32 {
        to: WideSlot,
        x: Slot,
    },
    /// `I64` to `I32`.
    Narrow {
        to: Slot,
        x: WideSlot,
    },
    /// `I64` to `F32`.
    NarrowF32 {
        to: Slot,
        x: WideSlot,
    },
    /// An array element whose index is not known before the run.
    ReadElement {
        to: Slot,
        first: Slot,
        length: u32,
        index: Slot,
    },
    WriteElement {
        first: Slot,
        length: u32,
        index: Slot,
        x: Slot,
    },
    ReadElementWide {
        to: WideSlot,
        first: WideSlot,
        length: u32,
        index: Slot,
    },
    WriteElementWide {
        first: WideSlot,
        length: u32,
        index: Slot,
        x: WideSlot,
    },
    /// An array access that is known to be out of bounds.
    BadElement {
        index: i64,
        length: u32,
    },
    LoadGlobal(u32),
    StoreGlobal(u32),
    LoadTagged(u32),
    StoreTagged(u32),
    CheckIndex(u32),
    LoadShared(u32),
    StoreShared(u32),
    LoadMatrices(u32),
    MultiplyMatrices(u32),
    AsyncCopy(u32),
    Fetch(u32),
    AsyncCommit,
    /// Until at most this many groups are under way.
    AsyncWait(u32),
    Shuffle {
        to: Slot,
        x: Slot,
        mode: ShuffleMode,
    },
    ShuffleWide {
        to: WideSlot,
        x: WideSlot,
        mode: ShuffleMode,
    },
    /// Saves the active lanes, and those for [`Instruction::Else`]; keeps those where the condition holds.
    If {
        condition: Slot,
        otherwise: u32,
    },
    Else {
        end: u32,
    },
    /// Saves the active lanes.
    Push,
    /// Restores the lanes that the matching instruction saved.
    Pop,
    /// Keeps the lanes whose variable is below the extent.
    ForHead {
        variable: Slot,
        extent: Slot,
        end: u32,
    },
    /// Adds one to the variable.
    ForNext {
        variable: Slot,
        head: u32,
    },
    Jump(u32),
    /// Leaves the loop that was entered with `depth` saved masks.
    Break {
        depth: u32,
        end: u32,
    },
    Switch {
        selector: Slot,
        cases: u32,
    },
    Call(u32),
    /// The waits of the next call, the array that holds their instructions, and where it says whether they gave up.
    CallWaits {
        ring: SharedWords,
        first: Slot,
        count: Slot,
        stopped: Slot,
    },
    /// Gives the signals up to the next rTask of the call, behind a barrier, and goes back to `head` with its operands, if there is one.
    NextStep {
        order: MemoryOrder,
        head: u32,
    },
    /// A word of an instruction that the entry has fetched.
    LoadFetched {
        to: Slot,
        position: Slot,
        word: u8,
    },
    /// Leaves the body.
    Return,
    /// Leaves the kernel, with the copies that are under way, where the condition holds: the waits of its call gave up.
    ReturnIf(Slot),
    BlockBarrier,
    BlockBarrierOr {
        to: Slot,
        condition: Slot,
    },
    WarpBarrier,
    LoadTable {
        to: Slot,
        table: Table,
        index: Slot,
    },
    LoadControl {
        to: Slot,
        word: ControlWord,
    },
    ReadSpecial {
        to: Slot,
        register: SpecialRegister,
    },
    StoreControl {
        word: ControlWord,
        x: Slot,
    },
    AddControl {
        to: Slot,
        word: ControlWord,
        x: Slot,
    },
    Wait(u32),
    Signal {
        counter: Slot,
        order: MemoryOrder,
    },
    DependencyWait,
    DependentLaunch,
}

/// What a register holds from the moment the body is entered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Preset {
    /// These bits in every lane.
    Bits(u32),
    Thread,
    Block,
    Grid,
    FirstOperand,
    Tile,
    /// Index of the call's first wait.
    FirstWait,
    /// The number of the call's waits.
    Waits,
    /// The number of the launch.
    Epoch,
    Operand(u32),
}

/// The compiled bodies of a program.
#[derive(Debug)]
pub struct Compiled {
    /// The entry that walks streams, if there is one, then those of the nodes.
    pub entries: Vec<CompiledBody>,
    /// Which of them a launch runs.
    pub launched: usize,
    pub kernels: Vec<CompiledBody>,
}

impl Compiled {
    /// The entry that is launched.
    pub fn entry(&self) -> &CompiledBody {
        &self.entries[self.launched]
    }
}

#[derive(Clone, Debug)]
pub struct CompiledBody {
    pub code: Vec<Instruction>,
    /// Per instruction, its statement.
    pub locations: Vec<u32>,
    pub statements: Vec<Location>,
    pub global: Vec<GlobalAccess>,
    pub tagged_values: Vec<TaggedAccess>,
    pub index_checks: Vec<IndexCheckAccess>,
    pub shared: Vec<SharedAccess>,
    pub matrices: Vec<MatricesAccess>,
    pub products: Vec<ProductAccess>,
    pub copies: Vec<CopyAccess>,
    pub fetches: Vec<FetchAccess>,
    pub calls: Vec<CallAccess>,
    pub waits: Vec<WaitAccess>,
    /// Per switch, the starts of its cases; the last entry is its end.
    pub switches: Vec<Vec<u32>>,
    pub presets: Vec<(Slot, Preset)>,
    pub presets_wide: Vec<(WideSlot, i64)>,
    pub narrow: u32,
    pub wide: u32,
    /// The first registers, narrow and wide, are the variables and arrays that the body declares.
    pub declared: u32,
    pub declared_wide: u32,
    /// Emulated words of the shared arrays.
    pub shared_words: u32,
}

impl CompiledBody {
    /// The statement from which instruction `pc` comes.
    pub fn location(&self, pc: u32) -> &Location {
        &self.statements[self.locations[pc as usize] as usize]
    }
}
