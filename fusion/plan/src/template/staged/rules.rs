//! What kernels of the staged template need and can do.

use crate::body::GroupBody;
use crate::kernel::Kernel;
use crate::template::Staged;
use crate::template::rules::{Rules, TensorStages, require};
use crate::template::staged::padded::PaddedBody;
use crate::template::staged::phase::{Method, methods};
use crate::template::staged::{STAGED_BYTES, bytes, with_states};

impl Rules for Staged {
    fn name(&self) -> &'static str {
        "staged"
    }

    fn check(&self, kernel: &Kernel) -> Result<(), &'static str> {
        let body = kernel.body();
        let boxes = kernel.boxes().ok_or("a staged value has no box")?;
        require(bytes(body, boxes) <= STAGED_BYTES, "staged values do not fit shared memory")?;
        let narrow = (0..body.stages.len()).all(|stage| body.extra_axes(stage).is_empty());
        require(narrow && body.reductions().count() <= 1, "the tile violates the constraints of the staged template")
    }

    fn stages_values(&self) -> bool {
        true
    }

    fn tensor_stages(&self, kernel: &Kernel) -> TensorStages {
        let Some(boxes) = kernel.boxes() else { return TensorStages::default() };
        let padded = kernel.with_body(PaddedBody::of(kernel.shared_body()).body);
        let (staged, lead) = methods(&padded, boxes);
        let is_tensor = |method: Method| matches!(method, Method::Matrices(_));
        TensorStages {
            staged: (0..staged.len()).filter(|position| is_tensor(staged[*position])).collect(),
            lead: is_tensor(lead) && padded.contraction().is_some(),
        }
    }

    fn can_tag(&self) -> bool {
        false
    }

    fn can_poll(&self, _: &GroupBody, _operand: usize) -> bool {
        false
    }

    fn shared_bytes(&self, kernel: &Kernel) -> usize {
        with_states(kernel.body(), self.box_bytes(kernel))
    }

    fn box_bytes(&self, kernel: &Kernel) -> Option<usize> {
        kernel.boxes().map(|boxes| bytes(kernel.body(), boxes))
    }
}
