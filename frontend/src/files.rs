//! Where the bytes of models come from.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;

/// Gives the bytes of model files.
pub trait Files {
    /// All bytes of a model, or more than `limit` of them if it has more.
    fn model(&self, path: &Path, limit: u64) -> io::Result<Bytes>;

    /// Bytes of a regular file that holds constants.
    fn constant(&self, path: &Path, range: Range<u64>) -> io::Result<Bytes>;
}

/// Files that are read into memory.
#[derive(Clone, Copy, Debug)]
pub struct ReadFiles;

impl Files for ReadFiles {
    fn model(&self, path: &Path, limit: u64) -> io::Result<Bytes> {
        let mut bytes = Vec::new();
        File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }

    fn constant(&self, path: &Path, range: Range<u64>) -> io::Result<Bytes> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(range.start))?;
        let mut bytes = vec![0; usize::try_from(range.end - range.start).map_err(io::Error::other)?];
        file.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}
