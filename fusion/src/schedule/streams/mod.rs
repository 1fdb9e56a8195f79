//! Streams of instructions: synchronisation, tagged values, resident constants.

pub mod calls;
pub(crate) mod cells;
pub mod ends;
pub mod factors;
pub mod resident;
pub mod synchronise;
pub mod tagged;
