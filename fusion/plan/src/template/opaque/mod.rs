//! Statements that a procedure computes: each a group of its own, a row a tile, with one file a procedure for what it costs.

pub mod rules;
pub mod sort;
pub mod suppress;

use std::fmt;

use warpweave_graph::procedure::{self, Procedure};

use crate::body::{GroupBody, Stage, StageSource};
use crate::template::Opaque;
use crate::template::rules::Rules;

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
    /// Barriers of the block's threads.
    pub barriers: f64,
    /// Bytes of shared memory.
    pub shared_bytes: usize,
    /// Elements of the row.
    pub length: f64,
    /// Comparisons of a sequential evaluation beside that of the body.
    pub sequential: f64,
}

impl fmt::Display for RowWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { evaluations, shared_steps, global_steps, barriers, length, .. } = self;
        write!(
            f,
            "a row of {length}: at most {evaluations} evaluations, {shared_steps} steps of a block in shared memory, "
        )?;
        write!(f, "{global_steps} in global memory, {barriers} barriers")
    }
}

fn of_row(procedure: Procedure, stage: &Stage) -> RowWork {
    let (length, block_size) = (procedure::Opaque::row(&stage.expr), Opaque.block_size());
    match procedure {
        Procedure::Sort(_) => sort::of_row(length, block_size),
        Procedure::Suppress { most } => suppress::of_row(length, most, block_size),
    }
}

/// The work of one row of a body that a procedure computes.
pub fn row_work(body: &GroupBody) -> Option<RowWork> {
    let stage = body.stages.first()?;
    Some(of_row(stage.procedure?, stage))
}

/// Bytes of shared memory that the kernel of a body with a procedure takes, but for the alignment of its arrays.
pub fn row_bytes(body: &GroupBody) -> usize {
    row_work(body).map_or(0, |work| work.shared_bytes)
}

/// Rows of a stage.
pub fn rows(stage: &Stage) -> f64 {
    let parallel = stage.expr.parallel().count();
    stage.expr.axes.values().take(parallel - 1).map(|axis| axis.extent as f64).product()
}

/// Scalar operations of all rows.
pub fn operations(procedure: Procedure, stage: &Stage) -> u64 {
    let work = of_row(procedure, stage);
    (rows(stage) * (work.evaluations * stage.expr.body.operations() as f64 + work.sequential)) as u64
}
