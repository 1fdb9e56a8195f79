//! What a template's kernels need, and what they can do.

use std::fmt;

use warpweave_graph::program::TensorId;

use crate::body::{GroupBody, StageSource};
use crate::kernel::Kernel;
use crate::template::Template;
use crate::template::block::BlockSize;
use crate::template::contraction::AxisClass;
use crate::template::contraction::shape::ContractionShape;
use crate::template::contraction::unit::ComputeUnit;

/// Whether an rTask may load a tensor's elements before it waits for others.
pub type LoadsBeforeWaits<'c> = &'c dyn Fn(TensorId) -> bool;

/// The stages of a body whose products tensor cores multiply.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TensorStages {
    /// Positions of staged values, in order.
    pub staged: Vec<usize>,
    /// Whether the body's first stage is one.
    pub lead: bool,
}

/// The capabilities of a template. Planner, verifier and runtimes ask these instead of matching on the template.
pub trait Rules: fmt::Debug {
    /// The template's name.
    fn name(&self) -> &'static str;

    /// Writes the template with its parameters as text, as [`crate::template::text`] reads them.
    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }

    /// Whether the parameters name a template at all, whatever the body: no divisor is zero.
    fn is_sound(&self) -> bool {
        true
    }

    /// Why no kernel of the template computes this body under these parameters, if none does. The tile is possible.
    fn check(&self, kernel: &Kernel) -> Result<(), &'static str>;

    /// Whether a block can compute a tile of this body that lies inside its extents.
    fn takes_tile(&self, _: &Kernel) -> bool {
        true
    }

    /// Whether a body may have staged values.
    fn stages_values(&self) -> bool {
        false
    }

    /// Whether the body is a procedure's, see [`crate::template::opaque`].
    fn computes_procedures(&self) -> bool {
        false
    }

    /// The size of the kernel's blocks. All kernels of a program have the same.
    fn block_size(&self) -> BlockSize {
        BlockSize::default()
    }

    /// What computes the body.
    fn compute_unit(&self) -> ComputeUnit {
        ComputeUnit::Simt
    }

    /// The stages whose products tensor cores multiply.
    fn tensor_stages(&self, _: &Kernel) -> TensorStages {
        TensorStages::default()
    }

    /// Whether the body's first stage is a sum of products which is computed block by block.
    fn multiplies_blocks(&self) -> bool {
        false
    }

    /// Whether the template is one for sums of products, whose time is that of multiply-adds.
    fn is_for_products(&self) -> bool {
        false
    }

    /// Whether kernels can write tagged values.
    fn can_tag(&self) -> bool;

    /// Whether the kernel can poll the tagged values of an operand of the body.
    fn can_poll(&self, body: &GroupBody, operand: usize) -> bool;

    /// Bytes of shared memory that the kernel needs at most, but for residents and staged operands.
    fn shared_bytes(&self, kernel: &Kernel) -> usize;

    /// Bytes of the boxes of staged values; `None` where they have no box.
    fn box_bytes(&self, _: &Kernel) -> Option<usize> {
        Some(0)
    }

    /// Whether constants of the body are resident: in shared memory for the whole launch, so that an rTask runs on the unit
    /// that holds them.
    fn holds_residents(&self) -> bool {
        false
    }

    /// Whether a group may run weight-stationary instead.
    fn may_hold_residents(&self) -> bool {
        false
    }

    /// The sides of a product whose whole factor may be loaded before waits, which the kernel then fetches there.
    fn prefetchable(&self, _: &Kernel, _: LoadsBeforeWaits<'_>) -> Vec<AxisClass> {
        Vec::new()
    }

    /// The shape of a contraction's kernel; `None` of other templates.
    fn contraction_shape(&self) -> Option<ContractionShape> {
        None
    }

    /// Parts that the reduction is split into (split-K), each an rTask a tile.
    fn parts(&self) -> usize {
        1
    }

    /// The template with its reduction in so many parts; `None` where that cannot be split.
    fn with_parts(&self, _parts: usize) -> Option<Template> {
        None
    }

    /// The template under which factors are read from staged copies; `None` where they never are.
    fn with_staged_operands(&self) -> Option<Template> {
        None
    }
}

/// Whether a stage reads an operand of the body without a staged copy.
pub(crate) fn reads_directly(body: &GroupBody, operand: usize) -> bool {
    body.stages.iter().any(|stage| stage.sources.contains(&StageSource::Operand(operand)))
}

pub(crate) fn require(holds: bool, otherwise: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(otherwise) }
}
