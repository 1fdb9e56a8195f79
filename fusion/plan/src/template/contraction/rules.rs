//! What kernels of the contraction template need and can do.

use std::fmt;

use warpweave_graph::Numerics;
use warpweave_graph::program::TensorId;

use crate::body::{GroupBody, StageSource};
use crate::kernel::Kernel;
use crate::template::Template;
use crate::template::block::BlockSize;
use crate::template::contraction::AxisClass;
use crate::template::contraction::operand_staging::boxes;
use crate::template::contraction::shape::{ContractionShape, Pipeline};
use crate::template::contraction::unit::ComputeUnit;
use crate::template::rules::{LoadsBeforeWaits, Rules, TensorStages, reads_directly, require};

impl Rules for ContractionShape {
    fn name(&self) -> &'static str {
        "contraction"
    }

    fn block_size(&self) -> BlockSize {
        ContractionShape::block_size(self)
    }

    fn contraction_shape(&self) -> Option<ContractionShape> {
        Some(*self)
    }

    fn compute_unit(&self) -> ComputeUnit {
        self.unit
    }

    fn tensor_stages(&self, _: &Kernel) -> TensorStages {
        TensorStages { staged: Vec::new(), lead: self.unit == ComputeUnit::Mma }
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }

    fn is_sound(&self) -> bool {
        let Self { rows, columns, column_width, k_tile, k_slices, split_k, .. } = self;
        [rows, columns, column_width, k_tile, k_slices, split_k].into_iter().all(|number| *number > 0)
    }

    fn check(&self, kernel: &Kernel) -> Result<(), &'static str> {
        let body = kernel.body();
        require(self.is_possible(), "the shape violates the constraints of the contraction template")?;
        let Some(contraction) = kernel.contraction() else {
            return Err("a template sums something else than products");
        };
        let multiplied = self.unit.multiplies(contraction.numerics());
        require(multiplied, "a compute unit does not multiply what a contraction's factors are stored as")?;
        let fits = || boxes(kernel).is_some();
        require(body.staged.is_empty() || fits(), "a factor has no box in shared memory")
    }

    fn takes_tile(&self, kernel: &Kernel) -> bool {
        kernel.body().staged.is_empty() || boxes(kernel).is_some()
    }

    fn stages_values(&self) -> bool {
        true
    }

    fn multiplies_blocks(&self) -> bool {
        true
    }

    fn is_for_products(&self) -> bool {
        true
    }

    fn can_tag(&self) -> bool {
        true
    }

    /// What is read from a staged copy is polled while the copy is made.
    fn can_poll(&self, body: &GroupBody, operand: usize) -> bool {
        !reads_directly(body, operand)
    }

    fn shared_bytes(&self, kernel: &Kernel) -> usize {
        self.tile_bytes(kernel.contraction().map_or(Numerics::SINGLE, |contraction| contraction.numerics()))
    }

    fn prefetchable(&self, kernel: &Kernel, loads_before_waits: LoadsBeforeWaits<'_>) -> Vec<AxisClass> {
        match self.pipeline {
            Pipeline::Unpipelined => return Vec::new(),
            Pipeline::RegisterPrefetch | Pipeline::Asynchronous { .. } => {}
        }
        let Some(contraction) = kernel.contraction() else { return Vec::new() };
        let body = kernel.body();
        let stage = &body.stages[0];
        let tensor = |source: StageSource| -> Option<TensorId> {
            match source {
                StageSource::Operand(operand) => Some(body.operands[operand]),
                StageSource::Stage(_) | StageSource::Staged(_) => None,
            }
        };
        let is_prefetchable = |class: &AxisClass| {
            let mut reads = stage.expr.reads_of(contraction.factor(*class)).into_iter().peekable();
            reads.peek().is_some()
                && reads
                    .all(|read| tensor(stage.sources[stage.expr.reads[read].operand]).is_some_and(loads_before_waits))
        };
        [AxisClass::Row, AxisClass::Column].into_iter().filter(is_prefetchable).collect()
    }

    fn parts(&self) -> usize {
        self.split_k
    }

    fn with_parts(&self, parts: usize) -> Option<Template> {
        Some(Template::Contraction(Self { split_k: parts, ..*self }))
    }

    /// What is in shared memory already is not copied there asynchronously. The other factor is, on tensor cores.
    fn with_staged_operands(&self) -> Option<Template> {
        let pipeline = match (self.pipeline, self.unit) {
            (Pipeline::Unpipelined, _) => Pipeline::Unpipelined,
            (Pipeline::Asynchronous { .. }, ComputeUnit::Mma) => Pipeline::Asynchronous { depth: 2 },
            (Pipeline::RegisterPrefetch | Pipeline::Asynchronous { .. }, _) => Pipeline::RegisterPrefetch,
        };
        Some(Template::Contraction(Self { pipeline, ..*self }))
    }
}
