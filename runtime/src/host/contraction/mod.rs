//! Contractions on the host.

mod access;
mod blocked;
mod chain;
mod columns;
mod constant;
mod epilogue;
mod evaluated;
mod functions;
mod integers;
mod kernel;
mod multiply;
mod pack;
mod placement;
mod planes;
mod runs;
mod side;
mod slices;
mod windows;

use std::sync::Arc;

use warpweave_graph::expr::Range;
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::ROperator;

use super::known::{Key, Known};
use super::memory::Memory;
use super::stage::HostStage;
use super::vector::{Shared, StageReads};
use blocked::{Blocked, Factors};
use constant::OwnPanels;
pub(super) use constant::PackedConstants;
use evaluated::Evaluated;

/// Singles of the vectors of this processor's micro-kernels.
pub(super) fn vector_lanes() -> usize {
    kernel::Kernels::native().lanes
}

/// Contractions that have been prepared; none where an operator is no product of panels.
pub(super) type KnownContractions = Known<Option<Arc<Blocked>>>;

/// A contraction, prepared.
pub(super) enum HostContraction {
    /// Of singles in memory.
    Blocked { blocked: Arc<Blocked>, panels: OwnPanels, stages: Vec<HostStage> },
    /// Of integers in memory; evaluated where they are too large.
    Integers { blocked: Arc<Blocked>, panels: OwnPanels, evaluated: Evaluated, stages: Vec<HostStage> },
    /// Any other.
    Evaluated(Evaluated, Vec<HostStage>),
}

impl HostContraction {
    /// Prepares the contraction that an operator is, if it is one whose tiles are worth it.
    pub(super) fn new(
        operator: &ROperator,
        key: Option<&Arc<Key>>,
        (reads, shared): (&[StageReads], &[Shared]),
        known: &mut KnownContractions,
        stages: impl FnOnce() -> Vec<HostStage>,
    ) -> Option<Self> {
        let contraction = operator.kernel.contraction()?;
        let is_tiled = operator.kernel.rules().multiplies_blocks();
        let prepare = || Blocked::new(operator, contraction, (reads, shared)).map(Arc::new);
        match known.prepared(key, prepare).as_ref() {
            Some(blocked) if is_tiled && blocked.factors == Factors::Integers => {
                let (blocked, stages) = (Arc::clone(blocked), stages());
                let evaluated = Evaluated::new(operator.kernel.body(), contraction, &stages[0]);
                Some(Self::Integers { blocked, panels: OwnPanels::default(), evaluated, stages })
            }
            Some(blocked) if blocked.factors == Factors::Singles && (is_tiled || blocked.has_blocks) => {
                let stages = if blocked.takes_stages() { stages() } else { Vec::new() };
                Some(Self::Blocked { blocked: Arc::clone(blocked), panels: OwnPanels::default(), stages })
            }
            None if is_tiled => {
                let stages = stages();
                Some(Self::Evaluated(Evaluated::new(operator.kernel.body(), contraction, &stages[0]), stages))
            }
            Some(_) | None => None,
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
            Self::Blocked { blocked, panels, .. } => {
                *panels = blocked.pack_constants(operator, memory, packed);
                blocked.packed_operands(operator, panels)
            }
            Self::Integers { blocked, panels, .. } => {
                *panels = blocked.pack_constants(operator, memory, packed);
                // A tile whose other factor is too large reads them.
                Vec::new()
            }
            Self::Evaluated(..) => Vec::new(),
        }
    }

    /// Runs the tile over these ranges of the tile axes, which are as before in the end.
    pub(super) fn run(&self, tile: &mut [Range], memory: &Memory) {
        match self {
            Self::Blocked { blocked, panels, stages } => {
                let ran = blocked.run(stages, panels, tile, memory);
                debug_assert!(ran, "singles have no bounds");
            }
            Self::Integers { blocked, panels, evaluated, stages } => {
                if !blocked.run(stages, panels, tile, memory) {
                    evaluated.run(stages, tile, memory);
                }
            }
            Self::Evaluated(evaluated, stages) => evaluated.run(stages, tile, memory),
        }
    }
}
