//! Parameters of kernels as text, and back.

use std::fmt;
use std::str::FromStr;

use warpweave_graph::text::reader::{Parsed, Reader};

use crate::kernel::ScheduleParams;
use crate::template::{Template, attention, contraction, pointwise, row};

impl fmt::Display for ScheduleParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tile: Vec<String> = self.tile.iter().map(ToString::to_string).collect();
        self.rules().print(f)?;
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
            params.rules().is_sound() && params.tile.iter().all(|extent| *extent > 0) && params.to_string() == text
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

/// How the parameters behind a template's name are read.
type Read = fn(&mut Reader<'_>) -> Parsed<Template>;

/// Every template by its name.
const TEMPLATES: [(&str, Read); 7] = [
    ("attention", |reader| attention::parameters::read(reader).map(Template::Attention)),
    ("contraction", |reader| contraction::shape::read(reader).map(Template::Contraction)),
    ("opaque", |_| Ok(Template::Opaque)),
    ("pointwise", |reader| pointwise::read(reader).map(Template::Pointwise)),
    ("row", |reader| row::read(reader).map(Template::Row)),
    ("staged", |_| Ok(Template::Staged)),
    ("weight-stationary", |_| Ok(Template::WeightStationary)),
];

/// The names of all templates.
pub fn names() -> impl Iterator<Item = &'static str> {
    TEMPLATES.into_iter().map(|(name, _)| name)
}

fn template(reader: &mut Reader<'_>) -> Parsed<Template> {
    let known = TEMPLATES.into_iter().find(|(name, _)| eat_name(reader, name));
    let (_, read) = known.ok_or_else(|| reader.expected("a template"))?;
    read(reader)
}

/// Skips a name, of words with hyphens between them, if it comes next.
fn eat_name(reader: &mut Reader<'_>, name: &str) -> bool {
    let mut behind = reader.clone();
    let mut words = name.split('-').enumerate();
    let found = words.all(|(position, word)| (position == 0 || behind.eat("-")) && behind.eat_word(word));
    if found {
        *reader = behind;
    }
    found
}
