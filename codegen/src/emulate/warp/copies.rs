//! Copies from global into shared memory that go on while the warp does.
//!
//! A copy's words are unusable from its beginning on and hold their values only once the warp waits for its group: the
//! last moment that the memory model allows.

use std::collections::VecDeque;

use crate::kernel_ir::{FETCHED_WORDS, GlobalSpace};

use super::access::{self, Agent};
use super::execute::Core;
use super::lanes::{ALL, Frame, lanes};
use super::statistics;
use crate::emulate::bytecode::{CompiledBody, CopyAccess, FetchAccess, Instruction};
use crate::emulate::options::UnorderedValue;
use crate::emulate::report::{Fault, GlobalRace};
use crate::emulate::world::World;
use crate::emulate::world::memory::global::{POISON, Recall};
use crate::emulate::world::memory::shared::{Accessor, Conflict};

/// The copies that a warp has begun and not waited for.
#[derive(Default)]
pub struct Copies {
    open: Vec<Copy>,
    groups: VecDeque<Vec<Copy>>,
    /// Of the groups those that the entry has begun.
    of_entry: usize,
}

/// Elements that a lane copies at most.
const MOST_COPIED: usize = 8;

/// One lane's copy: the emulated words that it writes, and what it writes.
struct Copy {
    lane: usize,
    first: usize,
    /// The element of the array, for messages.
    index: i64,
    count: usize,
    words: [u32; MOST_COPIED],
    /// The call that began it.
    call: u32,
}

impl Core {
    /// Begins, closes or awaits copies.
    pub(super) fn copy(
        &mut self,
        instruction: Instruction,
        body: &CompiledBody,
        pc: u32,
        frame: &Frame,
        world: &mut World,
    ) -> Result<(), Fault> {
        let shared = self.accessor(world);
        let mut copies = std::mem::take(&mut self.copies);
        let site = |lane| self.site(body, pc, lane);
        let agent = Agent { warp: self.id, active: self.active, shared, site: &site };
        let done = match instruction {
            Instruction::AsyncCopy(number) => {
                copies.begin(&body.copies[number as usize], frame, agent, self.block, world);
                Ok(())
            }
            Instruction::Fetch(number) => {
                let access = &body.fetches[number as usize];
                let places = [access.index, access.first].map(|word| frame.uniform(word, self.active));
                match (places, self.active) {
                    ([Some(index), Some(first)], ALL) => {
                        let places = [index, first].map(|word| i64::from(word as i32));
                        copies.fetch(access, places, agent, self.block, world);
                        Ok(())
                    }
                    _ => Err(Fault::DivergentControl),
                }
            }
            Instruction::AsyncCommit => {
                copies.commit();
                Ok(())
            }
            Instruction::AsyncWait(pending) => {
                copies.deliver(pending as usize, agent, self.block, world);
                Ok(())
            }
            _ => unreachable!("the instruction is of no copy"),
        };
        self.copies = copies;
        done
    }
}

impl Copies {
    /// Groups that are under way, the open one included.
    pub fn under_way(&self) -> usize {
        self.groups.len() + usize::from(!self.open.is_empty())
    }

    /// Groups that the kernel has begun and not waited for.
    pub fn own(&self) -> usize {
        self.under_way() - self.of_entry
    }

    /// Calls a kernel, whose groups come after those of the entry.
    pub fn enter(&mut self) {
        self.of_entry = self.groups.len();
    }

    /// Closes the open group.
    pub fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// Reads the source of each lane and makes its destination unusable.
    pub fn begin(&mut self, access: &CopyAccess, frame: &Frame, agent: Agent, block: usize, world: &mut World) {
        let element = i64::from(access.memory.bytes());
        let size = i64::from(access.count) * element;
        let exists = frame.holds(access.exists, agent.active);
        let mut recall = Recall::default();
        let mut addresses = [i64::MIN; 32];
        for lane in lanes(agent.active) {
            let index = i64::from(frame.lanes(access.index)[lane] as i32);
            let count = access.count;
            if index < 0 || index + i64::from(count) > i64::from(access.length) {
                let fault = Fault::SharedOutOfBounds { index, count, length: access.length };
                world.fault(|| (agent.site)(lane as u32), fault);
                continue;
            }
            if index % i64::from(count) != 0 {
                world.fault(|| (agent.site)(lane as u32), Fault::SharedMisaligned { index, count });
                continue;
            }
            let mut words = [0; MOST_COPIED];
            if exists >> lane & 1 != 0 {
                let at = frame.index(access.source, lane);
                addresses[lane] = at.saturating_mul(element);
                words = read(access, addresses[lane], size, lane, agent, &mut recall, world);
            }
            let first = access.base as usize + index as usize;
            let span = first..first + count as usize;
            let shared = &mut world.blocks[block].shared;
            let conflict = shared.write(span.clone(), lane as u32, &agent.shared);
            shared.mark(span, true);
            report(conflict, first, index, lane, agent, world);
            let call = agent.shared.call;
            self.open.push(Copy { lane, first, index, count: count as usize, words, call });
        }
        if world.options.count {
            let loaded = u64::from(exists.count_ones() * access.count);
            let sectors = statistics::sectors(&addresses, size);
            let counts = world.counts();
            counts.load_sectors += sectors;
            counts.global_loads += loaded;
        }
    }

    /// Reads what the lanes copy of a table from word `first` on, to element `index`, and makes that unusable.
    pub fn fetch(
        &mut self,
        access: &FetchAccess,
        [index, first]: [i64; 2],
        agent: Agent,
        block: usize,
        world: &mut World,
    ) {
        let (table, words, length) = (access.table, i64::from(access.words), access.array.length);
        if index < 0 || index + words > i64::from(length) {
            let fault = Fault::SharedOutOfBounds { index, count: access.words, length };
            return world.fault(|| (agent.site)(0), fault);
        }
        let count = FETCHED_WORDS as usize;
        if index % count as i64 != 0 {
            return world.fault(|| (agent.site)(0), Fault::SharedMisaligned { index, count: FETCHED_WORDS });
        }
        let available = world.table(table).len();
        if first < 0 || first + words > available as i64 || first % count as i64 != 0 {
            return world.fault(|| (agent.site)(0), Fault::TableOutOfBounds { table, index: first, length: available });
        }
        let threads = world.warps_per_block * 32;
        for lane in lanes(agent.active) {
            let thread = agent.shared.first_thread as usize + lane;
            for at in (thread * count..access.words as usize).step_by(threads * count) {
                let source = &world.table(table)[first as usize + at..][..count];
                let words = std::array::from_fn(|word| source.get(word).map_or(0, |word| *word as u32));
                let from = access.array.base as usize + index as usize + at;
                let shared = &mut world.blocks[block].shared;
                let conflict = shared.write(from..from + count, lane as u32, &agent.shared);
                shared.mark(from..from + count, true);
                let index = index + at as i64;
                report(conflict, from, index, lane, agent, world);
                self.open.push(Copy { lane, first: from, index, count, words, call: agent.shared.call });
            }
        }
    }

    /// Delivers all groups but the last `pending`.
    pub fn deliver(&mut self, pending: usize, agent: Agent, block: usize, world: &mut World) {
        while self.groups.len() > pending {
            self.of_entry = self.of_entry.saturating_sub(1);
            for copy in self.groups.pop_front().into_iter().flatten() {
                let span = copy.first..copy.first + copy.count;
                let shared = &mut world.blocks[block].shared;
                shared.mark(span.clone(), false);
                let by = Accessor { call: copy.call, ..agent.shared };
                let conflict = shared.write(span.clone(), copy.lane as u32, &by);
                shared.words[span].copy_from_slice(&copy.words[..copy.count]);
                report(conflict, copy.first, copy.index, copy.lane, agent, world);
            }
        }
    }
}

fn report(conflict: Option<(usize, Conflict)>, first: usize, index: i64, lane: usize, agent: Agent, world: &mut World) {
    let Some((word, conflict)) = conflict else { return };
    let index = index + (word - first) as i64;
    world.fault(|| (agent.site)(lane as u32), fault_of_conflict(conflict, index));
}

/// What to report of an access of an element of a shared array.
pub fn fault_of_conflict(conflict: Conflict, index: i64) -> Fault {
    match conflict {
        Conflict::InFlight => Fault::SharedInFlight { index },
        Conflict::Uninitialised => Fault::SharedUninitialised { index },
        Conflict::Race(other) => Fault::SharedRace { index, other },
    }
}

/// The elements at an address, a word each, checked as a load is.
fn read(
    access: &CopyAccess,
    address: i64,
    size: i64,
    lane: usize,
    agent: Agent,
    recall: &mut Recall,
    world: &mut World,
) -> [u32; MOST_COPIED] {
    let space = access.space;
    let length = match space {
        GlobalSpace::Arena | GlobalSpace::States => world.arena.bytes.len(),
        GlobalSpace::Weights => world.weights.len(),
    };
    let bytes = size as u32;
    let fault = if address < 0 || address > length as i64 - size {
        Some(Fault::GlobalOutOfBounds { space, address, bytes, length })
    } else if address % size != 0 {
        Some(Fault::GlobalMisaligned { space, address, bytes })
    } else {
        None
    };
    if let Some(fault) = fault {
        world.fault(|| (agent.site)(lane as u32), fault);
        return [POISON; MOST_COPIED];
    }
    let (at, size) = (address as usize, size as usize);
    let memory = match space {
        GlobalSpace::Arena | GlobalSpace::States => &world.arena.bytes[..],
        GlobalSpace::Weights => world.weights,
    };
    let mut words = [0; MOST_COPIED];
    for (word, bytes) in words.iter_mut().zip(memory[at..at + size].chunks_exact(access.memory.bytes() as usize)) {
        *word = access::narrow_of(access.memory, bytes);
    }
    if space != GlobalSpace::Weights
        && let Some((at, problem)) = access::order(world, at, size, false, agent.warp, recall)
    {
        access::unordered(world, agent, lane, at, problem, GlobalRace::ReadAfterWrite);
        match world.options.unordered {
            UnorderedValue::Poison => return [POISON; MOST_COPIED],
            UnorderedValue::Found => {}
        }
    }
    words
}
