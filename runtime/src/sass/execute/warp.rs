//! The registers of a warp, and where its lanes stand.

use std::collections::BTreeMap;

use super::super::operand::{Predicate, TRUE};
use super::lanes::{ALL, LANES, Lanes, lanes_of};

/// General registers with the one that reads as zero.
const REGISTERS: usize = 256;
/// The number of the register that reads as zero.
pub const ZERO_REGISTER: usize = 255;
/// Uniform registers with the one that reads as zero.
const UNIFORM_REGISTERS: usize = 64;
/// The number of the uniform register that reads as zero.
pub const ZERO_UNIFORM: usize = 63;
/// Convergence barriers.
pub const BARRIERS: usize = 16;
/// Bytes of local memory of a thread.
pub const LOCAL_BYTES: usize = 4096;

/// Why lanes do not go on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Wait {
    /// They go on.
    None,
    /// They wait at a convergence barrier.
    Convergence(usize),
    /// They wait for the other lanes of a mask to come to the same place.
    Lanes(u32),
    /// They wait for the block.
    Block,
}

/// Lanes that stand at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// The lanes.
    pub mask: u32,
    /// The place of their next instruction.
    pub place: usize,
    /// What they wait for.
    pub wait: Wait,
}

/// A warp of a block.
#[derive(Clone, Debug)]
pub struct Warp {
    /// Its number in the block.
    pub number: usize,
    registers: Vec<Lanes>,
    uniform: [u32; UNIFORM_REGISTERS],
    predicates: [u32; 8],
    uniform_predicates: [bool; 8],
    /// The lanes that take part in each convergence barrier.
    pub barriers: [u32; BARRIERS],
    /// Lanes that have not ended.
    pub live: u32,
    /// The lanes that run; an empty mask while none can.
    pub group: Group,
    parked: Vec<Group>,
    /// The lowest place at which parked lanes could go on.
    next_parked: usize,
    /// What the block's last reduction at a barrier gave.
    pub reduced: bool,
    /// Instructions that it has executed.
    pub steps: u64,
    /// What its last poll at each instruction has found.
    polled: BTreeMap<usize, u64>,
    local: Vec<u32>,
}

impl Warp {
    /// Whether a poll at the instruction at hand finds what the last one there did not.
    pub fn finds_news(&mut self, seen: u64) -> bool {
        self.polled.insert(self.group.place, seen) != Some(seen)
    }

    /// A warp whose lanes begin at a place. What registers hold at first is of `seed`.
    pub fn new(number: usize, place: usize, seed: u32) -> Self {
        let mut registers: Vec<Lanes> = (0..REGISTERS).map(|register| unset(seed, register)).collect();
        registers[ZERO_REGISTER] = Lanes::ZERO;
        let mut uniform = std::array::from_fn(|register| unset(seed, REGISTERS + register).0[0]);
        uniform[ZERO_UNIFORM] = 0;
        Self {
            number,
            registers,
            uniform,
            predicates: [0; 8],
            uniform_predicates: [false; 8],
            barriers: [0; BARRIERS],
            live: ALL,
            group: Group { mask: ALL, place, wait: Wait::None },
            parked: Vec::new(),
            next_parked: usize::MAX,
            reduced: false,
            steps: 0,
            polled: BTreeMap::new(),
            local: Vec::new(),
        }
    }

    /// A register.
    #[inline(always)]
    pub fn register(&self, register: usize) -> &Lanes {
        &self.registers[register & (REGISTERS - 1)]
    }

    /// Writes a register in the lanes of `mask`.
    #[inline(always)]
    pub fn write(&mut self, register: usize, mask: u32, value: &Lanes) {
        if register < ZERO_REGISTER {
            self.registers[register].merge(mask, value);
        }
    }

    /// A uniform register.
    #[inline(always)]
    pub fn uniform(&self, register: usize) -> u32 {
        self.uniform[register & (UNIFORM_REGISTERS - 1)]
    }

    pub fn write_uniform(&mut self, register: usize, word: u32) {
        if register < ZERO_UNIFORM {
            self.uniform[register] = word;
        }
    }

    /// The lanes in which a predicate, or its contrary, holds.
    #[inline(always)]
    pub fn predicate(&self, predicate: Predicate, negated: bool) -> u32 {
        let holds = match predicate {
            Predicate::Lane(TRUE) | Predicate::Uniform(TRUE) => ALL,
            Predicate::Lane(number) => self.predicates[usize::from(number & 7)],
            Predicate::Uniform(number) => 0u32.wrapping_sub(self.uniform_predicates[usize::from(number & 7)].into()),
        };
        if negated { !holds } else { holds }
    }

    /// Writes a predicate in the lanes of `mask`; a uniform one from its first lane.
    #[inline(always)]
    pub fn write_predicate(&mut self, predicate: Predicate, mask: u32, holds: u32) {
        match predicate {
            Predicate::Lane(TRUE) | Predicate::Uniform(TRUE) => {}
            Predicate::Lane(number) => {
                let own = &mut self.predicates[usize::from(number & 7)];
                *own = *own & !mask | holds & mask;
            }
            Predicate::Uniform(number) => {
                let first = mask.trailing_zeros() & 31;
                self.uniform_predicates[usize::from(number & 7)] = holds >> first & 1 == 1;
            }
        }
    }

    /// Whether no lane is left.
    pub fn has_ended(&self) -> bool {
        self.live == 0
    }

    /// Puts the running lanes aside at their place, waiting.
    pub fn park(&mut self, mask: u32, place: usize, wait: Wait) {
        if mask == 0 {
            return;
        }
        self.parked.push(Group { mask, place, wait });
        if wait == Wait::None {
            self.next_parked = self.next_parked.min(place);
        }
    }

    /// Whether parked lanes stand at or before the place of those that run.
    #[inline(always)]
    pub fn must_regroup(&self) -> bool {
        self.group.mask == 0 || self.group.place >= self.next_parked
    }

    /// Chooses which lanes run: those at the lowest place, all that stand there. Gives whether any can.
    pub fn regroup(&mut self) -> bool {
        if self.group.mask != 0 {
            let group = self.group;
            self.park(group.mask, group.place, group.wait);
            self.group.mask = 0;
        }
        self.converge();
        let ready = |group: &&Group| group.wait == Wait::None;
        let Some(place) = self.parked.iter().filter(ready).map(|group| group.place).min() else {
            self.next_parked = usize::MAX;
            return false;
        };
        let mut mask = 0;
        self.parked.retain(|group| {
            let goes = group.wait == Wait::None && group.place == place;
            mask |= if goes { group.mask } else { 0 };
            !goes
        });
        self.group = Group { mask, place, wait: Wait::None };
        self.next_parked = self.parked.iter().filter(ready).map(|group| group.place).min().unwrap_or(usize::MAX);
        true
    }

    /// Lets lanes go on that have all come together.
    fn converge(&mut self) {
        for number in 0..BARRIERS {
            let waiting = self.waiting(|wait| wait == Wait::Convergence(number));
            if waiting != 0 && self.barriers[number] & self.live & !waiting == 0 {
                self.wake(|group| group.wait == Wait::Convergence(number));
            }
        }
        for at in 0..self.parked.len() {
            let Group { place, wait: Wait::Lanes(wanted), .. } = self.parked[at] else { continue };
            let meets = |group: &Group| group.place == place && matches!(group.wait, Wait::Lanes(_));
            let here = self.parked.iter().filter(|group| meets(group)).fold(0, |mask, group| mask | group.mask);
            if wanted & self.live & !here == 0 {
                self.wake(meets);
            }
        }
    }

    /// Lets parked lanes go on behind what they waited at.
    fn wake(&mut self, wakes: impl Fn(&Group) -> bool) {
        for group in self.parked.iter_mut().filter(|group| wakes(group)) {
            (group.wait, group.place) = (Wait::None, group.place + 1);
        }
    }

    /// Lanes that wait for something.
    fn waiting(&self, holds: impl Fn(Wait) -> bool) -> u32 {
        self.parked.iter().filter(|group| holds(group.wait)).fold(0, |mask, group| mask | group.mask)
    }

    /// The lanes that wait for the block, and the place of the first of them.
    pub fn at_block_barrier(&self) -> (u32, Option<usize>) {
        let place = self.parked.iter().find(|group| group.wait == Wait::Block).map(|group| group.place);
        (self.waiting(|wait| wait == Wait::Block), place)
    }

    /// Lets the lanes go on that wait for the block.
    pub fn leave_block_barrier(&mut self) {
        self.wake(|group| group.wait == Wait::Block);
    }

    /// The lanes that wait for lanes that never come, where they cannot be waiting for the block.
    pub fn stuck(&self) -> Option<(u32, usize)> {
        let waits = |group: &&Group| matches!(group.wait, Wait::Convergence(_) | Wait::Lanes(_));
        self.parked.iter().find(waits).map(|group| (group.mask, group.place))
    }

    /// Ends the lanes of a mask.
    pub fn exit(&mut self, mask: u32) {
        self.live &= !mask;
    }

    /// The word at a byte of a lane's local memory.
    pub fn local(&self, lane: usize, byte: usize) -> Option<u32> {
        (byte + 4 <= LOCAL_BYTES).then(|| self.local.get(byte / 4 * LANES + lane).copied().unwrap_or(0))
    }

    /// Stores a word at a byte of a lane's local memory; nothing if it lies outside.
    pub fn store_local(&mut self, lane: usize, byte: usize, word: u32) -> Option<()> {
        if self.local.is_empty() {
            self.local = vec![0; LOCAL_BYTES / 4 * LANES];
        }
        *self.local.get_mut(byte / 4 * LANES + lane)? = word;
        Some(())
    }

    /// A digest of all that its next instructions depend on, and of another digest.
    pub fn digest(&self, before: u64) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        before.hash(&mut hasher);
        self.registers.iter().for_each(|words| words.0.hash(&mut hasher));
        (self.uniform, self.predicates, self.uniform_predicates, self.barriers, self.live).hash(&mut hasher);
        let group = |group: &Group| (group.mask, group.place);
        group(&self.group).hash(&mut hasher);
        self.parked.iter().for_each(|parked| (group(parked), parked.wait).hash(&mut hasher));
        hasher.finish()
    }

    /// The lowest of the running lanes.
    pub fn first_lane(&self, mask: u32) -> usize {
        lanes_of(mask).next().unwrap_or(0)
    }
}

/// What a register holds that nothing has written.
fn unset(seed: u32, register: usize) -> Lanes {
    let mixed = (seed ^ register as u32).wrapping_mul(0x9e37_79b9);
    Lanes::of(|lane| (mixed ^ lane as u32).wrapping_mul(0x85eb_ca6b) | 1)
}
