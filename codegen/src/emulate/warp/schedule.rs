//! Which warp runs next: seeded, and unfair on purpose.

use super::execute::{AtBarrier, Stop, Warp};
use crate::emulate::bytecode::Compiled;
use crate::emulate::random::Random;
use crate::emulate::report::Fault;
use crate::emulate::world::World;

/// How the next warp is chosen.
#[derive(Clone, Copy, Debug)]
enum Policy {
    /// Any.
    Random,
    /// The one that became ready last.
    Newest,
    /// The one that became ready first.
    Oldest,
    /// Any but those of one block, as long as there are others.
    Starve(usize),
    /// Mostly the warps of the highest block.
    HighestBlock,
}

/// Most instructions that a warp runs at a stretch while a given block is starved.
const STARVED_STEPS: usize = 32;

/// A launch in progress.
pub struct Scheduler<'p> {
    program: &'p Compiled,
    warps: Vec<Warp>,
    ready: Vec<u32>,
    policy: Policy,
    longest: usize,
    finished: usize,
}

impl<'p> Scheduler<'p> {
    /// All warps of `blocks` blocks, ready.
    pub fn new(
        program: &'p Compiled,
        blocks: usize,
        per_block: usize,
        starved: Option<u32>,
        random: &mut Random,
    ) -> Self {
        let warps: Vec<Warp> = (0..blocks * per_block)
            .map(|warp| Warp::new(warp / per_block, warp % per_block, per_block, blocks as u32))
            .collect();
        let policy = match random.below(6) {
            0 | 1 => Policy::Random,
            2 => Policy::Newest,
            3 => Policy::Oldest,
            4 => Policy::Starve(random.below(blocks)),
            _ => Policy::HighestBlock,
        };
        let longest = [1, 4, 32, 1 << 20][random.below(4)];
        // A starved block must not get far when its turn comes.
        let (policy, longest) = match starved {
            Some(block) => (Policy::Starve(block as usize), STARVED_STEPS),
            None => (policy, longest),
        };
        let ready = (0..warps.len() as u32).collect();
        Self { program, warps, ready, policy, longest, finished: 0 }
    }

    /// Runs until all warps have left or the launch must end; whether they have left.
    pub fn run(mut self, world: &mut World) -> bool {
        loop {
            self.ready.append(&mut world.woken);
            let Some(warp) = self.choose(world) else { break };
            let index = warp as usize;
            self.warps[index].core.fuel = 1 + world.random.below(self.longest) as u32;
            let stop = self.warps[index].run(self.program, world);
            match stop {
                Stop::Preempted => self.ready.push(warp),
                Stop::Waiting => {}
                Stop::Barrier => {
                    world.blocks[self.warps[index].core.block].arrived += 1;
                    self.meet(index, world);
                }
                Stop::Finished => {
                    self.finished += 1;
                    world.blocks[self.warps[index].core.block].done += 1;
                    self.meet(index, world);
                }
                Stop::Fatal => world.stopped = true,
            }
            if world.stopped {
                return false;
            }
        }
        if self.finished < self.warps.len() {
            self.report_deadlock(world);
            return false;
        }
        true
    }

    fn choose(&mut self, world: &mut World) -> Option<u32> {
        let count = self.ready.len();
        if count == 0 {
            return None;
        }
        let at = match self.policy {
            Policy::Random => world.random.below(count),
            Policy::Newest => count - 1 - world.random.below(count.min(2)),
            Policy::Oldest => 0,
            Policy::Starve(block) => {
                let first = world.random.below(count);
                let fed = |&at: &usize| self.warps[self.ready[at] as usize].core.block != block;
                (first..count).chain(0..first).find(fed).unwrap_or(first)
            }
            Policy::HighestBlock if world.random.below(8) > 0 => {
                (0..count).max_by_key(|&at| self.ready[at]).unwrap_or(0)
            }
            Policy::HighestBlock => world.random.below(count),
        };
        Some(match self.policy {
            Policy::Oldest => self.ready.remove(at),
            _ => self.ready.swap_remove(at),
        })
    }

    /// Lets the warps of a block pass a barrier, if all of them are there.
    fn meet(&mut self, warp: usize, world: &mut World) {
        let block = self.warps[warp].core.block;
        let per_block = world.warps_per_block;
        let members = block * per_block..(block + 1) * per_block;
        let state = &mut world.blocks[block];
        if state.arrived == 0 || ((state.arrived + state.done) as usize) < per_block {
            return;
        }
        let places: Vec<_> = self.warps[members.clone()].iter().map(|warp| warp.barrier).collect();
        let same = |place: &Option<_>| match (place, &places[0]) {
            (Some(a), Some(b)) => AtBarrier::same_place(a, b),
            (None, _) | (_, None) => false,
        };
        if state.done > 0 || !places.iter().all(same) {
            let at = self.warps[members].iter().find(|warp| warp.barrier.is_some());
            if let Some(at) = at {
                let program = self.program;
                world.fault(|| at.site(program, 0), Fault::DivergentBarrier);
            }
            world.stopped = true;
            return;
        }
        state.arrived = 0;
        state.phase += 1;
        world.clocks.barrier(block);
        let any = places.iter().flatten().any(|place| place.or.is_some_and(|(_, holds)| holds));
        for member in members {
            self.warps[member].pass_barrier(any);
            self.ready.push(member as u32);
        }
    }

    fn report_deadlock(&self, world: &mut World) {
        let mut waiting = 0;
        for warp in &self.warps {
            if let Some((address, wanted)) = warp.core.polled {
                let seen = world.arena.tag_at(address);
                world.fault(|| warp.site(self.program, 0), Fault::PollDeadlock { address, seen, wanted });
                waiting += 1;
                continue;
            }
            let Some((counter, wanted)) = warp.wanted(self.program).filter(|_| warp.barrier.is_none()) else {
                continue;
            };
            let seen = world.counters.get(counter as usize).map_or(0, |counter| counter.value);
            world.fault(|| warp.site(self.program, 0), Fault::Deadlock { counter, seen, wanted });
            waiting += 1;
        }
        debug_assert!(waiting > 0, "a warp that is not ready, at a barrier, or finished, waits");
    }
}
