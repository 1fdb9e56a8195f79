//! Comparisons of integers, and logic of predicates.

use std::cmp::Ordering;

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operand::{Operand, Predicate};
use super::super::super::operation::{Modifier, Operation};
use super::super::super::parts::Parts;
use super::super::fault::FaultKind;
use super::super::lanes::{LANES, Lanes, lanes_where};
use super::super::operands::{Condition, Sign, Target, Word, output_at};
use super::super::warp::Warp;
use super::action::{Action, Context, Execute};

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    use Operation as O;
    Ok(Some(match code.operation {
        O::Isetp | O::Uisetp => compare(code)?,
        O::Plop3 | O::Uplop3 => logic(code)?,
        O::P2r | O::Up2ur => pack(code)?,
        O::R2p | O::Ur2up => unpack(code)?,
        _ => return Ok(None),
    }))
}

/// How a test is combined with a predicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combination {
    /// Both hold.
    And,
    /// One holds.
    Or,
    /// They differ.
    Xor,
}

impl Combination {
    /// That of an instruction.
    pub fn of(code: &Code) -> Self {
        match () {
            () if code.has(Modifier::Or) => Self::Or,
            () if code.has(Modifier::Xor) => Self::Xor,
            () => Self::And,
        }
    }

    /// The lanes in which the combination of both holds.
    pub fn combine(self, holds: u32, other: u32) -> u32 {
        match self {
            Self::And => holds & other,
            Self::Or => holds | other,
            Self::Xor => holds ^ other,
        }
    }
}

/// What a test does with its result: both outputs, the second for its contrary, each combined with a predicate.
#[derive(Clone, Copy, Debug)]
pub struct TestResult {
    outputs: [Option<Predicate>; 2],
    combination: Combination,
    other: Condition,
}

impl TestResult {
    /// That of an instruction.
    pub fn new(code: &Code, parts: &Parts<'_>) -> Self {
        let combination = Combination::of(code);
        let outputs = [0, 1].map(|index| output_at(parts.outputs, index));
        Self { outputs, combination, other: Condition::at(parts.inputs, 0, Condition::TRUE) }
    }

    /// Writes the lanes in which the test holds.
    #[inline(always)]
    pub fn write(&self, warp: &mut Warp, mask: u32, holds: u32) {
        let other = self.other.lanes(warp);
        for (output, holds) in self.outputs.into_iter().zip([holds, !holds]) {
            let Some(output) = output else { continue };
            warp.write_predicate(output, mask, self.combination.combine(holds, other));
        }
    }
}

/// What a comparison asks of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Never,
    Always,
}

impl Relation {
    fn of(code: &Code) -> Result<Self, CodeError> {
        let found = code.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::Eq => Some(Self::Equal),
            Modifier::Ne => Some(Self::NotEqual),
            Modifier::Lt => Some(Self::Less),
            Modifier::Le => Some(Self::LessOrEqual),
            Modifier::Gt => Some(Self::Greater),
            Modifier::Ge => Some(Self::GreaterOrEqual),
            Modifier::Never => Some(Self::Never),
            Modifier::Always => Some(Self::Always),
            _ => None,
        });
        found.ok_or_else(|| CodeError::Form(code.text.clone()))
    }

    #[inline(always)]
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Never => false,
            Self::Always => true,
        }
    }
}

/// A comparison of integers; of the upper words of longer ones with what the lower words gave.
struct Comparison {
    words: [Word; 2],
    unsigned: bool,
    relation: Relation,
    lower: Option<Condition>,
    result: TestResult,
}

fn compare(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of_test(code);
    let word = |index| Word::new(code, parts.source(index)?, Sign::Integer);
    Ok(Box::new(Comparison {
        words: [word(0)?, word(1)?],
        unsigned: code.has(Modifier::U32),
        relation: Relation::of(code)?,
        lower: code.has(Modifier::Ex).then(|| Condition::at(parts.inputs, 1, Condition::TRUE)),
        result: TestResult::new(code, &parts),
    }))
}

impl Execute for Comparison {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let left = self.words[0].read(warp, context.constants)?;
        let right = self.words[1].read(warp, context.constants)?;
        let holds = match self.unsigned {
            true => lanes_where(|lane| self.relation.holds(left.0[lane].cmp(&right.0[lane]))),
            false => lanes_where(|lane| self.relation.holds((left.0[lane] as i32).cmp(&(right.0[lane] as i32)))),
        };
        let holds = match self.lower {
            None => holds,
            Some(lower) => {
                let equal = lanes_where(|lane| left.0[lane] == right.0[lane]);
                holds & !equal | lower.lanes(warp) & equal
            }
        };
        self.result.write(warp, mask, holds);
        Ok(())
    }
}

/// Functions of three predicates by their tables.
struct Logic {
    inputs: [Condition; 3],
    results: Vec<(Predicate, u32)>,
}

fn logic(code: &Code) -> Result<Action, CodeError> {
    let unknown = || CodeError::Form(code.text.clone());
    let [first, second, a, b, c, tables @ ..] = &code.operands[..] else {
        return Err(unknown());
    };
    let input = |operand| super::super::super::parts::predicate_of(operand).ok_or_else(unknown);
    let inputs = [input(a)?, input(b)?, input(c)?].map(|(predicate, negated)| Condition::new(predicate, negated));
    let mut results = Vec::new();
    for (output, table) in [first, second].into_iter().zip(tables) {
        let (Operand::Integer(table), (output, _)) = (table, input(output)?) else {
            return Err(unknown());
        };
        results.push((output, *table as u32));
    }
    Ok(Box::new(Logic { inputs, results }))
}

impl Execute for Logic {
    fn execute(&self, warp: &mut Warp, mask: u32, _: &mut Context<'_>) -> Result<(), FaultKind> {
        let [a, b, c] = self.inputs.map(|input| input.lanes(warp));
        for &(output, table) in &self.results {
            let entry = |entry: u32| {
                let [a_wanted, b_wanted, c_wanted] = [2, 1, 0].map(|bit| (entry >> bit & 1).wrapping_sub(1));
                (a ^ a_wanted) & (b ^ b_wanted) & (c ^ c_wanted)
            };
            let holds = (0..8).filter(|index| table >> index & 1 == 1).fold(0, |lanes, index| lanes | entry(index));
            warp.write_predicate(output, mask, holds);
        }
        Ok(())
    }
}

/// Predicates that are moved to or from the bits of a word.
struct Moved {
    word: Word,
    numbers: Vec<u8>,
}

fn numbers(selector: u32) -> Vec<u8> {
    (0..7).filter(|number| selector >> number & 1 == 1).collect()
}

/// The kind of predicates that an instruction moves.
fn kind(code: &Code) -> fn(u8) -> Predicate {
    match code.operation {
        Operation::Up2ur | Operation::Ur2up => Predicate::Uniform,
        _ => Predicate::Lane,
    }
}

struct Pack {
    target: Target,
    moved: Moved,
    kind: fn(u8) -> Predicate,
    cleared: u32,
}

fn pack(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let (word, selector) = (Word::new(code, parts.source(1)?, Sign::Integer)?, parts.number(2)?);
    let moved = Moved { word, numbers: numbers(selector) };
    Ok(Box::new(Pack { target: Target::new(code, parts.destination)?, moved, kind: kind(code), cleared: selector }))
}

impl Execute for Pack {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let mut words = self.moved.word.read(warp, context.constants)?.map(|word| word & !self.cleared);
        for &number in &self.moved.numbers {
            let holds = warp.predicate((self.kind)(number), false);
            for lane in 0..LANES {
                words.0[lane] |= (holds >> lane & 1) << number;
            }
        }
        self.target.write(warp, mask, &words);
        Ok(())
    }
}

struct Unpack {
    moved: Moved,
    kind: fn(u8) -> Predicate,
}

fn unpack(code: &Code) -> Result<Action, CodeError> {
    let [Operand::AllPredicates, source, Operand::Integer(selector)] = &code.operands[..] else {
        return Err(CodeError::Form(code.text.clone()));
    };
    let word = Word::new(code, source, Sign::Integer)?;
    Ok(Box::new(Unpack { moved: Moved { word, numbers: numbers(*selector as u32) }, kind: kind(code) }))
}

impl Execute for Unpack {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let words: Lanes = self.moved.word.read(warp, context.constants)?;
        for &number in &self.moved.numbers {
            warp.write_predicate((self.kind)(number), mask, words.mask(|word| word >> number & 1 == 1));
        }
        Ok(())
    }
}
