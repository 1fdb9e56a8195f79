//! Parameters of kernels as text, and back.

use std::fmt;
use std::str::FromStr;

use warpweave_graph::text::reader::{Parsed, Reader, Word};

use crate::template::{ContractionShape, Pipeline, RowThreads, ScheduleParams, Template};

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
        let Self { rows, columns, row_threads, column_width, step, pipeline, parts } = self;
        write!(f, "contraction/{rows}x{columns} threads {row_threads}x{}", self.column_threads())?;
        write!(f, " width {column_width} step {step} {pipeline}")?;
        if *parts == 1 { Ok(()) } else { write!(f, " in {parts} parts") }
    }
}

impl fmt::Display for ScheduleParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tile: Vec<String> = self.tile.iter().map(ToString::to_string).collect();
        match self.template {
            Template::Pointwise { per_thread } => write!(f, "pointwise/{per_thread}")?,
            Template::Row(threads) => write!(f, "row/{}", threads.word())?,
            Template::Kept => write!(f, "kept")?,
            Template::Contraction(shape) => shape.fmt(f)?,
            Template::Staged => write!(f, "staged")?,
            Template::Attention { keys } => write!(f, "attention/{keys}")?,
            Template::Opaque => write!(f, "opaque")?,
        }
        write!(f, " tile {}", if tile.is_empty() { "none".to_owned() } else { tile.join("x") })
    }
}

/// A text that names no [`ScheduleParams`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` are no parameters of a kernel, such as `pointwise/4 tile 1x256`")]
pub struct NoParams(pub String);

impl FromStr for ScheduleParams {
    type Err = NoParams;

    fn from_str(text: &str) -> Result<Self, NoParams> {
        let mut reader = Reader::new(text);
        let parsed = read(&mut reader).and_then(|params| reader.end().map(|()| params)).ok();
        let possible = |params: &Self| {
            let template = match params.template {
                Template::Pointwise { per_thread } => per_thread > 0,
                Template::Attention { keys } => keys > 0,
                Template::Contraction(shape) => {
                    let ContractionShape { rows, columns, column_width, step, parts, .. } = shape;
                    [rows, columns, column_width, step, parts].iter().all(|number| *number > 0)
                }
                Template::Row(_) | Template::Kept | Template::Staged | Template::Opaque => true,
            };
            template && params.tile.iter().all(|extent| *extent > 0) && params.to_string() == text
        };
        parsed.filter(possible).ok_or_else(|| NoParams(text.to_owned()))
    }
}

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
    if reader.eat_word("opaque") {
        return Ok(Template::Opaque);
    }
    if reader.eat_word("attention") {
        reader.mark("/")?;
        return Ok(Template::Attention { keys: reader.integer("keys of a block")? });
    }
    if reader.eat_word("kept") {
        return Ok(Template::Kept);
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
