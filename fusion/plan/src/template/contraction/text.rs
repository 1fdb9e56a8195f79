//! Shapes of contractions as text, and back.

use std::fmt;

use warpweave_graph::text::reader::{Parsed, Reader, Word};

use crate::template::contraction::shape::{ContractionShape, Pipeline};
use crate::template::contraction::unit::{ComputeUnit, simt::WarpTile};

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unpipelined => write!(f, "unpipelined"),
            Self::RegisterPrefetch => write!(f, "register-prefetch"),
            Self::Asynchronous { depth } => write!(f, "asynchronous/{depth}"),
        }
    }
}

impl fmt::Display for ContractionShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, row_threads, column_width, k_tile, pipeline, k_slices, split_k, unit } = self;
        write!(f, "contraction/{rows}x{columns} {} threads {row_threads}x{}", unit.word(), self.column_threads())?;
        write!(f, " warp {}", self.warp())?;
        write!(f, " width {column_width} k-tile {k_tile} {pipeline}")?;
        if *k_slices != 1 {
            write!(f, " k-slices {k_slices}")?;
        }
        if *split_k == 1 { Ok(()) } else { write!(f, " split-k {split_k}") }
    }
}

/// The shape that comes next.
pub(crate) fn read(reader: &mut Reader<'_>) -> Parsed<ContractionShape> {
    reader.mark("/")?;
    let [rows, columns] = pair(reader, "rows and columns")?;
    let unit = reader.named::<ComputeUnit>("`simt`")?;
    reader.keyword("threads")?;
    let before = reader.clone();
    let [row_threads, column_threads] = pair(reader, "threads along rows and columns")?;
    reader.keyword("warp")?;
    let [warp_rows, warp_columns] = pair(reader, "lanes of a warp along rows and columns")?;
    reader.keyword("width")?;
    let column_width = reader.integer("neighbouring columns")?;
    reader.mark("k-tile")?;
    let k_tile = reader.integer("points of the reduction")?;
    let pipeline = pipeline(reader)?;
    let k_slices = if reader.eat("k-slices") { reader.integer("slices of the block's threads")? } else { 1 };
    let split_k = if reader.eat("split-k") { reader.integer("parts of the reduction")? } else { 1 };
    let shape =
        ContractionShape { rows, columns, row_threads, column_width, k_tile, pipeline, k_slices, split_k, unit };
    let warp = WarpTile { rows: warp_rows, columns: warp_columns };
    if row_threads == 0 || !shape.is_sliceable() || shape.column_threads() != column_threads || shape.warp() != warp {
        return Err(before.expected("the threads of a block"));
    }
    Ok(shape)
}

fn pipeline(reader: &mut Reader<'_>) -> Parsed<Pipeline> {
    if reader.eat_word("unpipelined") {
        return Ok(Pipeline::Unpipelined);
    }
    if reader.eat("register-prefetch") {
        return Ok(Pipeline::RegisterPrefetch);
    }
    if reader.eat_word("asynchronous") {
        reader.mark("/")?;
        return Ok(Pipeline::Asynchronous { depth: reader.integer("buffers")? });
    }
    Err(reader.expected("`unpipelined`, `register-prefetch` or `asynchronous`"))
}

fn pair(reader: &mut Reader<'_>, what: &str) -> Parsed<[usize; 2]> {
    let before = reader.clone();
    reader.extents(what)?.try_into().map_err(|_| before.expected(what))
}
