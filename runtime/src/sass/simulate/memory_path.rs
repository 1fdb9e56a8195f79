//! The way of memory instructions: a queue for each scheduler, one data path, the first-level cache, and what comes from the
//! second level.

use std::collections::{HashMap, VecDeque};

use super::super::machine::MachineModel;
use super::causes::Cause;

const SECTOR_BYTES: f64 = 32.0;

/// Where constants and tensors are before the block loads them, and who else loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Surroundings {
    /// Whether they are in the second-level cache.
    pub cached: bool,
    /// Whether all other multiprocessors load too.
    pub crowded: bool,
}

/// What a memory instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access<'a> {
    /// Nothing that takes the data path.
    Idle,
    /// A shuffle.
    Shuffle,
    /// Shared memory, with its passes.
    Shared(u64),
    /// A load from global memory.
    Load {
        /// Its passes.
        wavefronts: u64,
        /// Its sectors.
        sectors: &'a [u64],
        /// Whether the first-level cache may answer.
        cached: bool,
    },
    /// A store to global memory, or an operation there.
    Store {
        /// Its passes.
        wavefronts: u64,
        /// Its sectors.
        sectors: &'a [u64],
    },
    /// Everything is forgotten that the first-level cache holds.
    Invalidate,
}

/// When a memory instruction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// When its result is there, or its store is done.
    pub done: u64,
    /// When its registers have been read.
    pub read: u64,
    /// What one waits for who waits for it.
    pub cause: Cause,
}

/// The state of the way.
pub struct MemoryPath<'a> {
    machine: &'a MachineModel,
    surroundings: Surroundings,
    queues: Vec<VecDeque<u64>>,
    address_free: Vec<u64>,
    data_free: u64,
    incoming_free: f64,
    outgoing_free: f64,
    held: HashMap<u64, u64>,
}

impl<'a> MemoryPath<'a> {
    /// An empty way.
    pub fn new(machine: &'a MachineModel, surroundings: Surroundings) -> Self {
        let schedulers = machine.schedulers.value as usize;
        Self {
            machine,
            surroundings,
            queues: vec![VecDeque::new(); schedulers],
            address_free: vec![0; schedulers],
            data_free: 0,
            incoming_free: 0.0,
            outgoing_free: 0.0,
            held: HashMap::new(),
        }
    }

    /// The first cycle from `cycle` on in which a scheduler's queue takes an instruction.
    pub fn accepts(&mut self, scheduler: usize, cycle: u64) -> u64 {
        let queue = &mut self.queues[scheduler];
        while queue.front().is_some_and(|start| *start <= cycle) {
            queue.pop_front();
        }
        let most = self.machine.queue_entries.value as usize;
        if queue.len() < most { cycle } else { queue[queue.len() - most] }
    }

    /// Takes an instruction that a scheduler issues in a cycle.
    pub fn issue(&mut self, scheduler: usize, cycle: u64, access: Access<'_>) -> Completion {
        let start = (cycle + 1).max(self.address_free[scheduler]);
        let passes = match access {
            Access::Idle | Access::Invalidate => 0,
            Access::Shuffle => 1,
            Access::Shared(passes) => passes,
            Access::Load { wavefronts, .. } | Access::Store { wavefronts, .. } => wavefronts,
        };
        let enters = start.max(self.data_free);
        self.data_free = enters + passes;
        self.queues[scheduler].push_back(enters);
        self.address_free[scheduler] = (start + self.machine.address_cycles.value).max(enters);
        let behind = enters - (cycle + 1);
        let read = cycle + self.machine.operand_latency.value + behind + passes.saturating_sub(1);
        let after = |latency: u64| cycle + behind + latency + passes.saturating_sub(1);
        let (done, cause) = match access {
            Access::Idle => (after(1), Cause::Operands),
            Access::Invalidate => {
                self.held.clear();
                (after(1), Cause::Operands)
            }
            Access::Shuffle => (after(self.machine.shuffle_latency.value), Cause::Shared),
            Access::Shared(_) => (after(self.machine.shared_latency.value), Cause::Shared),
            Access::Load { sectors, cached, .. } => {
                (self.load(cycle + behind, sectors, cached) + passes.saturating_sub(1), Cause::Global)
            }
            Access::Store { sectors, .. } => (self.store(cycle + behind, sectors), Cause::Global),
        };
        Completion { done, read, cause }
    }

    fn bytes_a_cycle(&self) -> f64 {
        let rate = match self.surroundings.crowded {
            true => self.machine.second_level_bytes_shared,
            false => self.machine.second_level_bytes_alone,
        };
        rate.value as f64
    }

    fn load(&mut self, start: u64, sectors: &[u64], cached: bool) -> u64 {
        let latency = match self.surroundings.cached {
            true => self.machine.second_level_latency.value,
            false => self.machine.memory_latency.value,
        };
        let near = self.machine.first_level_latency.value;
        let cycles = SECTOR_BYTES / self.bytes_a_cycle();
        let mut done = start + near;
        for sector in sectors {
            let ready = match self.held.get(sector) {
                Some(ready) if cached => (*ready).max(start + near),
                _ => {
                    let begin = self.incoming_free.max(start as f64);
                    self.incoming_free = begin + cycles;
                    let ready = begin as u64 + latency;
                    if cached {
                        self.held.insert(*sector, ready);
                    }
                    ready
                }
            };
            done = done.max(ready);
        }
        done
    }

    fn store(&mut self, start: u64, sectors: &[u64]) -> u64 {
        let cycles = SECTOR_BYTES / self.bytes_a_cycle();
        let begin = self.outgoing_free.max(start as f64);
        self.outgoing_free = begin + cycles * sectors.len() as f64;
        self.outgoing_free.ceil() as u64 + self.machine.second_level_latency.value
    }
}
