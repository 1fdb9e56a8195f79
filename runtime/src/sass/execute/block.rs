//! A block: its warps, its shared memory and its barrier.

use std::sync::atomic::Ordering;

use super::constants::Constants;
use super::control::Next;
use super::fault::{Fault, FaultKind};
use super::image::{Image, PreparedKind};
use super::instructions::action::Context;
use super::lanes::LANES;
use super::memory::global::GlobalMemory;
use super::memory::shared::SharedMemory;
use super::memory::view::MemoryView;
use super::memory::weak::WeakState;
use super::warp::Warp;

/// What the blocks of a grid have in common.
pub(super) struct Grid<'a> {
    pub image: &'a Image,
    pub constants: &'a Constants,
    pub memory: &'a GlobalMemory,
    /// Moves results of approximate functions.
    pub nudge: Option<u64>,
    /// Instructions that a warp executes at most before another one goes on.
    pub turn: u64,
    /// Whether warps of weak memory get turns by chance, some of them none.
    pub drifts: bool,
    /// Instructions that a warp may execute in all.
    pub limit: u64,
}

/// A block that runs.
pub(super) struct Block {
    number: u32,
    warps: Vec<Warp>,
    shared: SharedMemory,
    weak: Option<WeakState>,
}

/// Instructions that a warp executes at most between two looks at what it waits for.
const LONGEST_POLL: u64 = 96;

/// How a warp's turn ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    /// It has polled, or lets others go first.
    Polled,
    /// It has executed as much as a turn has.
    Full,
    /// No lane can go on.
    Waits,
}

impl Block {
    /// A block at the start of an entry.
    pub fn new(
        number: u32,
        threads: u32,
        (start, reserved): (usize, u32),
        shared_bytes: u32,
        weak: Option<WeakState>,
    ) -> Self {
        let count = threads as usize / LANES;
        let warps = (0..count).map(|warp| Warp::new(warp, start, number)).collect();
        Self { number, warps, shared: SharedMemory::new(reserved, shared_bytes), weak }
    }

    /// Whether all of it has ended, and everything that it has stored has left.
    pub fn has_ended(&self) -> bool {
        self.have_warps_ended() && self.weak.as_ref().is_none_or(WeakState::is_drained)
    }

    /// Whether its warps have ended.
    pub fn have_warps_ended(&self) -> bool {
        self.warps.iter().all(Warp::has_ended)
    }

    /// Lets everything leave that it has stored, as the end of a launch does.
    pub fn drain(&mut self, grid: &Grid<'_>) {
        if let Some(weak) = &mut self.weak {
            weak.drain(grid.memory);
        }
    }

    /// Instructions that its warps have executed.
    pub fn steps(&self) -> u64 {
        self.warps.iter().map(|warp| warp.steps).sum()
    }

    /// Its number, and the number and place of the first of its warps that has not ended.
    pub fn position(&self) -> (u32, usize, usize) {
        let warp = self.warps.iter().find(|warp| !warp.has_ended());
        (self.number, warp.map_or(0, |warp| warp.number), warp.map_or(0, |warp| warp.group.place))
    }

    /// Gives every warp a turn, beginning with one; whether any has done more than poll.
    pub fn round(&mut self, grid: &Grid<'_>, nanoseconds: u64, first: usize) -> Result<bool, Box<Fault>> {
        let mut has_moved = false;
        let mut can_go_on = false;
        for position in 0..self.warps.len() {
            let number = (first + position) % self.warps.len();
            if self.warps[number].has_ended() {
                continue;
            }
            let drifting = self.weak.as_mut().filter(|_| grid.drifts);
            let most = drifting.map_or(grid.turn, WeakState::turn);
            if most == 0 {
                can_go_on = true;
                continue;
            }
            let turn = self.turn(grid, number, (nanoseconds, most))?;
            has_moved |= turn == Turn::Full || self.warps[number].has_ended();
            can_go_on |= turn != Turn::Waits;
        }
        if !can_go_on && !self.have_warps_ended() {
            self.meet(grid)?;
            has_moved = true;
        }
        if let Some(weak) = &mut self.weak {
            weak.shake(grid.memory);
        }
        Ok(has_moved)
    }

    /// A turn of a warp of at most so many instructions.
    fn turn(&mut self, grid: &Grid<'_>, number: usize, (nanoseconds, most): (u64, u64)) -> Result<Turn, Box<Fault>> {
        let Self { number: block, warps, shared, weak } = self;
        let warp = &mut warps[number];
        let memory = MemoryView { global: grid.memory, shared, weak: weak.as_mut() };
        let start = warp.steps;
        // A loop that lets others go first, or meets the block, never fills a turn.
        if start >= grid.limit {
            let (site, block, warp) = (grid.image.site(warp.group.place), *block, number);
            return Err(Box::new(Fault { kind: FaultKind::TooLong, site, block, warp }));
        }
        let mut context = Context {
            constants: grid.constants,
            memory,
            block: *block,
            nanoseconds: nanoseconds + start,
            polls: false,
            has_news: false,
            tensor_core: grid.image.tensor_core,
            nudge: grid.nudge,
        };
        loop {
            if warp.must_regroup() && !warp.regroup() {
                return Ok(Turn::Waits);
            }
            let place = warp.group.place;
            let step = step(grid, warp, &mut context);
            let fault = |kind| Box::new(Fault { kind, site: grid.image.site(place), block: *block, warp: number });
            if step.map_err(fault)? == Next::Yields {
                let goes_on = context.has_news || warp.steps - start > LONGEST_POLL;
                return Ok(if goes_on { Turn::Full } else { Turn::Polled });
            }
            if warp.steps - start >= most {
                return if warp.steps < grid.limit { Ok(Turn::Full) } else { Err(fault(FaultKind::TooLong)) };
            }
        }
    }

    /// Lets the block go on behind a barrier at which all lanes have come together.
    fn meet(&mut self, grid: &Grid<'_>) -> Result<(), Box<Fault>> {
        let block = self.number;
        let fault = |warp: &Warp, place: Option<usize>, kind| {
            let place = place.unwrap_or(warp.group.place);
            Box::new(Fault { kind, site: grid.image.site(place), block, warp: warp.number })
        };
        let mut reduced = None;
        for warp in self.warps.iter().filter(|warp| !warp.has_ended()) {
            let (waiting, place) = warp.at_block_barrier();
            if waiting != warp.live {
                let (kind, place) = match warp.stuck() {
                    Some((lanes, place)) => (FaultKind::Converge { lanes }, Some(place)),
                    None => (FaultKind::Barrier { missing: (warp.live & !waiting).count_ones() }, place),
                };
                return Err(fault(warp, place, kind));
            }
            let control = place.and_then(|place| match &grid.image.prepared[place].kind {
                PreparedKind::Control(control) => Some(control),
                PreparedKind::Action(_) | PreparedKind::Unknown(_) => None,
            });
            if let Some((all, offered)) = control.and_then(|control| control.offered(warp, waiting)) {
                let so_far = reduced.unwrap_or(all);
                reduced = Some(if all { so_far && offered } else { so_far || offered });
            }
        }
        for warp in &mut self.warps {
            if let Some(reduced) = reduced {
                warp.reduced = reduced;
            }
            warp.leave_block_barrier();
        }
        Ok(())
    }
}

fn step(grid: &Grid<'_>, warp: &mut Warp, context: &mut Context<'_>) -> Result<Next, FaultKind> {
    let place = warp.group.place;
    let prepared = grid.image.at(place)?;
    let guard = prepared.guard.lanes(warp) & warp.group.mask;
    warp.steps += 1;
    if guard != 0 && !prepared.is_executed.load(Ordering::Relaxed) {
        prepared.is_executed.store(true, Ordering::Relaxed);
    }
    let next = match &prepared.kind {
        PreparedKind::Control(control) => control.execute(&grid.image.machine, warp, guard, grid.constants)?,
        PreparedKind::Action(action) => {
            if guard != 0 {
                action.execute(warp, guard, context)?;
            }
            warp.group.place += 1;
            if context.polls { Next::Yields } else { Next::GoesOn }
        }
        PreparedKind::Unknown(reason) if guard != 0 => return Err(FaultKind::Unknown { reason: reason.clone() }),
        PreparedKind::Unknown(_) => {
            warp.group.place += 1;
            Next::GoesOn
        }
    };
    grid.image.watched.note(place, warp);
    Ok(next)
}
