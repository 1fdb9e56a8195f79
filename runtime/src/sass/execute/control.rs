//! Jumps, calls, convergence and barriers: where each lane goes on.

use super::super::error::CodeError;
use super::super::instruction::Code;
use super::super::operand::{Operand, Register};
use super::super::operation::{Modifier, Operation};
use super::super::parts::predicate_of;
use super::super::program::{CODE_BASE, INSTRUCTION_BYTES, MachineCode};
use super::constants::Constants;
use super::fault::FaultKind;
use super::lanes::{ALL, Lanes, lanes_of};
use super::operands::{Condition, Sign, Word};
use super::warp::{BARRIERS, Wait, Warp};

/// An instruction that decides where lanes go on.
pub struct Control {
    /// What must hold beside the guard.
    conditions: Vec<Condition>,
    kind: Kind,
}

enum Kind {
    Jump(usize),
    /// Taken unless all lanes of a mask are together.
    JumpIfDiverged {
        wanted: Word,
        target: usize,
    },
    /// To an address in a register.
    Indirect {
        low: Word,
        high: Option<Word>,
        base: i64,
    },
    Exit,
    BeginConvergence(usize),
    Converge(usize),
    LeaveConvergence(usize),
    ReadBarrier {
        register: usize,
        barrier: usize,
        clears: bool,
    },
    WriteBarrier {
        barrier: usize,
        word: Word,
    },
    MeetLanes(Word),
    MeetBlock(Option<BlockReduction>),
    /// Another warp should go on.
    Yield,
    Nothing,
    Trap,
}

/// What lanes offer to the block at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockReduction {
    offered: Condition,
    all: bool,
}

/// What a warp does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The instruction behind this one, or where it jumps.
    GoesOn,
    /// Another warp should go first.
    Yields,
}

/// An instruction of this family; nothing if it is of another one.
pub fn decode(machine: &MachineCode, place: usize, code: &Code) -> Result<Option<Control>, CodeError> {
    use Operation as O;
    let form = || CodeError::Form(code.text.clone());
    let target = || code.target.ok_or_else(|| CodeError::Jump(code.text.clone()));
    let kind = match code.operation {
        O::Bra if code.has(Modifier::Diverged) => {
            let wanted = Word::new(code, code.operands.first().ok_or_else(form)?, Sign::Integer)?;
            Kind::JumpIfDiverged { wanted, target: target()? }
        }
        O::Call if !matches!(code.operands.first(), Some(Operand::Label(_))) => indirect(machine, place, code)?,
        O::Ret | O::Brx => indirect(machine, place, code)?,
        O::Bra | O::Jmp | O::Call => Kind::Jump(target()?),
        O::Exit => Kind::Exit,
        O::Bssy => Kind::BeginConvergence(barrier(code)?),
        O::Bsync => Kind::Converge(barrier(code)?),
        O::Break => Kind::LeaveConvergence(barrier(code)?),
        O::Bmov => move_barrier(code)?,
        O::Warpsync => match code.operands.first() {
            Some(operand @ (Operand::Register(..) | Operand::Integer(_))) => {
                Kind::MeetLanes(Word::new(code, operand, Sign::Integer)?)
            }
            _ if code.has(Modifier::All) => Kind::MeetLanes(Word::new(code, &Operand::Integer(-1), Sign::Integer)?),
            _ => return Err(form()),
        },
        O::Bar => Kind::MeetBlock(block_barrier(code)?),
        O::Yield | O::Nanosleep => Kind::Yield,
        O::Nop | O::Acqbulk | O::Preexit | O::Endcollective => Kind::Nothing,
        O::Bpt => Kind::Trap,
        _ => return Ok(None),
    };
    let jumps = matches!(code.operation, O::Bra | O::Jmp | O::Exit | O::Ret | O::Call | O::Brx | O::Break);
    let written = code.operands.iter().filter(|_| jumps).filter_map(predicate_of);
    let conditions = written.map(|(predicate, negated)| Condition::new(predicate, negated)).collect();
    Ok(Some(Control { conditions, kind }))
}

fn barrier(code: &Code) -> Result<usize, CodeError> {
    let number = code.operands.iter().find_map(|operand| match operand {
        Operand::Barrier(number) => Some(usize::from(*number)),
        _ => None,
    });
    number.filter(|number| *number < BARRIERS).ok_or_else(|| CodeError::Form(code.text.clone()))
}

/// Returns, calls and jumps through tables: to an address of the program, or one relative to the function.
fn indirect(machine: &MachineCode, place: usize, code: &Code) -> Result<Kind, CodeError> {
    let unknown = || CodeError::Jump(code.text.clone());
    let [operand, rest @ ..] = &code.operands[..] else {
        return Err(unknown());
    };
    let start = machine.function_at(place).ok_or_else(unknown)?.start;
    let bytes = |place: usize| (place as u64 * INSTRUCTION_BYTES) as i64;
    let low = Word::new(code, operand, Sign::Integer)?;
    let high = Word::at(code, operand, 1, Sign::Integer)?;
    Ok(match (code.operation, rest.first()) {
        (Operation::Brx, Some(Operand::Integer(offset))) => {
            Kind::Indirect { low, high: None, base: bytes(place + 1) + offset }
        }
        (Operation::Ret | Operation::Call, _) if code.has(Modifier::Relative) => {
            Kind::Indirect { low, high: None, base: bytes(code.target.unwrap_or(start)) }
        }
        (Operation::Ret | Operation::Call, _) => Kind::Indirect { low, high: Some(high), base: 0 },
        _ => return Err(unknown()),
    })
}

fn move_barrier(code: &Code) -> Result<Kind, CodeError> {
    let barrier = barrier(code)?;
    match &code.operands[..] {
        [Operand::Register(Register(number), _), Operand::Barrier(_)] => {
            Ok(Kind::ReadBarrier { register: usize::from(*number), barrier, clears: code.has(Modifier::Clear) })
        }
        [Operand::Barrier(_), operand] => {
            Ok(Kind::WriteBarrier { barrier, word: Word::new(code, operand, Sign::Integer)? })
        }
        _ => Err(CodeError::Form(code.text.clone())),
    }
}

/// Only the barrier of the whole block is known.
fn block_barrier(code: &Code) -> Result<Option<BlockReduction>, CodeError> {
    let unknown = || CodeError::Form(code.text.clone());
    let [Operand::Integer(0), rest @ ..] = &code.operands[..] else {
        return Err(unknown());
    };
    match (rest, code.has(Modifier::Reduce)) {
        ([], false) if !code.has(Modifier::Arrive) => Ok(None),
        ([operand], true) if code.has(Modifier::Or) || code.has(Modifier::And) => {
            let (predicate, negated) = predicate_of(operand).ok_or_else(unknown)?;
            let offered = Condition::new(predicate, negated);
            Ok(Some(BlockReduction { offered, all: code.has(Modifier::And) }))
        }
        _ => Err(unknown()),
    }
}

impl Control {
    /// What lanes that wait for the block at this instruction offer: whether every one, or any, of them does; nothing if it
    /// reduces nothing.
    pub fn offered(&self, warp: &Warp, waiting: u32) -> Option<(bool, bool)> {
        let Kind::MeetBlock(Some(reduction)) = &self.kind else { return None };
        let offered = reduction.offered.lanes(warp) & waiting;
        Some((reduction.all, if reduction.all { offered == waiting } else { offered != 0 }))
    }

    /// Executes it for the lanes that run, of which the guard holds in those of `guard`.
    pub fn execute(
        &self,
        machine: &MachineCode,
        warp: &mut Warp,
        guard: u32,
        constants: &Constants,
    ) -> Result<Next, FaultKind> {
        let (place, mask) = (warp.group.place, warp.group.mask);
        let taken = self.conditions.iter().fold(guard & mask, |all, condition| all & condition.lanes(warp));
        if taken == 0 {
            warp.group.place += 1;
            return Ok(Next::GoesOn);
        }
        match &self.kind {
            Kind::Jump(target) => go(warp, taken, *target),
            Kind::JumpIfDiverged { wanted, target } => {
                let wanted = uniform(wanted.read(warp, constants)?, taken) & warp.live;
                if mask & wanted == wanted {
                    warp.group.place += 1;
                } else {
                    go(warp, taken, *target);
                }
            }
            Kind::Indirect { low, high, base } => {
                let targets = addresses(warp, constants, low, high.as_ref())?;
                scatter(machine, warp, taken, |lane| targets[lane].wrapping_add(*base))?;
            }
            Kind::Exit => {
                warp.exit(taken);
                leave(warp, taken);
            }
            Kind::BeginConvergence(barrier) => {
                warp.barriers[*barrier] = taken;
                warp.group.place += 1;
            }
            Kind::Converge(barrier) if warp.barriers[*barrier] & warp.live & !taken == 0 => warp.group.place += 1,
            Kind::Converge(barrier) => wait(warp, taken, place, Wait::Convergence(*barrier)),
            Kind::LeaveConvergence(barrier) => {
                warp.barriers[*barrier] &= !taken;
                warp.group.place += 1;
            }
            Kind::ReadBarrier { register, barrier, clears } => {
                let lanes = Lanes::splat(warp.barriers[*barrier]);
                warp.write(*register, taken, &lanes);
                if *clears {
                    warp.barriers[*barrier] = 0;
                }
                warp.group.place += 1;
            }
            Kind::WriteBarrier { barrier, word } => {
                warp.barriers[*barrier] = uniform(word.read(warp, constants)?, taken);
                warp.group.place += 1;
            }
            Kind::MeetLanes(wanted) => {
                let wanted = uniform(wanted.read(warp, constants)?, taken);
                if wanted & warp.live & !taken == 0 {
                    warp.group.place += 1;
                } else {
                    wait(warp, taken, place, Wait::Lanes(wanted));
                }
            }
            Kind::MeetBlock(_) => wait(warp, taken, place, Wait::Block),
            Kind::Yield => {
                warp.group.place += 1;
                return Ok(Next::Yields);
            }
            Kind::Nothing => warp.group.place += 1,
            Kind::Trap => return Err(FaultKind::Trap),
        }
        Ok(Next::GoesOn)
    }
}

/// The word of the first of some lanes.
fn uniform(words: Lanes, mask: u32) -> u32 {
    lanes_of(mask).next().map_or(ALL, |lane| words.0[lane])
}

/// Takes some of the running lanes to a target; the others go on.
fn go(warp: &mut Warp, taken: u32, target: usize) {
    let rest = warp.group.mask & !taken;
    warp.park(rest, warp.group.place + 1, Wait::None);
    (warp.group.mask, warp.group.place) = (taken, target);
}

/// Takes away some of the running lanes; the others go on.
fn leave(warp: &mut Warp, taken: u32) {
    warp.group.mask &= !taken;
    warp.group.place += 1;
}

fn wait(warp: &mut Warp, taken: u32, place: usize, reason: Wait) {
    leave(warp, taken);
    warp.park(taken, place, reason);
}

fn addresses(
    warp: &Warp,
    constants: &Constants,
    low: &Word,
    high: Option<&Word>,
) -> Result<[i64; super::lanes::LANES], FaultKind> {
    let low = low.read(warp, constants)?;
    let Some(high) = high else {
        return Ok(low.0.map(|word| i64::from(word as i32)));
    };
    let high = high.read(warp, constants)?;
    Ok(std::array::from_fn(|lane| {
        let address = u64::from(high.0[lane]) << 32 | u64::from(low.0[lane]);
        address.wrapping_sub(CODE_BASE) as i64
    }))
}

/// Takes each of some lanes to an address of its own, in bytes from the start of the code.
fn scatter(
    machine: &MachineCode,
    warp: &mut Warp,
    taken: u32,
    address: impl Fn(usize) -> i64,
) -> Result<(), FaultKind> {
    leave(warp, taken);
    for lane in lanes_of(taken) {
        let bytes = address(lane);
        let place = usize::try_from(bytes).ok().filter(|bytes| bytes.is_multiple_of(INSTRUCTION_BYTES as usize));
        let place = place.map(|bytes| bytes / INSTRUCTION_BYTES as usize).filter(|place| *place < machine.code.len());
        let place = place.ok_or(FaultKind::Jump((bytes as u64).wrapping_add(CODE_BASE)))?;
        warp.park(1 << lane, place, Wait::None);
    }
    Ok(())
}
