//! What planning decides by, and what comes of it.

use crate::cost::sync::SyncCosts;
use crate::partition::search::FusionLevel;
use crate::schedule::memory::ArenaPolicy;
use crate::schedule::policy::SyncPolicy;
use crate::schedule::streams::tagged::Tagging;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::plan::backend::Backend;
use warpweave_plan::plan::backend::BackendChoice;
use warpweave_plan::plan::backend::BackendReason;
use warpweave_plan::streams::prefetch::Prefetching;

/// What planning decides by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlanOptions {
    /// Virtual execution units.
    pub units: usize,
    /// The granularity of synchronization; if `None`, the finest of those that the simulator estimates to be fastest.
    pub sync: Option<SyncPolicy>,
    /// Which values may carry their own validity at most.
    pub tagging: Tagging,
    /// When tensors share bytes.
    pub arena: ArenaPolicy,
    /// What waiting costs.
    pub costs: SyncCosts,
    /// Bytes of shared memory of a unit, in which constants may be kept; 0 where there is none.
    pub shared_bytes: usize,
    /// Which kernels groups run as in a persistent program.
    pub kernels: KernelChoice,
    /// How far planning may join groups beyond the partition: not at all where each statement is to be a group.
    pub fusion: FusionLevel,
    /// Whether rTasks load constants before they wait.
    pub prefetching: Prefetching,
    /// What may run the plan.
    pub backend: BackendChoice,
}

/// Which kernels groups run as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelChoice {
    /// Those of the partition.
    Own,
    /// Those of the partition or the variants that are fastest alone, whichever is predicted to be faster.
    Alone,
    /// Those of the partition or variants for parts of the device, whichever is predicted to be faster together.
    Interplay,
}

impl PlanOptions {
    /// For a persistent program on this many units: the fastest dependencies, memory reused where that costs no time, nothing
    /// kept on chip, constants loaded before waits, kernels as they are.
    pub fn new(units: usize) -> Self {
        Self {
            units,
            sync: None,
            tagging: Tagging::Factors,
            arena: ArenaPolicy::Fast,
            costs: SyncCosts::default(),
            shared_bytes: 0,
            kernels: KernelChoice::Own,
            fusion: FusionLevel::Full,
            prefetching: Prefetching::BeforeWaits,
            backend: BackendChoice::Only(Backend::Persistent),
        }
    }
}

/// A plan and how it came about.
#[derive(Clone, PartialEq, Debug)]
pub struct Planned {
    /// The plan, not verified.
    pub plan: ExecutionPlan,
    /// How fine its dependencies are.
    pub sync: SyncPolicy,
    /// Pairs of an rTask and a counter that it must come after, before redundant waits are removed.
    pub needs: usize,
    /// Bytes of the arena that are in use at once in the order of the plan: no arena can be smaller.
    pub arena_bound_bytes: u64,
    /// Predicted microseconds, launch left out.
    pub makespan: f64,
    /// Why it has the back end that it has.
    pub reason: BackendReason,
}
