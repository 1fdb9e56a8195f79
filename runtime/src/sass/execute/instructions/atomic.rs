//! Atomic operations on global and shared memory.

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operand::Operand;
use super::super::super::operation::{Modifier, Operation};
use super::super::fault::{Access, FaultKind, Space};
use super::super::lanes::{Lanes, lanes_of};
use super::super::warp::{Warp, ZERO_REGISTER};
use super::access::{Place, only_place, register};
use super::action::{Action, Context, Execute};
use super::rounding::canonical;

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    let space = match code.operation {
        Operation::Atomg | Operation::Redg | Operation::Red => Space::Global,
        Operation::Atoms => Space::Shared,
        _ => return Ok(None),
    };
    let (position, place) = only_place(code, space)?;
    let is_register = |operand: &&Operand| matches!(operand, Operand::Register(..));
    let destination = code.operands[..position].iter().find(is_register);
    let destination = destination.map_or(Ok(ZERO_REGISTER), |operand| register(code, Some(operand)))?;
    let function = Function::of(code)?;
    let source = register(code, code.operands.get(position + 1))?;
    let swapped = match function {
        Function::CompareAndSwap => register(code, code.operands.get(position + 2))?,
        _ => ZERO_REGISTER,
    };
    let bytes = if is_wide(code) { 8 } else { 4 };
    Ok(Some(Box::new(Atomic { place, space, destination, source, swapped, bytes, function })))
}

fn is_wide(code: &Code) -> bool {
    [Modifier::Bits64, Modifier::U64, Modifier::S64].iter().any(|modifier| code.has(*modifier))
}

/// What becomes of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Function {
    Add,
    AddSingle,
    Least,
    Most,
    LeastSigned,
    MostSigned,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
}

impl Function {
    fn of(code: &Code) -> Result<Self, CodeError> {
        let signed = code.has(Modifier::S32) || code.has(Modifier::S64);
        Ok(match () {
            () if code.has(Modifier::Add) && code.has(Modifier::F32) => Self::AddSingle,
            () if code.has(Modifier::F16) || code.has(Modifier::F64) => {
                return Err(CodeError::Form(code.text.clone()));
            }
            () if code.has(Modifier::Add) => Self::Add,
            () if code.has(Modifier::Min) && signed => Self::LeastSigned,
            () if code.has(Modifier::Max) && signed => Self::MostSigned,
            () if code.has(Modifier::Min) => Self::Least,
            () if code.has(Modifier::Max) => Self::Most,
            () if code.has(Modifier::And) => Self::And,
            () if code.has(Modifier::Or) => Self::Or,
            () if code.has(Modifier::Xor) => Self::Xor,
            () if code.has(Modifier::Exch) => Self::Exchange,
            () if code.has(Modifier::Cas) => Self::CompareAndSwap,
            () => return Err(CodeError::Form(code.text.clone())),
        })
    }

    fn apply(self, old: u64, operand: u64, swapped: u64, bytes: u32) -> u64 {
        let signed = |value: u64| if bytes == 8 { value as i64 } else { i64::from(value as i32) };
        match self {
            Self::Add => old.wrapping_add(operand),
            Self::AddSingle => canonical(f32::from_bits(old as u32) + f32::from_bits(operand as u32)).into(),
            Self::Least => old.min(operand),
            Self::Most => old.max(operand),
            Self::LeastSigned if signed(operand) < signed(old) => operand,
            Self::MostSigned if signed(operand) > signed(old) => operand,
            Self::LeastSigned | Self::MostSigned => old,
            Self::And => old & operand,
            Self::Or => old | operand,
            Self::Xor => old ^ operand,
            Self::Exchange => operand,
            Self::CompareAndSwap if old == operand => swapped,
            Self::CompareAndSwap => old,
        }
    }
}

/// A word that is replaced by a function of it, lane after lane.
struct Atomic {
    place: Place,
    space: Space,
    destination: usize,
    source: usize,
    swapped: usize,
    bytes: u32,
    function: Function,
}

impl Atomic {
    fn value(&self, warp: &Warp, source: usize, lane: usize) -> u64 {
        if source == ZERO_REGISTER {
            return 0;
        }
        let low = warp.register(source).0[lane].into();
        let high = || u64::from(warp.register(source + 1).0[lane]) << 32;
        if self.bytes == 8 { high() | low } else { low }
    }
}

impl Execute for Atomic {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let addresses = self.place.addresses(warp);
        let mut before = [Lanes::ZERO; 2];
        for lane in lanes_of(mask) {
            let (operand, swapped) = (self.value(warp, self.source, lane), self.value(warp, self.swapped, lane));
            let function = |old| self.function.apply(old, operand, swapped, self.bytes);
            let access = Access { lane, address: addresses[lane], bytes: self.bytes };
            let old = match self.space {
                Space::Shared => {
                    let words = context.memory.shared.load(access)?;
                    let old = u64::from(words[1]) << 32 | u64::from(words[0]);
                    let new = function(old);
                    context.memory.shared.store(access, [new as u32, (new >> 32) as u32, 0, 0])?;
                    old
                }
                _ => context.memory.update(access, function)?,
            };
            before[0].0[lane] = old as u32;
            before[1].0[lane] = (old >> 32) as u32;
        }
        for (distance, words) in before.iter().enumerate().take(self.bytes as usize / 4) {
            if self.destination != ZERO_REGISTER {
                warp.write(self.destination + distance, mask, words);
            }
        }
        Ok(())
    }
}
