//! A device's constants as a file.

use std::io;
use std::path::{Path, PathBuf};

use warpweave_fusion::cost::arch::GpuArch;
use warpweave_runtime::{json, new_file};

/// Why a file of constants cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchFileError {
    /// The file system refuses.
    #[error("cannot {action} {}: {source}; check the path and its permissions", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// It does not hold a device's constants.
    #[error("{} holds no constants of a device: {reason}; write it with `warpweave doctor --calibrate`", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads the constants that [`write_arch`] wrote.
pub fn read_arch(path: &Path) -> Result<GpuArch, ArchFileError> {
    let content = |reason: String| ArchFileError::Content { path: path.to_owned(), reason };
    let text = std::fs::read_to_string(path).map_err(file_error("read", path))?;
    let arch: GpuArch = json::from_str(&text).map_err(|error| content(error.to_string()))?;
    if arch.is_sound() { Ok(arch) } else { Err(content("a constant is not a finite number above 0".to_owned())) }
}

/// Writes a device's constants, each with where it comes from.
pub fn write_arch(path: &Path, arch: &GpuArch) -> Result<(), ArchFileError> {
    let text = json::to_string_pretty(arch).expect("constants have an encoding");
    new_file::write(path, (text + "\n").as_bytes()).map_err(file_error("write", path))
}

fn file_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ArchFileError {
    let path = path.to_owned();
    move |source| ArchFileError::File { action, path, source }
}
