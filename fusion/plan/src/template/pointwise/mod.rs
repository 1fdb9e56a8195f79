//! The pointwise template: a thread computes whole elements, reductions one after another.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_graph::text::reader::{Parsed, Reader};

use crate::body::GroupBody;
use crate::template::row::ROW_BYTES;
use crate::template::rules::{Rules, require};
use crate::template::tile::ScheduleParams;

/// The parameters of the pointwise template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Pointwise {
    /// Elements a thread, at most 64.
    pub per_thread: usize,
}

impl Rules for Pointwise {
    fn name(&self) -> &'static str {
        "pointwise"
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name(), self.per_thread)
    }

    fn is_sound(&self) -> bool {
        self.per_thread > 0
    }

    fn check(&self, _: &GroupBody, _: &ScheduleParams) -> Result<(), &'static str> {
        require((1..=64).contains(&self.per_thread), "a template is impossible")
    }

    fn can_tag(&self) -> bool {
        true
    }

    fn can_poll(&self, _: &GroupBody, _operand: usize) -> bool {
        true
    }

    fn shared_bytes(&self, _: &GroupBody, _: &ScheduleParams) -> usize {
        ROW_BYTES
    }
}

/// The parameters that come next.
pub(crate) fn read(reader: &mut Reader<'_>) -> Parsed<Pointwise> {
    reader.mark("/")?;
    Ok(Pointwise { per_thread: reader.integer("elements a thread")? })
}
