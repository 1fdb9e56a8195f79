//! What planning decides by, and what comes of it.

use std::sync::Arc;

use crate::cost::KernelCost;
use crate::cost::cpu::CpuArch;
use crate::cost::estimate::EstimatedCost;
use crate::cost::gpu::GpuPrices;
use crate::cost::host::HostCost;
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

/// What partitions of a program and their plans are decided by.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// What kernels cost.
    pub cost: Arc<dyn KernelCost>,
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
    /// How far statements are fused. Planning, too, joins groups unless each statement is to be a group.
    pub fusion: FusionLevel,
    /// Whether rTasks load constants before they wait.
    pub prefetching: Prefetching,
    /// What may run the plan.
    pub backend: BackendChoice,
}

/// Threads that tiles for the host are chosen for; more share a group's rTasks less evenly, fewer take several each.
const HOST_THREADS: usize = 4;

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
    /// For a persistent program on a GPU: a unit a multiprocessor, with constants kept in its shared memory, and the kernels
    /// that are predicted to be fastest together.
    pub fn gpu(prices: &GpuPrices) -> Self {
        let (units, cost) = (prices.arch.multiprocessors.value, EstimatedCost { arch: prices.arch });
        let shared_bytes = cost.shared_bytes_per_block();
        let kernels = KernelChoice::Interplay;
        Self { shared_bytes, kernels, ..Self::new(units, Arc::new(cost), prices.sync) }
    }

    /// For the host back end: in program order, so that what a thread reads again soon is still in its caches.
    pub fn processor(arch: CpuArch, units: usize) -> Self {
        let cost = HostCost { arch, threads: HOST_THREADS };
        Self {
            shared_bytes: cost.shared_bytes_per_block(),
            kernels: KernelChoice::Interplay,
            fusion: FusionLevel::Register,
            sync: Some(SyncPolicy::IN_ORDER),
            ..Self::new(units, Arc::new(cost), SyncCosts::of_processor(&arch))
        }
    }

    /// For a persistent program on this many units: the fastest dependencies, memory reused where that costs no time, nothing
    /// kept on chip, constants loaded before waits, kernels as they are.
    pub fn new(units: usize, cost: Arc<dyn KernelCost>, costs: SyncCosts) -> Self {
        Self {
            cost,
            units,
            sync: None,
            tagging: Tagging::Factors,
            arena: ArenaPolicy::Fast,
            costs,
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
