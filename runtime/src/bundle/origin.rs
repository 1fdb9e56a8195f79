//! Where the bytes of a bundle are.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::error::BundleError;
use crate::mapped::open_regular;

/// What messages call a bundle in memory.
const IN_MEMORY: &str = "(memory)";

/// Where the bytes of a bundle are.
#[derive(Debug)]
pub(super) enum Origin {
    File { path: PathBuf, file: File },
    Memory(Bytes),
}

/// Reads a bundle from any place on.
#[derive(Debug)]
pub(super) enum Reader {
    File { file: File, at: u64 },
    Memory(Cursor<Bytes>),
}

impl Origin {
    /// The file at `path`.
    pub(super) fn open(path: &Path) -> Result<Self, BundleError> {
        let unreadable = |source| BundleError::File { action: "read", path: path.to_owned(), source };
        Ok(Self::File { path: path.to_owned(), file: open_regular(path).map_err(unreadable)? })
    }

    /// Where it lies; of memory what messages call it.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } => path,
            Self::Memory(_) => Path::new(IN_MEMORY),
        }
    }

    /// The path of a file, beside which others may lie.
    pub(super) fn file_path(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => Some(path),
            Self::Memory(_) => None,
        }
    }

    /// A reader of it, which has a place of its own.
    pub(super) fn reader(&self) -> Result<Reader, BundleError> {
        match self {
            Self::File { path, file } => {
                let failed = |source| BundleError::File { action: "read", path: path.clone(), source };
                Ok(Reader::File { file: file.try_clone().map_err(failed)?, at: 0 })
            }
            Self::Memory(bytes) => Ok(Reader::Memory(Cursor::new(bytes.clone()))),
        }
    }
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File { file, at } => {
                let read = file.read_at(out, *at)?;
                *at += read as u64;
                Ok(read)
            }
            Self::Memory(bytes) => bytes.read(out),
        }
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File { file, at } => {
                let from = match to {
                    SeekFrom::Start(place) => Some(place),
                    SeekFrom::End(offset) => file.metadata()?.len().checked_add_signed(offset),
                    SeekFrom::Current(offset) => at.checked_add_signed(offset),
                };
                *at = from.ok_or(io::ErrorKind::InvalidInput)?;
                Ok(*at)
            }
            Self::Memory(bytes) => bytes.seek(to),
        }
    }
}
