//! Programs and plans with one error of the protocol, which the emulator must report with every seed.

use warpweave_plan::tables::{INSTRUCTION_WORDS, OPCODE_NOTHING, OPCODE_RUN, OPCODE_SIGNAL, OPCODE_WAIT, Tables};

use crate::kernel_ir::effects::{Control, Order, Scope};
use crate::kernel_ir::{
    BinaryOp, Block, Expression, GlobalSpace, MemoryOrder, MemoryType, Place, Program, Statement, Width,
};

/// The errors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ProgramMutation {
    /// No block barrier follows a call.
    DropBarrierAfterRun,
    /// The barrier after a wait is an assignment of the thread's own condition.
    DropBarrierAfterWait,
    /// Signals do not release.
    RelaxSignal,
    /// Waits do not acquire.
    RelaxWait,
}

impl ProgramMutation {
    /// Every mutation.
    pub const ALL: [Self; 4] =
        [Self::DropBarrierAfterRun, Self::DropBarrierAfterWait, Self::RelaxSignal, Self::RelaxWait];

    /// `program` with this error in its entry, and in the waits and signals of kernels; nodes have no such statements.
    pub fn apply(self, program: &Program) -> Program {
        let mut mutant = program.clone();
        if let Some(entry) = mutant.entry.persistent_mut() {
            self.change(&mut entry.body);
        }
        mutant.kernels.values_mut().for_each(|kernel| self.change_own_instructions(&mut kernel.body));
        mutant
    }

    fn change_own_instructions(self, block: &mut Block) {
        for statement in block {
            match statement {
                Statement::Await { order, .. } if self == Self::RelaxWait => *order = MemoryOrder::Relaxed,
                Statement::Steps { order, .. } if self == Self::RelaxSignal => *order = MemoryOrder::Relaxed,
                _ => {}
            }
        }
    }

    fn change(self, block: &mut Block) {
        if self == Self::DropBarrierAfterRun {
            let mut after_call = false;
            block.retain(|statement| {
                let keep = !(after_call && statement.effects().order == Order::Barrier(Scope::Block));
                after_call = keep && (after_call || calls(statement));
                keep
            });
        }
        for statement in block {
            match statement {
                Statement::BlockBarrierOr { place, condition } if self == Self::DropBarrierAfterWait => {
                    let value = std::mem::replace(condition, Expression::i32(0));
                    *statement = Statement::Assign { place: place.clone(), value };
                }
                Statement::Signal { order, .. } if self == Self::RelaxSignal => *order = MemoryOrder::Relaxed,
                Statement::Wait { order, .. } if self == Self::RelaxWait => *order = MemoryOrder::Relaxed,
                other => other.blocks_mut().into_iter().for_each(|inner| self.change(inner)),
            }
        }
    }
}

/// Whether a statement calls a kernel, or one inside it does.
fn calls(statement: &Statement) -> bool {
    matches!(statement.effects().control, Control::Call { .. } | Control::Dispatch)
        || statement.blocks().into_iter().flatten().any(calls)
}

/// Errors of values that carry their own validity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TagMutation {
    /// Values are written without their tags.
    DropMark,
    /// Values are read without a look at their tags.
    ReadUnpolled,
}

impl TagMutation {
    /// Every mutation.
    pub const ALL: [Self; 2] = [Self::DropMark, Self::ReadUnpolled];

    /// `program` with this error in all its kernels.
    pub fn apply(self, program: &Program) -> Program {
        let mut mutant = program.clone();
        mutant.kernels.values_mut().for_each(|kernel| self.change(&mut kernel.body));
        mutant
    }

    fn change(self, block: &mut Block) {
        let word = |index: &Expression, steps: Expression| {
            let index = Expression::binary(BinaryOp::Add, index.clone(), steps);
            Expression::binary(BinaryOp::Multiply, index, Expression::i32(2))
        };
        let memory = MemoryType::F32;
        let changed = std::mem::take(block).into_iter().flat_map(|mut statement| {
            statement.blocks_mut().into_iter().for_each(|inner| self.change(inner));
            match (self, &statement) {
                (Self::DropMark, Statement::StoreTagged { index, value, .. }) => {
                    vec![Statement::StoreGlobal {
                        memory,
                        index: word(index, Expression::i32(0)),
                        values: vec![value.clone()],
                    }]
                }
                (Self::ReadUnpolled, Statement::LoadTagged { place, count, index, apart, .. }) => {
                    let loads = (0..*count as i32).map(|element| {
                        let apart = apart.clone().unwrap_or(Expression::i32(1));
                        let steps = Expression::binary(BinaryOp::Multiply, apart, Expression::i32(element));
                        Statement::LoadGlobal {
                            place: neighbour(place, element),
                            space: GlobalSpace::Arena,
                            memory,
                            width: Width::One,
                            index: word(index, steps),
                        }
                    });
                    loads.collect()
                }
                _ => vec![statement],
            }
        });
        *block = changed.collect();
    }
}

fn neighbour(place: &Place, element: i32) -> Place {
    match place {
        Place::Local(local) => Place::Local(*local),
        Place::Element(array, index) => {
            Place::Element(*array, Expression::binary(BinaryOp::Add, index.clone(), Expression::i32(element)))
        }
    }
}

/// Errors of a plan's streams; `number` counts the instructions concerned, from 0, over all streams.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PlanMutation {
    /// A wait is satisfied by any value.
    DropWait {
        /// Which wait.
        number: usize,
    },
    /// A signal is not given.
    DropSignal {
        /// Which signal.
        number: usize,
    },
    /// A signal comes before the run that it follows, and before the instructions that are the run's own.
    SignalBeforeRun {
        /// Which signal among those that directly follow a run.
        number: usize,
    },
}

impl PlanMutation {
    /// `tables` with this error; `None` if there is no such instruction.
    pub fn apply(self, tables: &Tables) -> Option<Tables> {
        let mut mutant = tables.clone();
        let opcode = |at: usize| tables.instructions[at * INSTRUCTION_WORDS];
        let count = tables.instructions.len() / INSTRUCTION_WORDS;
        match self {
            Self::DropWait { number } => {
                let at = (0..count).filter(|&at| opcode(at) == OPCODE_WAIT).nth(number)?;
                // With n = 0 the target is what the counter holds when the launch starts.
                mutant.instructions[at * INSTRUCTION_WORDS + 3] = 0;
            }
            Self::DropSignal { number } => {
                let at = (0..count).filter(|&at| opcode(at) == OPCODE_SIGNAL).nth(number)?;
                mutant.instructions[at * INSTRUCTION_WORDS] = OPCODE_NOTHING;
            }
            Self::SignalBeforeRun { number } => {
                let mut ends = (0..count).filter(|&at| opcode(at) >= OPCODE_RUN).map(|run| {
                    let waits = tables.instructions[run * INSTRUCTION_WORDS + 3];
                    (run, run + 1 + waits as usize)
                });
                let (run, at) = ends.by_ref().filter(|&(_, end)| opcode(end) == OPCODE_SIGNAL).nth(number)?;
                mutant.instructions[run * INSTRUCTION_WORDS..(at + 1) * INSTRUCTION_WORDS]
                    .rotate_right(INSTRUCTION_WORDS);
            }
        }
        Some(mutant)
    }
}
