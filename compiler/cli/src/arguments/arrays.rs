//! Arrays in files that a person names, and what of a program they belong to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use warpweave::frontend;
use warpweave::graph::{Shape, Tensor, npy};
use warpweave::runtime::bundle::Signature;
use warpweave::runtime::npz;

use crate::error::{CliError, file_error};
use crate::output::Output;

/// An argument that names arrays.
#[derive(Clone, Debug)]
pub enum ArrayArgument {
    /// An array for the input of this name.
    Named(String, PathBuf),
    /// An archive of arrays.
    Archive(PathBuf),
}

/// Arrays as they were given, before it is known what the program makes of their names.
#[derive(Debug, Default)]
pub struct Arrays {
    named: BTreeMap<String, Tensor>,
    archives: Vec<Archive>,
}

#[derive(Debug)]
struct Archive {
    path: PathBuf,
    arrays: BTreeMap<String, Tensor>,
}

/// Arrays by what they are of a program.
#[derive(Debug, Default)]
pub struct Assigned {
    /// Inputs by their names.
    pub inputs: BTreeMap<String, Tensor>,
    /// Outputs by their positions.
    pub outputs: BTreeMap<usize, Tensor>,
    /// Stored outputs that the program does not have, by their names in the archive, such as `out_3`.
    pub unknown_outputs: BTreeMap<String, Tensor>,
    /// Arrays of archives for inputs that are none any more, and what these were fixed to.
    pub fixed: Vec<(String, String)>,
}

/// What an array of an archive is.
#[derive(Clone, Copy)]
enum Role<'a> {
    Input(&'a str),
    Output(usize),
    UnknownOutput,
}

impl FromStr for ArrayArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("", _) | (_, "")) => Err("expected NAME=FILE.npy, such as x=image.npy, or FILE.npz".to_owned()),
            Some((name, path)) => Ok(Self::Named(name.to_owned(), path.into())),
            None if text.ends_with(".npy") || text.ends_with(".pb") => {
                Err(format!("an array is for one input; name it, as in NAME={text}"))
            }
            None => Ok(Self::Archive(text.into())),
        }
    }
}

impl ArrayArgument {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Named(_, path) | Self::Archive(path) => path,
        }
    }
}

impl Arrays {
    /// The arrays of an archive, or of a folder of ONNX's test data.
    pub fn of_archive(path: &Path) -> Result<Self, CliError> {
        let arrays = if path.is_dir() { test_data(path)? } else { npz::read(path)? };
        let archive = Archive { path: path.to_owned(), arrays };
        Ok(Self { named: BTreeMap::new(), archives: vec![archive] })
    }

    /// The arrays of all arguments.
    pub fn read(arguments: &[ArrayArgument]) -> Result<Self, CliError> {
        let mut read = Self::default();
        for argument in arguments {
            match argument {
                ArrayArgument::Archive(path) => read.archives.extend(Self::of_archive(path)?.archives),
                ArrayArgument::Named(name, path) => {
                    if read.named.insert(name.clone(), read_npy(path)?).is_some() {
                        return Err(twice(name));
                    }
                }
            }
        }
        Ok(read)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.archives.is_empty()
    }

    /// The shapes that inputs have if the names of arrays are theirs.
    pub fn shapes(&self) -> BTreeMap<String, Shape> {
        let archived = self.archives.iter().flat_map(|archive| &archive.arrays);
        let prefixed = archived.clone().filter_map(|(name, array)| Some((name.strip_prefix(INPUT)?, array)));
        let plain = archived.chain(&self.named).map(|(name, array)| (name.as_str(), array));
        plain.chain(prefixed).map(|(name, array)| (name.to_owned(), array.shape().clone())).collect()
    }

    /// What each array is of a program, some of whose model's inputs were `fixed`.
    pub fn assign(self, signature: &Signature, fixed: &BTreeMap<String, String>) -> Result<Assigned, CliError> {
        let mut assigned = Assigned { inputs: self.named, ..Assigned::default() };
        for archive in self.archives {
            let names = archive.arrays.keys().filter_map(|name| fixed.get_key_value(fixed_name(name, fixed)?));
            assigned.fixed.extend(names.map(|(name, value)| (name.clone(), value.clone())));
            for (name, roles) in archive.roles(signature, fixed)? {
                for role in roles {
                    let array = archive.arrays[&name].clone();
                    let known = match role {
                        Role::Input(name) => assigned.inputs.insert(name.to_owned(), array),
                        Role::Output(position) => assigned.outputs.insert(position, array),
                        Role::UnknownOutput => assigned.unknown_outputs.insert(name.clone(), array),
                    };
                    if known.is_some() {
                        return Err(twice(&name));
                    }
                }
            }
        }
        Ok(assigned)
    }
}

impl Assigned {
    /// Says which arrays are not used.
    pub fn note_fixed(&self, output: &Output) {
        for (name, value) in &self.fixed {
            output.note(&format!("the input `{name}` is fixed to {value}; its array is not used"));
        }
    }
}

const INPUT: &str = "in_";
/// What the names of stored outputs begin with.
pub const OUTPUT: &str = "out_";

impl Archive {
    /// What each array is: all by prefixed names if that is possible, all by plain names if that is, or else each by either. A name
    /// with the prefix of outputs is that of an output, whether the program has it or not.
    fn roles<'s>(
        &self,
        signature: &'s Signature,
        fixed: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, Vec<Role<'s>>)>, CliError> {
        let names: Vec<&String> = self.arrays.keys().filter(|name| fixed_name(name, fixed).is_none()).collect();
        let all = |rule: fn(&'s Signature, &str) -> Vec<Role<'s>>| -> Option<Vec<_>> {
            let roles = |name: &&String| {
                Some((name.to_string(), Some(rule(signature, name)).filter(|roles| !roles.is_empty())?))
            };
            names.iter().map(roles).collect()
        };
        if let Some(roles) =
            all(prefixed).or_else(|| all(plain)).or_else(|| all(either)).or_else(|| all(either_or_unknown))
        {
            return Ok(roles);
        }
        let stranger = names.into_iter().find(|name| either_or_unknown(signature, name).is_empty());
        Err(CliError::UnknownArray {
            path: self.path.clone(),
            name: stranger.cloned().unwrap_or_default(),
            inputs: signature.inputs.iter().map(|port| port.name.clone()).collect(),
            outputs: signature.outputs.iter().map(|port| port.name.clone()).collect(),
        })
    }
}

/// The fixed input that an array is for.
fn fixed_name<'n>(name: &'n str, fixed: &BTreeMap<String, String>) -> Option<&'n str> {
    [Some(name), name.strip_prefix(INPUT)].into_iter().flatten().find(|name| fixed.contains_key(*name))
}

/// `in_NAME` and `out_POSITION` or `out_NAME`.
fn prefixed<'s>(signature: &'s Signature, name: &str) -> Vec<Role<'s>> {
    if let Some(name) = name.strip_prefix(INPUT) {
        return plain(signature, name).into_iter().filter(|role| matches!(role, Role::Input(_))).collect();
    }
    let Some(name) = name.strip_prefix(OUTPUT) else { return Vec::new() };
    match name.parse::<usize>() {
        Ok(position) if position < signature.outputs.len() => vec![Role::Output(position)],
        _ => plain(signature, name).into_iter().filter(|role| matches!(role, Role::Output(_))).collect(),
    }
}

/// The names of inputs and outputs; what is passed through is both.
fn plain<'s>(signature: &'s Signature, name: &str) -> Vec<Role<'s>> {
    let input = signature.inputs.iter().find(|port| port.name == name).map(|port| Role::Input(&port.name));
    let output = signature.outputs.iter().position(|port| port.name == name).map(Role::Output);
    input.into_iter().chain(output).collect()
}

fn either<'s>(signature: &'s Signature, name: &str) -> Vec<Role<'s>> {
    let roles = prefixed(signature, name);
    if roles.is_empty() { plain(signature, name) } else { roles }
}

fn either_or_unknown<'s>(signature: &'s Signature, name: &str) -> Vec<Role<'s>> {
    let roles = either(signature, name);
    let is_unknown_output = roles.is_empty() && name.starts_with(OUTPUT);
    if is_unknown_output { vec![Role::UnknownOutput] } else { roles }
}

fn twice(name: &str) -> CliError {
    CliError::Usage(format!("the array `{name}` is given twice; give it once"))
}

/// The array in a `.npy` file, or in a tensor's message (`.pb`) as ONNX's test data are.
pub fn read_npy(path: &Path) -> Result<Tensor, CliError> {
    if path.extension().is_some_and(|extension| extension == "pb") {
        return Ok(read_tensor(path)?.1);
    }
    let bytes = fs::read(path).map_err(file_error("read", path))?;
    if npz::is_archive(&bytes) {
        let names = npz::read(path)?.into_keys().collect();
        return Err(CliError::ArchiveForArray { path: path.to_owned(), names });
    }
    npy::parse(&bytes.into()).map_err(|source| CliError::Npy { path: path.to_owned(), source })
}

/// The tensors `input_0.pb`, `output_0.pb` and so on of a folder, as an archive has them: inputs by their own names, outputs
/// by their positions.
fn test_data(folder: &Path) -> Result<BTreeMap<String, Tensor>, CliError> {
    let mut arrays = BTreeMap::new();
    for (path, name, array) in tensors(folder, "input")? {
        if name.is_empty() {
            let text = format!(
                "the tensor in {} has no name, so it is not known for which input it is; write the input's name into it, or give \
                 an archive with in_NAME for each input, as numpy.savez writes it",
                path.display()
            );
            return Err(CliError::Usage(text));
        }
        arrays.insert(format!("{INPUT}{name}"), array);
    }
    for (position, (_, _, array)) in tensors(folder, "output")?.into_iter().enumerate() {
        arrays.insert(format!("{OUTPUT}{position}"), array);
    }
    if arrays.is_empty() {
        let text = format!(
            "the folder {} holds neither input_0.pb nor output_0.pb; give one of ONNX's test data, or an archive",
            folder.display()
        );
        return Err(CliError::Usage(text));
    }
    Ok(arrays)
}

/// The tensors of the files whose names begin so, in their order.
fn tensors(folder: &Path, beginning: &str) -> Result<Vec<(PathBuf, String, Tensor)>, CliError> {
    let paths = (0usize..).map(|position| folder.join(format!("{beginning}_{position}.pb")));
    let read = |path: PathBuf| {
        let (name, array) = read_tensor(&path)?;
        Ok((path, name, array))
    };
    paths.take_while(|path| path.exists()).map(read).collect()
}

/// The tensor in a message, with its name.
fn read_tensor(path: &Path) -> Result<(String, Tensor), CliError> {
    let bytes = fs::read(path).map_err(file_error("read", path))?;
    frontend::named_tensor(bytes.into()).map_err(|source| CliError::Tensor { path: path.to_owned(), source })
}

/// The bytes of an archive of arrays by name. Elements that NumPy has no type for are stored as singles.
pub fn print_archive<'a>(arrays: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Option<Vec<u8>> {
    let printable: BTreeMap<&str, Tensor> =
        arrays.into_iter().map(|(name, array)| (name, npy::standing_in(array))).collect();
    npz::print(printable.iter().map(|(name, array)| (*name, array)))
}
