//! What a command writes is nothing that it reads.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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
