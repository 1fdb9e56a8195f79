//! One warp, from where it stands to where it must stop.

use warpweave_graph::arena::Id;
use warpweave_plan::tables::{INSTRUCTION_WORDS, RING_INSTRUCTIONS};

use crate::kernel_ir::{Body, KernelId, SpecialRegister};

use super::access::{self, Agent};
use super::copies::Copies;
use super::lanes::{ALL, Frame, Lanes, lanes, source_lane};
use super::presets::{HeldOperands, OwnWaits, fetched, prepare, prepare_operands};
use super::statistics;
use crate::emulate::bytecode::scalar::truth;
use crate::emulate::bytecode::{CallAccess, Callee, Compiled, CompiledBody, Instruction, Slot};
use crate::emulate::report::{Fault, Site};
use crate::emulate::world::World;
use crate::emulate::world::memory::global::POISON;
use crate::emulate::world::memory::shared::Accessor;

/// A barrier that a warp waits at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtBarrier {
    pub kernel: Option<KernelId>,
    pub pc: u32,
    /// Where the common condition goes, and what this warp contributes.
    pub or: Option<(Slot, bool)>,
}

impl AtBarrier {
    /// Whether both are the same barrier statement.
    pub fn same_place(&self, other: &Self) -> bool {
        self.kernel == other.kernel && self.pc == other.pc
    }
}

/// A warp during a launch.
pub struct Warp {
    pub core: Core,
    entry: Frame,
    kernel: Frame,
    /// The kernel whose presets `kernel` holds.
    loaded: Option<KernelId>,
    entry_ready: bool,
    pub barrier: Option<AtBarrier>,
}

/// Where a warp stands.
pub struct Core {
    pub block: usize,
    /// The warp in the block.
    pub index: usize,
    /// The warp in the grid.
    pub id: usize,
    pub grid: u32,
    pc: u32,
    return_pc: u32,
    pub active: u32,
    /// The kernel that runs.
    running: Option<KernelId>,
    calls: u32,
    /// Ordering points of its lanes.
    pub stamp: u32,
    /// Memory operations until the warp is preempted.
    pub fuel: u32,
    /// The operands and the tile of the call.
    pub operands: HeldOperands,
    pub tile: i32,
    /// The waits that the kernel of the call does itself.
    pub waits: OwnWaits,
    /// The block has met before the signals behind an rTask.
    pub met: bool,
    /// The wait at which the warp stands has been counted.
    pub counted: bool,
    /// The byte where the warp polls, and the bits of the tag, which is not there.
    pub polled: Option<(usize, u32)>,
    pub(super) copies: Copies,
}

/// Why a warp stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It may go on at once.
    Preempted,
    /// It waits for a counter or polls.
    Waiting,
    /// It waits at a barrier.
    Barrier,
    /// It has left.
    Finished,
    /// The launch must end.
    Fatal,
}

enum Event {
    Stop(Stop),
    Call {
        kernel: KernelId,
        operands: HeldOperands,
        tile: u32,
    },
    /// The body has ended, or its own waits have given up.
    Return {
        stopped: bool,
    },
}

impl Warp {
    /// A warp before its first instruction.
    pub fn new(block: usize, index: usize, per_block: usize, grid: u32) -> Self {
        let core = Core {
            block,
            index,
            id: block * per_block + index,
            grid,
            pc: 0,
            return_pc: 0,
            active: ALL,
            running: None,
            calls: 0,
            stamp: 1,
            fuel: 0,
            operands: HeldOperands::default(),
            tile: 0,
            waits: OwnWaits::default(),
            met: false,
            counted: false,
            polled: None,
            copies: Copies::default(),
        };
        let (entry, kernel) = (Frame::default(), Frame::default());
        Self { core, entry, kernel, loaded: None, entry_ready: false, barrier: None }
    }

    /// Runs until the warp stops.
    pub fn run(&mut self, program: &Compiled, world: &mut World) -> Stop {
        if !self.entry_ready {
            self.entry_ready = true;
            if let Err(fault) = prepare(&mut self.entry, program.entry(), &self.core, world) {
                return self.fails(program, fault, world);
            }
        }
        loop {
            let event = match self.core.running {
                None => self.core.step(program.entry(), &mut self.entry, &mut self.barrier, world),
                Some(kernel) => {
                    let body = &program.kernels[kernel.index()];
                    self.core.step(body, &mut self.kernel, &mut self.barrier, world)
                }
            };
            match event {
                Event::Stop(stop) => return stop,
                Event::Call { kernel, operands, tile } => {
                    let Some(body) = program.kernels.get(kernel.index()) else {
                        let number = kernel.index();
                        return self.fails(program, Fault::UnknownKernel { number }, world);
                    };
                    self.core.enter(kernel, operands, tile);
                    let prepared = if self.loaded != Some(kernel) {
                        self.kernel = Frame::default();
                        self.loaded = Some(kernel);
                        prepare(&mut self.kernel, body, &self.core, world)
                    } else {
                        self.kernel.narrow[..body.declared as usize].fill([POISON; 32]);
                        self.kernel.wide[..body.declared_wide as usize].fill([i64::from(POISON); 32]);
                        prepare_operands(&mut self.kernel, body, &self.core, world)
                    };
                    if let Err(fault) = prepared {
                        return self.fails(program, fault, world);
                    }
                }
                Event::Return { stopped } => {
                    if self.core.running.take().is_none() {
                        return Stop::Finished;
                    }
                    self.core.pc = self.core.return_pc;
                    if let Some(place) = std::mem::take(&mut self.core.waits).stopped {
                        self.entry.write(place, ALL, &[truth(stopped); 32]);
                    }
                }
            }
        }
    }

    fn fails(&self, program: &Compiled, fault: Fault, world: &mut World) -> Stop {
        world.fault(|| self.site(program, 0), fault);
        Stop::Fatal
    }

    /// Passes the barrier at which the warp stands; `any` is whether the condition held in any thread.
    pub fn pass_barrier(&mut self, any: bool) {
        self.core.stamp += 1;
        if let Some(AtBarrier { or: Some((to, _)), .. }) = self.barrier.take() {
            let frame = if self.core.running.is_some() { &mut self.kernel } else { &mut self.entry };
            frame.write(to, self.core.active, &[truth(any); 32]);
        }
    }

    /// Where the warp stands.
    pub fn site(&self, program: &Compiled, lane: u32) -> Site {
        let body = self.core.running.map_or(program.entry(), |kernel| &program.kernels[kernel.index()]);
        self.core.site(body, self.core.pc, lane)
    }

    /// The counter for which the warp waits, if it does: index, and target.
    pub fn wanted(&self, program: &Compiled) -> Option<(u32, u32)> {
        let (body, frame) = match self.core.running {
            None => (program.entry(), &self.entry),
            Some(kernel) => (&program.kernels[kernel.index()], &self.kernel),
        };
        let Instruction::Wait(number) = *body.code.get(self.core.pc as usize)? else { return None };
        let wait = &body.waits[number as usize];
        let lane = lanes(self.core.active).next()?;
        Some((frame.lanes(wait.counter)[lane], frame.lanes(wait.target)[lane]))
    }
}

impl Core {
    fn enter(&mut self, kernel: KernelId, operands: HeldOperands, tile: u32) {
        self.return_pc = self.pc;
        self.pc = 0;
        self.running = Some(kernel);
        self.calls += 1;
        self.operands = operands;
        self.copies.enter();
        self.tile = tile as i32;
    }

    /// Instruction `pc` of `body`, as run by this warp.
    pub fn site(&self, body: &CompiledBody, pc: u32, lane: u32) -> Site {
        let location = body.location(pc).clone();
        let kernel = match location.body {
            Body::Entry | Body::Node(_) => None,
            Body::Kernel(kernel) => Some(kernel),
        };
        Site { block: self.block as u32, warp: self.index as u32, lane, location, kernel, pc }
    }

    pub(super) fn accessor(&self, world: &World) -> Accessor {
        Accessor {
            phase: world.blocks[self.block].phase,
            stamp: self.stamp,
            call: if self.running.is_some() { self.calls } else { u32::MAX },
            first_thread: self.index as u32 * 32,
        }
    }

    fn fatal(&self, body: &CompiledBody, pc: u32, fault: Fault, world: &mut World) -> Event {
        world.fault(|| self.site(body, pc, self.active.trailing_zeros() & 31), fault);
        Event::Stop(Stop::Fatal)
    }

    /// Runs instructions of `body` until something outside of it has to happen.
    fn step(
        &mut self,
        body: &CompiledBody,
        frame: &mut Frame,
        barrier: &mut Option<AtBarrier>,
        world: &mut World,
    ) -> Event {
        let mut executed = 0;
        world.running = self.running.map_or(0, |kernel| kernel.index() + 1);
        let event = self.interpret(body, frame, barrier, world, &mut executed);
        world.report.counts.instructions += executed;
        world.counts().instructions += executed;
        event
    }

    fn interpret(
        &mut self,
        body: &CompiledBody,
        frame: &mut Frame,
        barrier: &mut Option<AtBarrier>,
        world: &mut World,
        executed: &mut u64,
    ) -> Event {
        let budget = world.options.step_budget.saturating_sub(world.report.counts.instructions);
        let mut pc = self.pc;
        loop {
            let instruction = body.code[pc as usize];
            *executed += 1;
            pc += 1;
            let Some(instruction) = frame.arithmetic(instruction, self.active) else {
                if world.options.count {
                    let lanes = u64::from(self.active.count_ones());
                    let counts = world.counts();
                    counts.lane_operations += lanes;
                    counts.float_operations += lanes * statistics::float_operations(&instruction);
                    let fused = matches!(instruction, Instruction::FusedMultiplyAdd { .. });
                    counts.multiply_adds += lanes * u64::from(fused);
                }
                continue;
            };
            let at = pc - 1;
            match instruction {
                Instruction::If { condition, otherwise } => {
                    let holds = frame.holds(condition, self.active);
                    frame.masks.push((self.active, self.active & !holds));
                    self.active = holds;
                    if holds == 0 {
                        pc = otherwise;
                    }
                }
                Instruction::Else { end } => {
                    self.active = frame.masks.last().map_or(0, |saved| saved.1);
                    if self.active == 0 {
                        pc = end;
                    }
                }
                Instruction::Push => frame.masks.push((self.active, 0)),
                Instruction::Pop => self.active = frame.masks.pop().map_or(ALL, |saved| saved.0),
                Instruction::ForHead { variable, extent, end } => {
                    let (v, e) = (frame.lanes(variable), frame.lanes(extent));
                    for lane in 0..32 {
                        if v[lane] as i32 >= e[lane] as i32 {
                            self.active &= !(1 << lane);
                        }
                    }
                    if self.active == 0 {
                        pc = end;
                    }
                }
                Instruction::ForNext { variable, head } => {
                    let next: Lanes = frame.lanes(variable).map(|value| value.wrapping_add(1));
                    frame.write(variable, self.active, &next);
                    pc = head;
                    if *executed > budget {
                        return self.over_budget(body, at, world);
                    }
                }
                Instruction::Jump(to) => {
                    pc = to;
                    if *executed > budget {
                        return self.over_budget(body, at, world);
                    }
                }
                Instruction::Break { depth, end } => {
                    let entered = frame.masks[depth as usize - 1].0;
                    if self.active != entered {
                        return self.fatal(body, at, Fault::DivergentControl, world);
                    }
                    frame.masks.truncate(depth as usize);
                    pc = end;
                }
                Instruction::Switch { selector, cases } => {
                    let Some(selector) = frame.uniform(selector, self.active) else {
                        return self.fatal(body, at, Fault::DivergentControl, world);
                    };
                    let starts = &body.switches[cases as usize];
                    let end = starts.len() - 1;
                    pc = starts[(selector as usize).min(end)];
                }
                Instruction::Call(number) => {
                    let CallAccess { callee, array, index, first, tile } = body.calls[number as usize];
                    let [index, first, tile] = [index, first, tile].map(|word| frame.uniform(word, self.active));
                    let kernel = match callee {
                        Callee::Kernel(kernel) => Some(kernel),
                        Callee::Numbered(number) => {
                            frame.uniform(number, self.active).map(|number| KernelId::from_index(number as usize))
                        }
                    };
                    let (Some(kernel), Some(index), Some(first), Some(tile), ALL) =
                        (kernel, index, first, tile, self.active)
                    else {
                        return self.fatal(body, at, Fault::DivergentControl, world);
                    };
                    self.pc = pc;
                    let [index, first] = [index, first].map(|word| i64::from(word as i32));
                    return Event::Call {
                        kernel,
                        operands: HeldOperands { array, index, first, from_table: false },
                        tile,
                    };
                }
                Instruction::CallWaits { ring, first, count, stopped } => {
                    let first = frame.uniform(first, self.active);
                    let count = frame.uniform(count, self.active);
                    let (Some(first), Some(count), ALL) = (first, count, self.active) else {
                        return self.fatal(body, at, Fault::DivergentControl, world);
                    };
                    self.waits = OwnWaits { ring, first, count, stopped: Some(stopped) };
                }
                Instruction::LoadFetched { to, position, word } => {
                    for lane in lanes(self.active) {
                        let position = frame.lanes(position)[lane] as usize % RING_INSTRUCTIONS;
                        let index = position * INSTRUCTION_WORDS + usize::from(word);
                        match fetched(self.waits.ring, index as i64, (lane, self), world) {
                            Ok(value) => frame.narrow[to.0 as usize][lane] = value,
                            Err(fault) => return self.fatal(body, at, fault, world),
                        }
                    }
                }
                Instruction::NextStep { .. } if !self.met && self.signals_next(world) => {
                    if self.active != ALL {
                        return self.fatal(body, at, Fault::DivergentBarrier, world);
                    }
                    self.met = true;
                    *barrier = Some(AtBarrier { kernel: self.running, pc: at, or: None });
                    self.pc = at;
                    return Event::Stop(Stop::Barrier);
                }
                Instruction::NextStep { order, head } => match self.next_step(order, world) {
                    Ok(true) => {
                        if let Err(fault) = prepare_operands(frame, body, self, world) {
                            return self.fatal(body, at, fault, world);
                        }
                        pc = head;
                        if *executed > budget {
                            return self.over_budget(body, at, world);
                        }
                    }
                    Ok(false) => {}
                    Err(fault) => return self.fatal(body, at, fault, world),
                },
                Instruction::ReturnIf(stopped) => {
                    if frame.holds(stopped, ALL) != 0 {
                        self.copies = Copies::default();
                        self.active = ALL;
                        frame.masks.clear();
                        return Event::Return { stopped: true };
                    }
                }
                Instruction::Return => {
                    let groups = match self.running {
                        None => self.copies.under_way(),
                        Some(_) => self.copies.own(),
                    };
                    if groups > 0 {
                        return self.fatal(body, at, Fault::CopiesInFlight { groups }, world);
                    }
                    return Event::Return { stopped: false };
                }
                Instruction::BlockBarrier | Instruction::BlockBarrierOr { .. } => {
                    if self.active != ALL {
                        return self.fatal(body, at, Fault::DivergentBarrier, world);
                    }
                    let or = match instruction {
                        Instruction::BlockBarrierOr { to, condition } => Some((to, frame.holds(condition, ALL) != 0)),
                        _ => None,
                    };
                    *barrier = Some(AtBarrier { kernel: self.running, pc: at, or });
                    self.pc = pc;
                    return Event::Stop(Stop::Barrier);
                }
                Instruction::WarpBarrier => self.meet("a warp barrier", body, at, world),
                Instruction::Shuffle { to, x, mode } => {
                    self.meet("a shuffle", body, at, world);
                    let (active, from) = (self.active, frame.lanes(x));
                    let result = std::array::from_fn(|lane| {
                        let source = source_lane(mode, lane);
                        if active >> source & 1 != 0 { from[source] } else { POISON }
                    });
                    frame.write(to, active, &result);
                }
                Instruction::ShuffleWide { to, x, mode } => {
                    self.meet("a shuffle", body, at, world);
                    let (active, from) = (self.active, frame.wide_lanes(x));
                    let result = std::array::from_fn(|lane| {
                        let source = source_lane(mode, lane);
                        if active >> source & 1 != 0 { from[source] } else { i64::from(POISON) }
                    });
                    frame.write_wide(to, active, &result);
                }
                Instruction::LoadGlobal(number) | Instruction::StoreGlobal(number) => {
                    let store = matches!(instruction, Instruction::StoreGlobal(_));
                    let access = &body.global[number as usize];
                    let shared = self.accessor(world);
                    let site = |lane| self.site(body, at, lane);
                    let agent = Agent { warp: self.id, active: self.active, shared, site: &site };
                    access::global(access, store, frame, agent, world);
                    if self.tired(pc) {
                        return Event::Stop(Stop::Preempted);
                    }
                }
                Instruction::LoadTagged(number) => {
                    if !self.poll(&body.tagged_values[number as usize], body, at, frame, world) {
                        self.pc = at;
                        return Event::Stop(Stop::Waiting);
                    }
                    if self.tired(pc) {
                        return Event::Stop(Stop::Preempted);
                    }
                }
                Instruction::StoreTagged(number) => {
                    self.mark(&body.tagged_values[number as usize], body, at, frame, world);
                    if self.tired(pc) {
                        return Event::Stop(Stop::Preempted);
                    }
                }
                Instruction::CheckIndex(number) => {
                    self.check_index(&body.index_checks[number as usize], body, at, frame, world);
                }
                Instruction::LoadShared(number) | Instruction::StoreShared(number) => {
                    let store = matches!(instruction, Instruction::StoreShared(_));
                    let access = &body.shared[number as usize];
                    let shared = self.accessor(world);
                    let site = |lane| self.site(body, at, lane);
                    let agent = Agent { warp: self.id, active: self.active, shared, site: &site };
                    access::shared(access, store, frame, agent, self.block, world);
                }
                Instruction::LoadMatrices(_) | Instruction::MultiplyMatrices(_) => {
                    self.matrices(instruction, body, at, frame, world);
                }
                Instruction::AsyncCopy(_)
                | Instruction::Fetch(_)
                | Instruction::AsyncCommit
                | Instruction::AsyncWait(_) => {
                    if let Err(fault) = self.copy(instruction, body, at, frame, world) {
                        return self.fatal(body, at, fault, world);
                    }
                }
                Instruction::LoadTable { to, table, index } => {
                    if let Err(fault) = self.load_table(to, table, index, frame, world) {
                        return self.fatal(body, at, fault, world);
                    }
                }
                Instruction::LoadControl { to, word } => {
                    let value = *world.control(word);
                    frame.write(to, self.active, &[value; 32]);
                }
                Instruction::ReadSpecial { to, register } => {
                    let value = match register {
                        SpecialRegister::Time | SpecialRegister::Cycles => {
                            (world.report.counts.instructions + *executed) as u32
                        }
                        SpecialRegister::Multiprocessor => self.block as u32,
                    };
                    frame.write(to, self.active, &[value; 32]);
                }
                Instruction::StoreControl { word, x } => {
                    for lane in lanes(self.active) {
                        *world.control(word) = frame.lanes(x)[lane];
                    }
                    world.wake_all();
                }
                Instruction::AddControl { to, word, x } => {
                    self.add_control(to, word, x, frame, world);
                    if self.tired(pc) {
                        return Event::Stop(Stop::Preempted);
                    }
                }
                Instruction::Wait(number) => {
                    if !self.wait(&body.waits[number as usize], body, at, frame, world) {
                        self.pc = at;
                        return Event::Stop(Stop::Waiting);
                    }
                }
                Instruction::Signal { counter, order } => {
                    if let Err(fault) = self.signal(counter, order, frame, world) {
                        return self.fatal(body, at, fault, world);
                    }
                    if self.tired(pc) {
                        return Event::Stop(Stop::Preempted);
                    }
                }
                Instruction::DependencyWait => world.clocks.meet_dependencies(self.id),
                Instruction::DependentLaunch => {}
                Instruction::BadElement { .. }
                | Instruction::ReadElement { .. }
                | Instruction::WriteElement { .. }
                | Instruction::ReadElementWide { .. }
                | Instruction::WriteElementWide { .. } => self.element(instruction, body, at, frame, world),
                Instruction::FusedMultiplyAdd { .. }
                | Instruction::Binary { .. }
                | Instruction::Unary { .. }
                | Instruction::Select { .. }
                | Instruction::Move { .. }
                | Instruction::FastDivide { .. }
                | Instruction::UnaryWide { .. }
                | Instruction::BinaryWide { .. }
                | Instruction::CompareWide { .. }
                | Instruction::SelectWide { .. }
                | Instruction::MoveWide { .. }
                | Instruction::Widen { .. }
                | Instruction::WidenF32 { .. }
                | Instruction::Narrow { .. }
                | Instruction::NarrowF32 { .. } => unreachable!("arithmetic was run above"),
            }
        }
    }

    /// Whether the warp has used up its memory operations; it then stands at `pc`.
    fn tired(&mut self, pc: u32) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        self.pc = pc;
        self.fuel == 0
    }

    fn over_budget(&self, body: &CompiledBody, pc: u32, world: &mut World) -> Event {
        let fault = Fault::StepBudget { limit: world.options.step_budget };
        self.fatal(body, pc, fault, world)
    }
}
