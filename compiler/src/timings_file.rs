//! A timings file: read, written, and as a cost model.

use std::io;
use std::path::{Path, PathBuf};

use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::cost::recorded::RecordedCost;
use warpweave_fusion::cost::timings::{Architecture, Problem, Timings, TimingsError};
use warpweave_graph::legible::file_remedy;
use warpweave_runtime::new_file;
use warpweave_runtime::target::Target;

/// Times and the file that holds them.
#[derive(Clone, PartialEq, Debug)]
pub struct TimingsFile {
    /// The file.
    pub path: PathBuf,
    /// What it holds.
    pub timings: Timings,
}

/// Why a timings file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TimingsFileError {
    /// The file system refuses.
    #[error("cannot {action} {}: {source}; {}", path.display(), file_remedy(source))]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A line is wrong.
    #[error("{}: {source}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The line, and what to do.
        source: TimingsError,
    },
    /// It holds nothing of the architecture.
    #[error("{} holds no time of {target}, {held}; tune for {target} with `warpweave tune`, or leave --timings out", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The architecture that is compiled for.
        target: Target,
        /// What it holds, in words.
        held: String,
    },
}

impl TimingsFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, TimingsFileError> {
        let text = std::fs::read_to_string(path).map_err(file_error("read", path))?;
        let text_error = |source| TimingsFileError::Text { path: path.to_owned(), source };
        Ok(Self { path: path.to_owned(), timings: text.parse().map_err(text_error)? })
    }

    /// Reads a file, or begins one that is not there yet.
    pub fn read_or_begin(path: &Path) -> Result<Self, TimingsFileError> {
        match Self::read(path) {
            Err(TimingsFileError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(Self { path: path.to_owned(), timings: Timings::default() })
            }
            read => read,
        }
    }

    /// Writes the file; a reader sees the old times or the new ones.
    pub fn write(&self) -> Result<(), TimingsFileError> {
        new_file::write(&self.path, self.timings.to_string().as_bytes()).map_err(file_error("write", &self.path))
    }

    /// The costs of a target.
    pub fn cost(&self, target: Target, estimate: EstimatedCost) -> Result<RecordedCost, TimingsFileError> {
        let foreign = || {
            let held: Vec<String> = self.timings.architectures().into_iter().map(ToString::to_string).collect();
            let held =
                if held.is_empty() { "nor any other".to_owned() } else { format!("only of {}", held.join(", ")) };
            TimingsFileError::Foreign { path: self.path.clone(), target, held }
        };
        RecordedCost::new(&self.timings, &architecture(target), estimate).ok_or_else(foreign)
    }
}

/// The name under which times of a target stand.
pub fn architecture(target: Target) -> Architecture {
    let name: Result<Architecture, Problem> = target.to_string().parse();
    name.expect("targets have names of visible characters")
}

fn file_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TimingsFileError {
    let path = path.to_owned();
    move |source| TimingsFileError::File { action, path, source }
}
