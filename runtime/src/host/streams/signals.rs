//! Signals that a thread gives at once, and waits that it need not do.
//!
//! A signal is a write that other threads look for: each takes the counter's line from them. Where everything that waits for a counter
//! waits for all of its signals, nothing goes on before the last one of each thread, so that one brings those before it.

use std::collections::{HashMap, HashSet};

use warpweave_plan::plan::{CounterId, Instruction};

/// The counters of which something waits for fewer signals than there are.
pub(super) fn awaited_in_part(streams: &[Vec<Instruction>]) -> HashSet<CounterId> {
    let mut arrivals: HashMap<CounterId, u32> = HashMap::new();
    for instruction in streams.iter().flatten() {
        if let Instruction::Signal(counter) = *instruction {
            *arrivals.entry(counter).or_default() += 1;
        }
    }
    let in_part = |instruction: &Instruction| match *instruction {
        Instruction::Wait { counter, signals } => {
            Some(counter).filter(|counter| Some(&signals) < arrivals.get(counter))
        }
        Instruction::Run(_) | Instruction::Signal(_) | Instruction::Hold(_) | Instruction::Prefetch(_) => None,
    };
    streams.iter().flatten().filter_map(in_part).collect()
}

/// A stream without waits for what it has waited for before, or has signalled itself.
pub(super) fn without_past_waits(stream: &[Instruction]) -> Vec<Instruction> {
    let (mut seen, mut given): (HashMap<CounterId, u32>, HashMap<CounterId, u32>) = Default::default();
    let mut is_kept = |instruction: &Instruction| match *instruction {
        Instruction::Wait { counter, signals } => {
            let is_past = [&seen, &given].into_iter().any(|known| known.get(&counter) >= Some(&signals));
            let most = seen.entry(counter).or_default();
            *most = signals.max(*most);
            !is_past
        }
        Instruction::Signal(counter) => {
            *given.entry(counter).or_default() += 1;
            true
        }
        Instruction::Run(_) | Instruction::Hold(_) | Instruction::Prefetch(_) => true,
    };
    stream.iter().filter(|instruction| is_kept(instruction)).copied().collect()
}

/// By how much the counter of a stream's instruction grows there: 0 where a later one of the stream brings it, or where the
/// instruction gives no signal.
pub(in crate::host) fn signals(streams: &[Vec<Instruction>]) -> Vec<Box<[u32]>> {
    let in_part = awaited_in_part(streams);
    streams.iter().map(|stream| of_stream(stream, &in_part)).collect()
}

fn of_stream(stream: &[Instruction], in_part: &HashSet<CounterId>) -> Box<[u32]> {
    let mut growths: Box<[u32]> = vec![0; stream.len()].into();
    let mut last: HashMap<CounterId, usize> = HashMap::new();
    for (position, instruction) in stream.iter().enumerate() {
        let Instruction::Signal(counter) = *instruction else { continue };
        growths[position] = 1;
        if let Some(earlier) = last.insert(counter, position).filter(|_| !in_part.contains(&counter)) {
            growths[position] += std::mem::take(&mut growths[earlier]);
        }
    }
    growths
}

#[cfg(test)]
mod tests {
    use super::super::instructions::{signal, wait};
    use super::*;

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

    #[test]
    fn what_has_happened_is_not_waited_for() {
        let stream = [wait(0, 2), signal(1), wait(0, 2), wait(0, 3), wait(1, 1), wait(1, 2)];
        assert_eq!(without_past_waits(&stream), [wait(0, 2), signal(1), wait(0, 3), wait(1, 2)]);
    }
}
