//! What a person says of a model before it is imported: shapes, batch, and inputs that are fixed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use warpweave::frontend::{Constant, ImportOptions, NameFilter, Number, Overridable};
use warpweave::graph::Shape;

use super::arrays;
use crate::error::CliError;

/// What is said of a model.
#[derive(Args, Clone, Debug, Default)]
pub struct ImportArguments {
    #[command(flatten)]
    pub inputs: InputChoices,
    /// The extent of first dimensions that the model leaves open
    #[arg(long, value_name = "N", value_parser = parse_batch)]
    pub batch: Option<usize>,
}

/// What is said of a model that may be measured with several batches.
#[derive(Args, Clone, Debug, Default)]
pub struct SweptImportArguments {
    #[command(flatten)]
    pub inputs: InputChoices,
    /// Extents of first dimensions that the model leaves open, such as 1,4,16; each is measured
    #[arg(long = "batch", value_name = "N,N", value_delimiter = ',', value_parser = parse_batch)]
    pub batches: Vec<usize>,
}

/// What is said of a model's inputs.
#[derive(Args, Clone, Debug, Default)]
pub struct InputChoices {
    /// The shape of an input, such as x=1x3x224x224, or the extent of a named dimension in all inputs, such as sequence=128;
    /// may be given several times
    #[arg(long = "shape", value_name = "NAME=AxB|DIMENSION=N", value_parser = parse_shape)]
    shapes: Vec<(String, Shape)>,
    /// Fixes an input at compile time: to a number, a list such as 1,2,3, true or false, or an array @FILE.npy; may be given
    /// several times
    #[arg(long = "constant", value_name = "NAME=VALUE", value_parser = parse_constant)]
    constants: Vec<(String, Value)>,
    /// Initializers that are also inputs and stay inputs, with their values as defaults: names, or patterns with *, or none. Unless
    /// given, those of a model that lists only some of its initializers among its inputs, or a few small ones
    #[arg(long, value_name = "NAME,NAME|none", value_delimiter = ',')]
    overridable: Vec<String>,
}

/// What --overridable is given for no initializer.
const NONE: &str = "none";

/// What an input is fixed to.
#[derive(Clone, Debug)]
enum Value {
    Written(Constant),
    File(PathBuf),
}

impl ImportArguments {
    /// What the import is told.
    pub fn import_options(&self) -> Result<ImportOptions, CliError> {
        self.inputs.import_options(self.batch)
    }
}

impl InputChoices {
    /// What the import is told, with this batch if one is given.
    pub fn import_options(&self, batch: Option<usize>) -> Result<ImportOptions, CliError> {
        let shapes = once(&self.shapes, "--shape")?;
        let constant = |(name, value): (String, Value)| {
            Ok((
                name,
                match value {
                    Value::Written(constant) => constant,
                    Value::File(path) => arrays::read_npy(&path)?.into(),
                },
            ))
        };
        let constants = once(&self.constants, "--constant")?;
        let constants = constants.into_iter().map(constant).collect::<Result<_, CliError>>()?;
        let overridable = match &self.overridable[..] {
            [] => Overridable::Declared,
            [none] if none == NONE => Overridable::None,
            patterns => Overridable::Matching(NameFilter { included: patterns.to_vec(), excluded: Vec::new() }),
        };
        Ok(ImportOptions { shapes, constants, batch, overridable, ..ImportOptions::default() })
    }

    /// The same for an import that is told something already, which stays where this says nothing.
    pub fn added_to(&self, told: ImportOptions) -> Result<ImportOptions, CliError> {
        let ImportOptions { shapes, constants, overridable, .. } = self.import_options(None)?;
        let shapes = told.shapes.into_iter().chain(shapes).collect();
        Ok(ImportOptions { shapes, constants, overridable, ..told })
    }

    /// The files of arrays that inputs are fixed to.
    pub fn files(&self) -> Vec<PathBuf> {
        let file = |(_, value): &(String, Value)| match value {
            Value::Written(_) => None,
            Value::File(path) => Some(path.clone()),
        };
        self.constants.iter().filter_map(file).collect()
    }
}

/// What is given by name, each name once.
fn once<T: Clone>(given: &[(String, T)], option: &str) -> Result<BTreeMap<String, T>, CliError> {
    let mut known = BTreeMap::new();
    for (name, value) in given {
        if known.insert(name.clone(), value.clone()).is_some() {
            return Err(CliError::Usage(format!("{option} names `{name}` twice; give it once")));
        }
    }
    Ok(known)
}

fn parse_batch(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("a batch has at least one item".to_owned()),
        Ok(batch) => Ok(batch),
        Err(error) => Err(format!("`{text}` is no batch: {error}")),
    }
}

fn parse_shape(text: &str) -> Result<(String, Shape), String> {
    let (name, written) = text.rsplit_once('=').ok_or("expected NAME=AxB, such as x=1x3x224x224, or DIMENSION=N")?;
    let bare = written.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(written);
    let mut shape = Vec::new();
    for extent in bare.split(['x', ',']).map(str::trim).filter(|_| !bare.is_empty()) {
        let other = |_| {
            format!(
                "`{extent}` is no extent; write numbers, such as {name}=2x8, and give a named dimension its own --shape DIMENSION=N"
            )
        };
        shape.push(extent.parse().map_err(other)?);
    }
    Ok((name.to_owned(), Shape::new(shape)))
}

fn parse_constant(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as k=5, axes=0,2 or mask=@mask.npy")?;
    let value = match value.strip_prefix('@') {
        Some(path) => Value::File(path.into()),
        None => Value::Written(parse_numbers(value)?),
    };
    Ok((name.to_owned(), value))
}

fn parse_numbers(text: &str) -> Result<Constant, String> {
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if inner.is_none() && !text.contains(',') {
        return Ok(Constant::Number(parse_number(text)?));
    }
    let inner = inner.unwrap_or(text).trim();
    if inner.is_empty() {
        return Ok(Constant::List(Vec::new()));
    }
    Ok(Constant::List(inner.split(',').map(parse_number).collect::<Result<_, String>>()?))
}

fn parse_number(text: &str) -> Result<Number, String> {
    let text = text.trim();
    match text {
        "true" | "True" => return Ok(Number::Truth(true)),
        "false" | "False" => return Ok(Number::Truth(false)),
        _ => {}
    }
    if let Ok(integer) = text.parse() {
        return Ok(Number::Integer(integer));
    }
    let other = || format!("`{text}` is no number, list, true, false or @FILE.npy");
    text.parse().map(Number::Real).map_err(|_| other())
}
