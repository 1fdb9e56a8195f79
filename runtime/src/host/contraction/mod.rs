//! Contractions on the host.

mod access;
mod blocked;
mod constant;
mod epilogue;
mod evaluated;
mod kernel;
mod pack;
mod runs;
mod slices;

use warpweave_graph::expr::Range;
use warpweave_plan::plan::{MemoryPlan, ROperator};
use warpweave_plan::template::contraction::Contraction;
use warpweave_plan::template::staged::StagedBox;

use super::memory::Memory;
use super::stage::HostStage;
use blocked::Blocked;
pub(super) use constant::PackedConstants;
use evaluated::Evaluated;

/// A contraction, prepared.
pub(super) enum HostContraction {
    /// Of singles in memory.
    Blocked(Box<Blocked>),
    /// Any other.
    Evaluated(Evaluated),
}

impl HostContraction {
    /// Prepares the contraction that an operator is.
    pub(super) fn new(
        operator: &ROperator,
        stage: &HostStage,
        memory: &MemoryPlan,
        boxes: &[StagedBox],
    ) -> Option<Self> {
        let contraction = Contraction::on_processors(&operator.body)?;
        Some(match Blocked::new(operator, &contraction, memory, boxes) {
            Some(blocked) => Self::Blocked(Box::new(blocked)),
            None => Self::Evaluated(Evaluated::new(&operator.body, &contraction, stage)),
        })
    }

    /// Packs what is constant.
    pub(super) fn pack_constants(&mut self, operator: &ROperator, memory: &Memory, packed: &mut PackedConstants) {
        match self {
            Self::Blocked(blocked) => blocked.pack_constants(operator, memory, packed),
            Self::Evaluated(_) => {}
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
