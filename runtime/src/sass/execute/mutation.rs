//! Changes of machine code that tests must notice.

use super::super::instruction::Code;
use super::super::operand::{Address, Operand, Predicate, TRUE, UNIFORM_ZERO, ZERO};
use super::super::operation::{Modifier, Operation};
use super::super::program::MachineCode;

/// What is changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MutationKind {
    /// A fence is left out.
    Fence,
    /// The first-level cache is not emptied.
    Invalidation,
    /// A barrier of the block is left out.
    BlockBarrier,
    /// A signal, or a value that carries its own validity, is not sent.
    Signal,
    /// An access is moved by an element.
    Offset,
    /// A predicate is negated.
    Predicate,
    /// Two operands that do not commute change places.
    Exchange,
    /// A number is one larger.
    Immediate,
}

impl MutationKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Fence,
        Self::Invalidation,
        Self::BlockBarrier,
        Self::Signal,
        Self::Offset,
        Self::Predicate,
        Self::Exchange,
        Self::Immediate,
    ];

    /// Whether what is left out only orders accesses.
    pub fn is_of_synchronisation(self) -> bool {
        match self {
            Self::Fence | Self::Invalidation | Self::BlockBarrier | Self::Signal => true,
            Self::Offset | Self::Predicate | Self::Exchange | Self::Immediate => false,
        }
    }
}

/// A change of one instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mutation {
    /// What is changed.
    pub kind: MutationKind,
    /// The instruction's place.
    pub place: usize,
    /// The operand, or the first of two; that of the guard is behind all others.
    operand: usize,
}

/// The changes of a kind that the instructions at some places allow.
pub fn mutations(machine: &MachineCode, kind: MutationKind, places: impl IntoIterator<Item = usize>) -> Vec<Mutation> {
    let mut found = Vec::new();
    for place in places {
        let Ok(code) = machine.at(place) else { continue };
        let operands = operands_of(kind, code);
        found.extend(operands.into_iter().map(|operand| Mutation { kind, place, operand }));
    }
    found
}

fn operands_of(kind: MutationKind, code: &Code) -> Vec<usize> {
    use Operation as O;
    let whole = |holds: bool| if holds { vec![0] } else { Vec::new() };
    let each = |holds: &dyn Fn(&Operand) -> bool| {
        let holding = code.operands.iter().enumerate().filter(|(_, operand)| holds(operand));
        holding.map(|(index, _)| index).collect::<Vec<usize>>()
    };
    match kind {
        MutationKind::Fence => whole(code.operation == O::Membar && !code.has(Modifier::Cta)),
        MutationKind::Invalidation => whole(code.operation == O::Cctl),
        MutationKind::BlockBarrier => whole(code.operation == O::Bar),
        MutationKind::Signal => {
            let adds = code.operation == O::Redg && code.has(Modifier::Add);
            whole(adds || code.operation == O::Stg && code.has(Modifier::Strong))
        }
        MutationKind::Offset => each(&|operand| matches!(operand, Operand::Memory(_))),
        MutationKind::Predicate => {
            let reads = |predicate: &Predicate| !matches!(predicate, Predicate::Lane(TRUE) | Predicate::Uniform(TRUE));
            let mut found = Vec::new();
            if reads(&code.guard.predicate) {
                found.push(code.operands.len());
            }
            let is_test = matches!(
                code.operation,
                O::Sel | O::Fsel | O::Fmnmx | O::Vimnmx | O::Imnmx | O::Viaddmnmx | O::Vimnmx3 | O::Usel
            );
            let last = code.operands.len().wrapping_sub(1);
            if is_test && matches!(code.operands.get(last), Some(Operand::Predicate(..))) {
                found.push(last);
            }
            found
        }
        MutationKind::Exchange => match exchanged(code) {
            Some(first) if differ(&code.operands[first], &code.operands[first + 1]) => vec![first],
            Some(_) | None => Vec::new(),
        },
        MutationKind::Immediate => match code.operation {
            O::Lop3 | O::Plop3 | O::Ulop3 | O::Uplop3 | O::P2r | O::R2p | O::Bar | O::Depbar | O::Ret | O::Brx => {
                Vec::new()
            }
            _ => each(&|operand| matches!(operand, Operand::Integer(_))),
        },
    }
}

/// The first of two operands that may change places and then mean something else.
fn exchanged(code: &Code) -> Option<usize> {
    use Operation as O;
    let sources = code.operands.iter().position(|operand| !matches!(operand, Operand::Predicate(..)))?;
    match code.operation {
        // The sign of an operand moves with it, so that differences do not change.
        O::Isetp | O::Fsetp => {
            let symmetric = code.has(Modifier::Eq) || code.has(Modifier::Ne) || code.has(Modifier::Neu);
            (!symmetric).then_some(sources)
        }
        O::Sel | O::Fsel => Some(sources + 1),
        O::Shf | O::Prmt | O::Lea => Some(sources + 1),
        // A factor and what is added.
        O::Imad | O::Ffma if !code.has(Modifier::Mov) && !code.has(Modifier::Wide) && !code.has(Modifier::Hi) => {
            Some(sources + 2)
        }
        _ => None,
    }
    .filter(|first| first + 1 < code.operands.len())
}

fn differ(left: &Operand, right: &Operand) -> bool {
    let zero = |operand: &Operand| match operand {
        Operand::Register(register, _) => *register == ZERO,
        Operand::Uniform(register, _) => *register == UNIFORM_ZERO,
        Operand::Integer(value) => *value == 0,
        _ => false,
    };
    let is_word = |operand: &Operand| {
        matches!(operand, Operand::Register(..) | Operand::Uniform(..) | Operand::Integer(_) | Operand::Constant(..))
    };
    is_word(left) && is_word(right) && left != right && !(zero(left) && zero(right))
}

impl Mutation {
    /// Changes the instruction.
    pub fn apply(&self, machine: &mut MachineCode) {
        let code = &mut machine.code[self.place];
        match self.kind {
            MutationKind::Fence | MutationKind::Invalidation | MutationKind::BlockBarrier | MutationKind::Signal => {
                code.operation = Operation::Nop;
                code.modifiers.clear();
                code.operands.clear();
            }
            MutationKind::Offset => {
                let bytes = i64::from(code.bytes());
                if let Some(Operand::Memory(Address { offset, .. })) = code.operands.get_mut(self.operand) {
                    *offset += bytes;
                }
            }
            MutationKind::Predicate => match code.operands.get_mut(self.operand) {
                Some(Operand::Predicate(_, negated)) => *negated = !*negated,
                _ => code.guard.negated = !code.guard.negated,
            },
            MutationKind::Exchange => code.operands.swap(self.operand, self.operand + 1),
            MutationKind::Immediate => {
                if let Some(Operand::Integer(value)) = code.operands.get_mut(self.operand) {
                    *value = value.wrapping_add(1);
                }
            }
        }
    }
}
