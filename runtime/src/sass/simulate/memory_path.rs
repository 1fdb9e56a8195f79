//! The way of memory instructions: a queue for each scheduler, one data path, the first-level cache, and what comes from the
//! second level.

use std::collections::{HashMap, VecDeque};

use super::super::machine::MachineModel;
use super::causes::Cause;

const SECTOR_BYTES: f64 = 32.0;
const PASS_BYTES: f64 = 128.0;

/// Where constants and tensors are before the block loads them, and how many multiprocessors load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Surroundings {
    /// Whether they are in the second-level cache.
    pub cached: bool,
    /// Multiprocessors that load at the same time, the block's own included.
    pub active: u64,
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

impl Access<'_> {
    /// Passes through the data path.
    pub fn passes(&self) -> u64 {
        match *self {
            Self::Idle | Self::Invalidate => 0,
            Self::Shuffle => 1,
            Self::Shared(passes) => passes,
            Self::Load { wavefronts, .. } | Self::Store { wavefronts, .. } => wavefronts,
        }
    }
}

/// A memory instruction on its way.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The warp.
    pub warp: usize,
    /// Its number among the warp's.
    pub number: u64,
    /// What it does.
    pub access: Access<'a>,
    /// The cycle in which it was issued.
    pub issued: u64,
    /// Registers that each lane loads.
    pub registers: u64,
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
    queues: Vec<VecDeque<Request<'a>>>,
    address_free: Vec<u64>,
    turn: usize,
    data_free: f64,
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
            turn: 0,
            data_free: 0.0,
            incoming_free: 0.0,
            outgoing_free: 0.0,
            held: HashMap::new(),
        }
    }

    /// Whether a scheduler's queue takes an instruction.
    pub fn accepts(&self, scheduler: usize) -> bool {
        self.queues[scheduler].len() < self.machine.queue_entries.value as usize
    }

    /// Takes an instruction that a scheduler issues.
    pub fn push(&mut self, scheduler: usize, request: Request<'a>) {
        self.queues[scheduler].push_back(request);
    }

    /// The first cycle in which something enters the data path, if anything waits.
    pub fn next(&self) -> Option<u64> {
        (0..self.queues.len()).filter_map(|scheduler| self.enters(scheduler)).min()
    }

    /// When the first instruction of a scheduler's queue can enter the data path.
    fn enters(&self, scheduler: usize) -> Option<u64> {
        let request = self.queues[scheduler].front()?;
        Some((request.issued + 1).max(self.address_free[scheduler]).max(self.data_free as u64))
    }

    /// Lets an instruction enter the data path in a cycle, the schedulers in turn.
    pub fn serve(&mut self, cycle: u64) -> Option<(Request<'a>, Completion)> {
        let count = self.queues.len();
        let ready = (0..count).map(|distance| (self.turn + distance) % count);
        let scheduler = ready
            .into_iter()
            .filter(|scheduler| self.enters(*scheduler).is_some_and(|enters| enters <= cycle))
            .min_by_key(|scheduler| self.queues[*scheduler].front().map(|request| request.issued))?;
        let request = self.queues[scheduler].pop_front()?;
        self.turn = (scheduler + 1) % count;
        self.address_free[scheduler] = cycle + self.machine.address_cycles.value;
        let cycles = PASS_BYTES / self.machine.data_path_bytes.value as f64;
        self.data_free = self.data_free.max(cycle as f64) + cycles * request.access.passes() as f64;
        let behind = cycle.saturating_sub(request.issued + 1);
        Some((request, self.completion(&request, request.issued + behind)))
    }

    /// The end of an access that would have been issued at `start` if nothing had been before it.
    fn completion(&mut self, request: &Request<'a>, start: u64) -> Completion {
        let access = request.access;
        let behind = access.passes().saturating_sub(1);
        let returned = behind.max(self.machine.return_cycles.value * request.registers.saturating_sub(1));
        let read = start + self.machine.operand_latency.value + behind;
        let (done, cause) = match access {
            Access::Idle => (start + 1, Cause::Operands),
            Access::Invalidate => {
                self.held.clear();
                (start + 1, Cause::Operands)
            }
            Access::Shuffle => (start + self.machine.shuffle_latency.value, Cause::Shared),
            Access::Shared(_) => (start + self.machine.shared_latency.value + returned, Cause::Shared),
            Access::Load { sectors, cached, .. } => (self.load(start, sectors, cached) + returned, Cause::Global),
            Access::Store { sectors, .. } => (self.store(start, sectors), Cause::Global),
        };
        Completion { done, read, cause }
    }

    fn bytes_a_cycle(&self) -> f64 {
        self.machine.second_level_bytes(self.surroundings.active)
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
