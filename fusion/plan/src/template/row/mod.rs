//! The row template.

pub mod rounds;
