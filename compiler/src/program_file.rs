//! Programs as files: the text, and beside it an archive of the constants that the text names by their hash.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use warpweave_graph::legible::file_remedy;
use warpweave_graph::program::text::{self, ProgramTextError};
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_graph::text::{ContentHash, Tensors};
use warpweave_graph::{ElementType, Tensor, npy};
use warpweave_runtime::npz::{self, NpzError};

use crate::model::Model;

/// What the text of a program begins with, and no model in protocol buffers does.
const HEADING: &[u8] = b"program\n";

/// Most bytes of a program's text.
const MOST_BYTES: u64 = 1 << 30;

/// Why a file holds no program.
#[derive(Debug, thiserror::Error)]
pub enum ProgramFileError {
    /// It cannot be read.
    #[error("cannot read {}: {source}; {}", path.display(), file_remedy(source))]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// Its text is no program.
    #[error("{}: {source}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ProgramTextError,
    },
    /// The constants beside it cannot be read.
    #[error("the constants beside the program cannot be read: {0}")]
    Constants(#[from] NpzError),
}

/// Whether a file begins as the text of a program does.
pub fn is_program(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEADING.len() as u64).read_to_end(&mut head));
    read.is_ok() && head == HEADING
}

/// Where the constants of a program's text lie: `program.constants.npz` beside `program.txt`.
pub fn constants_path(path: &Path) -> PathBuf {
    path.with_extension("constants.npz")
}

/// The archive of the constants that a program's text names by their hash; `None` if there are none.
pub fn print_constants(program: &TensorProgram) -> Option<Vec<u8>> {
    let constants = text::tensors(program);
    let named: BTreeMap<String, Tensor> =
        constants.iter().map(|(hash, tensor)| (hash.to_string(), npy::standing_in(tensor))).collect();
    let arrays = named.iter().map(|(name, tensor)| (name.as_str(), tensor));
    if named.is_empty() { None } else { npz::print(arrays) }
}

/// The program in a file, with the constants beside it, as a model.
pub fn read_program(path: &Path) -> Result<Model, ProgramFileError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
    read.map_err(|source| ProgramFileError::File { path: path.to_owned(), source })?;
    let beside = constants_path(path);
    let constants = if beside.exists() { tensors(npz::read(&beside)?) } else { Tensors::new() };
    let program = text::parse(&text, &constants);
    let program = program.map_err(|source| ProgramFileError::Text { path: path.to_owned(), source })?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let (inputs, outputs) = (input_names(&program), output_names(&program));
    Ok(Model::new(&name, program, &inputs, &outputs))
}

/// The tensors of the element types that their hashes tell.
fn tensors(arrays: BTreeMap<String, Tensor>) -> Tensors {
    let tensor = |(name, array): (String, Tensor)| {
        let hash = ContentHash::from_digits(&name)?;
        let mut possible = ElementType::ALL.into_iter().filter_map(|element| npy::stood_for(&array, element));
        Some((hash, possible.find(|tensor| ContentHash::of(tensor) == hash)?))
    };
    arrays.into_iter().filter_map(tensor).collect()
}

/// The names of a program's inputs: those of the model, and ids where these are none or not one input's alone.
pub fn input_names(program: &TensorProgram) -> Vec<String> {
    unique(program.inputs.iter().map(|&input| (input, program.tensor_name(input))).collect())
}

/// The names of a program's outputs, likewise.
pub fn output_names(program: &TensorProgram) -> Vec<String> {
    let own = |position: usize| program.names.outputs.get(&position).map(String::as_str);
    let name =
        |(position, &output): (usize, &TensorId)| (output, own(position).or_else(|| program.tensor_name(output)));
    unique(program.outputs.iter().enumerate().map(name).collect())
}

fn unique(named: Vec<(TensorId, Option<&str>)>) -> Vec<String> {
    let count = |name: &str| named.iter().filter(|(_, other)| *other == Some(name)).count();
    let name = |(position, (tensor, name)): (usize, &(TensorId, Option<&str>))| match name {
        Some(name) if count(name) == 1 => (*name).to_owned(),
        Some(name) => format!("{name}_{position}"),
        None => tensor.to_string(),
    };
    named.iter().enumerate().map(name).collect()
}
