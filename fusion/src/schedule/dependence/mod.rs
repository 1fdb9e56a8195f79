//! Which tiles read which, and what an rTask has to come after.

pub mod bands;
pub mod edges;
pub mod requirements;
