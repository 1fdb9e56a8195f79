//! Streams of threads: which have work, in which order they run, what they signal, and where they pause.

mod busy;
mod delays;
mod order;
mod signals;

pub(super) use busy::with_busy_streams;
pub use delays::Delays;
pub(super) use order::turning;
pub(super) use signals::signals;

/// Instructions by number, for tests.
#[cfg(test)]
mod instructions {
    use warpweave_graph::arena::Id;
    use warpweave_plan::plan::{CounterId, Instruction};

    pub(super) fn signal(counter: usize) -> Instruction {
        Instruction::Signal(CounterId::from_index(counter))
    }

    pub(super) fn wait(counter: usize, signals: u32) -> Instruction {
        Instruction::Wait { counter: CounterId::from_index(counter), signals }
    }
}
