//! Statements that a procedure computes: each a group of its own, a row a tile, with one file a procedure for what it costs.

mod sort;
mod suppress;

use std::collections::BTreeSet;
use std::fmt;

use warpweave_graph::expr::{AxisId, Index};
use warpweave_graph::procedure::{Opaque, Procedure};
use warpweave_graph::program::{Definition, StatementId, TensorId, TensorProgram};

use super::arch::GpuArch;
use super::body::{GroupBody, Stage, StageOutput, StageSource};
use super::bound::kernel::KernelCounts;
use super::params::BLOCK_THREADS;

pub use sort::CHUNK;

/// The body of one opaque statement; `None` for anything else.
pub(super) fn alone(program: &TensorProgram, members: &BTreeSet<StatementId>) -> Option<GroupBody> {
    let (Some(&member), 1) = (members.first(), members.len()) else { return None };
    let statement = &program.statements[member];
    let Definition::Opaque(Opaque { procedure, access }) = &statement.definition else { return None };
    let mut operands: Vec<TensorId> = Vec::new();
    let mut source = |tensor: TensorId| {
        let known = operands.iter().position(|other| *other == tensor);
        StageSource::Operand(known.unwrap_or_else(|| {
            operands.push(tensor);
            operands.len() - 1
        }))
    };
    let sources = statement.operands.iter().map(|operand| source(*operand)).collect();
    let parallel = access.parallel().count();
    let dimension = |axis: AxisId| match access.axes[axis].extent {
        1 => Index::constant(0),
        _ => Index::axis(axis),
    };
    let index = access.parallel().map(dimension).collect();
    let output = Some(StageOutput { position: 0, index });
    let stage = Stage { expr: access.clone(), sources, output, procedure: Some(*procedure) };
    Some(GroupBody {
        staged: Vec::new(),
        stages: vec![stage],
        tile_rank: parallel - 1,
        operands,
        outputs: vec![statement.output],
    })
}

/// Why a body with a procedure is none that a kernel takes, if it is not.
pub fn check(body: &GroupBody) -> Result<(), &'static str> {
    let [stage] = &*body.stages else { return Err("what a procedure computes is not alone") };
    let operands = stage.sources.iter().all(|source| matches!(source, StageSource::Operand(_)));
    let row = stage.expr.parallel().count() == body.tile_rank + 1;
    if body.staged.is_empty() && operands && row && stage.output.is_some() {
        Ok(())
    } else {
        Err("a procedure takes rows of tensors in memory")
    }
}

/// What the procedure of a body does for one row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RowWork {
    /// Points at which the body is evaluated; where that depends on data, as if every place of the row stayed.
    pub evaluations: f64,
    /// Steps of all threads of a block one after another that look at what is in shared memory.
    pub shared_steps: f64,
    /// The same of what is in global memory.
    pub global_steps: f64,
    /// Meetings of the block's threads.
    pub meetings: f64,
    /// Bytes of shared memory.
    pub shared_bytes: usize,
    /// Elements of the row.
    pub length: f64,
    /// Comparisons of a sequential evaluation beside that of the body.
    pub sequential: f64,
}

impl fmt::Display for RowWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { evaluations, shared_steps, global_steps, meetings, length, .. } = self;
        write!(
            f,
            "a row of {length}: at most {evaluations} evaluations, {shared_steps} steps of a block in shared memory, "
        )?;
        write!(f, "{global_steps} in global memory, {meetings} meetings")
    }
}

fn of_row(procedure: Procedure, stage: &Stage) -> RowWork {
    let length = Opaque::row(&stage.expr);
    match procedure {
        Procedure::Sort(_) => sort::of_row(length),
        Procedure::Suppress { most } => suppress::of_row(length, most),
    }
}

/// The work of one row of a body that a procedure computes.
pub fn row_work(body: &GroupBody) -> Option<RowWork> {
    let stage = body.stages.first()?;
    Some(of_row(stage.procedure?, stage))
}

/// Bytes of shared memory that the kernel of a body with a procedure takes, but for the alignment of its arrays.
pub fn shared_bytes(body: &GroupBody) -> usize {
    row_work(body).map_or(0, |work| work.shared_bytes)
}

fn rows(stage: &Stage) -> f64 {
    let parallel = stage.expr.parallel().count();
    stage.expr.axes.values().take(parallel - 1).map(|axis| axis.extent as f64).product()
}

/// Scalar operations of all rows.
pub(super) fn operations(procedure: Procedure, stage: &Stage) -> u64 {
    let work = of_row(procedure, stage);
    (rows(stage) * (work.evaluations * stage.expr.body.operations() as f64 + work.sequential)) as u64
}

/// Instructions of a thread at a step, beside the body's.
const STEP_INSTRUCTIONS: f64 = 24.0;

/// Cycles of a row on a block.
pub(super) fn row_cycles(body: &GroupBody, arch: &GpuArch, meeting: f64) -> f64 {
    let Some(work) = row_work(body) else { return f64::INFINITY };
    let threads = BLOCK_THREADS as f64;
    let lanes = arch.lanes.value as f64;
    let issue = STEP_INSTRUCTIONS * threads / lanes;
    let evaluation = super::estimate::work(&body.stages[0].expr) * threads / lanes;
    let (latency, shared) = (arch.load_latency_cycles.value, arch.shared_latency_cycles.value);
    work.evaluations / threads * (evaluation + latency)
        + work.shared_steps * issue.max(shared)
        + work.global_steps * (issue + latency)
        + work.meetings * meeting
        + 2.0 * latency
}

/// What the kernels of all rows do.
pub(super) fn kernel_counts(body: &GroupBody) -> KernelCounts {
    let (Some(work), Some(stage)) = (row_work(body), body.stages.first()) else { return KernelCounts::default() };
    let threads = BLOCK_THREADS as f64;
    let rows = rows(stage);
    let reads = stage.expr.reads.len() as f64 * work.evaluations;
    // A step of a sort looks at two pairs of words, and writes them back.
    let words = 4.0 * threads * work.global_steps;
    KernelCounts {
        operations: rows * work.evaluations * stage.expr.body.operations() as f64,
        load_sectors: rows * (reads + words) / WORDS_OF_SECTOR,
        store_sectors: rows * (words + 2.0 * work.length) / WORDS_OF_SECTOR,
        global_loads: rows * (reads + words),
        ..KernelCounts::default()
    }
}

/// Words of a sector of global memory.
const WORDS_OF_SECTOR: f64 = 8.0;
