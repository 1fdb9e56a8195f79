//! Files that are seen whole or not at all: written under another name beside their own, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;

use crate::unfinished::TemporaryFile;

/// A file that is being written. Until it is published, what its path names stays as it is; dropped, it leaves nothing.
pub struct NewFile {
    out: BufWriter<File>,
    temporary: TemporaryFile,
    path: PathBuf,
}

impl NewFile {
    /// Begins a file that will be at `path`. What is there already must be a regular file.
    pub fn create(path: &Path) -> io::Result<Self> {
        check_replaceable(path)?;
        let (temporary, file) = TemporaryFile::create(path)?;
        Ok(Self { out: BufWriter::new(file), temporary, path: path.to_owned() })
    }

    /// Makes what was written the file at its path.
    pub fn publish(self) -> io::Result<()> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        check_replaceable(&self.path)?;
        self.temporary.rename(&self.path)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

/// Writes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes)?;
    file.publish()
}

/// The bytes that this process may still write to the file system of a folder; `None` where it does not say.
pub fn free_bytes(folder: &Path) -> io::Result<Option<u64>> {
    let found = statvfs(folder).map_err(io::Error::from)?;
    // File systems without a size of their own, such as some over a network, report no blocks at all.
    let free = found.blocks_available().saturating_mul(found.fragment_size());
    Ok((found.blocks() > 0).then_some(free))
}

/// Folders, devices and pipes are not replaced by a file.
fn check_replaceable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_file() => Ok(()),
        Ok(there) => {
            let what = if there.is_dir() { "it is a folder" } else { "it is a device or a pipe" };
            Err(io::Error::other(format!("{what}, which no file replaces")))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
