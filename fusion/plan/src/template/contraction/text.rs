//! Shapes of contractions as text, and back.

use std::fmt;

use warpweave_graph::text::reader::{Parsed, Reader, Word};

use crate::template::contraction::shape::{ContractionShape, Pipeline};
use crate::template::contraction::unit::{ComputeUnit, WarpTile};

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InTurn => write!(f, "in turn"),
            Self::Registers => write!(f, "through registers"),
            Self::Asynchronous { stages } => write!(f, "asynchronous/{stages}"),
        }
    }
}

impl fmt::Display for ContractionShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, row_threads, column_width, step, pipeline, parts, unit } = self;
        write!(f, "contraction/{rows}x{columns} {} threads {row_threads}x{}", unit.word(), self.column_threads())?;
        write!(f, " warp {}", self.warp())?;
        write!(f, " width {column_width} step {step} {pipeline}")?;
        if *parts == 1 { Ok(()) } else { write!(f, " in {parts} parts") }
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
    reader.keyword("step")?;
    let step = reader.integer("steps")?;
    let pipeline = pipeline(reader)?;
    let parts = if reader.eat_word("in") {
        let parts = reader.integer("parts")?;
        reader.keyword("parts")?;
        parts
    } else {
        1
    };
    let shape = ContractionShape { rows, columns, row_threads, column_width, step, pipeline, parts, unit };
    let warp = WarpTile { rows: warp_rows, columns: warp_columns };
    if row_threads == 0 || shape.column_threads() != column_threads || shape.warp() != warp {
        return Err(before.expected("the threads of a block"));
    }
    Ok(shape)
}

fn pipeline(reader: &mut Reader<'_>) -> Parsed<Pipeline> {
    if reader.eat_word("in") {
        return reader.keyword("turn").map(|()| Pipeline::InTurn);
    }
    if reader.eat_word("through") {
        return reader.keyword("registers").map(|()| Pipeline::Registers);
    }
    if reader.eat_word("asynchronous") {
        reader.mark("/")?;
        return Ok(Pipeline::Asynchronous { stages: reader.integer("buffers")? });
    }
    Err(reader.expected("`in turn`, `through registers` or `asynchronous`"))
}

fn pair(reader: &mut Reader<'_>, what: &str) -> Parsed<[usize; 2]> {
    let before = reader.clone();
    reader.extents(what)?.try_into().map_err(|_| before.expected(what))
}
