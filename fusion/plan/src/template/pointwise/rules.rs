//! What pointwise kernels need and can do.

use crate::body::GroupBody;
use crate::template::pointwise::{PointOrder, Pointwise};
use crate::template::row::row_bytes;
use crate::template::rules::Rules;
use crate::template::rules::require;
use crate::template::tile::ScheduleParams;
use std::fmt;

use warpweave_graph::expr::Index;
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

    fn check(&self, body: &GroupBody, _: &ScheduleParams) -> Result<(), &'static str> {
        require((1..=64).contains(&self.per_thread), "a template is impossible")?;
        match self.order {
            PointOrder::Strided => Ok(()),
            PointOrder::Run => require(takes_runs(body), "neighbours that a thread computes read no places from data"),
        }
    }

    fn can_tag(&self) -> bool {
        true
    }

    fn can_poll(&self, _: &GroupBody, _operand: usize) -> bool {
        true
    }

    fn shared_bytes(&self, _: &GroupBody, _: &ScheduleParams) -> usize {
        row_bytes(self.block_size())
    }
}

/// Whether a thread may compute neighbours of a body: it has an axis for them, and no index is read from a tensor.
pub fn takes_runs(body: &GroupBody) -> bool {
    body.tile_rank > 0 && names_places(body)
}

/// Whether every place that a body reads follows from the point where it is read.
pub fn names_places(body: &GroupBody) -> bool {
    let mut free = true;
    let mut visit = |index: &Index| free &= index.is_free_of_reads();
    body.stages.iter().for_each(|stage| stage.expr.visit_indices(&mut visit));
    free
}
