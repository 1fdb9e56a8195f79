//! How far it is from each instruction to an end of its function.

use super::super::instruction::Code;
use super::super::operand::{Operand, Predicate, TRUE};
use super::super::operation::{Modifier, Operation};
use super::super::program::MachineCode;

/// The fewest instructions from each place to an end.
#[derive(Clone, Debug)]
pub struct Reach {
    distances: Vec<u32>,
}

impl Reach {
    /// Of all places of a program.
    pub fn new(machine: &MachineCode) -> Self {
        let count = machine.code.len();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut distances = vec![u32::MAX; count];
        let mut front = Vec::new();
        for (place, code) in machine.code.iter().enumerate() {
            let ends = matches!(code.operation, Operation::Exit | Operation::Ret | Operation::Brx);
            if ends {
                distances[place] = 0;
                front.push(place);
            }
            if place + 1 < count && !(goes_away(code) && always(code)) {
                before[place + 1].push(place);
            }
            if let (Operation::Bra | Operation::Jmp, Some(target)) = (code.operation, code.target) {
                before[target.min(count - 1)].push(place);
            }
        }
        while !front.is_empty() {
            let mut next = Vec::new();
            for place in front {
                for &earlier in &before[place] {
                    if distances[earlier] == u32::MAX {
                        distances[earlier] = distances[place] + 1;
                        next.push(earlier);
                    }
                }
            }
            front = next;
        }
        Self { distances }
    }

    /// From a place; the greatest number if no end can be reached.
    pub fn from(&self, place: usize) -> u32 {
        self.distances.get(place).copied().unwrap_or(u32::MAX)
    }
}

fn goes_away(code: &Code) -> bool {
    let jumps =
        matches!(code.operation, Operation::Bra | Operation::Jmp | Operation::Exit | Operation::Ret | Operation::Brx);
    jumps && !code.has(Modifier::Diverged)
}

fn always(code: &Code) -> bool {
    let unguarded = matches!(code.guard.predicate, Predicate::Lane(TRUE) | Predicate::Uniform(TRUE));
    unguarded && !code.guard.negated && !code.operands.iter().any(|operand| matches!(operand, Operand::Predicate(..)))
}
