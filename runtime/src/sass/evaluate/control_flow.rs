//! Jumps, calls, convergence and barriers: where each lane goes on.

use super::super::error::CodeError;
use super::super::instruction::Code;
use super::super::operand::Operand;
use super::super::operation::{Modifier, Operation};
use super::super::parts::predicate_of;
use super::super::program::{INSTRUCTION_BYTES, MachineCode};
use super::super::trace::{Effect, Unknowns};
use super::bits::Bits;
use super::launch::Launch;
use super::reach::Reach;
use super::value::{LANES, Value};
use super::warp::{LaneState, Warp};

/// The code, and how far it is from each place to an end.
pub struct Ways<'a> {
    /// The code.
    pub machine: &'a MachineCode,
    /// The ways to an end.
    pub reach: &'a Reach,
}

/// Executes a jump or what lanes converge at, in the lanes of `mask`, all at `place`; nothing if it is of another kind.
/// `guard` is the instruction's predicate.
pub fn execute(
    warp: &mut Warp,
    ways: &Ways<'_>,
    place: usize,
    mask: u32,
    guard: Bits,
    launch: &Launch,
    unknowns: &mut Unknowns,
) -> Result<Option<Effect>, CodeError> {
    use Operation as O;
    let code = &ways.machine.code[place];
    if code.operation.pipe() != super::super::operation::Pipe::Control {
        return Ok(None);
    }
    let taken = match code.operation {
        O::Bra if code.has(Modifier::Diverged) => {
            let wanted = code.operands.first().map(|operand| warp.integer(code, operand, launch)).transpose()?;
            let wanted = wanted.and_then(|value| value.uniform(mask)).unwrap_or(u32::MAX) & warp.live();
            if mask & wanted == wanted { 0 } else { mask }
        }
        O::Bra | O::Jmp | O::Exit | O::Ret | O::Call | O::Brx | O::Break => {
            let condition = code.operands.iter().filter_map(predicate_of);
            let condition = condition.fold(guard, |all, (name, negated)| all.and(warp.predicate(name, negated)));
            resolve(ways, place, mask, condition, unknowns)
        }
        _ => mask & (guard.set | !guard.known),
    };
    advance(warp, mask & !taken);
    if taken == 0 {
        let skipped = !matches!(code.operation, O::Bra | O::Exit);
        return Ok(Some(if skipped { Effect::Skipped } else { Effect::None }));
    }
    match code.operation {
        O::Call if code.target.is_none() => indirect(warp, ways, place, taken, launch)?,
        O::Bra | O::Jmp | O::Call => {
            let target = code.target.ok_or_else(|| CodeError::Jump(code.text.clone()))?;
            go(warp, taken, |_| target);
        }
        O::Ret | O::Brx => indirect(warp, ways, place, taken, launch)?,
        O::Exit => set(warp, taken, LaneState::Exited),
        O::Bssy => {
            warp.barriers[barrier(code)?] = taken;
            advance(warp, taken);
        }
        O::Bsync => set(warp, taken, LaneState::Converges(barrier(code)? as u8)),
        O::Break => {
            warp.barriers[barrier(code)?] &= !taken;
            advance(warp, taken);
        }
        O::Bmov => move_barrier(warp, code, taken)?,
        O::Warpsync => set(warp, taken, LaneState::Meets),
        O::Bar => bar(warp, code, taken)?,
        O::Nop | O::Yield | O::Depbar | O::Nanosleep | O::Acqbulk | O::Preexit | O::Endcollective => {
            advance(warp, taken);
        }
        _ => return Err(CodeError::Operation(code.operation.name().to_owned())),
    }
    converge(warp);
    Ok(Some(match code.operation {
        O::Bra | O::Jmp | O::Call | O::Ret | O::Brx => Effect::Taken,
        _ => Effect::None,
    }))
}

/// The lanes that take a jump. What was polled takes the shorter way to an end. Data goes where ordinary elements lead, but
/// around what records a faulty index: indices name places.
fn resolve(ways: &Ways<'_>, place: usize, mask: u32, condition: Bits, unknowns: &mut Unknowns) -> u32 {
    let known = condition.set & condition.known & mask;
    let unknown = mask & !condition.known;
    if unknown == 0 {
        return known;
    }
    let code = &ways.machine.code[place];
    let polled = unknown & condition.polled;
    unknowns.polls += u64::from(polled != 0);
    if polled == 0 && code.target.is_some_and(|target| records_index(ways.machine, place + 1, target)) {
        return known | unknown;
    }
    unknowns.jumps += u64::from(unknown != polled);
    if polled == 0 && condition.ordinary == Some(true) {
        return known | unknown;
    }
    let shorter = code.operation == Operation::Bra
        && code.target.is_some_and(|target| ways.reach.from(target) < ways.reach.from(place + 1));
    if shorter { known | polled } else { known }
}

/// Whether the code up to the target of a jump takes a maximum with a word of global memory, which only records of
/// faulty indices do. The code must also do nothing else that others see.
fn records_index(machine: &MachineCode, start: usize, target: usize) -> bool {
    use Operation as O;
    let region = machine.code.get(start..target).unwrap_or_default();
    let records = |code: &Code| code.operation == O::Redg && code.has(Modifier::Max);
    let goes_on = |code: &Code| code.target.is_none_or(|other| other >= start);
    let is_seen =
        |code: &Code| matches!(code.operation, O::Ldg | O::Stg | O::Sts | O::Bar | O::Call | O::Exit | O::Ret);
    region.iter().any(records) && region.iter().all(|code| goes_on(code) && !is_seen(code))
}

/// Moves lanes to the next instruction.
pub fn advance(warp: &mut Warp, mask: u32) {
    go(warp, mask, |place| place + 1);
}

fn go(warp: &mut Warp, mask: u32, target: impl Fn(usize) -> usize) {
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        warp.places[lane] = target(warp.places[lane]);
        warp.states[lane] = LaneState::Runs;
    }
}

fn set(warp: &mut Warp, mask: u32, state: LaneState) {
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        warp.states[lane] = state;
    }
}

/// Returns, calls and jumps through tables: to an address of the program, or one relative to the function.
fn indirect(warp: &mut Warp, ways: &Ways<'_>, place: usize, mask: u32, launch: &Launch) -> Result<(), CodeError> {
    let code = &ways.machine.code[place];
    let unknown = || CodeError::Jump(code.text.clone());
    let [operand, rest @ ..] = &code.operands[..] else {
        return Err(unknown());
    };
    let address = warp.integer(code, operand, launch)?;
    if address.known & mask != mask {
        return Err(unknown());
    }
    let start = ways.machine.function_at(place).ok_or_else(unknown)?.start;
    let (base, offset) = match (code.operation, rest.first()) {
        (Operation::Brx, Some(Operand::Integer(offset))) => {
            (start, offset + ((place - start + 1) as u64 * INSTRUCTION_BYTES) as i64)
        }
        (Operation::Ret, _) if code.has(Modifier::Relative) => (code.target.unwrap_or(start), 0),
        (Operation::Ret | Operation::Call, _) => (0, 0),
        _ => return Err(unknown()),
    };
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        let bytes = i64::from(address.lanes[lane] as i32) + offset;
        let target = usize::try_from(bytes).map_err(|_| unknown())? / INSTRUCTION_BYTES as usize + base;
        if target >= ways.machine.code.len() {
            return Err(unknown());
        }
        warp.places[lane] = target;
    }
    Ok(())
}

fn barrier(code: &Code) -> Result<usize, CodeError> {
    let number = code.operands.iter().find_map(|operand| match operand {
        Operand::Barrier(number) => Some(usize::from(*number)),
        _ => None,
    });
    number.filter(|number| *number < super::warp::BARRIERS).ok_or_else(|| CodeError::Form(code.text.clone()))
}

fn move_barrier(warp: &mut Warp, code: &Code, mask: u32) -> Result<(), CodeError> {
    let number = barrier(code)?;
    match &code.operands[..] {
        [Operand::Register(register, _), Operand::Barrier(_)] => {
            let lanes = Value::splat(warp.barriers[number]);
            warp.write(*register, 0, mask, &lanes);
            if code.has(Modifier::Clear) {
                warp.barriers[number] = 0;
            }
        }
        [Operand::Barrier(_), Operand::Register(register, _)] => {
            let lanes = warp.register(*register).uniform(mask);
            warp.barriers[number] = lanes.ok_or_else(|| CodeError::Form(code.text.clone()))?;
        }
        _ => return Err(CodeError::Form(code.text.clone())),
    }
    advance(warp, mask);
    Ok(())
}

/// Only the barrier of the whole block is known.
fn bar(warp: &mut Warp, code: &Code, mask: u32) -> Result<(), CodeError> {
    let whole = matches!(code.operands.first(), Some(Operand::Integer(0)));
    let rest = code.operands.iter().skip(1).all(|operand| matches!(operand, Operand::Predicate(..)));
    if !whole || !rest || code.has(Modifier::Arrive) {
        return Err(CodeError::Form(code.text.clone()));
    }
    set(warp, mask, LaneState::Barrier);
    Ok(())
}

/// Lets lanes go on that have all come together.
pub fn converge(warp: &mut Warp) {
    let live = warp.live();
    for number in 0..super::warp::BARRIERS {
        let waiting = warp.lanes(|state| state == LaneState::Converges(number as u8));
        let members = warp.barriers[number] & live;
        if waiting != 0 && members & !waiting == 0 {
            advance(warp, waiting);
        }
    }
    let meeting = warp.lanes(|state| state == LaneState::Meets);
    if meeting != 0 && meeting == live {
        let first = warp.places[meeting.trailing_zeros() as usize];
        if (0..LANES).all(|lane| meeting >> lane & 1 == 0 || warp.places[lane] == first) {
            advance(warp, meeting);
        }
    }
}
