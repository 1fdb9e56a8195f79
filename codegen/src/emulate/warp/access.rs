//! Loads and stores of a warp, lane by lane, checked.

use warpweave_graph::halves::{bf16_of_single, f16_of_single, single_of_bf16, single_of_f16};

use crate::kernel_ir::{GlobalSpace, MemoryType, ScalarType};

use super::lanes::{Frame, lanes};
use super::statistics;
use crate::emulate::bytecode::scalar::truth;
use crate::emulate::bytecode::{GlobalAccess, Registers, SharedAccess};
use crate::emulate::options::UnorderedValue;
use crate::emulate::report::{Fault, GlobalRace, Site, WarpName};
use crate::emulate::world::World;
use crate::emulate::world::memory::global::{POISON, Recall, Unordered};
use crate::emulate::world::memory::shared::{Accessor, Conflict};

/// Who accesses.
#[derive(Clone, Copy)]
pub struct Agent<'a> {
    /// The warp in the grid.
    pub warp: usize,
    pub active: u32,
    pub shared: Accessor,
    /// Where, but for the lane.
    pub site: &'a dyn Fn(u32) -> Site,
}

/// Runs a load or, if `store`, a store of global memory.
pub fn global(access: &GlobalAccess, store: bool, frame: &mut Frame, agent: Agent, world: &mut World) {
    let element = i64::from(access.memory.bytes());
    let size = element * i64::from(access.registers.count);
    let length = match access.space {
        GlobalSpace::Arena | GlobalSpace::States => world.arena.bytes.len(),
        GlobalSpace::Weights => world.weights.len(),
    };
    let mut recall = Recall::default();
    let mut addresses = [i64::MIN; 32];
    for lane in lanes(agent.active) {
        let index = frame.index(access.index, lane);
        let address = index.saturating_mul(element);
        let fault = if address < 0 || address > length as i64 - size {
            Some(Fault::GlobalOutOfBounds { space: access.space, address, bytes: size as u32, length })
        } else if address % size != 0 {
            Some(Fault::GlobalMisaligned { space: access.space, address, bytes: size as u32 })
        } else {
            None
        };
        if let Some(fault) = fault {
            world.fault(|| (agent.site)(lane as u32), fault);
            if !store {
                poison(frame, &access.registers, access.memory, lane);
            }
            continue;
        }
        addresses[lane] = address;
        let address = address as usize;
        match (store, access.space) {
            (false, GlobalSpace::Weights) => {
                load_elements(frame, &access.registers, access.memory, lane, &world.weights[address..]);
            }
            (false, GlobalSpace::Arena | GlobalSpace::States) => {
                load_elements(frame, &access.registers, access.memory, lane, &world.arena.bytes[address..]);
                let problem = order(world, address, size as usize, false, agent.warp, &mut recall);
                if let Some((at, problem)) = problem {
                    unordered(world, agent, lane, at, problem, GlobalRace::ReadAfterWrite);
                    match world.options.unordered {
                        UnorderedValue::Poison => poison(frame, &access.registers, access.memory, lane),
                        UnorderedValue::Found => {}
                    }
                }
            }
            (true, _) => {
                let bytes = &mut world.arena.bytes[address..];
                store_elements(frame, &access.registers, access.memory, lane, bytes);
                if let Some((at, problem)) = order(world, address, size as usize, true, agent.warp, &mut recall) {
                    unordered(world, agent, lane, at, problem, GlobalRace::WriteAfterWrite);
                    match world.options.unordered {
                        UnorderedValue::Poison => spoil(&mut world.arena.bytes[address..address + size as usize]),
                        UnorderedValue::Found => {}
                    }
                }
            }
        }
    }
    if store {
        overlap(&addresses, size, agent, world);
    }
    if world.options.count {
        let sectors = statistics::sectors(&addresses, size);
        let elements = u64::from(agent.active.count_ones() * access.registers.count);
        let counts = world.counts();
        if store {
            counts.store_sectors += sectors;
        } else {
            counts.load_sectors += sectors;
            counts.global_loads += elements;
        }
    }
}

/// Runs a load or, if `store`, a store of shared memory.
pub fn shared(access: &SharedAccess, store: bool, frame: &mut Frame, agent: Agent, block: usize, world: &mut World) {
    let count = access.registers.count;
    let words = access.memory.bytes().div_ceil(4) as usize;
    let accessor = if access.kept { agent.shared.of_kept() } else { agent.shared };
    let mut first = [0usize; 32];
    let indices = *frame.lanes(access.index);
    let mut valid = 0;
    for lane in lanes(agent.active) {
        let index = indices[lane];
        // A negative index is a large unsigned one.
        if u64::from(index) + u64::from(count) <= u64::from(access.length) && index & (count - 1) == 0 {
            first[lane] = access.base as usize + index as usize * words;
            valid |= 1 << lane;
        }
    }
    if valid != agent.active {
        invalid_shared(access, store, frame, agent, valid, world);
    }
    let memory = &mut world.blocks[block].shared;
    let span = count as usize * words;
    let mut conflicts = Vec::new();
    for lane in lanes(valid) {
        let at = first[lane];
        let conflict = if store {
            memory.write(at..at + span, lane as u32, &accessor)
        } else {
            memory.read(at..at + span, lane as u32, &accessor)
        };
        if let Some(conflict) = conflict {
            conflicts.push((lane, conflict));
        }
    }
    for (element, &slot) in access.registers.slots[..count as usize].iter().enumerate() {
        let offset = element * words;
        let slot = slot as usize;
        match (access.memory.scalar_type(), store) {
            (ScalarType::I64, true) => {
                for lane in lanes(valid) {
                    let at = first[lane] + offset;
                    let value = frame.wide[slot][lane];
                    memory.words[at] = value as u32;
                    memory.words[at + 1] = (value >> 32) as u32;
                }
            }
            (ScalarType::I64, false) => {
                for lane in lanes(valid) {
                    let at = first[lane] + offset;
                    frame.wide[slot][lane] = i64::from(memory.words[at]) | (i64::from(memory.words[at + 1]) << 32);
                }
            }
            (ScalarType::Bool | ScalarType::I32 | ScalarType::F32, true) => {
                let register = &frame.narrow[slot];
                for lane in lanes(valid) {
                    memory.words[first[lane] + offset] = through_memory(register[lane], access.memory);
                }
            }
            (ScalarType::Bool | ScalarType::I32 | ScalarType::F32, false) => {
                let register = &mut frame.narrow[slot];
                for lane in lanes(valid) {
                    register[lane] = memory.words[first[lane] + offset];
                }
            }
        }
    }
    for (lane, (word, conflict)) in conflicts {
        let index = i64::from(indices[lane]) + ((word - first[lane]) / words) as i64;
        let fault = shared_fault(index, conflict);
        if store {
            world.blocks[block].shared.words[first[lane]..first[lane] + span].fill(POISON);
        } else {
            poison(frame, &access.registers, access.memory, lane);
        }
        world.fault(|| (agent.site)(lane as u32), fault);
    }
    if world.options.count {
        let element = access.memory.bytes();
        let taking_part =
            std::array::from_fn(|lane| if valid >> lane & 1 != 0 { i64::from(indices[lane]) } else { i64::MIN });
        let wavefronts = statistics::wavefronts(&taking_part, element * count, element, access.base_bytes);
        let ideal = statistics::ideal_wavefronts(valid, element * count);
        let counts = world.counts();
        counts.shared_wavefronts += wavefronts;
        if store {
            counts.shared_store_ideal += ideal;
        } else {
            counts.shared_loads += u64::from(valid.count_ones() * count);
            counts.shared_load_wavefronts += wavefronts;
            counts.shared_load_ideal += ideal;
        }
    }
}

/// Reports the active lanes that are not `valid`, and poisons what they load.
#[cold]
fn invalid_shared(access: &SharedAccess, store: bool, frame: &mut Frame, agent: Agent, valid: u32, world: &mut World) {
    let count = access.registers.count;
    for lane in lanes(agent.active & !valid) {
        let fault = outside_shared(frame.lanes(access.index)[lane], count, access.length);
        world.fault(|| (agent.site)(lane as u32), fault);
        if !store {
            poison(frame, &access.registers, access.memory, lane);
        }
    }
}

/// What to report of an access of shared elements that are not in bounds or not aligned to their number.
pub fn outside_shared(index: u32, count: u32, length: u32) -> Fault {
    let index = i64::from(index.cast_signed());
    if index < 0 || index + i64::from(count) > i64::from(length) {
        Fault::SharedOutOfBounds { index, count, length }
    } else {
        Fault::SharedMisaligned { index, count }
    }
}

/// What to report of an access of a shared element.
pub fn shared_fault(index: i64, conflict: Conflict) -> Fault {
    match conflict {
        Conflict::Uninitialised => Fault::SharedUninitialised { index },
        Conflict::InFlight => Fault::SharedInFlight { index },
        Conflict::Race(other) => Fault::SharedRace { index, other },
    }
}

pub fn order(
    world: &mut World,
    address: usize,
    size: usize,
    store: bool,
    warp: usize,
    recall: &mut Recall,
) -> Option<(usize, Unordered)> {
    let granule = size.min(4);
    let mut problem = None;
    for at in (address..address + size).step_by(granule) {
        let granule = granule.min(address + size - at);
        let found = if store {
            world.arena.write(at, granule, warp, &world.clocks, recall)
        } else {
            world.arena.read(at, granule, warp, &world.clocks, recall)
        };
        if let (Some(found), None) = (found, &problem) {
            problem = Some((at, found));
        }
    }
    problem
}

pub fn unordered(world: &mut World, agent: Agent, lane: usize, address: usize, problem: Unordered, race: GlobalRace) {
    let fault = fault_of(world, address, problem, race);
    world.fault(|| (agent.site)(lane as u32), fault);
}

/// What to report of an access that is not ordered.
pub fn fault_of(world: &World, address: usize, problem: Unordered, race: GlobalRace) -> Fault {
    let per_block = world.warps_per_block;
    let name = |warp: usize| WarpName { block: (warp / per_block) as u32, warp: (warp % per_block) as u32 };
    match problem {
        Unordered::Uninitialised => Fault::GlobalUninitialised { address },
        Unordered::Tagged => Fault::TaggedMixed { address },
        Unordered::Dependency => Fault::BeforeDependencies { address },
        Unordered::Write(warp) => Fault::GlobalRace { address, race, other: name(warp) },
        Unordered::Read(warp) => Fault::GlobalRace { address, race: GlobalRace::WriteAfterRead, other: name(warp) },
    }
}

/// Reports two lanes that write the same bytes.
fn overlap(addresses: &[i64; 32], size: i64, agent: Agent, world: &mut World) {
    let mut last = i64::MIN;
    let rising = lanes(agent.active).all(|lane| {
        let apart = addresses[lane] > last;
        last = addresses[lane];
        apart
    });
    if rising {
        return;
    }
    for lane in lanes(agent.active) {
        let address = addresses[lane];
        // Accesses are aligned to their size, so two of them overlap only where they are equal.
        let twin = lanes(agent.active).take_while(|&other| other < lane).find(|&other| addresses[other] == address);
        if let (Some(twin), true) = (twin, address >= 0) {
            let address = address as usize;
            let fault = Fault::GlobalOverlap { address, lanes: (twin as u32, lane as u32) };
            world.fault(|| (agent.site)(lane as u32), fault);
            spoil(&mut world.arena.bytes[address..address + size as usize]);
        }
    }
}

#[inline(always)]
fn load_elements(frame: &mut Frame, registers: &Registers, memory: MemoryType, lane: usize, bytes: &[u8]) {
    let element = memory.bytes() as usize;
    for (&slot, bytes) in registers.slots[..registers.count as usize].iter().zip(bytes.chunks_exact(element)) {
        let slot = slot as usize;
        match memory {
            MemoryType::U32 => frame.wide[slot][lane] = i64::from(u32::from_le_bytes(whole(bytes))),
            MemoryType::I64 => frame.wide[slot][lane] = i64::from_le_bytes(whole(bytes)),
            narrow => frame.narrow[slot][lane] = narrow_of(narrow, bytes),
        }
    }
}

/// The narrow register that an element in memory becomes.
///
/// # Panics
/// If a register of the type is wide.
#[inline(always)]
pub fn narrow_of(memory: MemoryType, bytes: &[u8]) -> u32 {
    match memory {
        MemoryType::Bool => truth(bytes[0] != 0),
        MemoryType::I8 => i32::from(bytes[0] as i8) as u32,
        MemoryType::U8 => u32::from(bytes[0]),
        MemoryType::I16 => i32::from(i16::from_le_bytes(whole(bytes))) as u32,
        MemoryType::U16 => u32::from(u16::from_le_bytes(whole(bytes))),
        MemoryType::F16 => single_of_f16(u16::from_le_bytes(whole(bytes))).to_bits(),
        MemoryType::BF16 => single_of_bf16(u16::from_le_bytes(whole(bytes))).to_bits(),
        MemoryType::I32 | MemoryType::F32 => u32::from_le_bytes(whole(bytes)),
        MemoryType::U32 | MemoryType::I64 => unreachable!("its register is wide"),
    }
}

#[inline(always)]
fn whole<const BYTES: usize>(bytes: &[u8]) -> [u8; BYTES] {
    bytes.try_into().expect("chunks of the element's size")
}

#[inline(always)]
fn store_elements(frame: &Frame, registers: &Registers, memory: MemoryType, lane: usize, bytes: &mut [u8]) {
    let element = memory.bytes() as usize;
    for (&slot, bytes) in registers.slots[..registers.count as usize].iter().zip(bytes.chunks_exact_mut(element)) {
        let slot = slot as usize;
        match memory {
            MemoryType::Bool => bytes[0] = (frame.narrow[slot][lane] & 1) as u8,
            MemoryType::I8 | MemoryType::U8 => bytes[0] = frame.narrow[slot][lane] as u8,
            MemoryType::I16 | MemoryType::U16 => {
                bytes.copy_from_slice(&(frame.narrow[slot][lane] as u16).to_le_bytes());
            }
            MemoryType::F16 => {
                bytes.copy_from_slice(&f16_of_single(f32::from_bits(frame.narrow[slot][lane])).to_le_bytes());
            }
            MemoryType::BF16 => {
                bytes.copy_from_slice(&bf16_of_single(f32::from_bits(frame.narrow[slot][lane])).to_le_bytes());
            }
            MemoryType::U32 => bytes.copy_from_slice(&(frame.wide[slot][lane] as u32).to_le_bytes()),
            MemoryType::I32 | MemoryType::F32 => bytes.copy_from_slice(&frame.narrow[slot][lane].to_le_bytes()),
            MemoryType::I64 => bytes.copy_from_slice(&frame.wide[slot][lane].to_le_bytes()),
        }
    }
}

/// What a narrow register holds after a store to memory of type `memory` and a load.
fn through_memory(register: u32, memory: MemoryType) -> u32 {
    match memory {
        MemoryType::I8 => i32::from(register as i8) as u32,
        MemoryType::U8 => u32::from(register as u8),
        MemoryType::I16 => i32::from(register as i16) as u32,
        MemoryType::U16 => u32::from(register as u16),
        MemoryType::F16 => single_of_f16(f16_of_single(f32::from_bits(register))).to_bits(),
        MemoryType::BF16 => single_of_bf16(bf16_of_single(f32::from_bits(register))).to_bits(),
        MemoryType::Bool | MemoryType::I32 | MemoryType::U32 | MemoryType::F32 | MemoryType::I64 => register,
    }
}

fn poison(frame: &mut Frame, registers: &Registers, memory: MemoryType, lane: usize) {
    for &slot in &registers.slots[..registers.count as usize] {
        match memory.scalar_type() {
            ScalarType::I64 => frame.wide[slot as usize][lane] = i64::from(POISON) << 32 | i64::from(POISON),
            ScalarType::Bool => frame.narrow[slot as usize][lane] = truth(lane.is_multiple_of(2)),
            ScalarType::I32 | ScalarType::F32 => frame.narrow[slot as usize][lane] = POISON,
        }
    }
}

fn spoil(bytes: &mut [u8]) {
    for (byte, poison) in bytes.iter_mut().zip(POISON.to_le_bytes().into_iter().cycle()) {
        *byte = poison;
    }
}
