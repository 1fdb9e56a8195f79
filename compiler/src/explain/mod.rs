//! Why a model is compiled as it is: its partition, and its plan in time, on the cost model.

mod clock;
pub mod code_fetches;
mod colours;
mod comparison;
pub mod folding;
pub mod kernel_text;
pub mod machine_code;
pub mod partition;
mod picture;
pub mod plan_code;
pub mod rejected;
pub mod stored_bytes;
mod timeline;
mod trace;

pub use clock::Clock;
pub use comparison::{Comparison, Way, WayFigures, Win, compare};
pub use partition::{ExplainedGroup, LevelFigures};
pub use picture::{PICTURE_GENERATOR, picture};
pub use timeline::timeline;
pub use trace::{TRACE_BEGINNING, trace};
use warpweave_plan::verify::verify;

use std::collections::BTreeMap;
use std::time::Instant;

use warpweave_fusion::partition::search::Partition;
use warpweave_fusion::schedule::choice::plan;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_fusion::schedule::policy::SyncPolicy;
use warpweave_fusion::schedule::simulation::plan::simulate_plan;
use warpweave_fusion::schedule::simulation::{Jitter, Shares, Simulation};
use warpweave_graph::pipeline::PreparedProgram;
use warpweave_plan::plan::Instruction;
use warpweave_plan::plan::OperatorId;
use warpweave_plan::plan::backend::BackendReason;
use warpweave_plan::verify::Verified;

use crate::error::CompileError;

/// A verified plan and its simulated run.
#[derive(Clone, PartialEq, Debug)]
pub struct ExplainedPlan {
    /// The plan.
    pub plan: Verified,
    /// Why it has the back end that it has.
    pub reason: BackendReason,
    /// How fine its dependencies are.
    pub sync: SyncPolicy,
    /// Pairs of an rTask and a counter that it must come after, before redundant waits are removed.
    pub needs: usize,
    /// Bytes of the arena in use at once: no arena for this order can be smaller.
    pub arena_bound_bytes: u64,
    /// Seconds that scheduling took.
    pub seconds: f64,
    /// The run; rOperators and counters are numbered through the segments.
    pub simulation: Simulation,
}

/// What an rOperator, numbered through the segments, adds to the critical path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CriticalOperator {
    /// The rOperator.
    pub operator: OperatorId,
    /// Its rTasks on the path.
    pub steps: usize,
    /// Their microseconds.
    pub microseconds: f64,
}

/// Plans, verifies and simulates.
pub fn explain(
    prepared: &PreparedProgram,
    partition: &Partition,
    options: &PlanOptions,
) -> Result<ExplainedPlan, CompileError> {
    let start = Instant::now();
    let planned = plan(prepared, partition, options);
    let seconds = start.elapsed().as_secs_f64();
    let plan = verify(planned.plan).map_err(CompileError::Plan)?;
    let simulation = simulate_plan(plan.plan(), &options.costs, Jitter::None);
    let (sync, needs, arena_bound_bytes) = (planned.sync, planned.needs, planned.arena_bound_bytes);
    let reason = planned.reason;
    Ok(ExplainedPlan { plan, reason, sync, needs, arena_bound_bytes, seconds, simulation })
}

impl ExplainedPlan {
    /// What the units do with their time.
    pub fn shares(&self) -> Shares {
        self.simulation.shares()
    }

    /// The rOperators on the critical path, those that take longest first.
    pub fn critical_operators(&self) -> Vec<CriticalOperator> {
        let mut found: BTreeMap<OperatorId, CriticalOperator> = BTreeMap::new();
        for (unit, position) in self.simulation.critical_path() {
            let event = self.simulation.units[unit][position];
            let Instruction::Run(task) = event.instruction else { continue };
            let none = CriticalOperator { operator: task.operator, steps: 0, microseconds: 0.0 };
            let entry = found.entry(task.operator).or_insert(none);
            entry.steps += 1;
            entry.microseconds += event.end - event.start;
        }
        let mut found: Vec<CriticalOperator> = found.into_values().collect();
        found.sort_by(|a, b| b.microseconds.total_cmp(&a.microseconds));
        found
    }
}
