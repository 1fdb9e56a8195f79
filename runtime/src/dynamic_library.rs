//! Libraries of CUDA that are found and opened at run time.

#![expect(unsafe_code, reason = "opening a library runs its initialisers")]

use std::path::{Path, PathBuf};

use libloading::os::unix;

use crate::tools::LIBRARY_FOLDERS;

/// A library that cannot be opened, or lacks a function.
#[derive(Debug, thiserror::Error)]
#[error("cannot open {}: {reason}; fetch it again with scripts/fetch_cuda.sh", path.display())]
pub struct OpenError {
    /// The library.
    pub path: PathBuf,
    /// What the loader said.
    pub reason: String,
}

impl OpenError {
    pub(crate) fn new(path: &Path, error: &libloading::Error) -> Self {
        Self { path: path.to_owned(), reason: error.to_string() }
    }
}

/// The library at `path`, which stays open until the process ends.
pub(crate) fn open_for_ever(path: &Path) -> Result<&'static unix::Library, OpenError> {
    // SAFETY: the initialisers of CUDA's compiler libraries have no preconditions; the file is the one that the user or
    // the system installed under this name.
    let library = unsafe { unix::Library::open(Some(path), unix::RTLD_NOW | unix::RTLD_LOCAL) };
    Ok(Box::leak(Box::new(library.map_err(|error| OpenError::new(path, &error))?)))
}

/// The first file beneath `roots` whose name is `prefix` and a version; the highest version of its folder.
pub(crate) fn newest_beneath(roots: &[PathBuf], prefix: &str) -> Option<PathBuf> {
    let mut folders = roots.iter().flat_map(|root| LIBRARY_FOLDERS.map(|folder| root.join(folder)));
    folders.find_map(|folder| newest(&folder, prefix))
}

/// The file in `folder` whose name is `prefix` and the highest version.
pub(crate) fn newest(folder: &Path, prefix: &str) -> Option<PathBuf> {
    let version = |path: &PathBuf| -> Option<Vec<u32>> {
        let suffix = path.file_name()?.to_str()?.strip_prefix(prefix)?.to_owned();
        suffix.split('.').map(|part| part.parse().ok()).collect()
    };
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.filter(|path| version(path).is_some()).max_by_key(version)
}
