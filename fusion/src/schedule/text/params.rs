//! Text to templates and tiles.

use warpweave_graph::text::reader::{Parsed, Reader};

use crate::partition::params::RowThreads;
use crate::partition::{ContractionShape, Pipeline, ScheduleParams, Template};

/// The choice that comes next.
pub fn read(reader: &mut Reader<'_>) -> Parsed<ScheduleParams> {
    let template = template(reader)?;
    reader.keyword("tile")?;
    let tile = if reader.eat_word("none") { Vec::new() } else { reader.extents("a tile")? };
    Ok(ScheduleParams { template, tile })
}

fn template(reader: &mut Reader<'_>) -> Parsed<Template> {
    if reader.eat_word("staged") {
        return Ok(Template::Staged);
    }
    if reader.eat_word("pointwise") {
        reader.mark("/")?;
        return Ok(Template::Pointwise { per_thread: reader.integer("elements a thread")? });
    }
    if reader.eat_word("row") {
        reader.mark("/")?;
        return reader.named::<RowThreads>("`warp` or `block`").map(Template::Row);
    }
    if reader.eat_word("contraction") {
        reader.mark("/")?;
        return shape(reader).map(Template::Contraction);
    }
    Err(reader.expected("a template"))
}

fn shape(reader: &mut Reader<'_>) -> Parsed<ContractionShape> {
    let [rows, columns] = pair(reader, "rows and columns")?;
    reader.keyword("threads")?;
    let before = reader.clone();
    let [row_threads, column_threads] = pair(reader, "threads along rows and columns")?;
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
    let shape = ContractionShape { rows, columns, row_threads, column_width, step, pipeline, parts };
    if row_threads == 0 || shape.column_threads() != column_threads {
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
