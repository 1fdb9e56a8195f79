//! The timing of a block: its warps, cycle by cycle, on the schedulers of a multiprocessor.
//!
//! Each scheduler issues one instruction a cycle, of the warp that it issued last while that can go on, otherwise of the youngest
//! that can. What an instruction waits for is what the compiler wrote into it: a stall count, and scoreboards that loads and
//! slow operations release. Memory instructions go through a queue for each scheduler and one data path for all.

mod causes;
mod issue;
mod memory_path;
mod scheduler;
mod warp;

use std::collections::HashMap;

use super::error::CodeError;
use super::machine::MachineModel;
use super::operation::Pipe;
use super::program::MachineCode;
use super::trace::{Effect, Step, Trace};
pub use causes::{CAUSES, Cause, Cycles, InstructionCost, Timing, Watched};
use issue::{Issue, Kind};
pub use memory_path::Surroundings;
use memory_path::{Access, Completion, MemoryPath, Request};
use scheduler::Scheduler;
use warp::{UNKNOWN, Use, WarpState};

/// The timing of a block whose warps execute `trace`. Issues of the instructions at the places of `watched` are noted, but for
/// those that a predicate skips.
pub fn simulate(
    code: &MachineCode,
    trace: &Trace,
    machine: &MachineModel,
    surroundings: Surroundings,
    watched: &[usize],
) -> Result<Timing, CodeError> {
    let mut block = Block {
        issues: code.code.iter().map(Issue::of).collect(),
        trace,
        machine,
        warps: trace.warps.iter().map(|steps| WarpState::new(steps)).collect(),
        schedulers: (0..machine.schedulers.value).map(|_| Scheduler::default()).collect(),
        memory: MemoryPath::new(machine, surroundings),
        arrived: 0,
        watched_requests: HashMap::new(),
        timing: Timing {
            cycles: 0,
            issues: 0,
            idle: Cycles::default(),
            instructions: vec![InstructionCost::default(); code.code.len()],
            watched: Vec::new(),
        },
    };
    let mut cycle = 0;
    while let Some(next) = block.cycle(cycle, watched) {
        debug_assert!(next > cycle);
        cycle = next;
    }
    if let Some(stuck) = block.warps.iter().position(|warp| !warp.ended()) {
        return Err(CodeError::Deadlock(format!("warp {stuck} waits at a barrier")));
    }
    for scheduler in &block.schedulers {
        block.timing.idle.add(Cause::Ended, block.timing.cycles.saturating_sub(scheduler.behind));
    }
    Ok(block.timing)
}

struct Block<'a> {
    issues: Vec<Issue>,
    trace: &'a Trace,
    machine: &'a MachineModel,
    warps: Vec<WarpState<'a>>,
    schedulers: Vec<Scheduler>,
    memory: MemoryPath<'a>,
    arrived: u64,
    /// The watched issues of memory instructions that have not entered the data path, by warp and number.
    watched_requests: HashMap<(usize, u64), usize>,
    timing: Timing,
}

/// What a warp could do in a cycle.
struct Candidate {
    warp: usize,
    /// When stall count and scoreboards let it go, and what held it last.
    released: (u64, Cause),
    /// When it can be issued, and what holds it.
    issued: (u64, Cause),
}

impl<'a> Block<'a> {
    /// Issues what can be issued in a cycle; the next cycle in which something may be.
    fn cycle(&mut self, cycle: u64, watched: &[usize]) -> Option<u64> {
        while let Some((request, completion)) = self.memory.serve(cycle) {
            self.served(request, completion);
        }
        let mut next: Option<u64> = None;
        for scheduler in 0..self.schedulers.len() {
            let mut earliest: Option<u64> = None;
            let mut chosen: Option<Candidate> = None;
            let last = self.schedulers[scheduler].last;
            let count = self.schedulers.len();
            let own = (scheduler..self.warps.len()).step_by(count).rev();
            for warp in last.into_iter().chain(own.filter(|warp| Some(*warp) != last)) {
                let Some(candidate) = self.candidate(scheduler, warp, cycle) else { continue };
                if candidate.issued.0 <= cycle {
                    chosen = Some(candidate);
                    break;
                }
                earliest = Some(earliest.map_or(candidate.issued.0, |least| least.min(candidate.issued.0)));
            }
            if let Some(candidate) = chosen {
                self.issue(scheduler, &candidate, cycle, watched);
                earliest = Some(cycle + 1);
            }
            next = [next, earliest].into_iter().flatten().min();
        }
        let next = next.filter(|next| *next != UNKNOWN);
        [next, self.memory.next()].into_iter().flatten().min().map(|next| next.max(cycle + 1))
    }

    fn step(&self, warp: usize) -> Option<Step> {
        let warp = &self.warps[warp];
        warp.steps.get(warp.next).copied()
    }

    fn candidate(&self, scheduler: usize, warp: usize, cycle: u64) -> Option<Candidate> {
        let step = self.step(warp).filter(|_| !self.warps[warp].at_barrier)?;
        let issue = &self.issues[step.place as usize];
        let released = self.warps[warp].released(issue);
        if released.0 > cycle {
            return Some(Candidate { warp, released, issued: released });
        }
        let pipe = self.schedulers[scheduler].accepts(warp, issue, cycle, self.machine);
        let full = issue.pipe == Pipe::Memory && !self.memory.accepts(scheduler);
        let queue = if full { UNKNOWN } else { cycle };
        let issued = if queue > pipe { (queue, Cause::Queue) } else { (pipe, Cause::Pipe) };
        let issued = if issued.0 > cycle { issued } else { (cycle, Cause::Turn) };
        Some(Candidate { warp, released, issued })
    }

    fn issue(&mut self, scheduler: usize, candidate: &Candidate, cycle: u64, watched: &[usize]) {
        let warp = candidate.warp;
        let Some(step) = self.step(warp) else { return };
        let place = step.place as usize;
        self.account(scheduler, candidate, place, cycle);
        if watched.contains(&place) && step.effect != Effect::Skipped {
            self.timing.watched.push(Watched { warp, place, cycle, read: cycle });
            let request = (warp, self.warps[warp].requests + 1);
            if self.issues[place].pipe == Pipe::Memory {
                self.watched_requests.insert(request, self.timing.watched.len() - 1);
            }
        }
        let issue = self.issues[place].clone();
        self.schedulers[scheduler].issue(warp, &issue, cycle, self.machine);
        let state = &mut self.warps[warp];
        (state.issued, state.next) = (cycle, state.next + 1);
        state.ready = (cycle + issue.stall, Cause::Dependency);
        if step.effect == Effect::Taken {
            state.ready = (cycle + issue.stall.max(self.machine.jump_cycles.value), Cause::Jump);
        }
        self.timing.cycles = self.timing.cycles.max(cycle + 1);
        match (issue.pipe, issue.kind) {
            (_, Kind::Barrier) => self.arrive(warp, cycle),
            (_, Kind::Fence) if step.effect != Effect::Skipped => {
                let state = &mut self.warps[warp];
                state.ready = (state.stored.max(cycle) + self.machine.fence_latency.value, Cause::Fence);
            }
            (Pipe::Memory, _) => self.access(scheduler, warp, step, &issue, cycle),
            (pipe, _) => {
                let (latency, cause) = self.latency(pipe, issue.kind);
                self.hold(
                    warp,
                    &issue,
                    cycle,
                    (cycle + latency, cause),
                    cycle + latency.min(self.machine.operand_latency.value),
                    None,
                );
            }
        }
        if self.warps[warp].ended() {
            let ends = self.warps[warp].stored;
            self.timing.cycles = self.timing.cycles.max(ends.min(cycle + 1));
            self.meet();
        }
    }

    /// What the issue cost: cycles of the warp before it, and cycles in which the scheduler had nothing to issue.
    fn account(&mut self, scheduler: usize, candidate: &Candidate, place: usize, cycle: u64) {
        let cost = &mut self.timing.instructions[place];
        let state = &self.warps[candidate.warp];
        let begin = if state.next == 0 { 0 } else { state.issued + 1 };
        let fixed = state.ready.0.clamp(begin, cycle);
        let released = candidate.released.0.clamp(fixed, cycle);
        cost.issues += 1;
        cost.stalls.add(state.ready.1, fixed - begin);
        cost.stalls.add(candidate.released.1, released - fixed);
        let idle = cycle.saturating_sub(self.schedulers[scheduler].behind);
        let busy = (cycle - released).min(idle);
        cost.stalls.add(Cause::Pipe, busy);
        cost.stalls.add(Cause::Turn, cycle - released - busy);
        let cause = if busy == idle && idle > 0 { Cause::Pipe } else { candidate.released.1 };
        self.timing.idle.add(cause, idle);
        self.timing.issues += 1;
    }

    fn latency(&self, pipe: Pipe, kind: Kind) -> (u64, Cause) {
        let machine = self.machine;
        match pipe {
            Pipe::Constant if kind == Kind::SpecialRegister => {
                (machine.special_register_latency.value, Cause::Constant)
            }
            Pipe::Constant | Pipe::Uniform => (machine.constant_latency.value, Cause::Constant),
            Pipe::Double => (machine.double_latency.value, Cause::Arithmetic),
            Pipe::Tensor => (machine.tensor_latency.value, Cause::Arithmetic),
            _ => (machine.special_latency.value, Cause::Arithmetic),
        }
    }

    fn hold(&mut self, warp: usize, issue: &Issue, cycle: u64, write: (u64, Cause), read: u64, request: Option<u64>) {
        let state = &mut self.warps[warp];
        if let Some(scoreboard) = issue.write {
            state.hold(scoreboard.index(), cycle, Use { end: write, request, reads: false });
        }
        if let Some(scoreboard) = issue.read {
            state.hold(scoreboard.index(), cycle, Use { end: (read, Cause::Operands), request, reads: true });
        }
    }

    fn access(&mut self, scheduler: usize, warp: usize, step: Step, issue: &Issue, cycle: u64) {
        let trace = self.trace;
        let access = match (step.effect, issue.kind) {
            (Effect::Skipped, _) => {
                self.hold(warp, issue, cycle, (cycle + 2, Cause::Operands), cycle + 2, None);
                return;
            }
            (_, Kind::Shuffle) => Access::Shuffle,
            (_, Kind::Invalidate) => Access::Invalidate,
            (Effect::Shared { wavefronts }, _) => Access::Shared(u64::from(wavefronts)),
            (Effect::Global { wavefronts, sectors, first }, kind) => {
                let (first, count) = (first as usize, usize::from(sectors));
                let (wavefronts, sectors) = (u64::from(wavefronts), &trace.sectors[first..first + count]);
                match kind {
                    Kind::GlobalLoad { cached } | Kind::Copy { cached } => Access::Load { wavefronts, sectors, cached },
                    _ => Access::Store { wavefronts, sectors },
                }
            }
            _ => Access::Idle,
        };
        self.timing.instructions[step.place as usize].wavefronts += access.passes();
        let state = &mut self.warps[warp];
        state.requests += 1;
        state.unserved += 1;
        let number = state.requests;
        state.kinds.push_back(issue.kind);
        self.memory.push(scheduler, Request { warp, number, access, issued: cycle, registers: issue.registers });
        self.hold(warp, issue, cycle, (UNKNOWN, completion_cause(&access)), UNKNOWN, Some(number));
    }

    /// Notes that an instruction has entered the data path. Those of a warp do so in order.
    fn served(&mut self, request: Request<'_>, completion: Completion) {
        if let Some(watched) = self.watched_requests.remove(&(request.warp, request.number)) {
            self.timing.watched[watched].read = completion.read;
        }
        let state = &mut self.warps[request.warp];
        let mut done = (completion.done, completion.cause);
        match state.kinds.pop_front() {
            Some(Kind::GlobalStore) => state.stored = state.stored.max(completion.done),
            Some(Kind::Copy { .. }) => state.copied = state.copied.max(completion.done),
            Some(Kind::CopyGroup) => done = (state.copied.max(completion.done), Cause::Global),
            _ => {}
        }
        state.served(request.number, done, completion.read);
    }

    fn arrive(&mut self, warp: usize, cycle: u64) {
        self.arrived = (self.arrived + self.machine.barrier_cycles.value).max(cycle);
        self.warps[warp].at_barrier = true;
        self.meet();
    }

    /// Lets the block go on if all warps that have not ended are at the barrier.
    fn meet(&mut self) {
        let mut live = self.warps.iter().filter(|warp| !warp.ended() || warp.at_barrier);
        if !live.all(|warp| warp.at_barrier) {
            return;
        }
        let release = self.arrived + self.machine.barrier_latency.value;
        for warp in self.warps.iter_mut().filter(|warp| warp.at_barrier) {
            warp.at_barrier = false;
            warp.ready = (warp.ready.0.max(release), Cause::Barrier);
        }
    }
}

/// What one waits for who waits for an access that has not entered the data path.
fn completion_cause(access: &Access<'_>) -> Cause {
    match access {
        Access::Shuffle | Access::Shared(_) => Cause::Shared,
        Access::Load { .. } | Access::Store { .. } => Cause::Global,
        Access::Idle | Access::Invalidate => Cause::Operands,
    }
}
