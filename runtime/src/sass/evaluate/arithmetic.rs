//! Integer arithmetic, logic and moves: what trip counts and addresses are made of.

use super::super::error::CodeError;
use super::super::instruction::Code;
use super::super::operand::Operand;
use super::super::operation::{Modifier, Operation};
use super::super::parts::predicate_of;
use super::super::words::{extend, permute};
use super::bits::{Bits, first_unknown};
use super::form::Form;
use super::launch::Launch;
use super::term::Name;
use super::value::{ALL, Value};
use super::warp::Warp;

/// Executes an instruction in the lanes of `mask`; false if it is of another kind.
pub fn execute(warp: &mut Warp, code: &Code, mask: u32, launch: &Launch) -> Result<bool, CodeError> {
    use Operation as O;
    let form = || Form::new(code, launch);
    match code.operation {
        O::Iadd3 | O::Uiadd3 => add(warp, code, mask, &form()?, launch)?,
        O::Imad | O::Uimad => multiply(warp, code, mask, &form()?)?,
        O::Lea | O::Ulea => shifted_add(warp, code, mask, &form()?, launch)?,
        O::Shf | O::Ushf => shift(warp, code, mask, &form()?)?,
        O::Lop3 | O::Ulop3 => logic(warp, mask, &form()?)?,
        O::Mov | O::Umov => {
            let form = form()?;
            let value = form.integer(warp, 0)?;
            form.write(warp, 0, mask, &value);
        }
        O::Iabs => map1(warp, mask, &form()?, |word| (word as i32).unsigned_abs())?,
        O::Popc | O::Upopc => map1(warp, mask, &form()?, u32::count_ones)?,
        O::Brev | O::Ubrev => map1(warp, mask, &form()?, u32::reverse_bits)?,
        O::Flo | O::Uflo => map1(warp, mask, &form()?, highest_bit)?,
        O::Viadd => {
            let form = form()?;
            let (left, right) = (form.integer(warp, 0)?, form.integer(warp, 1)?);
            let sum = Value::map([&left, &right], |[left, right]| left.wrapping_add(right));
            form.write(warp, 0, mask, &sum);
        }
        O::Sel | O::Usel | O::Fsel => {
            let form = form()?;
            let (left, right) = match code.operation {
                O::Fsel => (form.single(warp, 0)?, form.single(warp, 1)?),
                _ => (form.integer(warp, 0)?, form.integer(warp, 1)?),
            };
            let chosen = select(form.input(warp, 0), &left, &right);
            form.write(warp, 0, mask, &chosen);
        }
        O::Imnmx | O::Vimnmx | O::Viaddmnmx | O::Vimnmx3 => extremum(warp, code, mask, &form()?)?,
        O::Prmt | O::Uprmt => {
            let form = form()?;
            let (low, selector, high) = (form.integer(warp, 0)?, form.integer(warp, 1)?, form.integer(warp, 2)?);
            let mut value = Value::map([&low, &selector, &high], |[low, selector, high]| permute(low, selector, high));
            if value.known != ALL && selector.known == ALL {
                let partly = Value::of_bits(value.polled, |lane| {
                    let permuted =
                        |of: fn(&Value, usize) -> u32| permute(of(&low, lane), selector.lanes[lane], of(&high, lane));
                    (permuted(Value::word), permuted(Value::known_bits))
                });
                value = Value { ordinary: value.ordinary, ..partly };
            }
            form.write(warp, 0, mask, &value);
        }
        O::Sgxt | O::Usgxt => {
            let form = form()?;
            let (value, width) = (form.integer(warp, 0)?, form.integer(warp, 1)?);
            let signed = !code.has(Modifier::U32);
            let value = Value::map([&value, &width], |[word, width]| extend(word, width, signed));
            form.write(warp, 0, mask, &value);
        }
        O::Isetp | O::Uisetp => compare(warp, code, mask, &Form::of_test(code, launch))?,
        O::Plop3 | O::Uplop3 => predicate_logic(warp, code, mask)?,
        O::P2r => pack_predicates(warp, mask, &form()?)?,
        O::R2p => unpack_predicates(warp, code, mask, launch)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn map1(warp: &mut Warp, mask: u32, form: &Form<'_>, function: impl Fn(u32) -> u32) -> Result<(), CodeError> {
    let source = form.integer(warp, 0)?;
    let value = Value::map([&source], |[word]| function(word));
    form.write(warp, 0, mask, &value);
    Ok(())
}

fn highest_bit(word: u32) -> u32 {
    if word == 0 { u32::MAX } else { 31 - word.leading_zeros() }
}

/// The left word where the predicate holds, the right one elsewhere.
pub fn select(condition: Bits, left: &Value, right: &Value) -> Value {
    let (yes, no) = (condition.set & condition.known, !condition.set & condition.known);
    let chosen = |lane: usize| if yes >> lane & 1 == 1 { left } else { right };
    let lanes = std::array::from_fn(|lane| chosen(lane).lanes[lane]);
    let decided = |lane: usize| (yes | no) >> lane & 1 == 1;
    let names = std::array::from_fn(|lane| if decided(lane) { chosen(lane).names[lane] } else { Name::NONE });
    let known = yes & left.known | no & right.known;
    let polled = (condition.polled | yes & left.polled | no & right.polled) & !known;
    let ordinary = first_unknown(known).and_then(|lane| {
        let chosen = if condition.ordinary_bit(lane)? { left } else { right };
        Value::ordinary_words([chosen], known).map(|[word]| word)
    });
    Value { lanes, names, known, lower: known, polled, ordinary }
}

/// A sum of up to three words and two carries. A negative word is its complement plus one, so that the carry is that of the
/// subtraction.
fn add(warp: &mut Warp, code: &Code, mask: u32, form: &Form<'_>, launch: &Launch) -> Result<(), CodeError> {
    let mut words = [Value::splat(0); 3];
    let mut ones = 0u64;
    for (word, operand) in words.iter_mut().zip(form.sources) {
        let (value, adjustment) = warp.word(code, operand, 0, launch)?;
        let complement = adjustment.negative || adjustment.inverted;
        *word = if complement { Value::map([&value], |[word]| !word) } else { value };
        ones += u64::from(adjustment.negative);
    }
    let carries = if code.has(Modifier::X) { [form.input(warp, 0), form.input(warp, 1)] } else { [Bits::FALSE; 2] };
    let carries = carries.map(as_value);
    let total =
        |[a, b, c, d, e]: [u32; 5]| u64::from(a) + u64::from(b) + u64::from(c) + u64::from(d) + u64::from(e) + ones;
    let sources = [&words[0], &words[1], &words[2], &carries[0], &carries[1]];
    let sum = Value::map(sources, |words| total(words) as u32);
    let carried = [1, 2].map(|least| Bits::test(sources, |words| total(words) >> 32 >= least));
    form.write(warp, 0, mask, &sum);
    for (index, bits) in carried.into_iter().enumerate() {
        form.output(warp, index, mask, bits);
    }
    Ok(())
}

fn as_value(bits: Bits) -> Value {
    let lanes = std::array::from_fn(|lane| bits.set >> lane & 1);
    Value {
        lanes,
        known: bits.known,
        lower: bits.known,
        polled: bits.polled,
        ordinary: bits.ordinary.map(u32::from),
        ..Value::UNKNOWN
    }
}

fn multiply(warp: &mut Warp, code: &Code, mask: u32, form: &Form<'_>) -> Result<(), CodeError> {
    let (left, right, low) = (form.integer(warp, 0)?, form.integer(warp, 1)?, form.integer(warp, 2)?);
    if code.has(Modifier::Mov) {
        form.write(warp, 0, mask, &low);
        return Ok(());
    }
    let unsigned = code.has(Modifier::U32);
    let product = move |left: u32, right: u32| match unsigned {
        true => u64::from(left) * u64::from(right),
        false => (i64::from(left as i32) * i64::from(right as i32)) as u64,
    };
    let (wide, high) = (code.has(Modifier::Wide), code.has(Modifier::Hi));
    if !wide && !high {
        // A product with zero is known whatever the other factor is.
        let zero = |value: &Value| value.uniform(ALL) == Some(0);
        let (left, right) =
            if zero(&left) || zero(&right) { (Value::splat(0), right_or_zero(&right)) } else { (left, right) };
        let carry = if code.has(Modifier::X) { as_value(form.input(warp, 0)) } else { Value::splat(0) };
        let value = Value::map([&left, &right, &low, &carry], |[left, right, low, carry]| {
            left.wrapping_mul(right).wrapping_add(low).wrapping_add(carry)
        });
        form.write(warp, 0, mask, &value);
        return Ok(());
    }
    let upper = form.upper(warp, 2)?;
    let sources = [&left, &right, &low, &upper];
    let total = move |[left, right, low, upper]: [u32; 4]| {
        u128::from(product(left, right)) + u128::from(u64::from(upper) << 32 | u64::from(low))
    };
    let lower_word = Value::map(sources, |words| total(words) as u32);
    let upper_word = Value::map(sources, |words| (total(words) >> 32) as u32);
    let carry = Bits::test(sources, |words| total(words) >> 64 != 0);
    if wide {
        form.write(warp, 0, mask, &lower_word);
        form.write(warp, 1, mask, &upper_word);
    } else {
        form.write(warp, 0, mask, &upper_word);
    }
    form.output(warp, 0, mask, carry);
    Ok(())
}

fn right_or_zero(right: &Value) -> Value {
    if right.known == ALL { *right } else { Value::splat(0) }
}

fn shifted_add(warp: &mut Warp, code: &Code, mask: u32, form: &Form<'_>, launch: &Launch) -> Result<(), CodeError> {
    let high = code.has(Modifier::Hi);
    let (left, (addend, adjustment)) = (form.integer(warp, 0)?, warp.word(code, form.source(1)?, 0, launch)?);
    let sign = code.has(Modifier::Sx32);
    let upper = match (high, sign) {
        (true, true) => Value::map([&left], |[word]| (word as i32 >> 31) as u32),
        (true, false) => form.integer(warp, 2)?,
        (false, _) => Value::splat(0),
    };
    let distance = form.number(form.sources.len() - 1)?.min(31);
    let addend =
        if adjustment.negative || adjustment.inverted { Value::map([&addend], |[word]| !word) } else { addend };
    let carry = if code.has(Modifier::X) {
        as_value(form.input(warp, 0))
    } else {
        Value::splat(u32::from(adjustment.negative))
    };
    let shifted = move |left: u32, upper: u32| {
        let both = (u64::from(upper) << 32 | u64::from(left)) << distance;
        if high { (both >> 32) as u32 } else { both as u32 }
    };
    let sources = [&left, &upper, &addend, &carry];
    let total = move |[left, upper, addend, carry]: [u32; 4]| {
        u64::from(shifted(left, upper)) + u64::from(addend) + u64::from(carry)
    };
    let sum = Value::map(sources, |words| total(words) as u32);
    let carried = Bits::test(sources, |words| total(words) >> 32 != 0);
    form.write(warp, 0, mask, &sum);
    form.output(warp, 0, mask, carried);
    Ok(())
}

fn shift(warp: &mut Warp, code: &Code, mask: u32, form: &Form<'_>) -> Result<(), CodeError> {
    let (low, distance) = (form.integer(warp, 0)?, form.integer(warp, 1)?);
    let high = form.integer(warp, 2)?;
    let (left, wraps, upper) = (code.has(Modifier::Left), code.has(Modifier::W), code.has(Modifier::Hi));
    let wide = code.has(Modifier::U64) || code.has(Modifier::S64);
    let signed = code.has(Modifier::S32) || code.has(Modifier::S64);
    let value = Value::map([&low, &distance, &high], |[low, distance, high]| {
        let distance = match (wraps, wide) {
            (true, true) => distance & 63,
            (true, false) => distance & 31,
            (false, _) => distance.min(63),
        };
        let both = u64::from(high) << 32 | u64::from(low);
        let shifted = match (left, signed) {
            (true, _) => both << distance,
            (false, true) => (both as i64 >> distance) as u64,
            (false, false) => both >> distance,
        };
        if upper { (shifted >> 32) as u32 } else { shifted as u32 }
    });
    form.write(warp, 0, mask, &value);
    Ok(())
}

fn logic(warp: &mut Warp, mask: u32, form: &Form<'_>) -> Result<(), CodeError> {
    let table = form.number(3)?;
    let sources = [form.integer(warp, 0)?, form.integer(warp, 1)?, form.integer(warp, 2)?];
    let function = move |[a, b, c]: [u32; 3]| looked_up(table, [[!a, a], [!b, b], [!c, c]]);
    let mut value = Value::map([&sources[0], &sources[1], &sources[2]], function);
    if value.known != ALL {
        let partly = Value::of_bits(value.polled, |lane| partly_looked_up(table, sources.each_ref(), lane));
        value = Value { ordinary: value.ordinary, ..partly };
    }
    let set = Bits::test([&value], |[word]| word != 0).or(form.input(warp, 0));
    form.write(warp, 0, mask, &value);
    form.output(warp, 0, mask, set);
    Ok(())
}

/// A lane's result and which of its bits are known: those that are the same whatever the unknown bits of the sources are.
fn partly_looked_up(table: u32, sources: [&Value; 3], lane: usize) -> (u32, u32) {
    let may_be = sources.map(|source| {
        let (word, known) = (source.lanes[lane], source.known_bits(lane));
        [!word | !known, word | !known]
    });
    let [may_be_set, may_be_clear] = [table, !table].map(|table| looked_up(table, may_be));
    (may_be_set, !(may_be_set & may_be_clear))
}

/// The bits for which the table has an entry, of the bits in which each source is clear and those in which it is set.
fn looked_up(table: u32, sources: [[u32; 2]; 3]) -> u32 {
    (0..8).filter(|entry| table >> entry & 1 == 1).fold(0, |word, entry| {
        let part = |source: usize, bit: u32| sources[source][(entry >> bit & 1) as usize];
        word | part(0, 2) & part(1, 1) & part(2, 0)
    })
}

fn extremum(warp: &mut Warp, code: &Code, mask: u32, form: &Form<'_>) -> Result<(), CodeError> {
    let mut left = form.integer(warp, 0)?;
    let mut right = form.integer(warp, 1)?;
    if code.operation == Operation::Viaddmnmx {
        left = Value::map([&left, &right], |[left, right]| left.wrapping_add(right));
        right = form.integer(warp, 2)?;
    }
    let unsigned = code.has(Modifier::U32);
    let least = form.input(warp, 0);
    let smaller = |left: u32, right: u32| if unsigned { left < right } else { (left as i32) < right as i32 };
    let minimum = Value::map([&left, &right], |[left, right]| if smaller(left, right) { left } else { right });
    let maximum = Value::map([&left, &right], |[left, right]| if smaller(left, right) { right } else { left });
    let mut value = select(least, &minimum, &maximum);
    if code.operation == Operation::Vimnmx3 {
        let last = form.integer(warp, 2)?;
        let minimum = Value::map([&value, &last], |[left, right]| if smaller(left, right) { left } else { right });
        let maximum = Value::map([&value, &last], |[left, right]| if smaller(left, right) { right } else { left });
        value = select(least, &minimum, &maximum);
    }
    if code.has(Modifier::Relu) {
        value = Value::map([&value], |[word]| (word as i32).max(0) as u32);
    }
    form.write(warp, 0, mask, &value);
    Ok(())
}

fn compare(warp: &mut Warp, code: &Code, mask: u32, form: &Form<'_>) -> Result<(), CodeError> {
    let (left, right) = (form.integer(warp, 0)?, form.integer(warp, 1)?);
    let unsigned = code.has(Modifier::U32);
    let order = |left: u32, right: u32| {
        if unsigned { left.cmp(&right) } else { (left as i32).cmp(&(right as i32)) }
    };
    let relation = code.modifiers.iter().copied().find_map(relation);
    let relation = relation.ok_or_else(|| CodeError::Form(code.text.clone()))?;
    let mut result = Bits::test([&left, &right], |[left, right]| relation(order(left, right)));
    if code.has(Modifier::Ex) {
        let lower = form.input(warp, 1);
        let equal = Bits::test([&left, &right], |[left, right]| left == right);
        let differs = Bits::test([&left, &right], |[left, right]| left != right && relation(order(left, right)));
        result = differs.or(equal.and(lower));
    }
    write_test(warp, code, mask, form, result);
    Ok(())
}

/// Combines a comparison with the predicate that the instruction names, and writes it and its contrary.
pub fn write_test(warp: &mut Warp, code: &Code, mask: u32, form: &Form<'_>, result: Bits) {
    let other = form.input(warp, 0);
    let combine = |result: Bits| {
        if code.has(Modifier::Or) {
            result.or(other)
        } else if code.has(Modifier::Xor) {
            result.xor(other)
        } else {
            result.and(other)
        }
    };
    form.output(warp, 0, mask, combine(result));
    form.output(warp, 1, mask, combine(result.not()));
}

/// What a comparison asks of an order.
fn relation(modifier: Modifier) -> Option<fn(std::cmp::Ordering) -> bool> {
    Some(match modifier {
        Modifier::Eq => |order| order.is_eq(),
        Modifier::Ne => |order| order.is_ne(),
        Modifier::Lt => |order| order.is_lt(),
        Modifier::Le => |order| order.is_le(),
        Modifier::Gt => |order| order.is_gt(),
        Modifier::Ge => |order| order.is_ge(),
        _ => return None,
    })
}

fn predicate_logic(warp: &mut Warp, code: &Code, mask: u32) -> Result<(), CodeError> {
    let unknown = || CodeError::Form(code.text.clone());
    let [first, second, a, b, c, tables @ ..] = &code.operands[..] else {
        return Err(unknown());
    };
    let input = |operand: &Operand| predicate_of(operand).map(|(name, negated)| warp.predicate(name, negated));
    let inputs = [input(a).ok_or_else(unknown)?, input(b).ok_or_else(unknown)?, input(c).ok_or_else(unknown)?];
    let mut results = Vec::new();
    for (output, table) in [first, second].into_iter().zip(tables) {
        let Operand::Integer(table) = table else {
            return Err(unknown());
        };
        results.push((output, Bits::looked_up(*table as u32, inputs)));
    }
    for (output, bits) in results {
        if let Some((name, _)) = predicate_of(output) {
            warp.write_predicate(name, mask, bits);
        }
    }
    Ok(())
}

fn pack_predicates(warp: &mut Warp, mask: u32, form: &Form<'_>) -> Result<(), CodeError> {
    let (base, selector) = (form.integer(warp, 1)?, form.number(2)?);
    let mut value = Value::map([&base], |[word]| word & !selector);
    for number in (0..7).filter(|number| selector >> number & 1 == 1) {
        let bit = as_value(warp.predicates[number]);
        value = Value::map([&value, &bit], |[word, bit]| word | bit << number);
    }
    form.write(warp, 0, mask, &value);
    Ok(())
}

fn unpack_predicates(warp: &mut Warp, code: &Code, mask: u32, launch: &Launch) -> Result<(), CodeError> {
    let [Operand::AllPredicates, source, Operand::Integer(selector)] = &code.operands[..] else {
        return Err(CodeError::Form(code.text.clone()));
    };
    let value = warp.integer(code, source, launch)?;
    for number in (0..7).filter(|number| selector >> number & 1 == 1) {
        warp.predicates[number].merge(mask, Bits::test([&value], |[word]| word >> number & 1 == 1));
    }
    Ok(())
}
