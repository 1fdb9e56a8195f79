//! How wide help is.

use terminal_size::{Width, terminal_size_of};

/// The most columns of help, however wide a terminal is.
const MOST: usize = 100;
/// The columns of help that goes to no terminal, or to one of unknown width.
const UNKNOWN: usize = 80;

/// The columns that help is wrapped to: those of `COLUMNS`, or else of the terminal that standard output is.
pub fn columns() -> usize {
    let wanted = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|&columns| columns > 0);
    let of_terminal = || terminal_size_of(std::io::stdout()).map(|(Width(width), _)| usize::from(width));
    wanted.or_else(of_terminal).unwrap_or(UNKNOWN).min(MOST)
}
