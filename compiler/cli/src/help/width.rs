//! How wide help is.

use crate::terminal::columns_or;

/// The most columns of help, however wide a terminal is.
const MOST: usize = 100;
/// The columns of help that goes to no terminal, or to one of unknown width.
const UNKNOWN: usize = 80;

/// The columns that help is wrapped to.
pub fn columns() -> usize {
    columns_or(UNKNOWN).min(MOST)
}
