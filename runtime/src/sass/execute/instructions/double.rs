//! Arithmetic of doubles, each in two registers.

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operand::{Adjustment, Operand};
use super::super::super::operation::Operation;
use super::super::super::parts::Parts;
use super::super::constants::Constants;
use super::super::fault::FaultKind;
use super::super::lanes::{LANES, Lanes, lanes_where};
use super::super::operands::{SIGN_BIT, Sign, Target, Word};
use super::super::warp::Warp;
use super::action::{Action, Context, Execute};
use super::exact;
use super::predicate::TestResult;
use super::rounding::{Rounding, canonical_double};
use super::single::Accepted;

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    use Operation as O;
    if !matches!(code.operation, O::Dadd | O::Dmul | O::Dfma | O::Dsetp) {
        return Ok(None);
    }
    let rounding = Rounding::of(code);
    Ok(Some(match code.operation {
        O::Dadd => arithmetic(code, move |operands: [f64; 2]| exact::add(operands, rounding))?,
        O::Dmul => arithmetic(code, move |operands: [f64; 2]| exact::multiply(operands, rounding))?,
        O::Dfma => arithmetic(code, move |operands: [f64; 3]| exact::multiply_add(operands, rounding))?,
        _ => compare(code)?,
    }))
}

/// A double as an operation sees it.
#[derive(Clone, Copy, Debug)]
pub struct Double {
    low: Word,
    high: Word,
    negative: bool,
    absolute: bool,
}

impl Double {
    /// An operand as a double. A number that is written has its upper word in the encoding.
    pub fn new(code: &Code, operand: &Operand) -> Result<Self, CodeError> {
        let word = |distance| Word::at(code, operand, distance, Sign::Single);
        let (low, high) = match operand {
            Operand::Encoded | Operand::Integer(_) => (Word::zero(), Word::new(code, &Operand::Encoded, Sign::Single)?),
            _ => (word(0)?, word(1)?),
        };
        let Adjustment { negative, absolute, .. } = high.adjustment;
        Ok(Self { low: low.unadjusted(), high: high.unadjusted(), negative, absolute })
    }

    /// The value in each lane.
    pub fn read(&self, warp: &Warp, constants: &Constants) -> Result<[f64; LANES], FaultKind> {
        let low = self.low.read(warp, constants)?;
        let mut high = self.high.read(warp, constants)?;
        if self.absolute {
            high = high.map(|word| word & !SIGN_BIT);
        }
        if self.negative {
            high = high.map(|word| word ^ SIGN_BIT);
        }
        Ok(std::array::from_fn(|lane| f64::from_bits(u64::from(high.0[lane]) << 32 | u64::from(low.0[lane]))))
    }
}

/// Writes a double of each lane to a pair of registers.
pub fn write(target: Target, warp: &mut Warp, mask: u32, values: &[u64; LANES]) {
    target.write_at(warp, 0, mask, &Lanes::of(|lane| values[lane] as u32));
    target.write_at(warp, 1, mask, &Lanes::of(|lane| (values[lane] >> 32) as u32));
}

struct Arithmetic<const N: usize, F> {
    target: Target,
    sources: [Double; N],
    function: F,
}

fn arithmetic<const N: usize, F: Fn([f64; N]) -> f64 + Send + Sync + 'static>(
    code: &Code,
    function: F,
) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    // A sum is printed with its operands in the places of a product's first factor and addend.
    let sources: Vec<Double> =
        parts.sources.iter().take(N).map(|operand| Double::new(code, operand)).collect::<Result<_, _>>()?;
    let sources: [Double; N] = sources.try_into().map_err(|_| CodeError::Form(code.text.clone()))?;
    Ok(Box::new(Arithmetic { target: Target::new(code, parts.destination)?, sources, function }))
}

impl<const N: usize, F: Fn([f64; N]) -> f64 + Send + Sync> Execute for Arithmetic<N, F> {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let mut sources = [[0.0; LANES]; N];
        for (values, source) in sources.iter_mut().zip(&self.sources) {
            *values = source.read(warp, context.constants)?;
        }
        let value = |lane: usize| (self.function)(std::array::from_fn(|index| sources[index][lane]));
        write(self.target, warp, mask, &std::array::from_fn(|lane| canonical_double(value(lane))));
        Ok(())
    }
}

struct Comparison {
    sources: [Double; 2],
    accepted: Accepted,
    result: TestResult,
}

fn compare(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of_test(code);
    let source = |index| Double::new(code, parts.source(index)?);
    let (sources, accepted) = ([source(0)?, source(1)?], Accepted::of(code)?);
    Ok(Box::new(Comparison { sources, accepted, result: TestResult::new(code, &parts) }))
}

impl Execute for Comparison {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let left = self.sources[0].read(warp, context.constants)?;
        let right = self.sources[1].read(warp, context.constants)?;
        let holds = lanes_where(|lane| self.accepted.holds(left[lane].partial_cmp(&right[lane])));
        self.result.write(warp, mask, holds);
        Ok(())
    }
}
