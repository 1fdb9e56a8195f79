//! Arithmetic of singles.

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operation::{Modifier, Operation};
use super::super::super::parts::Parts;
use super::super::fault::FaultKind;
use super::super::lanes::{LANES, Lanes, lanes_where};
use super::super::operands::{Condition, Sign, Target, Word};
use super::super::warp::Warp;
use super::action::{Action, Context, Execute, Extremum, Pointwise, Select};
use super::predicate::{Combination, TestResult};
use super::rounding::{SingleMode, canonical, extremes};

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    use Operation as O;
    let single = Sign::Single;
    let mode = SingleMode::of(code);
    Ok(Some(match code.operation {
        O::Fadd if mode.is_plain() => Pointwise::action(code, single, |[left, right]: [u32; 2]| {
            canonical(f32::from_bits(left) + f32::from_bits(right))
        })?,
        O::Fmul if mode.is_plain() => Pointwise::action(code, single, |[left, right]: [u32; 2]| {
            canonical(f32::from_bits(left) * f32::from_bits(right))
        })?,
        O::Ffma if mode.is_plain() => multiply_add(code)?,
        O::Fadd => Pointwise::action(code, single, move |words: [u32; 2]| mode.add(words))?,
        O::Fmul => Pointwise::action(code, single, move |words: [u32; 2]| mode.multiply(words))?,
        O::Ffma => Pointwise::action(code, single, move |words: [u32; 3]| mode.multiply_add(words))?,
        O::Fmnmx => extremum(code, mode)?,
        O::Fsel => {
            let parts = Parts::of(code)?;
            let word = |index| Word::new(code, parts.source(index)?, single);
            let (target, words) = (Target::new(code, parts.destination)?, [word(0)?, word(1)?]);
            Box::new(Select { target, words, condition: Condition::at(parts.inputs, 0, Condition::TRUE) })
        }
        O::Fsetp => compare(code, mode)?,
        O::Fset => compare_to_word(code, mode)?,
        O::Fchk => check_division(code)?,
        _ => return Ok(None),
    }))
}

/// Products plus sums, each rounded once.
struct MultiplyAdd {
    target: Target,
    words: [Word; 3],
}

fn multiply_add(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let word = |index| Word::new(code, parts.source(index)?, Sign::Single);
    Ok(Box::new(MultiplyAdd { target: Target::new(code, parts.destination)?, words: [word(0)?, word(1)?, word(2)?] }))
}

impl Execute for MultiplyAdd {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let [left, right, addend] = [0, 1, 2].map(|index: usize| self.words[index].read(warp, context.constants));
        let result = super::fused::multiply_add(&left?, &right?, &addend?);
        self.target.write(warp, mask, &result);
        Ok(())
    }
}

fn extremum(code: &Code, mode: SingleMode) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let word = |index| Word::new(code, parts.source(index)?, Sign::Single);
    let propagates = code.has(Modifier::Nan);
    let function = move |[left, right]: [u32; 2]| {
        let [left, right] = [left, right].map(|word| mode.operand(word).to_bits());
        extremes(left, right, propagates)
    };
    Ok(Box::new(Extremum {
        target: Target::new(code, parts.destination)?,
        sources: [word(0)?, word(1)?],
        smaller: Condition::at(parts.inputs, 0, Condition::TRUE),
        function,
    }))
}

/// Which results of a comparison count: less, equal, greater, and that there is no order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accepted {
    less: bool,
    equal: bool,
    greater: bool,
    unordered: bool,
}

impl Accepted {
    /// Those of an instruction.
    pub fn of(code: &Code) -> Result<Self, CodeError> {
        let accepted = |less, equal, greater, unordered| Self { less, equal, greater, unordered };
        let found = code.modifiers.iter().find_map(|modifier| {
            Some(match modifier {
                Modifier::Eq => accepted(false, true, false, false),
                Modifier::Ne => accepted(true, false, true, false),
                Modifier::Lt => accepted(true, false, false, false),
                Modifier::Le => accepted(true, true, false, false),
                Modifier::Gt => accepted(false, false, true, false),
                Modifier::Ge => accepted(false, true, true, false),
                Modifier::Equ => accepted(false, true, false, true),
                Modifier::Neu => accepted(true, false, true, true),
                Modifier::Ltu => accepted(true, false, false, true),
                Modifier::Leu => accepted(true, true, false, true),
                Modifier::Gtu => accepted(false, false, true, true),
                Modifier::Geu => accepted(false, true, true, true),
                Modifier::Num => accepted(true, true, true, false),
                Modifier::Nan => accepted(false, false, false, true),
                Modifier::Never => accepted(false, false, false, false),
                Modifier::Always => accepted(true, true, true, true),
                _ => return None,
            })
        });
        found.ok_or_else(|| CodeError::Form(code.text.clone()))
    }

    /// Whether this result does.
    #[inline(always)]
    pub fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
        match order {
            None => self.unordered,
            Some(std::cmp::Ordering::Less) => self.less,
            Some(std::cmp::Ordering::Equal) => self.equal,
            Some(std::cmp::Ordering::Greater) => self.greater,
        }
    }
}

struct Comparison {
    words: [Word; 2],
    mode: SingleMode,
    accepted: Accepted,
    result: TestResult,
}

fn compare(code: &Code, mode: SingleMode) -> Result<Action, CodeError> {
    let parts = Parts::of_test(code);
    let word = |index| Word::new(code, parts.source(index)?, Sign::Single);
    let (words, accepted) = ([word(0)?, word(1)?], Accepted::of(code)?);
    Ok(Box::new(Comparison { words, mode, accepted, result: TestResult::new(code, &parts) }))
}

impl Execute for Comparison {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let left = self.words[0].read(warp, context.constants)?;
        let right = self.words[1].read(warp, context.constants)?;
        let single = |words: &Lanes, lane: usize| self.mode.operand(words.0[lane]);
        let order = |lane| single(&left, lane).partial_cmp(&single(&right, lane));
        self.result.write(warp, mask, lanes_where(|lane| self.accepted.holds(order(lane))));
        Ok(())
    }
}

/// A comparison whose result is a word: all bits, or the number one.
struct ComparisonWord {
    target: Target,
    words: [Word; 2],
    mode: SingleMode,
    accepted: Accepted,
    combination: Combination,
    other: Condition,
    yes: u32,
}

fn compare_to_word(code: &Code, mode: SingleMode) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let word = |index| Word::new(code, parts.source(index)?, Sign::Single);
    Ok(Box::new(ComparisonWord {
        target: Target::new(code, parts.destination)?,
        words: [word(0)?, word(1)?],
        mode,
        accepted: Accepted::of(code)?,
        combination: Combination::of(code),
        other: Condition::at(parts.inputs, 0, Condition::TRUE),
        yes: if code.has(Modifier::Boolean) { 1f32.to_bits() } else { u32::MAX },
    }))
}

impl Execute for ComparisonWord {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let left = self.words[0].read(warp, context.constants)?;
        let right = self.words[1].read(warp, context.constants)?;
        let single = |words: &Lanes, lane: usize| self.mode.operand(words.0[lane]);
        let order = |lane| single(&left, lane).partial_cmp(&single(&right, lane));
        let holds = lanes_where(|lane| self.accepted.holds(order(lane)));
        let holds = self.combination.combine(holds, self.other.lanes(warp));
        self.target.write(warp, mask, &Lanes::of(|lane| if holds >> lane & 1 == 1 { self.yes } else { 0 }));
        Ok(())
    }
}

/// Whether a quotient takes more than a reciprocal and corrections.
struct DivisionCheck {
    words: [Word; 2],
    output: super::super::super::operand::Predicate,
}

fn check_division(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of_test(code);
    let word = |index| Word::new(code, parts.source(index)?, Sign::Single);
    let output = super::super::operands::output_at(parts.outputs, 0);
    let output = output.ok_or_else(|| CodeError::Form(code.text.clone()))?;
    Ok(Box::new(DivisionCheck { words: [word(0)?, word(1)?], output }))
}

impl Execute for DivisionCheck {
    /// Which quotients do is not documented. These do wherever a step of the short way could leave the normal numbers; both ways
    /// give the same quotient elsewhere.
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let left = self.words[0].read(warp, context.constants)?;
        let right = self.words[1].read(warp, context.constants)?;
        let exponent = |word: u32| (word >> 23 & 0xff) as i32;
        let is_long = |lane: usize| {
            let (above, below) = (exponent(left.0[lane]), exponent(right.0[lane]));
            let is_ordinary = (1..255).contains(&above) && (1..253).contains(&below);
            !is_ordinary || !(-125..=126).contains(&(above - below)) || above < 25
        };
        warp.write_predicate(self.output, mask, (0..LANES).fold(0, |all, lane| all | u32::from(is_long(lane)) << lane));
        Ok(())
    }
}
