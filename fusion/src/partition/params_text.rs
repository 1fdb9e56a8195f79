//! Parameters of kernels as text, and back.

use std::fmt;
use std::str::FromStr;

use super::params::{BLOCK_THREADS, ContractionShape, Pipeline, RowThreads, ScheduleParams, Template};

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
            Template::Row(RowThreads::Warp) => write!(f, "row/warp")?,
            Template::Row(RowThreads::Block) => write!(f, "row/block")?,
            Template::Contraction(shape) => shape.fmt(f)?,
            Template::Staged => write!(f, "staged")?,
        }
        write!(f, " tile {}", if tile.is_empty() { "-".to_owned() } else { tile.join("x") })
    }
}

/// A text that names no [`ScheduleParams`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` are no parameters of a kernel, such as `pointwise/4 tile 1x256`")]
pub struct NoParams(pub String);

impl FromStr for ScheduleParams {
    type Err = NoParams;

    fn from_str(text: &str) -> Result<Self, NoParams> {
        let parsed = text.rsplit_once(" tile ").and_then(|(template, tile)| {
            let tile = match tile {
                "-" => Vec::new(),
                extents => extents.split('x').map(positive).collect::<Option<_>>()?,
            };
            Some(Self { template: parse_template(template)?, tile })
        });
        parsed.filter(|params| params.to_string() == text).ok_or_else(|| NoParams(text.to_owned()))
    }
}

fn positive(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number| *number > 0)
}

fn parse_template(text: &str) -> Option<Template> {
    match text {
        "row/warp" => return Some(Template::Row(RowThreads::Warp)),
        "row/block" => return Some(Template::Row(RowThreads::Block)),
        "staged" => return Some(Template::Staged),
        _ => {}
    }
    match text.split_once('/')? {
        ("pointwise", per_thread) => Some(Template::Pointwise { per_thread: positive(per_thread)? }),
        ("contraction", shape) => Some(Template::Contraction(parse_shape(shape)?)),
        _ => None,
    }
}

fn parse_shape(text: &str) -> Option<ContractionShape> {
    let (sides, rest) = text.split_once(" threads ")?;
    let (threads, rest) = rest.split_once(" width ")?;
    let (column_width, rest) = rest.split_once(" step ")?;
    let (step, rest) = rest.split_once(' ')?;
    let (rows, columns) = sides.split_once('x')?;
    let row_threads = positive(threads.split_once('x')?.0).filter(|threads| *threads <= BLOCK_THREADS)?;
    let (pipeline, parts) = match rest.strip_suffix(" parts") {
        Some(split) => split.rsplit_once(" in ")?,
        None => (rest, "1"),
    };
    Some(ContractionShape {
        rows: positive(rows)?,
        columns: positive(columns)?,
        row_threads,
        column_width: positive(column_width)?,
        step: positive(step)?,
        pipeline: parse_pipeline(pipeline)?,
        parts: positive(parts)?,
    })
}

fn parse_pipeline(text: &str) -> Option<Pipeline> {
    match text {
        "in turn" => Some(Pipeline::InTurn),
        "through registers" => Some(Pipeline::Registers),
        _ => Some(Pipeline::Asynchronous { stages: positive(text.strip_prefix("asynchronous/")?)? }),
    }
}
