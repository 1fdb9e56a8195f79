//! Plans whose units have one counter each, so that waits are for the first few of one unit's signals.

use warpweave::graph::arena::{Arena, Id};
use warpweave::plan::plan::{Counter, CounterId, ExecutionPlan, Instruction, PersistentSegment, Segment};

/// The plan with every signal of a unit on the unit's own counter. Every wait is split into one a signalling unit, for
/// as many signals as that unit has given with the one that is waited for. It orders the same rTasks, and more.
pub fn with_unit_counters(plan: &ExecutionPlan) -> ExecutionPlan {
    let segment = plan.persistent();
    let mut given: Vec<u32> = vec![0; segment.units()];
    let mut signals: Arena<CounterId, Vec<(usize, u32)>> = segment.counters.values().map(|_| Vec::new()).collect();
    for (unit, stream) in segment.streams.iter().enumerate() {
        for instruction in stream {
            if let Instruction::Signal(counter) = *instruction {
                given[unit] += 1;
                signals[counter].push((unit, given[unit]));
            }
        }
    }
    let translate = |unit: usize, instruction: &Instruction| -> Vec<Instruction> {
        match *instruction {
            Instruction::Run(_) | Instruction::Hold(_) | Instruction::Prefetch(_) => vec![*instruction],
            Instruction::Signal(_) => vec![Instruction::Signal(CounterId::from_index(unit))],
            Instruction::Wait { counter, .. } => {
                let of = |&(from, signals): &(usize, u32)| Instruction::Wait {
                    counter: CounterId::from_index(from),
                    signals,
                };
                signals[counter].iter().map(of).collect()
            }
        }
    };
    let streams = segment.streams.iter().enumerate().map(|(unit, stream)| {
        let translated = stream.iter().flat_map(|instruction| translate(unit, instruction));
        translated.collect()
    });
    let segment = PersistentSegment {
        operators: segment.operators.clone(),
        counters: given.iter().map(|&arrivals| Counter { arrivals }).collect(),
        streams: streams.collect(),
    };
    ExecutionPlan { segments: vec![Segment::Persistent(segment)], memory: plan.memory.clone() }
}
