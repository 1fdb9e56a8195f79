//! Arrays in files that a person names.

use std::fs;
use std::path::Path;

use warpweave::graph::{Tensor, npy};

use super::error::CliError;
use super::file_error;

/// The array in a `.npy` file.
pub fn read_npy(path: &Path) -> Result<Tensor, CliError> {
    let bytes = fs::read(path).map_err(file_error("read", path))?;
    npy::parse(&bytes.into()).map_err(|source| CliError::Npy { path: path.to_owned(), source })
}
