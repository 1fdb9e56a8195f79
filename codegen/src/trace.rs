//! Programs that record when every instruction of their streams begins and ends.
//!
//! A trace is a part of the arena that no buffer of the plan touches. It holds in this order:
//! - a word a block for the multiprocessor that runs it, padded to eight bytes;
//! - four words a block that set two clocks against one another;
//! - two words an instruction of the plan's tables, begin and end.
//!
//! Thread 0 of each block writes them. A program that is not traced is not changed in any way.

mod anchors;

use warpweave_plan::tables::{INSTRUCTION_WORDS, OPCODE_END, OPCODE_RUN, STREAM_WORDS, Tables};

pub use anchors::Anchor;

use crate::kernel_ir::build::{assign, on_first_thread};
use crate::kernel_ir::{
    BinaryOp, Builtin, Expression, LocalId, MemoryType, Place, Program, ScalarType, SpecialRegister, Statement, Table,
};

/// Where the trace of a plan lies in the arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceLayout {
    /// Its first word; even.
    first: u32,
    units: u32,
    instructions: u32,
}

/// What moments are read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceClock {
    /// [`SpecialRegister::Time`], which all blocks share and which may be coarse.
    Shared,
    /// [`SpecialRegister::Cycles`] of each multiprocessor, set against the shared clock at the begin and the end of a block.
    Cycles,
}

impl TraceClock {
    fn register(self) -> SpecialRegister {
        match self {
            Self::Shared => SpecialRegister::Time,
            Self::Cycles => SpecialRegister::Cycles,
        }
    }
}

/// When an instruction began and ended, by the trace's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moments {
    /// When thread 0 came to it.
    pub begin: u32,
    /// When the block went on.
    pub end: u32,
}

/// What one launch has recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// Per unit, the multiprocessor that ran it.
    pub multiprocessors: Vec<u32>,
    /// Per unit, both clocks at its begin and its end; zeros where moments are of the shared clock.
    pub anchors: Vec<[Anchor; 2]>,
    /// Per unit, the moments of its stream.
    pub units: Vec<Vec<Moments>>,
}

/// Bytes of a word.
const WORD: u64 = 4;
/// Words of the anchors of a block.
const ANCHOR_WORDS: u32 = 4;

impl TraceLayout {
    /// Behind the first `arena_bytes` of the arena; `None` if words there have no 32-bit numbers.
    pub fn behind(arena_bytes: u64, tables: &Tables) -> Option<Self> {
        let (units, instructions) = (tables.stream_count(), tables.instructions.len() / INSTRUCTION_WORDS);
        let first = arena_bytes.next_multiple_of(2 * WORD) / WORD;
        let layout = Self { first: u32::try_from(first).ok()?, units: units as u32, instructions: instructions as u32 };
        i32::try_from(layout.arena_bytes() / WORD).ok().map(|_| layout)
    }

    /// Bytes of the arena with the trace.
    pub fn arena_bytes(&self) -> u64 {
        let units = u64::from(self.units.next_multiple_of(2)) + u64::from(ANCHOR_WORDS) * u64::from(self.units);
        WORD * (u64::from(self.first) + units + 2 * u64::from(self.instructions))
    }

    /// The first byte of the trace.
    pub fn start(&self) -> u64 {
        WORD * u64::from(self.first)
    }

    /// The word of the first block's first anchor.
    fn anchors(&self) -> u32 {
        self.first + self.units.next_multiple_of(2)
    }

    /// The word of the first instruction's begin.
    fn moments(&self) -> u32 {
        self.anchors() + ANCHOR_WORDS * self.units
    }

    /// What the bytes from [`Self::start`] on hold after a launch that followed `tables`: a pair an instruction of the
    /// plan. A prefetch and the waits after it are part of their rTask, and take no time of their own.
    pub fn read(&self, bytes: &[u8], tables: &Tables) -> Trace {
        let words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let moments = &words[(self.moments() - self.first) as usize..];
        let stream = |words: &[i32]| {
            let start = words[0];
            let codes = tables.instructions[start as usize * INSTRUCTION_WORDS..].chunks_exact(INSTRUCTION_WORDS);
            let pairs = moments[2 * start as usize..].chunks_exact(2);
            let mut steps = codes.take_while(|code| code[0] != OPCODE_END).zip(pairs);
            let mut found = Vec::new();
            while let Some((code, pair)) = steps.next() {
                let (begin, end) = (pair[0], pair[1]);
                let own_waits = if code[0] >= OPCODE_RUN { code[3] as usize } else { 0 };
                if own_waits > 0 {
                    // The prefetch, and the waits inside the rTask.
                    found.extend(std::iter::repeat_n(Moments { begin, end: begin }, 1 + own_waits));
                    steps.by_ref().take(own_waits).for_each(drop);
                }
                found.push(Moments { begin, end });
            }
            found
        };
        let anchors = &words[(self.anchors() - self.first) as usize..][..(ANCHOR_WORDS * self.units) as usize];
        let anchor = |pair: &[u32]| Anchor { time: pair[0], cycles: pair[1] };
        Trace {
            multiprocessors: words[..self.units as usize].to_vec(),
            anchors: anchors.as_chunks().0.iter().map(|[a, b, c, d]| [anchor(&[*a, *b]), anchor(&[*c, *d])]).collect(),
            units: tables.stream_start.chunks_exact(STREAM_WORDS).map(stream).collect(),
        }
    }
}

/// `program`, whose entry walks streams of instructions, with a trace at `layout` by `clock`.
///
/// # Panics
/// If the program is one of nodes alone, or its entry has no loop with a switch over instructions; every entry of
/// [`crate::persistent::entry`] has.
pub fn traced(program: &Program, layout: &TraceLayout, clock: TraceClock) -> Program {
    let mut program = program.clone();
    let entry = program.entry.persistent_mut().expect("nodes walk no stream");
    let locals = &mut entry.locals;
    let [at, begin, end] = [(); 3].map(|()| locals.push(ScalarType::I32));
    let body = &mut entry.body;
    let position = body.iter().find_map(|statement| match statement {
        Statement::LoadTable { place: Place::Local(local), table: Table::StreamStart, .. } => Some(*local),
        _ => None,
    });
    let position = position.expect("the entry looks up where its stream starts");
    let steps = body.iter_mut().find_map(|statement| match statement {
        Statement::Loop { body } => Some(body),
        _ => None,
    });
    let steps = steps.expect("the entry walks a stream in a loop");
    let choice =
        |step: &Statement| step.blocks().into_iter().flatten().any(|inner| matches!(inner, Statement::Switch { .. }));
    let switch = steps.iter().position(choice).expect("a step switches over the instruction");
    let pair = add(layout.moments(), binary(BinaryOp::Multiply, at.into(), Expression::i32(2)));
    let record = vec![read(end, clock.register()), store(pair, vec![begin.into(), end.into()])];
    steps.insert(switch + 1, on_first_thread(record));
    let here = [assign(at, position.into()), on_first_thread(vec![read(begin, clock.register())])];
    steps.splice(switch..switch, here);

    let block = Expression::Builtin(Builtin::Block);
    let place = add(layout.first, block);
    let unit = vec![read(end, SpecialRegister::Multiprocessor), store(place, vec![end.into()])];
    let prologue = [at, begin, end].map(|local| assign(local, Expression::i32(0)));
    body.splice(0..0, prologue.into_iter().chain([on_first_thread(unit)]));
    match clock {
        TraceClock::Shared => {}
        TraceClock::Cycles => anchors::set(entry, [begin, end], layout.anchors()),
    }
    program
}

fn read(local: LocalId, register: SpecialRegister) -> Statement {
    Statement::ReadSpecial { place: Place::Local(local), register }
}

/// Stores values from this word of the arena on; two values at an even one.
fn store(word: Expression, values: Vec<Expression>) -> Statement {
    Statement::StoreGlobal { memory: MemoryType::I32, index: word, values }
}

fn add(first: u32, more: Expression) -> Expression {
    binary(BinaryOp::Add, Expression::i32(first as i32), more)
}

fn binary(op: BinaryOp, left: Expression, right: Expression) -> Expression {
    Expression::binary(op, left, right)
}
