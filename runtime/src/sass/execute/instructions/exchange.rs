//! What reads special registers and constants, and what lanes of a warp exchange.

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operand::{Operand, Predicate, Special};
use super::super::super::operation::{Modifier, Operation};
use super::super::super::parts::{Destination, Parts, predicate_of};
use super::super::fault::FaultKind;
use super::super::lanes::{ALL, LANES, Lanes, lanes_of};
use super::super::operands::{Condition, Sign, Target, Word, output_at};
use super::super::warp::Warp;
use super::action::{Action, Context, Execute};

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    use Operation as O;
    Ok(Some(match code.operation {
        O::S2r | O::S2ur | O::Cs2r => special(code)?,
        O::Ldc | O::Uldc => constant(code)?,
        O::R2ur => {
            let parts = Parts::of(code)?;
            let word = Word::new(code, parts.source(0)?, Sign::Integer)?;
            Box::new(ToUniform { target: Target::new(code, parts.destination)?, word })
        }
        O::Shfl => shuffle(code)?,
        O::Vote | O::Voteu => vote(code)?,
        O::B2r => barrier_result(code)?,
        O::Redux => reduction(code)?,
        O::Match => matching(code)?,
        _ => return Ok(None),
    }))
}

struct ReadSpecial {
    target: Target,
    special: Special,
    /// Whether the upper half of a clock is asked for.
    upper: bool,
    words: usize,
}

fn special(code: &Code) -> Result<Action, CodeError> {
    let unknown = || CodeError::Form(code.text.clone());
    let [destination, Operand::Special(special)] = &code.operands[..] else {
        return Err(unknown());
    };
    let target = match destination {
        Operand::Register(register, _) => Target::Register(register.0.into()),
        Operand::Uniform(register, _) => Target::Uniform(register.0.into()),
        _ => return Err(unknown()),
    };
    let is_pair = code.operation == Operation::Cs2r && !code.has(Modifier::Bits32);
    let upper = code.text.contains("CLOCKHI") || code.text.contains("TIMERHI");
    Ok(Box::new(ReadSpecial { target, special: *special, upper, words: if is_pair { 2 } else { 1 } }))
}

impl Execute for ReadSpecial {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let first = (warp.number * LANES) as u32;
        let clock = context.nanoseconds;
        let low = match self.special {
            Special::Thread(0) => Lanes::of(|lane| first + lane as u32),
            Special::Block(0) => Lanes::splat(context.block),
            Special::Thread(_) | Special::Block(_) | Special::BlockOfCluster | Special::Zero => Lanes::ZERO,
            Special::Lane => Lanes::of(|lane| lane as u32),
            Special::LanesBefore => Lanes::of(|lane| (1u32 << lane) - 1),
            Special::Multiprocessor => Lanes::splat(context.block),
            Special::Clock if self.upper => Lanes::splat((clock >> 32) as u32),
            Special::Clock => Lanes::splat(clock as u32),
        };
        self.target.write(warp, mask, &low);
        if self.words > 1 {
            let high = if self.special == Special::Clock { (clock >> 32) as u32 } else { 0 };
            self.target.write_at(warp, 1, mask, &Lanes::splat(high));
        }
        Ok(())
    }
}

struct LoadConstant {
    target: Target,
    words: Vec<Word>,
    narrowing: Option<Narrowing>,
}

/// How many bits of a word are taken, and whether their sign is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Narrowing {
    bits: u32,
    signed: bool,
}

impl Narrowing {
    /// That of an instruction that loads fewer than 32 bits.
    pub fn of(code: &Code) -> Option<Self> {
        let signed = code.has(Modifier::S8) || code.has(Modifier::S16);
        (code.bytes() < 4).then(|| Self { bits: 8 * code.bytes(), signed })
    }

    /// The lower bits of a word.
    pub fn apply(self, word: u32) -> u32 {
        let up = word << (32 - self.bits);
        if self.signed { (up as i32 >> (32 - self.bits)) as u32 } else { up >> (32 - self.bits) }
    }
}

fn constant(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let operand = parts.source(0)?;
    if !matches!(operand, Operand::Constant(..)) {
        return Err(CodeError::Form(code.text.clone()));
    }
    let word = |distance| Word::at(code, operand, distance, Sign::Integer);
    let words = (0..code.bytes().div_ceil(4) as usize).map(word).collect::<Result<_, _>>()?;
    let narrowing = Narrowing::of(code);
    Ok(Box::new(LoadConstant { target: Target::new(code, parts.destination)?, words, narrowing }))
}

impl Execute for LoadConstant {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let mut loaded = [Lanes::ZERO; 4];
        for (place, word) in loaded.iter_mut().zip(&self.words) {
            let words = word.read(warp, context.constants)?;
            *place = self.narrowing.map_or(words, |narrowing| words.map(|word| narrowing.apply(word)));
        }
        for (distance, words) in loaded.iter().enumerate().take(self.words.len()) {
            self.target.write_at(warp, distance, mask, words);
        }
        Ok(())
    }
}

/// The word of the first lane.
struct ToUniform {
    target: Target,
    word: Word,
}

impl Execute for ToUniform {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let words = self.word.read(warp, context.constants)?;
        self.target.write(warp, mask, &words);
        Ok(())
    }
}

/// From which lane a shuffle takes a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Index,
    Butterfly,
    Down,
    Up,
}

struct Shuffle {
    target: Target,
    words: [Word; 3],
    direction: Direction,
    inside: Option<Predicate>,
}

fn shuffle(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let direction = match () {
        () if code.has(Modifier::Idx) => Direction::Index,
        () if code.has(Modifier::Bfly) => Direction::Butterfly,
        () if code.has(Modifier::Down) => Direction::Down,
        () if code.has(Modifier::Up) => Direction::Up,
        () => return Err(CodeError::Form(code.text.clone())),
    };
    let word = |index| Word::new(code, parts.source(index)?, Sign::Integer);
    let (target, words) = (Target::new(code, parts.destination)?, [word(0)?, word(1)?, word(2)?]);
    Ok(Box::new(Shuffle { target, words, direction, inside: output_at(parts.outputs, 0) }))
}

impl Execute for Shuffle {
    /// The rule is that of PTX's `shfl.sync`. A lane that takes no part gives what nothing has written.
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let [source, wanted, bound] = [0, 1, 2].map(|index: usize| self.words[index].read(warp, context.constants));
        let (source, wanted, bound) = (source?, wanted?, bound?);
        let mut inside = 0;
        let result = Lanes::of(|own| {
            let segment = bound.0[own] >> 8 & 0x1f;
            let limit = bound.0[own] & 0x1f;
            let (own, distance) = (own as u32, wanted.0[own] & 0x1f);
            let first = own & segment;
            let last = first | limit & !segment;
            let (from, within) = match self.direction {
                Direction::Index => {
                    let from = first | distance & !segment;
                    (from, from <= last)
                }
                Direction::Butterfly => (own ^ distance, own ^ distance <= last),
                Direction::Down => (own + distance, own + distance <= last),
                Direction::Up => (own.wrapping_sub(distance), own >= distance && own - distance >= last),
            };
            let from = if within { from & 31 } else { own };
            inside |= u32::from(within) << own;
            if mask >> from & 1 == 1 { source.0[from as usize] } else { UNSET }
        });
        self.target.write(warp, mask, &result);
        if let Some(output) = self.inside {
            warp.write_predicate(output, mask, inside);
        }
        Ok(())
    }
}

/// What a shuffle takes from a lane that takes no part: a NaN, and no place of any memory.
const UNSET: u32 = 0xffff_fff1;

struct Vote {
    target: Option<Target>,
    output: Option<Predicate>,
    condition: Condition,
    all: bool,
    /// Whether both lanes that agree on true and on false count.
    equal: bool,
}

fn vote(code: &Code) -> Result<Action, CodeError> {
    let unknown = || CodeError::Form(code.text.clone());
    let (target, rest) = match code.operands.first() {
        Some(Operand::Register(register, _)) => (Some(Destination::Register(*register)), &code.operands[1..]),
        Some(Operand::Uniform(register, _)) => (Some(Destination::Uniform(*register)), &code.operands[1..]),
        _ => (None, &code.operands[..]),
    };
    let target = target.map(|target| Target::new(code, Some(target))).transpose()?;
    let (predicate, negated) = rest.last().and_then(predicate_of).ok_or_else(unknown)?;
    let (all, equal) = (code.has(Modifier::All), code.has(Modifier::Eq));
    if !all && !equal && !code.has(Modifier::Any) {
        return Err(unknown());
    }
    let output = if rest.len() > 1 { output_at(rest, 0) } else { None };
    Ok(Box::new(Vote { target, output, condition: Condition::new(predicate, negated), all, equal }))
}

impl Execute for Vote {
    fn execute(&self, warp: &mut Warp, mask: u32, _: &mut Context<'_>) -> Result<(), FaultKind> {
        let ballot = self.condition.lanes(warp) & mask;
        if let Some(target) = self.target {
            target.write(warp, mask, &Lanes::splat(ballot));
        }
        let holds = match (self.all, self.equal) {
            (true, _) => ballot == mask,
            (false, true) => ballot == mask || ballot == 0,
            (false, false) => ballot != 0,
        };
        if let Some(output) = self.output {
            warp.write_predicate(output, mask, if holds { ALL } else { 0 });
        }
        Ok(())
    }
}

/// What the block's reduction at a barrier gave.
struct BarrierResult {
    outputs: Vec<Predicate>,
}

fn barrier_result(code: &Code) -> Result<Action, CodeError> {
    let [first, rest @ ..] = &code.operands[..] else {
        return Err(CodeError::Form(code.text.clone()));
    };
    let is_zero = matches!(first, Operand::Register(super::super::super::operand::ZERO, _));
    if !code.has(Modifier::Result) || !is_zero {
        return Err(CodeError::Form(code.text.clone()));
    }
    Ok(Box::new(BarrierResult { outputs: rest.iter().filter_map(|one| Some(predicate_of(one)?.0)).collect() }))
}

impl Execute for BarrierResult {
    fn execute(&self, warp: &mut Warp, mask: u32, _: &mut Context<'_>) -> Result<(), FaultKind> {
        let holds = if warp.reduced { ALL } else { 0 };
        for &output in &self.outputs {
            warp.write_predicate(output, mask, holds);
        }
        Ok(())
    }
}

/// A reduction of the words of all lanes, for all of them.
struct Reduction {
    target: Target,
    word: Word,
    function: fn(u32, u32) -> u32,
}

fn reduction(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let signed = code.has(Modifier::S32);
    let function: fn(u32, u32) -> u32 = match () {
        () if code.has(Modifier::Or) => |left, right| left | right,
        () if code.has(Modifier::Xor) => |left, right| left ^ right,
        () if code.has(Modifier::Sum) => u32::wrapping_add,
        () if code.has(Modifier::Min) && signed => |left, right| (left as i32).min(right as i32) as u32,
        () if code.has(Modifier::Max) && signed => |left, right| (left as i32).max(right as i32) as u32,
        () if code.has(Modifier::Min) => u32::min,
        () if code.has(Modifier::Max) => u32::max,
        () => |left, right| left & right,
    };
    let word = Word::new(code, parts.source(0)?, Sign::Integer)?;
    Ok(Box::new(Reduction { target: Target::new(code, parts.destination)?, word, function }))
}

impl Execute for Reduction {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let words = self.word.read(warp, context.constants)?;
        let reduced = lanes_of(mask).map(|lane| words.0[lane]).reduce(self.function).unwrap_or(0);
        self.target.write(warp, mask, &Lanes::splat(reduced));
        Ok(())
    }
}

/// The lanes that have the same word.
struct Matching {
    target: Target,
    words: Vec<Word>,
}

fn matching(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    if !code.has(Modifier::Any) {
        return Err(CodeError::Form(code.text.clone()));
    }
    let operand = parts.source(0)?;
    let count = if code.has(Modifier::U64) { 2 } else { 1 };
    let words = (0..count).map(|distance| Word::at(code, operand, distance, Sign::Integer));
    let words = words.collect::<Result<_, _>>()?;
    Ok(Box::new(Matching { target: Target::new(code, parts.destination)?, words }))
}

impl Execute for Matching {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let mut words = Vec::new();
        for word in &self.words {
            words.push(word.read(warp, context.constants)?);
        }
        let is_same = |one: usize, other: usize| words.iter().all(|word| word.0[one] == word.0[other]);
        let same = |own: usize| lanes_of(mask).filter(|lane| is_same(own, *lane)).fold(0, |all, lane| all | 1 << lane);
        self.target.write(warp, mask, &Lanes::of(same));
        Ok(())
    }
}
