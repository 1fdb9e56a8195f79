//! NumPy archives: named arrays in a zip of `.npy` entries.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use warpweave_graph::Tensor;
use warpweave_graph::npy::{self, NpyError};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::mapped::open_regular;

/// An archive that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NpzError {
    /// The file cannot be opened.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is no archive, or a damaged or compressed one.
    #[error("{} is no archive of arrays: {reason}; write it with numpy.savez", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// An array cannot be read.
    #[error("the array `{name}` of {} cannot be read: {source}; write it as a plain NumPy array", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// The array.
        name: String,
        /// The reason.
        source: NpyError,
    },
}

/// The arrays of the archive at `path`, by name.
pub fn read(path: &Path) -> Result<BTreeMap<String, Tensor>, NpzError> {
    let file = open_regular(path).map_err(|source| NpzError::File { path: path.to_owned(), source })?;
    let size = file.metadata().map_err(|source| NpzError::File { path: path.to_owned(), source })?.len();
    parse(BufReader::new(file), size, path)
}

/// The arrays of an archive of `size` bytes; errors call it `path`.
pub fn parse(archive: impl Read + Seek, size: u64, path: &Path) -> Result<BTreeMap<String, Tensor>, NpzError> {
    let failed = |error: ZipError| NpzError::Archive { path: path.to_owned(), reason: error.to_string() };
    let mut archive = ZipArchive::new(archive).map_err(failed)?;
    let mut arrays = BTreeMap::new();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(failed)?;
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let name = name.strip_suffix(".npy").unwrap_or(&name).to_owned();
        let mut bytes = Vec::new();
        // A stored entry is not larger than its archive.
        let read = entry.take(size).read_to_end(&mut bytes);
        read.map_err(|source| NpzError::File { path: path.to_owned(), source })?;
        let array = npy::parse(&bytes.into());
        let array = array.map_err(|source| NpzError::Array { path: path.to_owned(), name: name.clone(), source })?;
        arrays.insert(name, array);
    }
    Ok(arrays)
}
