//! NumPy archives: named arrays in a zip of `.npy` entries.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use warpweave_graph::Tensor;
use warpweave_graph::npy::{self, NpyError};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use crate::mapped::open_regular;

/// The most that a deflated entry holds, in multiples of its archive's bytes: deflate's own bound.
const INFLATION: u64 = 1032;

/// An archive that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NpzError {
    /// The file cannot be opened.
    #[error("cannot read {}: {source}; check the path and its permissions", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is a single array.
    #[error("{} is one array, not an archive of named arrays; write it with numpy.savez", path.display())]
    OneArray {
        /// The file.
        path: PathBuf,
    },
    /// The file is no archive, or a damaged one.
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

/// Whether bytes begin as those of an archive.
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK")
}

/// The arrays of the archive at `path`, by name.
pub fn read(path: &Path) -> Result<BTreeMap<String, Tensor>, NpzError> {
    let failed = |source| NpzError::File { path: path.to_owned(), source };
    let mut file = BufReader::new(open_regular(path).map_err(failed)?);
    let size = file.get_ref().metadata().map_err(failed)?.len();
    if npy::is_npy(file.fill_buf().map_err(failed)?) {
        return Err(NpzError::OneArray { path: path.to_owned() });
    }
    parse(file, size, path)
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
        let most = match entry.compression() {
            CompressionMethod::Stored => size,
            _ => size.saturating_mul(INFLATION),
        };
        let read = entry.take(most).read_to_end(&mut bytes);
        read.map_err(|source| NpzError::File { path: path.to_owned(), source })?;
        let array = npy::parse(&bytes.into());
        let array = array.map_err(|source| NpzError::Array { path: path.to_owned(), name: name.clone(), source })?;
        arrays.insert(name, array);
    }
    Ok(arrays)
}

/// The comment of archives that [`print()`] writes.
const COMMENT: &str = "warpweave arrays";

/// Whether [`print()`] wrote the archive at a path, and not another program.
pub fn is_printed(path: &Path) -> io::Result<bool> {
    let mut file = open_regular(path)?;
    let (mut beginning, mut end) = (Vec::new(), Vec::new());
    Read::by_ref(&mut file).take(2).read_to_end(&mut beginning)?;
    let start = file.metadata()?.len().saturating_sub(COMMENT.len() as u64);
    file.seek(SeekFrom::Start(start))?;
    file.read_to_end(&mut end)?;
    Ok(is_archive(&beginning) && end == COMMENT.as_bytes())
}

/// The bytes of an archive of these arrays, stored; `None` if NumPy has no name for an element type.
pub fn print<'a>(arrays: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Option<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default());
    for (name, array) in arrays {
        let bytes = npy::print(array)?;
        let options = options.large_file(bytes.len() as u64 > u64::from(u32::MAX) / 2);
        archive.start_file(format!("{name}.npy"), options).ok()?;
        archive.write_all(&bytes).ok()?;
    }
    archive.set_comment(COMMENT).ok()?;
    Some(archive.finish().ok()?.into_inner())
}
