//! Signals that a thread gives at once.
//!
//! A signal is a write that other threads look for: each takes the counter's line from them. Where everything that waits for a counter
//! waits for all of its signals, nothing goes on before the last one of each thread, so that one brings those before it.

use std::collections::HashMap;

use warpweave_plan::plan::{CounterId, Instruction};

/// By how much the counter of a stream's instruction grows there: 0 where a later one of the stream brings it, or where the
/// instruction gives no signal.
pub(super) fn signals(streams: &[Vec<Instruction>]) -> Vec<Box<[u32]>> {
    let (mut arrivals, mut wanted): (HashMap<CounterId, u32>, HashMap<CounterId, u32>) = Default::default();
    for instruction in streams.iter().flatten() {
        match *instruction {
            Instruction::Signal(counter) => *arrivals.entry(counter).or_default() += 1,
            Instruction::Wait { counter, signals } => {
                let least = wanted.entry(counter).or_insert(signals);
                *least = signals.min(*least);
            }
            Instruction::Run(_) | Instruction::Hold(_) | Instruction::Prefetch(_) => {}
        }
    }
    let is_joined = |counter: CounterId| wanted.get(&counter).is_none_or(|least| *least >= arrivals[&counter]);
    streams.iter().map(|stream| of_stream(stream, &is_joined)).collect()
}

fn of_stream(stream: &[Instruction], is_joined: &dyn Fn(CounterId) -> bool) -> Box<[u32]> {
    let mut growths: Box<[u32]> = vec![0; stream.len()].into();
    let mut last: HashMap<CounterId, usize> = HashMap::new();
    for (position, instruction) in stream.iter().enumerate() {
        let Instruction::Signal(counter) = *instruction else { continue };
        growths[position] = 1;
        if let Some(earlier) = last.insert(counter, position).filter(|_| is_joined(counter)) {
            growths[position] += std::mem::take(&mut growths[earlier]);
        }
    }
    growths
}

#[cfg(test)]
mod tests {
    use warpweave_graph::arena::Id;

    use super::*;

    fn signal(counter: usize) -> Instruction {
        Instruction::Signal(CounterId::from_index(counter))
    }

    fn wait(counter: usize, signals: u32) -> Instruction {
        Instruction::Wait { counter: CounterId::from_index(counter), signals }
    }

    #[test]
    fn the_last_signal_of_a_thread_brings_those_before_it() {
        let first = vec![signal(0), signal(1), signal(0), wait(0, 3), signal(1)];
        let second = vec![signal(0), wait(0, 3), wait(1, 1)];
        let found = signals(&[first, second]);
        assert_eq!(found[0][..], [0, 1, 2, 0, 1], "something waits for the first signal of the other counter");
        assert_eq!(found[1][..], [1, 0, 0]);
    }

    #[test]
    fn signals_that_nothing_waits_for_are_given() {
        assert_eq!(signals(&[vec![signal(0), signal(0)]])[0][..], [0, 2]);
    }
}
