//! What kernels of the attention template need and can do.

use crate::body::GroupBody;
use crate::kernel::Kernel;
use crate::template::attention::AttentionGeometry;
use crate::template::attention::parameters::KeyBlocks;
use crate::template::attention::phase::{AttentionPhase, phases};
use crate::template::rules::{Rules, TensorStages, require};
use crate::template::staged::padded::PaddedBody;
use crate::template::staged::phase::{Method, ProductStep};
use crate::template::staged::with_states;
use std::fmt;

impl Rules for KeyBlocks {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name(), self.keys)
    }

    fn is_sound(&self) -> bool {
        self.keys > 0
    }

    fn check(&self, kernel: &Kernel) -> Result<(), &'static str> {
        require(AttentionGeometry::of(kernel).is_some(), "the tile violates the constraints of the attention template")
    }

    fn takes_tile(&self, kernel: &Kernel) -> bool {
        AttentionGeometry::of(kernel).is_some()
    }

    fn stages_values(&self) -> bool {
        true
    }

    fn is_for_products(&self) -> bool {
        true
    }

    fn tensor_stages(&self, kernel: &Kernel) -> TensorStages {
        let Some(geometry) = AttentionGeometry::of(kernel) else { return TensorStages::default() };
        let padded = kernel.with_body(PaddedBody::of(kernel.shared_body()).body);
        let is_tensor = |phase: &AttentionPhase| match phase {
            AttentionPhase::Before(method) | AttentionPhase::Block(method) => matches!(method, Method::Matrices(_)),
            AttentionPhase::Weights | AttentionPhase::State => false,
        };
        let phases = phases(&padded, &geometry);
        TensorStages {
            staged: (0..phases.len()).filter(|position| is_tensor(&phases[*position])).collect(),
            lead: matches!(geometry.product, ProductStep::Matrices(_)),
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
        AttentionGeometry::of(kernel).map(|geometry| geometry.bytes)
    }
}
