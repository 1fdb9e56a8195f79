//! Contractions on the host.

mod access;
mod blocked;
mod chain;
mod columns;
mod constant;
mod epilogue;
mod evaluated;
mod kernel;
mod multiply;
mod pack;
mod placement;
mod planes;
mod runs;
mod side;
mod slices;
mod windows;

use warpweave_graph::expr::Range;
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::{MemoryPlan, ROperator};
use warpweave_plan::template::contraction::Contraction;
use warpweave_plan::template::staged::StagedBox;

use super::memory::Memory;
use super::stage::HostStage;
use blocked::Blocked;
pub(super) use constant::PackedConstants;
use evaluated::Evaluated;

/// Singles of the vectors of this processor's micro-kernels.
pub(super) fn vector_lanes() -> usize {
    kernel::Kernels::native().lanes
}

/// A contraction, prepared.
pub(super) enum HostContraction {
    /// Of singles in memory.
    Blocked(Box<Blocked>),
    /// Any other.
    Evaluated(Evaluated),
}

impl HostContraction {
    /// Prepares the contraction that an operator is, if it is one whose tiles are worth it.
    pub(super) fn new(
        operator: &ROperator,
        stage: &HostStage,
        memory: &MemoryPlan,
        boxes: &[StagedBox],
    ) -> Option<Self> {
        let contraction = Contraction::on_processors(&operator.body)?;
        let is_tiled = operator.params.rules().multiplies_blocks();
        match Blocked::new(operator, &contraction, memory, boxes) {
            Some(blocked) => (is_tiled || blocked.has_blocks(operator)).then(|| Self::Blocked(Box::new(blocked))),
            None => is_tiled.then(|| Self::Evaluated(Evaluated::new(&operator.body, &contraction, stage))),
        }
    }

    /// Packs what is constant; returns the constants that are no longer read, each as often as a factor was one.
    pub(super) fn pack_constants(
        &mut self,
        operator: &ROperator,
        memory: &Memory,
        packed: &mut PackedConstants,
    ) -> Vec<TensorId> {
        match self {
            Self::Blocked(blocked) => blocked.pack_constants(operator, memory, packed),
            Self::Evaluated(_) => Vec::new(),
        }
    }

    /// Runs the tile over these ranges of the tile axes.
    pub(super) fn run(&self, stages: &[HostStage], tile: &[Range], memory: &Memory) {
        match self {
            Self::Blocked(blocked) => blocked.run(stages, tile, memory),
            Self::Evaluated(evaluated) => evaluated.run(stages, tile, memory),
        }
    }
}
