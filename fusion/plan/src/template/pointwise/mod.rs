//! The pointwise template: a thread computes whole elements, reductions one after another.

pub mod rules;

use serde::{Deserialize, Serialize};
use warpweave_graph::text::reader::{Parsed, Reader};

/// The parameters of the pointwise template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Pointwise {
    /// Elements a thread, at most 64.
    pub per_thread: usize,
}

/// The parameters that come next.
pub(crate) fn read(reader: &mut Reader<'_>) -> Parsed<Pointwise> {
    reader.mark("/")?;
    Ok(Pointwise { per_thread: reader.integer("elements a thread")? })
}
