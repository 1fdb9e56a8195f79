//! The vector engine: stages as instructions over registers of neighbouring points.
//!
//! A group of stages is prepared once: the axes along which its points are lanes, the addresses of its reads, and the registers of
//! its values. A run then allocates nothing. The loops are compiled for what the processor at hand can do, and every result
//! depends on the tile alone, so it is the same for any number of threads.

mod arithmetic;
mod chained;
mod frame;
mod gather;
mod group;
mod lane_stage;
mod lanes;
mod load;
mod loops;
mod place;
mod point_stage;
mod program;
mod reduce;
mod rows;
mod segment;
mod stage;
mod store;
mod table;
mod window;

use warpweave_graph::expr::Range;

pub(super) use arithmetic::{chain, halves, mathematics, processor};
pub(crate) use frame::{Counts, Frame};
pub(crate) use group::{Group, Scratch, Shared};
pub(super) use load::{load_singles, load_words};
pub(crate) use stage::{Output, Source, StageReads};
pub(crate) use store::Target;
pub(crate) use window::BUFFER;

use super::memory::Memory;

/// Computes a box of a group's shared axes.
pub(crate) fn run(group: &Group, ranges: &[Range], memory: &Memory, scratch: &mut Scratch, target: &mut Target) {
    group.run(ranges, memory, scratch, target);
}
