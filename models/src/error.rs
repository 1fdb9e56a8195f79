//! Why a model is not built or written.

use std::io;
use std::path::PathBuf;

use warpweave_graph::legible::file_remedy;

/// Why a model is not built or written.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// There is no model of that name.
    #[error("there is no model `{name}`; the nearest names are {}", .nearest.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names that resemble it most, best first.
        nearest: Vec<&'static str>,
    },
    /// A batch of no examples was asked for.
    #[error("`{model}` cannot be built for a batch of 0; ask for 1 or more")]
    Batch { model: &'static str },
    /// A form was asked for that the model does not have.
    #[error("`{model}` has no recurrent layers to unroll; leave the form out")]
    Form { model: &'static str },
    /// The file system refuses.
    #[error("cannot write {}: {source}; {}", path.display(), file_remedy(source))]
    Write { path: PathBuf, source: io::Error },
}
