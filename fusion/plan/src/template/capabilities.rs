//! What the kernels of a template can do, and what they need.

use crate::body::{GroupBody, StageSource};
use crate::template::attention::AttentionKernel;
use crate::template::opaque;
use crate::template::resident::MOST_ROWS;
use crate::template::staged::{STAGED_BYTES, boxes, bytes};
use crate::template::{ScheduleParams, Template};

/// Whether kernels of a template can write sentinels.
pub fn can_mark(template: Template) -> bool {
    match template {
        Template::Pointwise { .. } | Template::Row(_) | Template::Kept | Template::Contraction(_) => true,
        Template::Staged | Template::Attention { .. } | Template::Opaque => false,
    }
}

/// Whether the kernel of a group can poll an operand; contractions poll what they read from boxes.
pub fn can_poll(body: &GroupBody, template: Template, operand: usize) -> bool {
    let directly = || body.stages.iter().any(|stage| stage.sources.contains(&StageSource::Operand(operand)));
    match template {
        Template::Pointwise { .. } | Template::Row(_) | Template::Kept => true,
        Template::Contraction(_) => !directly(),
        Template::Staged | Template::Attention { .. } | Template::Opaque => false,
    }
}

/// Bytes of shared memory that a kernel needs at most, but for what it keeps and for boxes of factors.
pub fn most_bytes(body: &GroupBody, params: &ScheduleParams) -> usize {
    let staged = match params.template {
        Template::Staged => boxes(body, params).map(|boxes| bytes(&boxes)),
        Template::Attention { .. } => AttentionKernel::of(body, params).map(|kernel| kernel.bytes()),
        Template::Contraction(shape) => return shape.shared_bytes(),
        Template::Pointwise { .. } | Template::Row(_) | Template::Kept => return ROW_BYTES,
        Template::Opaque => return opaque::shared_bytes(body) + ARRAY_ALIGNMENT * STATES,
    };
    staged.map_or(STAGED_BYTES, |bytes| bytes + ARRAY_ALIGNMENT * (body.staged.len() + STATES))
}

/// Bytes to which an array of shared memory is aligned.
const ARRAY_ALIGNMENT: usize = 16;

/// Arrays of an attention kernel beside its boxes: of every row its maximum, its total and the factor of its sums.
const STATES: usize = 3;

/// Bytes of shared memory in which rows are combined or finished, at most.
pub const ROW_BYTES: usize = 4 * MOST_ROWS * 8;
