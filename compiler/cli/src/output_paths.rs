//! What a command writes is nothing that it reads, replaces only what this program wrote, and finds its place before the work.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use warpweave::runtime::new_file::{NewFile, free_bytes};

use super::error::{CliError, file_error};
use super::output_kinds::OutputKind;

/// A file that a command is going to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputFile {
    /// Where it goes.
    pub path: PathBuf,
    /// What it is.
    pub kind: OutputKind,
    /// How many bytes it has at least.
    pub bytes: u64,
}

impl OutputFile {
    /// A file of which no size is known.
    pub fn new(path: impl Into<PathBuf>, kind: OutputKind) -> Self {
        Self { path: path.into(), kind, bytes: 0 }
    }
}

/// The picture and the trace of a plan in time.
pub const TIMELINE_FILES: [&str; 2] = ["timeline.svg", "trace.json"];

/// These two in a folder.
pub fn timeline_outputs() -> [OutputFile; 2] {
    let [picture, trace] = TIMELINE_FILES;
    [OutputFile::new(picture, OutputKind::Picture), OutputFile::new(trace, OutputKind::Trace)]
}

/// Refuses files that are inputs by whatever name or link, that would replace what this program did not write, that cannot be
/// written where they are to stand, or that find no room there. To be asked before any work; nothing is left behind.
pub fn check_files(files: &[OutputFile], inputs: &[PathBuf]) -> Result<(), CliError> {
    check_apart(files, inputs)?;
    for OutputFile { path, kind, .. } in files {
        check_place(path)?;
        check_replaced(path, *kind)?;
    }
    check_space(files)
}

/// Refuses files that are inputs by whatever name or link.
pub fn check_apart(files: &[OutputFile], inputs: &[PathBuf]) -> Result<(), CliError> {
    let known: Vec<(&PathBuf, FileIdentity)> =
        inputs.iter().filter_map(|input| Some((input, identity(input)?))).collect();
    for OutputFile { path, .. } in files {
        // What is not there yet is no input.
        let own = identity(path);
        if let Some((input, _)) = known.iter().find(|(_, other)| Some(*other) == own) {
            return Err(CliError::OutputIsInput { output: path.clone(), input: (*input).clone() });
        }
    }
    Ok(())
}

/// Refuses what [`check_files`] does, of files by their names in a folder, if there is to be one. A folder that is not there must be
/// one that can be made.
pub fn check_folder(
    folder: Option<&Path>,
    files: impl IntoIterator<Item = OutputFile>,
    inputs: &[PathBuf],
) -> Result<(), CliError> {
    let Some(folder) = folder else { return Ok(()) };
    if !folder.is_dir() {
        return check_new_folder(folder, files.into_iter().map(|file| file.bytes).sum());
    }
    let within = |file: OutputFile| OutputFile { path: folder.join(&file.path), ..file };
    check_files(&files.into_iter().map(within).collect::<Vec<_>>(), inputs)
}

/// Refuses a folder that is there in any form.
pub fn check_absent(folder: &Path) -> Result<(), CliError> {
    if folder.symlink_metadata().is_ok() {
        let text = format!("{} is there already; name a folder that is not", folder.display());
        return Err(CliError::Usage(text));
    }
    Ok(())
}

/// Refuses a folder, not there yet, that cannot be made or has no room for so many bytes.
pub fn check_new_folder(folder: &Path, bytes: u64) -> Result<(), CliError> {
    check_name(folder)?;
    // It may lie in others that are not there either.
    let known = folder.ancestors().find(|path| path.symlink_metadata().is_ok());
    let known = known.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !known.is_dir() {
        let source = Error::new(ErrorKind::NotADirectory, format!("{} is no folder", known.display()));
        return Err(file_error("create", folder)(source));
    }
    let inside = known.join(folder.file_name().unwrap_or(OsStr::new("new")));
    let probe = if inside.symlink_metadata().is_ok() { known.join("new-folder") } else { inside };
    NewFile::create(&probe).map(drop).map_err(file_error("create", folder))?;
    check_room(folder, known, bytes)
}

/// Refuses the name that other programs take for standard output.
fn check_name(path: &Path) -> Result<(), CliError> {
    if path == Path::new("-") {
        let text = "`-` is the name of no output: results go to standard output by themselves, and files need a name; write \
                    ./- for a file that is called so";
        return Err(CliError::Usage(text.to_owned()));
    }
    Ok(())
}

/// Refuses a file that cannot be written where it is to stand, whatever it is.
pub fn check_place(path: &Path) -> Result<(), CliError> {
    check_name(path)?;
    let folder = folder_of(path);
    let refused = |source: Error| Err(file_error("write", path)(source));
    match fs::metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let text = format!("there is no folder {}, make it first", folder.display());
            refused(Error::new(ErrorKind::NotFound, text))
        }
        Err(error) => refused(error),
        Ok(found) if !found.is_dir() => {
            refused(Error::new(ErrorKind::NotADirectory, format!("{} is no folder", folder.display())))
        }
        Ok(_) => NewFile::create(path).map(drop).or_else(refused),
    }
}

/// Refuses to replace a file that this program has not written, as one of this kind.
fn check_replaced(path: &Path, kind: OutputKind) -> Result<(), CliError> {
    if path.is_file() && !kind.is(path).map_err(file_error("read", path))? {
        return Err(CliError::Replaced { path: path.to_owned(), kind: kind.name() });
    }
    Ok(())
}

/// Refuses files that have no room together on their file systems. What they replace stays until they are whole.
fn check_space(files: &[OutputFile]) -> Result<(), CliError> {
    let mut wanted: BTreeMap<u64, (&Path, u64)> = BTreeMap::new();
    for OutputFile { path, bytes, .. } in files {
        let device = fs::metadata(folder_of(path)).map_err(file_error("write", path))?.dev();
        let (_, sum) = wanted.entry(device).or_insert((path, 0));
        *sum = sum.saturating_add(*bytes);
    }
    wanted.into_values().try_for_each(|(path, bytes)| check_room(path, folder_of(path), bytes))
}

/// Refuses `bytes` for what goes to `path`, where fewer are free on the file system of `folder`.
fn check_room(path: &Path, folder: &Path, bytes: u64) -> Result<(), CliError> {
    match free_bytes(folder).map_err(file_error("write", path))? {
        Some(free) if free < bytes => Err(CliError::Space { path: path.to_owned(), bytes, free }),
        Some(_) | None => Ok(()),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Device and number of a file, links followed.
type FileIdentity = (u64, u64);

fn identity(path: &Path) -> Option<FileIdentity> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}
