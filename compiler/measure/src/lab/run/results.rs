//! The folder of results: exactly lab.json, lab.md and lab.zip, each seen whole or not at all.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The record.
pub const RECORD: &str = "lab.json";
/// The record as tables.
pub const TABLES: &str = "lab.md";
/// Everything that has a file of its own.
pub const ARCHIVE: &str = "lab.zip";

/// Writes the files of results.
pub struct Results {
    folder: PathBuf,
    /// Where a file is until it is whole.
    temporary: PathBuf,
}

impl Results {
    /// Results in `folder`; files are begun in `work` where that can be renamed into it, else under hidden names in `folder`.
    /// What a killed run has left of them is removed.
    pub fn new(folder: &Path, work: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        fs::create_dir_all(work)?;
        for name in [RECORD, TABLES, ARCHIVE] {
            let _ = fs::remove_file(folder.join(hidden(name)));
        }
        let is_one_disk = fs::metadata(folder)?.dev() == fs::metadata(work)?.dev();
        let temporary = if is_one_disk { work.to_owned() } else { folder.to_owned() };
        Ok(Self { folder: folder.to_owned(), temporary })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Replaces one of the files.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.temporary.join(hidden(name));
        fs::write(&temporary, bytes)?;
        match fs::rename(&temporary, self.folder.join(name)) {
            // One disk may still be two mounts.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let _ = fs::remove_file(&temporary);
                let beside = self.folder.join(hidden(name));
                fs::write(&beside, bytes)?;
                fs::rename(beside, self.folder.join(name))
            }
            renamed => renamed,
        }
    }
}

fn hidden(name: &str) -> String {
    format!(".{name}.part")
}
