//! Execution plans as text that parses back to an equal plan.
//!
//! ```text
//! memory arena 512 weights 0
//!   t0: f32[4x6] arena 0..96
//!   t1: f32[4x5] arena 256..416 in t2 at 5 strides 10x1
//!   t2: f32[4x10] arena 256..416
//! inputs [t0]
//! outputs [t2]
//! constants []
//! segment persistent
//!   o0: pointwise/1 tile 4x5, 0.25 us a task, 0.0 prologue
//!     tile axes 2, reads [t0], writes [t1]
//!     stage 0 (t0: f32[4x6]): f32 = [a0<4, a1<5] tanh(x0[a0, a1]) -> t1[a0, a1]
//!   c0: 1 signals
//!   vEU 0: run o0.0-3; signal c0
//!   vEU 1: wait c0 >= 1; run o0.4
//! ```
//! A graph is `segment graph for 132`, its rOperators, and a line `node o0: 5 blocks` a node. Segments stand in their order;
//! each numbers its own rOperators and counters.
//! A tensor without a buffer is `unused`; one whose values carry their own validity is a `tagged_value`; one that fills its
//! own buffer names no root. `run o0.0-3` runs tiles 0 to 3 in turn. What is parsed names only what is declared; it is
//! not verified.

pub mod body;
pub mod memory;
pub mod print;

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::text::reader::{Parsed, Reader, TextError};

use crate::plan::backend::Backend;
use crate::plan::{
    Counter, CounterId, ExecutionPlan, GraphSegment, Instruction, KernelNode, MemoryPlan, OperatorId,
    PersistentSegment, ROperator, RTask, Segment,
};

/// Most instructions of a parsed plan, so that a short text cannot ask for much memory.
pub const MOST_INSTRUCTIONS: usize = 1 << 24;

/// The plan that a text describes. It is not verified.
pub fn parse(text: &str) -> Result<ExecutionPlan, TextError> {
    let mut reader = Reader::new(text);
    let memory = memory::read(&mut reader)?;
    let mut plan = ExecutionPlan { segments: Vec::new(), memory };
    let mut room = MOST_INSTRUCTIONS;
    while reader.eat_word("segment") {
        let segment = match reader.named::<Backend>("`persistent` or `graph`")? {
            Backend::Persistent => Segment::Persistent(persistent(&mut reader, &plan.memory, &mut room)?),
            Backend::CudaGraph => Segment::CudaGraph(graph(&mut reader, &plan.memory, &mut room)?),
        };
        plan.segments.push(segment);
    }
    reader.end()?;
    Ok(plan)
}

fn persistent(reader: &mut Reader<'_>, memory: &MemoryPlan, room: &mut usize) -> Parsed<PersistentSegment> {
    let mut segment = PersistentSegment { operators: operators(reader, memory)?, ..PersistentSegment::default() };
    while reader.is_id::<CounterId>() {
        reader.declared::<CounterId>(segment.counters.len())?;
        reader.mark(":")?;
        let arrivals = reader.integer("a number of signals")?;
        reader.keyword("signals")?;
        segment.counters.push(Counter { arrivals });
    }
    while reader.eat_word("vEU") {
        let stream = stream(reader, &segment, room)?;
        segment.streams.push(stream);
    }
    Ok(segment)
}

fn graph(reader: &mut Reader<'_>, memory: &MemoryPlan, room: &mut usize) -> Parsed<GraphSegment> {
    reader.keyword("for")?;
    let units = reader.integer("a number of multiprocessors")?;
    let mut segment = GraphSegment { operators: operators(reader, memory)?, nodes: Vec::new(), units };
    while reader.eat_word("node") {
        let before = reader.clone();
        let operator = reader.id::<OperatorId>("an rOperator", segment.operators.len())?;
        reader.mark(":")?;
        let blocks = reader.integer("a number of blocks")?;
        reader.keyword("blocks")?;
        segment.nodes.push(KernelNode { operator, blocks });
        let left = room.checked_sub(1);
        *room = left.ok_or_else(|| before.expected(format!("at most {MOST_INSTRUCTIONS} instructions")))?;
    }
    Ok(segment)
}

fn operators(reader: &mut Reader<'_>, memory: &MemoryPlan) -> Parsed<Arena<OperatorId, ROperator>> {
    let mut operators = Arena::new();
    while reader.is_id::<OperatorId>() {
        let operator = body::operator(reader, operators.len(), memory)?;
        operators.push(operator);
    }
    Ok(operators)
}

/// The stream of the unit that is declared next.
fn stream(reader: &mut Reader<'_>, segment: &PersistentSegment, room: &mut usize) -> Parsed<Vec<Instruction>> {
    let unit = segment.units();
    let before = reader.clone();
    if reader.integer::<usize>("a unit")? != unit {
        return Err(before.expected(format!("unit {unit}")));
    }
    reader.mark(":")?;
    let mut stream = Vec::new();
    while matches!(reader.peek(), Some("run" | "hold" | "prefetch" | "wait" | "signal")) {
        step(reader, segment, &mut stream, room)?;
        if !reader.eat(";") {
            break;
        }
    }
    Ok(stream)
}

fn step(
    reader: &mut Reader<'_>,
    segment: &PersistentSegment,
    stream: &mut Vec<Instruction>,
    room: &mut usize,
) -> Parsed<()> {
    let counter = |reader: &mut Reader<'_>| reader.id::<CounterId>("a counter", segment.counters.len());
    let task = |reader: &mut Reader<'_>| {
        let operator = reader.id::<OperatorId>("an rOperator", segment.operators.len())?;
        reader.mark(".")?;
        Ok(RTask { operator, tile: reader.integer("a tile")? })
    };
    let before = reader.clone();
    let length = stream.len();
    if reader.eat_word("wait") {
        let counter = counter(reader)?;
        reader.mark(">=")?;
        stream.push(Instruction::Wait { counter, signals: reader.integer("a number of signals")? });
    } else if reader.eat_word("signal") {
        stream.push(Instruction::Signal(counter(reader)?));
    } else if reader.eat_word("hold") {
        stream.push(Instruction::Hold(task(reader)?));
    } else if reader.eat_word("prefetch") {
        stream.push(Instruction::Prefetch(task(reader)?));
    } else {
        reader.keyword("run")?;
        let RTask { operator, tile: first } = task(reader)?;
        let tiles = reader.clone();
        let last = if reader.eat("-") { reader.integer("a tile")? } else { first };
        if last < first {
            return Err(tiles.expected("a later tile"));
        }
        if (last - first) as usize >= *room {
            return Err(tiles.expected(format!("at most {MOST_INSTRUCTIONS} instructions")));
        }
        stream.extend((first..=last).map(|tile| Instruction::Run(RTask { operator, tile })));
    }
    let left = room.checked_sub(stream.len() - length);
    *room = left.ok_or_else(|| before.expected(format!("at most {MOST_INSTRUCTIONS} instructions")))?;
    Ok(())
}

/// Ids in brackets.
fn ids<I: Id>(reader: &mut Reader<'_>, what: &str, count: usize) -> Parsed<Vec<I>> {
    reader.mark("[")?;
    reader.list("]", |reader| reader.id(what, count))
}
