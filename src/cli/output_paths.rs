//! What a command writes is nothing that it reads.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use warpweave::models;
use warpweave::report;
use warpweave::runtime::bundle::is_sealed;
use warpweave::runtime::checkpoint;
use warpweave::runtime::new_file::NewFile;

use super::error::{CliError, file_error};

/// The picture and the trace of a plan in time.
pub const TIMELINE_FILES: [&str; 2] = ["timeline.svg", "trace.json"];

/// Refuses an output that is the same file as an input, by whatever name or link. To be asked before anything is written.
pub fn check(outputs: impl IntoIterator<Item = PathBuf>, inputs: &[PathBuf]) -> Result<(), CliError> {
    let known: Vec<(&PathBuf, FileIdentity)> =
        inputs.iter().filter_map(|input| Some((input, identity(input)?))).collect();
    for output in outputs {
        // What is not there yet is no input.
        let Some(own) = identity(&output) else { continue };
        if let Some((input, _)) = known.iter().find(|(_, other)| *other == own) {
            return Err(CliError::OutputIsInput { output, input: (*input).clone() });
        }
    }
    Ok(())
}

/// A kind of file that this program writes and recognises by its content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputKind {
    /// A bundle, which ends with a seal.
    Bundle,
    /// A benchmark model, which begins with its producer's name.
    Model,
    /// A page of results, whose head names its generator.
    Page,
    /// Trained tensors, whose metadata have this program's key.
    Tensors,
}

/// The number of leading bytes in which a file's mark is looked for.
const BEGINNING: u64 = 64 << 10;

impl OutputKind {
    fn name(self) -> &'static str {
        match self {
            Self::Bundle => "bundle",
            Self::Model => "model",
            Self::Page => "page of results",
            Self::Tensors => "file of trained tensors",
        }
    }

    /// Whether the file at a path is of this kind. An empty one is of every kind.
    fn is(self, path: &Path) -> io::Result<bool> {
        let mut beginning = Vec::new();
        fs::File::open(path)?.take(BEGINNING).read_to_end(&mut beginning)?;
        let holds = |mark: &str| beginning.windows(mark.len()).any(|part| part == mark.as_bytes());
        Ok(beginning.is_empty()
            || match self {
                Self::Bundle => is_sealed(path)?,
                Self::Model => beginning.starts_with(&models::beginning()),
                Self::Page => holds(report::GENERATOR),
                Self::Tensors => holds(checkpoint::TRAINING),
            })
    }
}

/// Refuses to replace a file that this program has not written, as one of this kind.
pub fn check_replaced(path: &Path, kind: OutputKind) -> Result<(), CliError> {
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    if is_file && !kind.is(path).map_err(file_error("read", path))? {
        return Err(CliError::Replaced { path: path.to_owned(), kind: kind.name() });
    }
    Ok(())
}

/// Refuses a file that cannot be written where it is to stand: what takes long shall not end with that.
pub fn check_writable(output: &Path) -> Result<(), CliError> {
    let folder = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let refused = |kind: ErrorKind| file_error("write", output)(kind.into());
    let is_folder = fs::metadata(folder).map_err(file_error("write", output))?.is_dir();
    match (is_folder, output.is_dir()) {
        (false, _) => Err(refused(ErrorKind::NotADirectory)),
        (true, true) => Err(refused(ErrorKind::IsADirectory)),
        (true, false) => NewFile::create(output).map(drop).map_err(file_error("write", output)),
    }
}

/// The same of files of these names in a folder, if there is to be one.
pub fn check_folder(
    folder: Option<&Path>,
    names: impl IntoIterator<Item: AsRef<Path>>,
    inputs: &[PathBuf],
) -> Result<(), CliError> {
    let Some(folder) = folder else { return Ok(()) };
    check(names.into_iter().map(|name| folder.join(name)), inputs)
}

/// Device and number of a file, links followed.
type FileIdentity = (u64, u64);

fn identity(path: &Path) -> Option<FileIdentity> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}
