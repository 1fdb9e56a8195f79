//! What the warps of a block execute: integers, addresses, predicates and jumps are computed, tensors' elements are data.
//!
//! Everything that decides about time without being data is computed for every lane: trip counts, addresses, guards. Memory is
//! known in part: constants, the tables of a plan, and what the block has stored there. What is not known has a name, so that
//! lanes that read an element of an unknown place beside each other are known to be neighbours. What is polled is there at the first
//! poll: a jump that depends on a strong load of unknown memory takes the shorter way to an end. A jump that depends on
//! other data goes where elements between a half and one lead, so that functions take the way of ordinary operands. Both are
//! counted. Within a warp, lanes that go different ways run one group after the
//! other, lowest place first, until they converge.

mod access;
mod arithmetic;
mod bits;
mod control_flow;
mod exchange;
mod floating;
mod form;
pub mod launch;
pub mod memory;
mod naming;
mod reach;
mod term;
pub mod value;
mod warp;
mod wavefronts;

use super::error::CodeError;
use super::instruction::Code;
use super::operand::Operand;
use super::operation::{Modifier, Operation};
use super::program::MachineCode;
use super::trace::{Effect, Step, Trace};
use access::Memories;
use bits::Bits;
use control_flow::Ways;
use launch::Launch;
use memory::SharedMemory;
use naming::NamedResult;
use reach::Reach;
use value::LANES;
use warp::{LaneState, Warp};

/// Instructions that the warps of a block may execute together.
pub const LIMIT: usize = 16 << 20;
const MOST_THREADS: u32 = 1024;

/// What the warps of one block execute from the entry on.
pub fn evaluate(machine: &MachineCode, entry: &str, launch: &mut Launch) -> Result<Trace, CodeError> {
    let threads = launch.threads;
    if threads == 0 || threads > MOST_THREADS || !(threads as usize).is_multiple_of(LANES) {
        return Err(CodeError::Threads(threads));
    }
    let start = machine.function(entry)?.start;
    let count = threads as usize / LANES;
    let reach = Reach::new(machine);
    let ways = Ways { machine, reach: &reach };
    let mut warps: Vec<Warp> = (0..count).map(|number| Warp::new(number, start)).collect();
    let mut trace = Trace { warps: vec![Vec::new(); count], ..Trace::default() };
    let mut shared = SharedMemory::default();
    loop {
        for warp in &mut warps {
            let mut memories = Memories { launch, shared: &mut shared, trace: &mut trace };
            run(warp, &ways, &mut memories)?;
        }
        if warps.iter().all(|warp| warp.live() == 0) {
            return Ok(trace);
        }
        release(machine, &mut warps)?;
    }
}

/// Runs a warp until no lane can go on.
fn run(warp: &mut Warp, ways: &Ways<'_>, memories: &mut Memories<'_>) -> Result<(), CodeError> {
    loop {
        let running = warp.lanes(|state| state == LaneState::Runs);
        let places = (0..LANES).filter(|lane| running >> lane & 1 == 1).map(|lane| warp.places[lane]);
        let Some(place) = places.min() else {
            return Ok(());
        };
        let mask = warp.lanes(|state| state == LaneState::Runs)
            & (0..LANES).filter(|lane| warp.places[*lane] == place).fold(0, |mask, lane| mask | 1 << lane);
        let code = ways.machine.at(place)?;
        let effect = step(warp, ways, place, code, mask, memories)?;
        memories.trace.warps[warp.number].push(Step { place: place as u32, effect });
        memories.trace.count += 1;
        if memories.trace.count > LIMIT {
            return Err(CodeError::TooLong(LIMIT));
        }
    }
}

fn step(
    warp: &mut Warp,
    ways: &Ways<'_>,
    place: usize,
    code: &Code,
    mask: u32,
    memories: &mut Memories<'_>,
) -> Result<Effect, CodeError> {
    let guard = warp.predicate(code.guard.predicate, code.guard.negated);
    let unknowns = &mut memories.trace.unknowns;
    if let Some(effect) = control_flow::execute(warp, ways, place, mask, guard, memories.launch, unknowns)? {
        return Ok(effect);
    }
    unknowns.guards += u64::from(mask & !guard.known != 0);
    let active = mask & (guard.set | !guard.known);
    control_flow::advance(warp, mask);
    if active == 0 {
        return Ok(Effect::Skipped);
    }
    let launch = &*memories.launch;
    let named = NamedResult::of(warp, code, active, launch)?;
    if arithmetic::execute(warp, code, active, launch)? {
        named.into_iter().for_each(|named| named.write(warp));
        return Ok(Effect::None);
    }
    if floating::execute(warp, code, active, launch)? {
        return Ok(Effect::None);
    }
    if let Some(effect) = exchange::execute(warp, code, active, launch)? {
        return Ok(effect);
    }
    if let Some(effect) = access::execute(warp, code, active, memories)? {
        return Ok(effect);
    }
    Err(CodeError::Operation(code.operation.name().to_owned()))
}

/// Lets the block go on behind a barrier at which all lanes have come together.
fn release(machine: &MachineCode, warps: &mut [Warp]) -> Result<(), CodeError> {
    let mut any = Bits::FALSE;
    for warp in &*warps {
        let waiting = warp.lanes(|state| state == LaneState::Barrier);
        if waiting != warp.live() {
            let stuck = (0..LANES).find(|lane| warp.states[*lane] != LaneState::Exited).unwrap_or(0);
            let place = warp.places[stuck];
            let text = machine.code.get(place).map_or_else(String::new, |code| code.text.clone());
            return Err(CodeError::Deadlock(format!("warp {} waits at `{text}`", warp.number)));
        }
        for lane in (0..LANES).filter(|lane| waiting >> lane & 1 == 1) {
            any = any.or(contributed(warp, &machine.code[warp.places[lane]], lane));
        }
    }
    for warp in warps {
        let waiting = warp.lanes(|state| state == LaneState::Barrier);
        warp.reduced = any;
        control_flow::advance(warp, waiting);
    }
    Ok(())
}

/// What a lane gives to a reduction at a barrier, in all lanes.
fn contributed(warp: &Warp, code: &Code, lane: usize) -> Bits {
    let reduces = code.operation == Operation::Bar && code.has(Modifier::Reduce);
    let predicate = code.operands.iter().find_map(|operand| match operand {
        Operand::Predicate(name, negated) if reduces => Some(warp.predicate(*name, *negated)),
        _ => None,
    });
    let Some(bits) = predicate else {
        return Bits::FALSE;
    };
    match (bits.known >> lane & 1 == 1, bits.set >> lane & 1 == 1) {
        (true, true) => Bits::TRUE,
        (true, false) => Bits::FALSE,
        (false, _) => Bits { polled: bits.polled >> lane & 1, ordinary: bits.ordinary, ..Bits::UNKNOWN },
    }
}
