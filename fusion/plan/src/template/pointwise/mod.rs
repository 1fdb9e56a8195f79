//! The pointwise template: a thread computes whole elements, reductions one after another.

pub mod fetches;
pub mod rules;
pub mod runs;
pub mod walk;

use serde::{Deserialize, Serialize};
use warpweave_graph::text::reader::{Parsed, Reader};
use warpweave_graph::words;

/// Where the points of a thread lie.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum PointOrder {
    /// As far apart as the block has threads: neighbouring threads have neighbouring points.
    Strided,
    /// Side by side along the innermost axis that the tile has more than one point of: what several of them read is fetched
    /// once.
    Run,
}

words!(PointOrder { Strided => "strided", Run => "run" });

/// The parameters of the pointwise template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Pointwise {
    /// Elements a thread, at most 64.
    pub per_thread: usize,
    /// Where they lie.
    pub order: PointOrder,
}

impl Pointwise {
    /// A thread has so many points, as far apart as the block has threads.
    pub fn strided(per_thread: usize) -> Self {
        Self { per_thread, order: PointOrder::Strided }
    }

    /// A thread has so many neighbours.
    pub fn run(per_thread: usize) -> Self {
        Self { per_thread, order: PointOrder::Run }
    }
}

/// The parameters that come next.
pub(crate) fn read(reader: &mut Reader<'_>) -> Parsed<Pointwise> {
    reader.mark("/")?;
    let per_thread = reader.integer("elements a thread")?;
    let order = if reader.eat("/") { reader.named("`run`")? } else { PointOrder::Strided };
    Ok(Pointwise { per_thread, order })
}
