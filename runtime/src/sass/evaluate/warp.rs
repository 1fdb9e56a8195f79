//! The registers of a warp, and how operands are read from them.

use super::super::error::CodeError;
use super::super::instruction::Code;
use super::super::operand::{
    Adjustment, Operand, Part, Predicate, Register, Special, TRUE, UNIFORM_ZERO, UniformRegister, ZERO,
};
use super::bits::Bits;
use super::launch::Launch;
use super::value::{ALL, LANES, Value};

/// Convergence barriers of a warp.
pub const BARRIERS: usize = 16;

/// Why a lane does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneState {
    /// It goes on.
    Runs,
    /// It waits at a convergence barrier.
    Converges(u8),
    /// It waits for other lanes of the warp to come to the same place.
    Meets,
    /// It waits for the block.
    Barrier,
    /// It has ended.
    Exited,
}

/// A warp: registers, and where each lane stands.
#[derive(Clone, Debug)]
pub struct Warp {
    /// Its number in the block.
    pub number: usize,
    /// General registers.
    pub registers: Vec<Value>,
    /// Uniform registers, the same word in each lane.
    pub uniform: Vec<Value>,
    /// Predicates.
    pub predicates: [Bits; 8],
    /// Uniform predicates.
    pub uniform_predicates: [Bits; 8],
    /// Lanes of each convergence barrier.
    pub barriers: [u32; BARRIERS],
    /// The place of each lane in the program.
    pub places: [usize; LANES],
    /// The state of each lane.
    pub states: [LaneState; LANES],
    /// What the block's last reduction at a barrier gave.
    pub reduced: Bits,
}

impl Warp {
    /// A warp that begins at a place.
    pub fn new(number: usize, place: usize) -> Self {
        Self {
            number,
            registers: vec![Value::UNKNOWN; 255],
            uniform: vec![Value::UNKNOWN; 63],
            predicates: [Bits::UNKNOWN; 8],
            uniform_predicates: [Bits::UNKNOWN; 8],
            barriers: [0; BARRIERS],
            places: [place; LANES],
            states: [LaneState::Runs; LANES],
            reduced: Bits::FALSE,
        }
    }

    /// Lanes in a state.
    pub fn lanes(&self, holds: impl Fn(LaneState) -> bool) -> u32 {
        (0..LANES).filter(|lane| holds(self.states[*lane])).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Lanes that have not ended.
    pub fn live(&self) -> u32 {
        self.lanes(|state| state != LaneState::Exited)
    }

    /// A register.
    pub fn register(&self, register: Register) -> Value {
        if register == ZERO { Value::splat(0) } else { self.registers[usize::from(register.0)] }
    }

    /// The register of this distance behind another.
    pub fn register_after(&self, register: Register, distance: u8) -> Value {
        if register == ZERO { Value::splat(0) } else { self.register(Register(register.0.saturating_add(distance))) }
    }

    /// The uniform register of this distance behind another.
    pub fn uniform_register(&self, register: UniformRegister, distance: u8) -> Value {
        let index = usize::from(register.0) + usize::from(distance);
        self.uniform.get(index).copied().unwrap_or(Value::UNKNOWN)
    }

    /// Writes a register in the lanes of `mask`.
    pub fn write(&mut self, register: Register, distance: u8, mask: u32, value: &Value) {
        let index = usize::from(register.0) + usize::from(distance);
        if register != ZERO && index < self.registers.len() {
            self.registers[index].merge(mask, value);
        }
    }

    /// A predicate.
    pub fn predicate(&self, predicate: Predicate, negated: bool) -> Bits {
        let bits = match predicate {
            Predicate::Lane(TRUE) | Predicate::Uniform(TRUE) => Bits::TRUE,
            Predicate::Lane(number) => self.predicates[usize::from(number)],
            Predicate::Uniform(number) => self.uniform_predicates[usize::from(number)],
        };
        if negated { bits.not() } else { bits }
    }

    /// Writes a predicate in the lanes of `mask`.
    pub fn write_predicate(&mut self, predicate: Predicate, mask: u32, bits: Bits) {
        match predicate {
            Predicate::Lane(TRUE) | Predicate::Uniform(TRUE) => {}
            Predicate::Lane(number) => self.predicates[usize::from(number)].merge(mask, bits),
            Predicate::Uniform(number) => self.uniform_predicates[usize::from(number)].merge(ALL, bits),
        }
    }

    /// The word of an operand in each lane, as an integer: adjusted in two's complement.
    pub fn integer(&self, code: &Code, operand: &Operand, launch: &Launch) -> Result<Value, CodeError> {
        self.word(code, operand, 0, launch).map(|(value, adjustment)| adjusted(value, adjustment, u32::wrapping_neg))
    }

    /// The upper word of an operand of 64 bits; not adjusted.
    pub fn upper(&self, code: &Code, operand: &Operand, launch: &Launch) -> Result<Value, CodeError> {
        if let Operand::Integer(value) = operand {
            return Ok(Value::splat((value >> 32) as u32));
        }
        self.word(code, operand, 1, launch).map(|(value, _)| value)
    }

    /// The word of an operand in each lane, as a single: adjusted at its sign.
    pub fn single(&self, code: &Code, operand: &Operand, launch: &Launch) -> Result<Value, CodeError> {
        if matches!(operand, Operand::Encoded) {
            return Ok(Value::splat(code.immediate));
        }
        self.word(code, operand, 0, launch).map(|(value, adjustment)| adjusted(value, adjustment, |word| word ^ SIGN))
    }

    /// The word of an operand, and what is to be done with it.
    pub fn word(
        &self,
        code: &Code,
        operand: &Operand,
        distance: u8,
        launch: &Launch,
    ) -> Result<(Value, Adjustment), CodeError> {
        let plain = Adjustment::default();
        Ok(match operand {
            Operand::Register(register, adjustment) => (self.register_after(*register, distance), *adjustment),
            Operand::Uniform(UNIFORM_ZERO, adjustment) => (Value::splat(0), *adjustment),
            Operand::Uniform(register, adjustment) => (self.uniform_register(*register, distance), *adjustment),
            Operand::Constant(bank, address, adjustment) => {
                let mut offset = Value::splat(address.offset as u32);
                if let Some(register) = address.base {
                    offset = Value::map([&offset, &self.register(register)], |[left, right]| left.wrapping_add(right));
                }
                if let Some(register) = address.uniform.filter(|register| *register != UNIFORM_ZERO) {
                    let uniform = self.uniform_register(register, 0);
                    offset = Value::map([&offset, &uniform], |[left, right]| left.wrapping_add(right));
                }
                (launch.constants(*bank, &offset, u32::from(distance) * 4), *adjustment)
            }
            Operand::Integer(value) => (Value::splat(*value as u32), plain),
            Operand::Encoded => (Value::splat(code.immediate), plain),
            _ => return Err(CodeError::Form(code.text.clone())),
        })
    }

    /// A special register.
    pub fn special(&self, special: Special, launch: &Launch) -> Value {
        let first = (self.number * LANES) as u32;
        match special {
            Special::Thread(0) => Value::of(|lane| first + lane as u32),
            Special::Block(0) => Value::splat(launch.block),
            Special::Thread(_) | Special::Block(_) | Special::BlockOfCluster | Special::Zero => Value::splat(0),
            Special::Lane => Value::of(|lane| lane as u32),
            Special::LanesBefore => Value::of(|lane| (1u32 << lane) - 1),
            Special::Multiprocessor | Special::Clock => Value::UNKNOWN,
        }
    }
}

const SIGN: u32 = 1 << 31;

fn adjusted(value: Value, adjustment: Adjustment, negative: impl Fn(u32) -> u32) -> Value {
    let mut value = value;
    if let Some(part) = adjustment.part {
        value = Value::map([&value], |[word]| match part {
            Part::Half(half) => word >> (16 * half) & 0xffff,
            Part::Byte(byte) => word >> (8 * byte) & 0xff,
        });
    }
    if adjustment.inverted {
        value = Value::map([&value], |[word]| !word);
    }
    if adjustment.absolute {
        value = Value::map([&value], |[word]| word & !SIGN);
    }
    if adjustment.negative {
        value = Value::map([&value], |[word]| negative(word));
    }
    value
}
