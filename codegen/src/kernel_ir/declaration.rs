//! Every statement's parts and effects, declared once.
//!
//! [`Statement::parts`] lists the places, expressions and blocks of a statement, [`Statement::effects`] what running it does.
//! Walks, rewriting, the verifier and the analysis of assignments are derived from these two, and need no change for a new
//! statement.

use warpweave_plan::plan::MOST_POLLED;
use warpweave_plan::tensor_core::fragment::MatrixOperand;

use super::effects::{
    Access, AccessKind, Control, Effects, Flaw, Home, Memory, Needed, Order, Outcome, Parts, Role, Scope, Uniform,
    UniformPart,
};
use super::expression::{Constant, Expression, ScalarType};
use super::ids::SharedId;
use super::memory::{FETCHED_WORDS, GlobalSpace, MemoryType, ShuffleMode, WARP_SIZE};
use super::statement::{Block, CallOperands, CallWaits, Place, Statement};

/// The parts of a statement, borrowed as it is.
macro_rules! parts {
    ($statement:expr) => {
        match $statement {
            Self::Assign { place, value } => Parts::new().writes(place, 1, None).reads(Role::Value, PLACE, [value]),
            Self::LoadGlobal { place, memory, width, index, .. } => Parts::new()
                .writes(place, width.elements(), Some(Needed::Scalar(memory.scalar_type())))
                .reads(Role::Address, INTEGER, [index]),
            Self::StoreGlobal { memory, index, values } => Parts::new().reads(Role::Address, INTEGER, [index]).reads(
                Role::Value,
                Needed::Scalar(memory.scalar_type()),
                values,
            ),
            Self::LoadTagged { place, count, index, apart, tag } => Parts::new()
                .writes(place, *count, Some(F32))
                .reads(Role::Address, INTEGER, [index])
                .reads(Role::Address, INTEGER, apart)
                .reads(Role::Word, I32, [tag]),
            Self::StoreTagged { index, tag, value } => Parts::new()
                .reads(Role::Address, INTEGER, [index])
                .reads(Role::Word, I32, [tag])
                .reads(Role::Value, F32, [value]),
            Self::CheckIndex { place, value, extent, element, record } => Parts::new()
                .writes(place, 1, Some(I32))
                .reads(Role::Value, INTEGER, [value])
                .reads(Role::Word, I32, [extent, element])
                .reads(Role::Address, I32, [record]),
            Self::LoadShared { place, array, width, index } => Parts::new()
                .writes(place, width.elements(), Some(Needed::Element(*array)))
                .reads(Role::Address, I32, [index]),
            Self::StoreShared { array, index, values } => {
                Parts::new().reads(Role::Address, I32, [index]).reads(Role::Value, Needed::Element(*array), values)
            }
            Self::AsyncCopy { index, source, exists, .. } => Parts::new()
                .reads(Role::Address, I32, [index])
                .reads(Role::Address, INTEGER, [source])
                .reads(Role::Condition, BOOL, [exists]),
            Self::Fetch { index, first, .. } => {
                Parts::new().reads(Role::Address, I32, [index]).reads(Role::Word, I32, [first])
            }
            Self::AsyncCommit | Self::AsyncWait { .. } => Parts::new(),
            Self::Shuffle { place, value, .. } => {
                Parts::new().writes(place, 1, None).reads(Role::Value, PLACE, [value])
            }
            Self::LoadMatrices { place, matrices, index, .. } => {
                Parts::new().writes(place, matrices.count(), Some(I32)).reads(Role::Address, I32, [index])
            }
            Self::MultiplyMatrices { place, left, right, sums, .. } => Parts::new()
                .writes(place, SUMS, Some(F32))
                .reads(Role::Value, I32, left)
                .reads(Role::Value, I32, right)
                .reads(Role::Value, F32, sums),
            Self::For { extent, body, .. } => Parts::new().reads(Role::Extent, I32, [extent]).holds([body]),
            Self::If { condition, then, otherwise } => {
                Parts::new().reads(Role::Condition, BOOL, [condition]).holds([then, otherwise])
            }
            Self::Loop { body } | Self::Steps { body, .. } => Parts::new().holds([body]),
            Self::Break => Parts::new(),
            Self::Switch { selector, cases } => Parts::new().reads(Role::Condition, I32, [selector]).holds(cases),
            Self::Call { operands: CallOperands { index, first, .. }, tile, .. } => {
                Parts::new().reads(Role::Word, I32, [index, first, tile])
            }
            Self::Dispatch { number, operands, tile, waits } => {
                let (CallOperands { index, first: own, .. }, CallWaits { first, count, stopped, .. }) =
                    (operands, waits);
                let words = [number, index, own, tile, first, count];
                Parts::new().writes(stopped, 1, Some(BOOL)).reads(Role::Word, I32, words)
            }
            Self::Await { .. } | Self::BlockBarrier => Parts::new(),
            Self::BlockBarrierOr { place, condition } => {
                Parts::new().writes(place, 1, Some(BOOL)).reads(Role::Condition, BOOL, [condition])
            }
            Self::WarpBarrier => Parts::new(),
            Self::LoadTable { place, index, .. } => {
                Parts::new().writes(place, 1, Some(I32)).reads(Role::Word, I32, [index])
            }
            Self::LoadControl { place, .. } | Self::ReadSpecial { place, .. } => {
                Parts::new().writes(place, 1, Some(I32))
            }
            Self::StoreControl { value, .. } => Parts::new().reads(Role::Word, I32, [value]),
            Self::AddControl { place, value, .. } => {
                Parts::new().writes(place, 1, Some(I32)).reads(Role::Word, I32, [value])
            }
            Self::Wait { place, counter, target, position, .. } => {
                Parts::new().writes(place, 1, Some(BOOL)).reads(Role::Word, I32, [counter, target, position])
            }
            Self::Signal { counter, .. } => Parts::new().reads(Role::Word, I32, [counter]),
            Self::DependencyWait | Self::DependentLaunch => Parts::new(),
        }
    };
}

const BOOL: Needed = Needed::Scalar(ScalarType::Bool);
const I32: Needed = Needed::Scalar(ScalarType::I32);
const F32: Needed = Needed::Scalar(ScalarType::F32);
const INTEGER: Needed = Needed::Integer;
const PLACE: Needed = Needed::Place;

impl Statement {
    /// What the statement is made of.
    pub fn parts(&self) -> Parts<&Place, &Expression, &Block> {
        parts!(self)
    }

    /// What the statement is made of, to be changed.
    pub fn parts_mut(&mut self) -> Parts<&mut Place, &mut Expression, &mut Block> {
        parts!(self)
    }

    /// What running the statement does.
    pub fn effects(&self) -> Effects<'_> {
        let arena = Memory::Global(GlobalSpace::Arena);
        let block = |part, what| Some(Uniform { scope: Scope::Block, part, what });
        match self {
            Self::Assign { .. } => Effects { outcome: Outcome::Values, ..Effects::NONE },
            Self::LoadGlobal { space, memory, width, .. } => Effects {
                accesses: vec![read(Memory::Global(*space))],
                flaw: access_width(*memory, width.elements() as usize),
                ..Effects::NONE
            },
            Self::StoreGlobal { memory, values, .. } => {
                Effects { accesses: vec![write(arena)], flaw: access_width(*memory, values.len()), ..Effects::NONE }
            }
            Self::LoadTagged { count, apart, .. } => {
                let most = if apart.is_some() { MOST_POLLED as u32 } else { 2 };
                let flaw = (!(1..=most).contains(count)).then_some(Flaw::TaggedCount(*count));
                let home = Home::Exchange("LoadTagged");
                Effects { home, accesses: vec![read(Memory::Tagged)], flaw, ..Effects::NONE }
            }
            Self::StoreTagged { .. } => {
                Effects { home: Home::Exchange("StoreTagged"), accesses: vec![write(Memory::Tagged)], ..Effects::NONE }
            }
            Self::CheckIndex { .. } => Effects {
                home: Home::Kernel("CheckIndex"),
                accesses: vec![update(Memory::IndexRecord)],
                ..Effects::NONE
            },
            Self::LoadShared { array, width, .. } => {
                let loaded = Access { elements: width.elements() as usize, ..read(Memory::Shared(*array)) };
                Effects { accesses: vec![loaded], outcome: Outcome::OfShared, ..Effects::NONE }
            }
            Self::StoreShared { array, values, .. } => {
                let stored = Access { elements: values.len(), ..write(Memory::Shared(*array)) };
                Effects { accesses: vec![stored], ..Effects::NONE }
            }
            Self::AsyncCopy { array, space, width, .. } => {
                let written = Access {
                    element: Some(ScalarType::F32),
                    elements: width.elements() as usize,
                    fewest_bytes: COPIED_BYTES,
                    ..write(Memory::Shared(*array))
                };
                Effects { accesses: vec![read(Memory::Global(*space)), written], ..Effects::NONE }
            }
            Self::Fetch { array, words, .. } => {
                let written = Access { element: Some(ScalarType::I32), ..write(Memory::Shared(*array)) };
                Effects {
                    home: Home::Entry("Fetch"),
                    accesses: vec![read(Memory::Table), written],
                    uniform: block(UniformPart::All, "a fetch"),
                    flaw: (!words.is_multiple_of(FETCHED_WORDS)).then_some(Flaw::FetchedWords(*words)),
                    ..Effects::NONE
                }
            }
            Self::AsyncCommit | Self::AsyncWait { .. } => Effects::NONE,
            Self::Shuffle { mode, .. } => {
                let (outcome, lane) = match *mode {
                    ShuffleMode::Xor(mask) => (Outcome::Values, mask),
                    ShuffleMode::Broadcast(lane) => (Outcome::OfOneLane, lane),
                };
                let flaw = (lane >= WARP_SIZE).then_some(Flaw::ShuffleLane(lane));
                Effects { outcome, uniform: Some(warp("a shuffle's control flow")), flaw, ..Effects::NONE }
            }
            Self::LoadMatrices { array, index, .. } => {
                let rows =
                    Access { elements: MATRIX_ROW, fewest_bytes: MATRIX_ROW_BYTES, ..read(Memory::Shared(*array)) };
                let flaw = match index {
                    Expression::Constant(Constant::I32(index)) if index % MATRIX_ROW as i32 != 0 => {
                        Some(Flaw::MatrixRow(*index))
                    }
                    _ => None,
                };
                let uniform = Some(warp("a load of matrices' control flow"));
                Effects { accesses: vec![rows], outcome: Outcome::OfThread, uniform, flaw, ..Effects::NONE }
            }
            Self::MultiplyMatrices { factors, left, right, sums, .. } => {
                let kind = factors.product();
                let given = [(MatrixOperand::Left, left), (MatrixOperand::Right, right), (MatrixOperand::Sums, sums)];
                let wrong = given.into_iter().find(|(operand, values)| kind.registers(*operand) != values.len());
                let flaw = wrong.map(|(_, values)| Flaw::Fragment(values.len()));
                let uniform = Some(warp("a product of matrices' control flow"));
                Effects { outcome: Outcome::OfThread, uniform, flaw, ..Effects::NONE }
            }
            Self::For { variable, extent, unroll, .. } => {
                let extent = match extent {
                    Expression::Constant(Constant::I32(extent)) => Some(*extent),
                    _ => None,
                };
                let control = Control::Count { variable: *variable, extent, unroll: *unroll };
                let flaw = (*unroll && extent.is_none()).then_some(Flaw::UnrolledExtent);
                Effects { control, flaw, ..Effects::NONE }
            }
            Self::If { .. } => Effects { control: Control::Branch, ..Effects::NONE },
            Self::Loop { .. } => {
                let uniform = block(UniformPart::ControlFlow, "a loop's control flow");
                Effects { home: Home::Entry("Loop"), control: Control::Repeat, uniform, ..Effects::NONE }
            }
            Self::Break => {
                let uniform = block(UniformPart::ControlFlow, "a break's control flow");
                Effects { home: Home::Entry("Break"), control: Control::Leave, uniform, ..Effects::NONE }
            }
            Self::Switch { .. } => {
                let uniform = block(UniformPart::All, "a switch");
                Effects { control: Control::Select, uniform, ..Effects::NONE }
            }
            Self::Call { kernel, operands, .. } => Effects {
                home: Home::Entry("Call"),
                accesses: vec![read_words(operands.array)],
                control: Control::Call { kernel: *kernel },
                uniform: block(UniformPart::All, "a call"),
                ..Effects::NONE
            },
            Self::Dispatch { operands, waits, .. } => Effects {
                home: Home::Entry("Dispatch"),
                accesses: vec![read_words(operands.array), read_words(waits.ring)],
                outcome: Outcome::Common,
                control: Control::Dispatch,
                uniform: block(UniformPart::All, "a dispatch"),
                ..Effects::NONE
            },
            Self::Await { loaded, .. } => Effects {
                home: Home::Kernel("Await"),
                arrays: loaded,
                uniform: block(UniformPart::ControlFlow, "an await's control flow"),
                order: Order::OwnWaits,
                ..Effects::NONE
            },
            Self::Steps { .. } => Effects {
                home: Home::Kernel("Steps"),
                control: Control::Repeat,
                uniform: block(UniformPart::ControlFlow, "the control flow of steps"),
                order: Order::OwnSteps,
                ..Effects::NONE
            },
            Self::BlockBarrier | Self::BlockBarrierOr { .. } => Effects {
                outcome: Outcome::Common,
                uniform: block(UniformPart::ControlFlow, "a barrier's control flow"),
                order: Order::Barrier(Scope::Block),
                ..Effects::NONE
            },
            Self::WarpBarrier => Effects {
                uniform: Some(warp("a warp barrier's control flow")),
                order: Order::Barrier(Scope::Warp),
                ..Effects::NONE
            },
            Self::LoadTable { .. } => Effects {
                home: Home::Persistent("LoadTable"),
                accesses: vec![read(Memory::Table)],
                outcome: Outcome::Values,
                uniform: block(UniformPart::Reads, "the index of a table"),
                ..Effects::NONE
            },
            Self::LoadControl { .. } => Effects {
                home: Home::Persistent("LoadControl"),
                accesses: vec![read(Memory::Control)],
                ..Effects::NONE
            },
            Self::ReadSpecial { .. } => Effects { home: Home::Entry("ReadSpecial"), ..Effects::NONE },
            Self::StoreControl { .. } => Effects {
                home: Home::Persistent("StoreControl"),
                accesses: vec![write(Memory::Control)],
                ..Effects::NONE
            },
            Self::AddControl { .. } => Effects {
                home: Home::Persistent("AddControl"),
                accesses: vec![update(Memory::Control)],
                ..Effects::NONE
            },
            Self::Wait { .. } => {
                Effects { home: Home::Persistent("Wait"), accesses: vec![read(Memory::Counter)], ..Effects::NONE }
            }
            Self::Signal { .. } => {
                Effects { home: Home::Persistent("Signal"), accesses: vec![update(Memory::Counter)], ..Effects::NONE }
            }
            Self::DependencyWait => {
                Effects { home: Home::Node("DependencyWait"), order: Order::Dependencies, ..Effects::NONE }
            }
            Self::DependentLaunch => Effects { home: Home::Node("DependentLaunch"), ..Effects::NONE },
        }
    }

    /// The blocks inside the statement, in the order in which [`Location`](super::Location) numbers them.
    pub fn blocks(&self) -> Vec<&Block> {
        self.parts().blocks
    }
}

fn access(memory: Memory, kind: AccessKind) -> Access {
    Access { memory, kind, element: None, elements: 1, fewest_bytes: 1 }
}

fn read(memory: Memory) -> Access {
    access(memory, AccessKind::Read)
}

fn read_words(array: SharedId) -> Access {
    Access { element: Some(ScalarType::I32), ..read(Memory::Shared(array)) }
}

fn write(memory: Memory) -> Access {
    access(memory, AccessKind::Write)
}

fn update(memory: Memory) -> Access {
    access(memory, AccessKind::Update)
}

fn warp(what: &'static str) -> Uniform {
    Uniform { scope: Scope::Warp, part: UniformPart::ControlFlow, what }
}

/// Registers of a lane that hold the sums of a product of matrices.
const SUMS: u32 = 4;

/// Elements of a row of a matrix that is loaded, and their bytes.
const MATRIX_ROW: usize = 8;
const MATRIX_ROW_BYTES: u32 = 16;

/// The fewest bytes that a copy into shared memory moves.
const COPIED_BYTES: u32 = 4;

/// What is wrong with the width of an access to global memory.
fn access_width(memory: MemoryType, elements: usize) -> Option<Flaw> {
    (!memory.is_moved_together(elements)).then_some(Flaw::Width(elements))
}
