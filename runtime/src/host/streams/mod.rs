//! Streams of threads: in which order they run, what they signal, and where they pause.

mod delays;
mod order;
mod signals;

pub use delays::Delays;
pub(super) use order::turning;
pub(super) use signals::signals;
