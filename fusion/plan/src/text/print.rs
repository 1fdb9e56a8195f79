//! Execution plans to text.

use std::fmt;

use warpweave_graph::arena::Arena;
use warpweave_graph::program::TensorId;
use warpweave_graph::text::reader::Word;
use warpweave_graph::words;

use crate::plan::backend::Backend;
use crate::plan::index_records::IndexRecords;
use crate::plan::states::PlannedState;
use crate::plan::{
    BufferSpace, EdgeKind, ExecutionPlan, GraphSegment, Instruction, MemoryPlan, OperatorId, PersistentSegment,
    PlannedTensor, ROperator, Segment,
};

words!(BufferSpace { Arena => "arena", Weights => "weights" });
words!(Backend { Persistent => "persistent", CudaGraph => "graph" });

impl fmt::Display for ExecutionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        memory(f, &self.memory)?;
        for segment in &self.segments {
            match segment {
                Segment::Persistent(segment) => persistent(f, segment)?,
                Segment::CudaGraph(segment) => graph(f, segment)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(task) => write!(f, "run {}.{}", task.operator, task.tile),
            Self::Hold(task) => write!(f, "hold {}.{}", task.operator, task.tile),
            Self::Prefetch(task) => write!(f, "prefetch {}.{}", task.operator, task.tile),
            Self::Wait { counter, signals } => write!(f, "wait {counter} >= {signals}"),
            Self::Signal(counter) => write!(f, "signal {counter}"),
        }
    }
}

fn memory(f: &mut fmt::Formatter<'_>, memory: &MemoryPlan) -> fmt::Result {
    writeln!(f, "memory arena {} weights {}", memory.arena_bytes, memory.weights_bytes)?;
    for (id, planned) in memory.tensors.iter() {
        tensor(f, id, planned)?;
    }
    for (keyword, tensors) in
        [("inputs", &memory.inputs), ("outputs", &memory.outputs), ("constants", &memory.constants)]
    {
        writeln!(f, "{keyword} {tensors:?}")?;
    }
    for PlannedState { tensor, next } in &memory.states {
        writeln!(f, "state {tensor} next {next}")?;
    }
    index_records(f, &memory.index_records)
}

fn index_records(f: &mut fmt::Formatter<'_>, records: &IndexRecords) -> fmt::Result {
    if records.checks.is_empty() {
        return Ok(());
    }
    writeln!(f, "index checks at {}", records.offset)?;
    records.checks.iter().try_for_each(|(id, check)| writeln!(f, "  {id}: {} in {}", check.tensor, check.extent))
}

fn tensor(f: &mut fmt::Formatter<'_>, id: TensorId, tensor: &PlannedTensor) -> fmt::Result {
    write!(f, "  {id}: {} ", tensor.ty)?;
    match tensor.buffer {
        Some(buffer) => {
            write!(f, "{} {}..{}", buffer.space.word(), buffer.offset, buffer.offset.saturating_add(buffer.bytes))?;
        }
        None => write!(f, "unused")?,
    }
    match tensor.edge {
        EdgeKind::Counter => {}
        EdgeKind::Tagged => write!(f, " tagged {}", tensor.tag)?,
    }
    let layout = &tensor.layout;
    if !layout.is_own(id, &tensor.ty) {
        let strides: Vec<String> = layout.strides.iter().map(ToString::to_string).collect();
        let strides = if strides.is_empty() { "none".to_owned() } else { strides.join("x") };
        write!(f, " in {} at {} strides {strides}", layout.root, layout.offset)?;
    }
    writeln!(f)
}

fn persistent(f: &mut fmt::Formatter<'_>, segment: &PersistentSegment) -> fmt::Result {
    writeln!(f, "segment {}", Backend::Persistent.word())?;
    operators(f, &segment.operators)?;
    for (id, counter) in segment.counters.iter() {
        writeln!(f, "  {id}: {} signals", counter.arrivals)?;
    }
    for (unit, stream) in segment.streams.iter().enumerate() {
        let runs: Vec<String> = stream.chunk_by(|one, next| follows(*one, *next)).map(run).collect();
        writeln!(f, "{}", format!("  vEU {unit}: {}", runs.join("; ")).trim_end())?;
    }
    Ok(())
}

fn graph(f: &mut fmt::Formatter<'_>, segment: &GraphSegment) -> fmt::Result {
    writeln!(f, "segment {} for {}", Backend::CudaGraph.word(), segment.units)?;
    operators(f, &segment.operators)?;
    segment.nodes.iter().try_for_each(|node| writeln!(f, "  node {}: {} blocks", node.operator, node.blocks))
}

fn operators(f: &mut fmt::Formatter<'_>, operators: &Arena<OperatorId, ROperator>) -> fmt::Result {
    for (id, operator) in operators.iter() {
        let (task, prologue) = (operator.task_microseconds, operator.prologue_microseconds);
        write!(f, "  {id}: {}, {task:?} us a task, {prologue:?} prologue", operator.kernel.params())?;
        let origins: Vec<String> = operator.origins.iter().map(ToString::to_string).collect();
        writeln!(f, "{}{}", if origins.is_empty() { "" } else { " from " }, origins.join(", "))?;
        write!(f, "{}", operator.kernel.body())?;
    }
    Ok(())
}

/// Whether `next` runs the tile after `one`'s.
fn follows(one: Instruction, next: Instruction) -> bool {
    match (one, next) {
        (Instruction::Run(one), Instruction::Run(next)) => {
            one.operator == next.operator && one.tile.checked_add(1) == Some(next.tile)
        }
        _ => false,
    }
}

/// Instructions that follow one another, at least one.
fn run(instructions: &[Instruction]) -> String {
    match instructions {
        [Instruction::Run(first), .., Instruction::Run(last)] => {
            format!("run {}.{}-{}", first.operator, first.tile, last.tile)
        }
        others => others.iter().map(ToString::to_string).collect(),
    }
}
