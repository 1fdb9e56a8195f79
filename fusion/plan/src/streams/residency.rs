//! Which units hold which constants on chip, and when they bring them.

use std::collections::BTreeMap;

use warpweave_graph::arena::Arena;

use crate::plan::{Instruction, OperatorId, ROperator};
use crate::template::weight_stationary::reads::ResidentKey;

/// Per rOperator that keeps constants on chip, a number for what its tiles keep: rTasks with equal numbers and tiles keep the
/// same.
pub fn resident_numbers(operators: &Arena<OperatorId, ROperator>) -> Arena<OperatorId, Option<u32>> {
    let mut known: BTreeMap<ResidentKey, u32> = BTreeMap::new();
    let number = |operator: &ROperator| {
        let key = ResidentKey::of(&operator.kernel)?;
        let next = known.len() as u32;
        Some(*known.entry(key).or_insert(next))
    };
    operators.values().map(number).collect()
}

/// What a unit keeps: the number of [`resident_numbers`] and the tile.
pub type Resident = (u32, u32);

/// The streams with what every unit keeps brought as early as it can be. It is brought before the first wait, or after
/// the last rTask that uses what was kept before and its signals. What they said of it before does not count. Nothing
/// is prefetched yet.
pub fn with_holds(streams: Vec<Vec<Instruction>>, operators: &Arena<OperatorId, ROperator>) -> Vec<Vec<Instruction>> {
    let numbers = resident_numbers(operators);
    if numbers.values().all(Option::is_none) {
        return streams;
    }
    streams.into_iter().map(|stream| with_own_holds(stream, &numbers)).collect()
}

fn with_own_holds(stream: Vec<Instruction>, numbers: &Arena<OperatorId, Option<u32>>) -> Vec<Instruction> {
    let mut found: Vec<Instruction> = Vec::with_capacity(stream.len() + 1);
    let (mut held, mut free): (Option<Resident>, usize) = (None, 0);
    let mut is_ready = true;
    for instruction in stream {
        is_ready &= !matches!(instruction, Instruction::Wait { .. });
        match instruction {
            Instruction::Hold(_) => {}
            Instruction::Run(task) => {
                if let Some(number) = numbers[task.operator] {
                    let wanted = (number, task.tile);
                    if held != Some(wanted) {
                        found.insert(free, Instruction::Hold(task));
                        held = Some(wanted);
                    }
                    (free, is_ready) = (found.len() + 1, false);
                }
                found.push(instruction);
            }
            Instruction::Signal(_) => {
                // A load behind the signal delays no waiting rTask.
                free += usize::from(free == found.len());
                found.push(instruction);
            }
            Instruction::Wait { .. } | Instruction::Prefetch(_) => found.push(instruction),
        }
        if is_ready {
            free = found.len();
        }
    }
    found
}
