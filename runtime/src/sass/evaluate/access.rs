//! Loads, stores and atomic operations: their addresses, and what is known of what they move.

use super::super::error::CodeError;
use super::super::instruction::Code;
use super::super::operand::{Address, Operand, Register, UNIFORM_ZERO, ZERO};
use super::super::operation::{Modifier, Operation};
use super::super::parts::predicate_of;
use super::super::trace::{Effect, Trace};
use super::bits::Bits;
use super::exchange::narrowed;
use super::launch::Launch;
use super::memory::SharedMemory;
use super::term::Term;
use super::value::{LANES, Value};
use super::warp::Warp;
use super::wavefronts;

/// What a memory instruction works on.
pub struct Memories<'a> {
    /// The launch, with global memory.
    pub launch: &'a mut Launch,
    /// Shared memory of the block.
    pub shared: &'a mut SharedMemory,
    /// Where accesses are written down.
    pub trace: &'a mut Trace,
}

/// The window of a block's own shared memory; what is above names a block of the cluster.
const SHARED_MASK: u64 = 0x00ff_ffff;
/// Sectors that stand for places which depend on data.
const UNKNOWN_SECTORS: u64 = 1 << 48;

/// Executes an instruction in the lanes of `mask`; nothing if it is of another kind.
pub fn execute(
    warp: &mut Warp,
    code: &Code,
    mask: u32,
    memories: &mut Memories<'_>,
) -> Result<Option<Effect>, CodeError> {
    use Operation as O;
    Ok(Some(match code.operation {
        O::Lds => load_shared(warp, code, mask, memories)?,
        O::Sts => store_shared(warp, code, mask, memories)?,
        O::Ldg => load_global(warp, code, mask, memories)?,
        O::Stg | O::Redg | O::Red => store_global(warp, code, mask, memories)?,
        O::Ldgsts => copy(warp, code, mask, memories)?,
        O::Atomg => atomic(warp, code, mask, memories)?,
        O::Membar | O::Errbar | O::Cgaerrbar | O::Cctl | O::Fence | O::Ldgdepbar | O::Ublkpf => Effect::None,
        O::Ldsm => load_matrices(warp, code, mask, memories)?,
        O::Ldl | O::Stl | O::Atoms => return Err(CodeError::Operation(code.operation.name().to_owned())),
        _ => return Ok(None),
    }))
}

fn memory_operand(code: &Code) -> Result<(usize, Address), CodeError> {
    let found = code.operands.iter().enumerate().find_map(|(index, operand)| match operand {
        Operand::Memory(address) => Some((index, *address)),
        _ => None,
    });
    found.ok_or_else(|| CodeError::Form(code.text.clone()))
}

fn register(code: &Code, operand: Option<&Operand>) -> Result<Register, CodeError> {
    match operand {
        Some(Operand::Register(register, _)) => Ok(*register),
        _ => Err(CodeError::Form(code.text.clone())),
    }
}

/// Where each lane accesses memory.
struct Places {
    /// Addresses that are known.
    known: [Option<u64>; LANES],
    /// Addresses relative to a name.
    named: [Option<u64>; LANES],
    /// Lanes whose address is neither.
    unknown: u32,
}

impl Places {
    fn new(warp: &Warp, address: Address, mask: u32) -> Self {
        let (words, known) = known_addresses(warp, address);
        let terms = named_addresses(warp, address, mask & !known);
        let of_name = terms.map(|term| term.map(Term::address));
        let named = (0..LANES).filter(|lane| of_name[*lane].is_some()).fold(0, |lanes, lane| lanes | 1 << lane);
        Self { known: each(&words, mask & known), named: of_name, unknown: mask & !known & !named }
    }

    /// The address of each lane that has one, relative to a name where it is not known.
    fn all(&self) -> [Option<u64>; LANES] {
        std::array::from_fn(|lane| self.known[lane].or(self.named[lane]))
    }
}

/// The lower words of addresses that have names, in the lanes of `mask`.
fn named_addresses(warp: &Warp, address: Address, mask: u32) -> [Option<Term>; LANES] {
    let base = address.base.filter(|base| *base != ZERO).map(|base| warp.register(base));
    let uniform = address.uniform.filter(|uniform| *uniform != UNIFORM_ZERO);
    let uniform = uniform.map(|uniform| warp.uniform_register(uniform, 0));
    let scaled = |value: &Value, lane: usize, scale: u32| Some(value.term(lane)?.times(scale));
    std::array::from_fn(|lane| {
        if mask >> lane & 1 == 0 {
            return None;
        }
        let mut term = Term::known(address.offset as u32);
        if let Some(base) = &base {
            term = term.plus(scaled(base, lane, address.scale.into())?);
        }
        if let Some(uniform) = &uniform {
            term = term.plus(scaled(uniform, lane, 1)?);
        }
        term.name.is_some().then_some(term)
    })
}

/// The address of each lane, and the lanes where it is known.
fn known_addresses(warp: &Warp, address: Address) -> ([u64; LANES], u32) {
    let mut words = [address.offset as u64; LANES];
    let mut known = u32::MAX;
    let mut add = |value: &Value, shift: u32, scale: u64| {
        known &= value.known;
        for (word, lane) in words.iter_mut().zip(value.lanes) {
            *word = word.wrapping_add((u64::from(lane) << shift).wrapping_mul(scale));
        }
    };
    if let Some(base) = address.base.filter(|base| *base != ZERO) {
        add(&warp.register(base), 0, u64::from(address.scale));
        if address.wide {
            add(&warp.register_after(base, 1), 32, 1);
        }
    }
    if let Some(uniform) = address.uniform.filter(|uniform| *uniform != UNIFORM_ZERO) {
        add(&warp.uniform_register(uniform, 0), 0, 1);
        if address.wide {
            add(&warp.uniform_register(uniform, 1), 32, 1);
        }
    }
    (words, known)
}

fn each(words: &[u64; LANES], mask: u32) -> [Option<u64>; LANES] {
    std::array::from_fn(|lane| (mask >> lane & 1 == 1).then_some(words[lane]))
}

fn shared_addresses(warp: &Warp, address: Address, mask: u32, trace: &mut Trace) -> [Option<u64>; LANES] {
    let (words, known) = known_addresses(warp, Address { wide: false, ..address });
    trace.unknowns.addresses += u64::from(mask & !known != 0);
    each(&words.map(|word| word & SHARED_MASK), mask & known)
}

fn shared_effect(places: &[Option<u64>; LANES], mask: u32, bytes: u32) -> Effect {
    let known = places.iter().flatten().count() as u32;
    let unknown = (mask.count_ones() - known).div_ceil(LANES as u32);
    Effect::Shared { wavefronts: wavefronts::shared(places, bytes) + unknown as u16 }
}

fn load_shared(warp: &mut Warp, code: &Code, mask: u32, memories: &mut Memories<'_>) -> Result<Effect, CodeError> {
    let (_, address) = memory_operand(code)?;
    let places = shared_addresses(warp, address, mask, memories.trace);
    let destination = register(code, code.operands.first())?;
    let load = |place: u64| (memories.shared.load(place as u32), false);
    let access = memories.trace.count as u32;
    write_loaded(warp, code, (mask, access), destination, &places, load);
    Ok(shared_effect(&places, mask, code.bytes()))
}

/// Loads matrices of 8 rows of 16 bytes; each row's address is given by a lane, and each matrix passes by itself.
fn load_matrices(warp: &mut Warp, code: &Code, mask: u32, memories: &mut Memories<'_>) -> Result<Effect, CodeError> {
    let (_, address) = memory_operand(code)?;
    let count = code.matrices();
    let rows = mask & (u32::MAX >> (32 - 8 * count));
    let places = shared_addresses(warp, address, rows, memories.trace);
    let destination = register(code, code.operands.first())?;
    for distance in 0..count {
        warp.write(destination, distance as u8, mask, &Value::UNKNOWN);
    }
    Ok(Effect::Shared { wavefronts: wavefronts::matrices(&places) })
}

/// Writes the words at these places. What is not known is polled or data, with a name of the access and the place.
fn write_loaded(
    warp: &mut Warp,
    code: &Code,
    (mask, access): (u32, u32),
    destination: Register,
    places: &[Option<u64>; LANES],
    load: impl Fn(u64) -> (Option<u32>, bool),
) {
    for distance in 0..code.bytes().div_ceil(4) {
        let mut value = Value { ordinary: Value::element(access.wrapping_add(distance)), ..Value::UNKNOWN };
        for (lane, place) in places.iter().enumerate() {
            let Some(place) = place else { continue };
            let place = place.wrapping_add(4 * u64::from(distance));
            match load(place & !3) {
                (Some(word), _) => {
                    value.lanes[lane] = word >> (8 * (place & 3));
                    value.known |= 1 << lane;
                }
                (None, polled) => {
                    value.polled |= u32::from(polled) << lane;
                    value.name(lane, Term::loaded(access, place));
                }
            }
        }
        let value = if code.bytes() < 4 { narrowed(&value, code) } else { value };
        warp.write(destination, distance as u8, mask, &value);
    }
}

fn store_shared(warp: &mut Warp, code: &Code, mask: u32, memories: &mut Memories<'_>) -> Result<Effect, CodeError> {
    let (index, address) = memory_operand(code)?;
    let places = shared_addresses(warp, address, mask, memories.trace);
    let source = register(code, code.operands.get(index + 1))?;
    for distance in 0..code.bytes().div_ceil(4) {
        let value = warp.register_after(source, distance as u8);
        for (lane, place) in places.iter().enumerate() {
            let word = (value.known >> lane & 1 == 1 && code.bytes() >= 4).then_some(value.lanes[lane]);
            if let Some(place) = place {
                memories.shared.store(*place as u32 + 4 * distance, word);
            }
        }
    }
    Ok(shared_effect(&places, mask, code.bytes()))
}

/// The places of an access to global memory, and its mark in the trace.
fn touch(warp: &Warp, address: Address, code: &Code, mask: u32, trace: &mut Trace) -> (Places, Effect) {
    touch_some(warp, address, code, (mask, mask), trace)
}

/// The same where of the lanes in `mask` only those in `touching` touch global memory.
fn touch_some(
    warp: &Warp,
    address: Address,
    code: &Code,
    (mask, touching): (u32, u32),
    trace: &mut Trace,
) -> (Places, Effect) {
    let places = Places::new(warp, address, touching);
    let mut sectors = wavefronts::sectors(&places.all(), code.bytes());
    trace.unknowns.addresses += u64::from(places.unknown != 0);
    let next = UNKNOWN_SECTORS + trace.sectors.len() as u64 * LANES as u64;
    sectors.extend((0..u64::from(places.unknown.count_ones())).map(|lane| next + 4 * lane));
    let passes = wavefronts::global(&sectors, mask.count_ones(), code.bytes());
    let first = trace.sectors.len() as u32;
    trace.sectors.extend_from_slice(&sectors);
    (places, Effect::Global { wavefronts: passes, sectors: sectors.len() as u16, first })
}

fn load_global(warp: &mut Warp, code: &Code, mask: u32, memories: &mut Memories<'_>) -> Result<Effect, CodeError> {
    let (_, address) = memory_operand(code)?;
    let (places, effect) = touch(warp, address, code, mask, memories.trace);
    let destination = register(code, code.operands.iter().find(|operand| matches!(operand, Operand::Register(..))))?;
    let polls = code.has(Modifier::Strong);
    let launch = &memories.launch;
    let access = memories.trace.count as u32;
    write_loaded(warp, code, (mask, access), destination, &places.all(), |place| (launch.memory.load(place), polls));
    Ok(effect)
}

fn store_global(warp: &mut Warp, code: &Code, mask: u32, memories: &mut Memories<'_>) -> Result<Effect, CodeError> {
    let (index, address) = memory_operand(code)?;
    let (places, effect) = touch(warp, address, code, mask, memories.trace);
    let source = register(code, code.operands.get(index + 1))?;
    let plain = code.operation == Operation::Stg && code.bytes() >= 4;
    for distance in 0..code.bytes().div_ceil(4) {
        let value = warp.register_after(source, distance as u8);
        for (lane, place) in places.known.iter().enumerate() {
            let word = (value.known >> lane & 1 == 1 && plain).then_some(value.lanes[lane]);
            if let Some(place) = place {
                memories.launch.memory.store((place & !3) + 4 * u64::from(distance), word);
            }
        }
    }
    Ok(effect)
}

/// An asynchronous copy from global to shared memory. Lanes whose condition is known not to hold read nothing and store zeros.
fn copy(warp: &mut Warp, code: &Code, mask: u32, memories: &mut Memories<'_>) -> Result<Effect, CodeError> {
    let places: Vec<Address> = code
        .operands
        .iter()
        .filter_map(|operand| match operand {
            Operand::Memory(address) => Some(*address),
            _ => None,
        })
        .collect();
    let [to, from] = places[..] else {
        return Err(CodeError::Form(code.text.clone()));
    };
    let condition = code.operands.last().and_then(predicate_of);
    let condition = condition.map_or(Bits::TRUE, |(name, negated)| warp.predicate(name, negated));
    let absent = condition.known & !condition.set;
    let to = shared_addresses(warp, to, mask, memories.trace);
    let (from, effect) = touch_some(warp, from, code, (mask, mask & !absent), memories.trace);
    for (lane, (place, source)) in to.iter().zip(from.known).enumerate() {
        let Some(place) = place else { continue };
        for word in 0..code.bytes() / 4 {
            let copied = match absent >> lane & 1 {
                1 => Some(0),
                _ => source.and_then(|source| memories.launch.memory.load(source + 4 * u64::from(word))),
            };
            memories.shared.store(*place as u32 + 4 * word, copied);
        }
    }
    Ok(effect)
}

/// What was there before is known where the word is; only sums are followed.
fn atomic(warp: &mut Warp, code: &Code, mask: u32, memories: &mut Memories<'_>) -> Result<Effect, CodeError> {
    let (index, address) = memory_operand(code)?;
    let (places, effect) = touch(warp, address, code, mask, memories.trace);
    let destination = register(code, code.operands.iter().find(|operand| matches!(operand, Operand::Register(..))))?;
    let added = warp.register(register(code, code.operands.get(index + 1))?);
    let mut before = Value::UNKNOWN;
    for (lane, place) in places.known.iter().enumerate() {
        let Some(place) = place else { continue };
        let word = memories.launch.memory.load(*place).filter(|_| code.has(Modifier::Add) && code.bytes() == 4);
        if let Some(word) = word {
            before.lanes[lane] = word;
            before.known |= 1 << lane;
        }
        let sum = word.filter(|_| added.known >> lane & 1 == 1).map(|word| word.wrapping_add(added.lanes[lane]));
        memories.launch.memory.store(*place, sum);
    }
    for distance in 0..code.bytes().div_ceil(4) {
        warp.write(destination, distance as u8, mask, &before);
    }
    Ok(effect)
}
