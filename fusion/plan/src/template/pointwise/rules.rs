//! What pointwise kernels need and can do.

use crate::body::{GroupBody, StageSource};
use crate::kernel::Kernel;
use crate::template::pointwise::{PointOrder, Pointwise};
use crate::template::row::row_bytes;
use crate::template::rules::Rules;
use crate::template::rules::require;
use std::fmt;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, IndirectIndex, Read, Scalar};
use warpweave_graph::text::reader::Word;

impl Rules for Pointwise {
    fn name(&self) -> &'static str {
        "pointwise"
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name(), self.per_thread)?;
        match self.order {
            PointOrder::Strided => Ok(()),
            PointOrder::Run => write!(f, "/{}", self.order.word()),
        }
    }

    fn is_sound(&self) -> bool {
        self.per_thread > 0
    }

    fn check(&self, kernel: &Kernel) -> Result<(), &'static str> {
        let body = kernel.body();
        require((1..=64).contains(&self.per_thread), "the tile violates the constraints of the pointwise template")?;
        match self.order {
            PointOrder::Strided => Ok(()),
            PointOrder::Run => {
                let along = run_axis(kernel.tile()) == run_axis(&body.tile_extents());
                require(
                    takes_runs(body) && (along || names_places(body)),
                    "neighbours that a thread computes read the same places where data name those",
                )
            }
        }
    }

    fn can_tag(&self) -> bool {
        true
    }

    fn can_poll(&self, _: &GroupBody, _operand: usize) -> bool {
        true
    }

    fn shared_bytes(&self, _: &Kernel) -> usize {
        row_bytes(self.block_size())
    }
}

/// Whether a thread may compute neighbours of a body. The body needs an axis for them. Where places are read from a
/// tensor, they must be the same for all neighbours, and nothing may be reduced.
pub fn takes_runs(body: &GroupBody) -> bool {
    let Some(axis) = run_axis(&body.tile_extents()) else { return false };
    body.stages.iter().all(|stage| {
        let (expr, named) = (&stage.expr, stage.expr.indirect_indices());
        let is_shared = |place: &IndirectIndex| {
            let Read { operand, index, guard, .. } = &expr.reads[place.read];
            let is_fixed = |index: &Index| index.is_affine() && index.coefficient(axis) == 0;
            let in_memory = matches!(stage.sources[*operand], StageSource::Operand(_));
            in_memory && guard.is_always() && index.iter().all(is_fixed)
        };
        named.is_empty() || expr.reducer.is_none() && named.iter().all(is_shared) && computes_no_places(&expr.body)
    })
}

/// The axis along which neighbours lie in a tile of these extents.
pub fn run_axis(tile: &[usize]) -> Option<AxisId> {
    let innermost = tile.iter().rposition(|extent| *extent > 1);
    innermost.or(tile.len().checked_sub(1)).map(AxisId::from_index)
}

/// Whether no value of a scalar is a place, or whether one exists.
fn computes_no_places(scalar: &Scalar) -> bool {
    let mut none = true;
    scalar.visit(&mut |part| none &= !matches!(part, Scalar::Index(..) | Scalar::Holds(_)));
    none
}

/// Whether every place that a body reads follows from the point where it is read.
pub fn names_places(body: &GroupBody) -> bool {
    let mut free = true;
    let mut visit = |index: &Index| free &= index.is_free_of_reads();
    body.stages.iter().for_each(|stage| stage.expr.visit_indices(&mut visit));
    free
}
