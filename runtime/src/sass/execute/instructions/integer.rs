//! Integer arithmetic, logic and moves.

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operand::{Adjustment, Predicate};
use super::super::super::operation::{Modifier, Operation};
use super::super::super::parts::Parts;
use super::super::super::words::{extend, permute};
use super::super::fault::FaultKind;
use super::super::lanes::{LANES, Lanes};
use super::super::operands::{Condition, Sign, Target, Word, output_at};
use super::super::warp::Warp;
use super::action::{Action, Context, Execute, Extremum, Pointwise, Select};

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    use Operation as O;
    let integer = Sign::Integer;
    Ok(Some(match code.operation {
        O::Iadd3 | O::Uiadd3 => add(code)?,
        O::Imad | O::Uimad => multiply(code)?,
        O::Lea | O::Ulea => shifted_add(code)?,
        O::Shf | O::Ushf => shift(code)?,
        O::Lop3 | O::Ulop3 => logic(code)?,
        O::Mov | O::Umov => Pointwise::action(code, integer, |[word]: [u32; 1]| word)?,
        O::Iabs => Pointwise::action(code, integer, |[word]: [u32; 1]| (word as i32).unsigned_abs())?,
        O::Popc | O::Upopc => Pointwise::action(code, integer, |[word]: [u32; 1]| word.count_ones())?,
        O::Brev | O::Ubrev => Pointwise::action(code, integer, |[word]: [u32; 1]| word.reverse_bits())?,
        O::Flo | O::Uflo => highest_bit(code)?,
        O::Viadd => Pointwise::action(code, integer, |[left, right]: [u32; 2]| left.wrapping_add(right))?,
        O::Sel | O::Usel => {
            let parts = Parts::of(code)?;
            let word = |index| Word::new(code, parts.source(index)?, integer);
            let (target, words) = (Target::new(code, parts.destination)?, [word(0)?, word(1)?]);
            Box::new(Select { target, words, condition: Condition::at(parts.inputs, 0, Condition::TRUE) })
        }
        O::Imnmx | O::Vimnmx | O::Viaddmnmx | O::Vimnmx3 => extremum(code)?,
        O::Prmt | O::Uprmt => {
            Pointwise::action(code, integer, |[low, selector, high]: [u32; 3]| permute(low, selector, high))?
        }
        O::Sgxt | O::Usgxt => {
            let signed = !code.has(Modifier::U32);
            Pointwise::action(code, integer, move |[word, width]: [u32; 2]| extend(word, width, signed))?
        }
        O::Bmsk | O::Ubmsk => {
            let wraps = code.has(Modifier::W);
            Pointwise::action(code, integer, move |[start, width]: [u32; 2]| bit_mask(start, width, wraps))?
        }
        O::IntegerDot => dot(code)?,
        _ => return Ok(None),
    }))
}

fn highest_bit(code: &Code) -> Result<Action, CodeError> {
    let (signed, distance) = (!code.has(Modifier::U32), code.has(Modifier::Shift));
    Pointwise::action(code, Sign::Integer, move |[word]: [u32; 1]| {
        let word = if signed && (word as i32) < 0 { !word } else { word };
        match (word, distance) {
            (0, _) => u32::MAX,
            (_, true) => word.leading_zeros(),
            (_, false) => 31 - word.leading_zeros(),
        }
    })
}

fn bit_mask(start: u32, width: u32, wraps: bool) -> u32 {
    let (start, width) = if wraps { (start & 31, width & 31) } else { (start.min(32), width.min(32)) };
    ((((1u64 << width) - 1) << start) & u64::from(u32::MAX)) as u32
}

/// The sum of four products of bytes and a word.
fn dot(code: &Code) -> Result<Action, CodeError> {
    if !code.has(Modifier::Dot4) {
        return Err(CodeError::Form(code.text.clone()));
    }
    let types: Vec<bool> = code
        .modifiers
        .iter()
        .filter_map(|modifier| match modifier {
            Modifier::S8 => Some(true),
            Modifier::U8 => Some(false),
            _ => None,
        })
        .collect();
    let &[left_signed, right_signed] = types.as_slice() else {
        return Err(CodeError::Form(code.text.clone()));
    };
    let byte = |word: u32, place: u32, signed: bool| {
        let byte = (word >> (8 * place)) as u8;
        if signed { i32::from(byte as i8) } else { i32::from(byte) }
    };
    Pointwise::action(code, Sign::Integer, move |[left, right, sum]: [u32; 3]| {
        (0..4).fold(sum, |sum, place| {
            let product = byte(left, place, left_signed) * byte(right, place, right_signed);
            sum.wrapping_add(product as u32)
        })
    })
}

fn add(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let mut sources = [Word::zero(); 3];
    for (word, operand) in sources.iter_mut().zip(parts.sources) {
        *word = Word::new(code, operand, Sign::Integer)?;
    }
    let target = Target::new(code, parts.destination)?;
    let outputs = [output_at(parts.outputs, 0), output_at(parts.outputs, 1)];
    let carries = match code.has(Modifier::X) {
        true => [0, 1].map(|index| Condition::at(parts.inputs, index, Condition::FALSE)),
        false => [Condition::FALSE; 2],
    };
    if outputs == [None; 2] && carries == [Condition::FALSE; 2] {
        return Pointwise::of(target, sources, |[a, b, c]: [u32; 3]| a.wrapping_add(b).wrapping_add(c));
    }
    Ok(Box::new(Sum { target, terms: sources.map(Term::of), carries, outputs }))
}

/// A term of a sum whose carry matters. A negative word is its complement plus one, so that the carry is that of the
/// subtraction.
struct Term {
    word: Word,
    complement: bool,
    one: u64,
}

impl Term {
    fn of(word: Word) -> Self {
        let adjustment = word.adjustment;
        let complement = adjustment.negative || adjustment.inverted;
        Self { word: word.unadjusted(), complement, one: adjustment.negative.into() }
    }

    fn read(&self, warp: &Warp, context: &Context<'_>) -> Result<Lanes, FaultKind> {
        let words = self.word.read(warp, context.constants)?;
        Ok(if self.complement { words.map(|word| !word) } else { words })
    }
}

/// A sum of up to three words and two carries, with its own carries.
struct Sum {
    target: Target,
    terms: [Term; 3],
    carries: [Condition; 2],
    outputs: [Option<Predicate>; 2],
}

impl Execute for Sum {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let mut totals = [self.terms.iter().map(|term| term.one).sum::<u64>(); LANES];
        for term in &self.terms {
            let words = term.read(warp, context)?;
            for (total, word) in totals.iter_mut().zip(words.0) {
                *total += u64::from(word);
            }
        }
        for carry in &self.carries {
            let lanes = carry.lanes(warp);
            for (lane, total) in totals.iter_mut().enumerate() {
                *total += u64::from(lanes >> lane & 1);
            }
        }
        self.target.write(warp, mask, &Lanes::of(|lane| totals[lane] as u32));
        for (output, least) in self.outputs.into_iter().zip(1..) {
            if let Some(output) = output {
                let carried = super::super::lanes::lanes_where(|lane| totals[lane] >> 32 >= least);
                warp.write_predicate(output, mask, carried);
            }
        }
        Ok(())
    }
}

fn multiply(code: &Code) -> Result<Action, CodeError> {
    let integer = Sign::Integer;
    if code.has(Modifier::Mov) {
        let parts = Parts::of(code)?;
        let moved = Word::new(code, parts.source(2)?, integer)?;
        return Pointwise::of(Target::new(code, parts.destination)?, [moved], |[word]: [u32; 1]| word);
    }
    let unsigned = code.has(Modifier::U32);
    if code.has(Modifier::Wide) || code.has(Modifier::Hi) {
        return wide_product(code, unsigned);
    }
    if code.has(Modifier::X) {
        let parts = Parts::of(code)?;
        let carry = Condition::at(parts.inputs, 0, Condition::FALSE);
        let word = |index| Word::new(code, parts.source(index)?, integer);
        let (target, words) = (Target::new(code, parts.destination)?, [word(0)?, word(1)?, word(2)?]);
        return Ok(Box::new(ProductWithCarry { target, words, carry }));
    }
    Pointwise::action(code, integer, |[left, right, low]: [u32; 3]| left.wrapping_mul(right).wrapping_add(low))
}

fn widened(left: u32, right: u32, unsigned: bool) -> u64 {
    match unsigned {
        true => u64::from(left) * u64::from(right),
        false => (i64::from(left as i32) * i64::from(right as i32)) as u64,
    }
}

/// A product and a word, and a carry.
struct ProductWithCarry {
    target: Target,
    words: [Word; 3],
    carry: Condition,
}

impl Execute for ProductWithCarry {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let carry = self.carry.lanes(warp);
        let [left, right, low] = [0, 1, 2].map(|index: usize| self.words[index].read(warp, context.constants));
        let (left, right, low) = (left?, right?, low?);
        let result = Lanes::of(|lane| {
            left.0[lane].wrapping_mul(right.0[lane]).wrapping_add(low.0[lane]).wrapping_add(carry >> lane & 1)
        });
        self.target.write(warp, mask, &result);
        Ok(())
    }
}

/// A product of 64 bits plus a pair of words and a carry: both words of the sum, or the upper one.
struct WideProduct {
    target: Target,
    factors: [Word; 2],
    addend: [Word; 2],
    /// Whether the pair is subtracted.
    subtracts: bool,
    unsigned: bool,
    upper_only: bool,
    carry: Condition,
    output: Option<Predicate>,
}

fn wide_product(code: &Code, unsigned: bool) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let word = |index, distance| Word::at(code, parts.source(index)?, distance, Sign::Integer);
    let addend = [word(2, 0)?, word(2, 1)?];
    let adjustment = addend[0].adjustment;
    let (subtracts, output) = (adjustment.negative, output_at(parts.outputs, 0));
    let negative = Adjustment { negative: true, ..Adjustment::default() };
    if adjustment != Adjustment::default() && (adjustment != negative || output.is_some()) {
        return Err(CodeError::Form(code.text.clone()));
    }
    let carry = match code.has(Modifier::X) {
        true => Condition::at(parts.inputs, 0, Condition::FALSE),
        false => Condition::FALSE,
    };
    Ok(Box::new(WideProduct {
        target: Target::new(code, parts.destination)?,
        factors: [word(0, 0)?, word(1, 0)?],
        addend: addend.map(Word::unadjusted),
        subtracts,
        unsigned,
        upper_only: code.has(Modifier::Hi),
        carry,
        output,
    }))
}

impl Execute for WideProduct {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let left = self.factors[0].read(warp, context.constants)?;
        let right = self.factors[1].read(warp, context.constants)?;
        let low = self.addend[0].read(warp, context.constants)?;
        let high = self.addend[1].read(warp, context.constants)?;
        let carry = self.carry.lanes(warp);
        let mut results = [Lanes::ZERO; 2];
        let mut carried = 0;
        for lane in 0..LANES {
            let addend = u64::from(high.0[lane]) << 32 | u64::from(low.0[lane]);
            let addend = if self.subtracts { addend.wrapping_neg() } else { addend };
            let product = widened(left.0[lane], right.0[lane], self.unsigned);
            let total = u128::from(product) + u128::from(addend) + u128::from(carry >> lane & 1);
            results[0].0[lane] = total as u32;
            results[1].0[lane] = (total >> 32) as u32;
            carried |= u32::from(total >> 64 != 0) << lane;
        }
        if self.upper_only {
            self.target.write(warp, mask, &results[1]);
        } else {
            self.target.write_at(warp, 0, mask, &results[0]);
            self.target.write_at(warp, 1, mask, &results[1]);
        }
        if let Some(output) = self.output {
            warp.write_predicate(output, mask, carried);
        }
        Ok(())
    }
}

/// A word shifted left, or its upper half, plus another.
struct ShiftedSum {
    target: Target,
    low: Word,
    upper: Upper,
    addend: Term,
    distance: u32,
    high: bool,
    carry: Condition,
    output: Option<Predicate>,
}

/// The upper word of what is shifted.
enum Upper {
    Word(Word),
    /// The sign of the lower one.
    Sign,
}

fn shifted_add(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let word = |index| Word::new(code, parts.source(index)?, Sign::Integer);
    let high = code.has(Modifier::Hi);
    let upper = match (high, code.has(Modifier::Sx32)) {
        (true, true) => Upper::Sign,
        (true, false) => Upper::Word(word(2)?),
        (false, _) => Upper::Word(Word::zero()),
    };
    let mut addend = Term::of(word(1)?);
    let carry = match code.has(Modifier::X) {
        true => Condition::at(parts.inputs, 0, Condition::FALSE),
        false => Condition::FALSE,
    };
    if code.has(Modifier::X) {
        addend.one = 0;
    }
    Ok(Box::new(ShiftedSum {
        target: Target::new(code, parts.destination)?,
        low: word(0)?,
        upper,
        addend,
        distance: parts.number(parts.sources.len().saturating_sub(1))?.min(31),
        high,
        carry,
        output: output_at(parts.outputs, 0),
    }))
}

impl Execute for ShiftedSum {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let low = self.low.read(warp, context.constants)?;
        let upper = match &self.upper {
            Upper::Word(word) => word.read(warp, context.constants)?,
            Upper::Sign => low.map(|word| (word as i32 >> 31) as u32),
        };
        let addend = self.addend.read(warp, context)?;
        let carry = self.carry.lanes(warp);
        let (high, distance) = (self.high, self.distance);
        let totals: [u64; LANES] = std::array::from_fn(|lane| {
            let both = (u64::from(upper.0[lane]) << 32 | u64::from(low.0[lane])) << distance;
            let shifted = if high { (both >> 32) as u32 } else { both as u32 };
            u64::from(shifted) + u64::from(addend.0[lane]) + self.addend.one + u64::from(carry >> lane & 1)
        });
        self.target.write(warp, mask, &Lanes::of(|lane| totals[lane] as u32));
        if let Some(output) = self.output {
            warp.write_predicate(output, mask, super::super::lanes::lanes_where(|lane| totals[lane] >> 32 != 0));
        }
        Ok(())
    }
}

fn shift(code: &Code) -> Result<Action, CodeError> {
    let (left, wraps, upper) = (code.has(Modifier::Left), code.has(Modifier::W), code.has(Modifier::Hi));
    let wide = code.has(Modifier::U64) || code.has(Modifier::S64);
    let signed = code.has(Modifier::S32) || code.has(Modifier::S64);
    let most = if wide { 64 } else { 32 };
    Pointwise::action(code, Sign::Integer, move |[low, distance, high]: [u32; 3]| {
        let distance = if wraps { distance & (most - 1) } else { distance.min(most) };
        let both = u64::from(high) << 32 | u64::from(low);
        let shifted = match (left, signed) {
            (true, _) => both.checked_shl(distance).unwrap_or(0),
            (false, true) => (both as i64 >> distance.min(63)) as u64,
            (false, false) => both.checked_shr(distance).unwrap_or(0),
        };
        if upper { (shifted >> 32) as u32 } else { shifted as u32 }
    })
}

/// A function of three words bit by bit, by its table, and whether any bit is set.
struct Logic {
    target: Target,
    words: [Word; 3],
    table: u32,
    or: Condition,
    output: Option<Predicate>,
}

fn logic(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let word = |index| Word::new(code, parts.source(index)?, Sign::Integer);
    let (target, words, table) =
        (Target::new(code, parts.destination)?, [word(0)?, word(1)?, word(2)?], parts.number(3)?);
    let output = output_at(parts.outputs, 0);
    let or = Condition::at(parts.inputs, 0, Condition::FALSE);
    Ok(Box::new(Logic { target, words, table, or, output }))
}

impl Execute for Logic {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let [a, b, c] = [0, 1, 2].map(|index: usize| self.words[index].read(warp, context.constants));
        let (a, b, c) = (a?, b?, c?);
        let mut result = Lanes::ZERO;
        for entry in (0..8u32).filter(|entry| self.table >> entry & 1 == 1) {
            let [a_wanted, b_wanted, c_wanted] = [2, 1, 0].map(|bit| (entry >> bit & 1).wrapping_sub(1));
            for lane in 0..LANES {
                result.0[lane] |= (a.0[lane] ^ a_wanted) & (b.0[lane] ^ b_wanted) & (c.0[lane] ^ c_wanted);
            }
        }
        let or = self.or.lanes(warp);
        self.target.write(warp, mask, &result);
        if let Some(output) = self.output {
            warp.write_predicate(output, mask, result.mask(|word| word != 0) | or);
        }
        Ok(())
    }
}

/// The smallest or largest of two words, of a sum and a word, or of three words; with a limit nothing below zero.
fn extremum(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let (unsigned, limited) = (code.has(Modifier::U32), code.has(Modifier::Relu));
    let word = |index| Word::new(code, parts.source(index)?, Sign::Integer);
    let target = Target::new(code, parts.destination)?;
    let smaller = Condition::at(parts.inputs, 0, Condition::TRUE);
    let ordered = move |left: u32, right: u32| {
        let is_smaller = if unsigned { left < right } else { (left as i32) < right as i32 };
        if is_smaller { [left, right] } else { [right, left] }
    };
    let limit = move |words: [u32; 2]| if limited { words.map(|word| (word as i32).max(0) as u32) } else { words };
    Ok(match code.operation {
        Operation::Viaddmnmx => {
            let function = move |[left, right, last]: [u32; 3]| limit(ordered(left.wrapping_add(right), last));
            Box::new(Extremum { target, sources: [word(0)?, word(1)?, word(2)?], smaller, function })
        }
        Operation::Vimnmx3 => {
            let function = move |[left, right, last]: [u32; 3]| {
                let [least, most] = ordered(left, right);
                limit([ordered(least, last)[0], ordered(most, last)[1]])
            };
            Box::new(Extremum { target, sources: [word(0)?, word(1)?, word(2)?], smaller, function })
        }
        _ => {
            let function = move |[left, right]: [u32; 2]| limit(ordered(left, right));
            Box::new(Extremum { target, sources: [word(0)?, word(1)?], smaller, function })
        }
    })
}
