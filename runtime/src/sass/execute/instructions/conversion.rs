//! Conversions between integers, singles, doubles and halves, and rounding to whole numbers.

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operand::Operand;
use super::super::super::operation::{Modifier, Operation};
use super::super::super::parts::Parts;
use super::super::constants::Constants;
use super::super::fault::FaultKind;
use super::super::lanes::{LANES, Lanes};
use super::super::operands::{Sign, Target, Word};
use super::super::warp::Warp;
use super::action::{Action, Context, Execute};
use super::double::{Double, write};
use super::exact::{Exact, Layout};
use super::half::format::HalfFormat;
use super::rounding::{Rounding, canonical, canonical_double, flushed, narrowed};

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    use Operation as O;
    let conversion = match code.operation {
        O::I2f | O::I2fp => from_integer(code)?,
        O::F2i => to_integer(code)?,
        O::F2f => between(code)?,
        O::Frnd => {
            let format = Format::named(code).next().unwrap_or(Format::Single);
            Conversion::new(code, Kind::Float(format), Kind::Float(format), Some(whole(code)))?
        }
        _ => return Ok(None),
    };
    Ok(Some(Box::new(conversion)))
}

/// A format of floating-point numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Half(HalfFormat),
    Single,
    Double,
}

impl Format {
    fn layout(self) -> Layout {
        match self {
            Self::Half(HalfFormat::Half) => Layout::HALF,
            Self::Half(HalfFormat::Bfloat) => Layout::BFLOAT,
            Self::Single => Layout::SINGLE,
            Self::Double => Layout::DOUBLE,
        }
    }

    /// Those that an instruction names, in order.
    fn named(code: &Code) -> impl Iterator<Item = Self> {
        code.modifiers.iter().filter_map(|modifier| match modifier {
            Modifier::F16 => Some(Self::Half(HalfFormat::Half)),
            Modifier::Bf16 => Some(Self::Half(HalfFormat::Bfloat)),
            Modifier::F32 => Some(Self::Single),
            Modifier::F64 => Some(Self::Double),
            _ => None,
        })
    }
}

/// A type of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Integer {
    bits: u32,
    signed: bool,
}

impl Integer {
    fn named(code: &Code) -> Option<Self> {
        code.modifiers.iter().find_map(|modifier| {
            let (bits, signed) = match modifier {
                Modifier::U8 => (8, false),
                Modifier::S8 => (8, true),
                Modifier::U16 => (16, false),
                Modifier::S16 => (16, true),
                Modifier::U32 => (32, false),
                Modifier::S32 => (32, true),
                Modifier::U64 => (64, false),
                Modifier::S64 => (64, true),
                _ => return None,
            };
            Some(Self { bits, signed })
        })
    }

    fn least(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    fn most(self) -> i128 {
        (1 << (self.bits - u32::from(self.signed))) - 1
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Float(Format),
    Integer(Integer),
}

/// To which whole number a value is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whole {
    Nearest,
    Down,
    Up,
    Zero,
}

fn whole(code: &Code) -> Whole {
    match () {
        () if code.has(Modifier::Floor) => Whole::Down,
        () if code.has(Modifier::Ceil) => Whole::Up,
        () if code.has(Modifier::Trunc) => Whole::Zero,
        () => Whole::Nearest,
    }
}

impl Whole {
    fn of(self, value: f64) -> f64 {
        match self {
            Self::Nearest => value.round_ties_even(),
            Self::Down => value.floor(),
            Self::Up => value.ceil(),
            Self::Zero => value.trunc(),
        }
    }
}

/// A value of one kind as one of another.
struct Conversion {
    target: Target,
    source: Read,
    from: Kind,
    to: Kind,
    whole: Option<Whole>,
    rounding: Rounding,
    flushes: bool,
}

/// Where a value is read.
enum Read {
    Word(Word),
    Pair([Word; 2]),
    Double(Double),
}

/// A value in between: every number of every kind is one of both.
#[derive(Clone, Copy)]
enum Value {
    Float(f64),
    Integer(i128),
}

impl Conversion {
    fn new(code: &Code, from: Kind, to: Kind, whole: Option<Whole>) -> Result<Self, CodeError> {
        let parts = Parts::of(code)?;
        let operand = parts.source(0)?;
        let source = match from {
            Kind::Float(Format::Double) => Read::Double(Double::new(code, operand)?),
            Kind::Float(Format::Half(_)) => Read::Word(Word::new(code, operand, Sign::Halves)?),
            Kind::Float(Format::Single) => Read::Word(Word::new(code, operand, Sign::Single)?),
            // Of a number of 64 bits that is written the upper word is, as of a double.
            Kind::Integer(Integer { bits: 64, .. }) if matches!(operand, Operand::Integer(_) | Operand::Encoded) => {
                Read::Pair([Word::zero(), Word::new(code, operand, Sign::Integer)?])
            }
            Kind::Integer(Integer { bits: 64, .. }) => {
                let word = |distance| Word::at(code, operand, distance, Sign::Integer);
                Read::Pair([word(0)?, word(1)?])
            }
            Kind::Integer(_) => Read::Word(Word::new(code, operand, Sign::Integer)?),
        };
        let target = Target::new(code, parts.destination)?;
        let (rounding, flushes) = (Rounding::of(code), code.has(Modifier::Ftz));
        Ok(Self { target, source, from, to, whole, rounding, flushes })
    }

    fn read(&self, warp: &Warp, constants: &Constants) -> Result<[Value; LANES], FaultKind> {
        let of_word = |word: u32| match self.from {
            Kind::Float(Format::Half(format)) => Value::Float(format.decode(word as u16)),
            Kind::Float(_) => Value::Float(f32::from_bits(if self.flushes { flushed(word) } else { word }).into()),
            Kind::Integer(Integer { bits, signed }) => {
                let up = word << (32 - bits.min(32));
                let down = 32 - bits.min(32);
                Value::Integer(if signed { i128::from(up as i32 >> down) } else { i128::from(up >> down) })
            }
        };
        match &self.source {
            Read::Word(word) => {
                let words = word.read(warp, constants)?;
                Ok(words.0.map(of_word))
            }
            Read::Pair([low, high]) => {
                let (low, high) = (low.read(warp, constants)?, high.read(warp, constants)?);
                let signed = matches!(self.from, Kind::Integer(Integer { signed: true, .. }));
                Ok(std::array::from_fn(|lane| {
                    let both = u64::from(high.0[lane]) << 32 | u64::from(low.0[lane]);
                    Value::Integer(if signed { i128::from(both as i64) } else { i128::from(both) })
                }))
            }
            Read::Double(double) => Ok(double.read(warp, constants)?.map(Value::Float)),
        }
    }

    fn convert(&self, value: Value) -> u64 {
        match (value, self.to) {
            (Value::Float(value), Kind::Integer(integer)) => self.integer(value, integer),
            (Value::Integer(value), Kind::Float(format)) => {
                Exact::of_integer(value).rounded(format.layout(), self.rounding)
            }
            (Value::Float(value), Kind::Float(format)) => {
                let value = self.whole.map_or(value, |whole| whole.of(value));
                self.float(value, format)
            }
            (Value::Integer(value), Kind::Integer(_)) => value as u64,
        }
    }

    /// What is outside of the type is its nearest number. NaN is 0 of singles, and of doubles and in 64 bits the number whose
    /// upper bit alone is set (CUDA Math API, type casting intrinsics).
    fn integer(&self, value: f64, integer: Integer) -> u64 {
        if value.is_nan() {
            let from_single = self.from != Kind::Float(Format::Double);
            return if integer.bits < 64 && from_single { 0 } else { 1 << (integer.bits - 1) };
        }
        let rounded = self.whole.unwrap_or(Whole::Nearest).of(value);
        // The cast saturates, and every number of 64 bits is one of 128.
        (rounded as i128).clamp(integer.least(), integer.most()) as u64
    }

    fn float(&self, value: f64, format: Format) -> u64 {
        match format {
            Format::Double if value.is_nan() && self.from != Kind::Float(Format::Double) => WIDENED_NAN,
            Format::Double => canonical_double(value),
            Format::Single => {
                let word = canonical(narrowed(value, self.rounding));
                u64::from(if self.flushes { flushed(word) } else { word })
            }
            Format::Half(format) => format.encode(value, self.rounding).into(),
        }
    }
}

/// The NaN that a single or a half is as a double: that of singles with zeros behind it, as NVRTC computes it.
const WIDENED_NAN: u64 = 0x7fff_ffff_e000_0000;

impl Execute for Conversion {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let results = self.read(warp, context.constants)?.map(|value| self.convert(value));
        match self.to {
            Kind::Float(Format::Double) | Kind::Integer(Integer { bits: 64, .. }) => {
                write(self.target, warp, mask, &results);
            }
            _ => self.target.write(warp, mask, &Lanes::of(|lane| results[lane] as u32)),
        }
        Ok(())
    }
}

/// The integer's type is named where it is not the signed word.
fn from_integer(code: &Code) -> Result<Conversion, CodeError> {
    let format = Format::named(code).next().unwrap_or(Format::Single);
    let integer = Integer::named(code).unwrap_or(Integer { bits: 32, signed: true });
    Conversion::new(code, Kind::Integer(integer), Kind::Float(format), None)
}

fn to_integer(code: &Code) -> Result<Conversion, CodeError> {
    let format = Format::named(code).next().unwrap_or(Format::Single);
    let integer = Integer::named(code).unwrap_or(Integer { bits: 32, signed: true });
    Conversion::new(code, Kind::Float(format), Kind::Integer(integer), Some(whole(code)))
}

/// Both formats are named, that of the result first; a directed conversion that names whole numbers rounds to them.
fn between(code: &Code) -> Result<Conversion, CodeError> {
    let named: Vec<Format> = Format::named(code).collect();
    let &[to, from] = named.as_slice() else {
        return Err(CodeError::Form(code.text.clone()));
    };
    let rounds = [Modifier::Floor, Modifier::Ceil, Modifier::Trunc].iter().any(|modifier| code.has(*modifier));
    Conversion::new(code, Kind::Float(from), Kind::Float(to), rounds.then(|| whole(code)))
}
