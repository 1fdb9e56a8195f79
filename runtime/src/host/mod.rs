//! The host back end: virtual execution units are threads of this machine.
//!
//! It runs the plan — every rTask, every wait and signal — on expressions and native matrix products instead of
//! kernels. A poll is a wait for the rTasks that write what is polled, before the rTask that polls begins: the plan is
//! verified as it was folded onto the threads, so they stand before it in one order of all streams, and the first rTask
//! in it that has not ended can always go on. Segments run one after another; of a graph, a thread runs every so-manieth
//! block of a node. It is for correctness and first contact, not a product for CPUs.

mod contraction;
mod delays;
mod indices;
mod lane_program;
mod lanes;
mod matrix_product;
mod memory;
mod nodes;
mod opaque;
mod operator;
mod points;
mod product;
mod reduction;
mod stage;
mod staged;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use warpweave_graph::Tensor;
use warpweave_graph::arena::Arena;
use warpweave_graph::index_check::IndexFault;
use warpweave_graph::program::TensorId;
use warpweave_graph::types::TensorType;
use warpweave_plan::plan::Segment;
use warpweave_plan::plan::{BufferSpace, CounterId, Instruction, OperatorId, PersistentSegment, RTask};
use warpweave_plan::streams::fold::fold;
use warpweave_plan::streams::polls::Polls;
use warpweave_plan::verify::Verified;
use warpweave_plan::verify::verify;
use warpweave_plan::verify::violation::Violation;

use crate::session::memory_limit::{NotEnoughMemory, check_plan};
pub use delays::Delays;
use indices::IndexFaults;
use memory::{Memory, SharedArena};
use operator::HostOperator;

/// Why the host cannot run a plan or a launch.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum HostError {
    /// Folded onto the threads, the plan does not verify.
    #[error("the plan does not verify on {threads} threads: {}", .violations.first().map(ToString::to_string).unwrap_or_default())]
    Plan {
        /// The threads asked for.
        threads: usize,
        /// What is wrong.
        violations: Vec<Violation>,
    },
    /// The weights are not as long as the plan says.
    #[error("the weights have {found} bytes, the plan expects {expected}")]
    Weights {
        /// What the plan expects.
        expected: u64,
        /// What there is.
        found: usize,
    },
    /// Another number of inputs than the plan has.
    #[error("the plan has {expected} inputs, not {found}")]
    InputCount {
        /// The plan's inputs.
        expected: usize,
        /// Those given.
        found: usize,
    },
    /// An input has another type.
    #[error("input {position} is {found}, the plan expects {expected}")]
    InputType {
        /// The position.
        position: usize,
        /// The plan's type.
        expected: TensorType,
        /// The type given.
        found: TensorType,
    },
    /// An element names no place of a dimension that it indexes. Of several it is the first.
    #[error("{0}")]
    Index(IndexFault),
    /// The machine has less memory than the plan takes.
    #[error(transparent)]
    Memory(#[from] NotEnoughMemory),
    /// A task reads or writes outside the memory of the plan.
    #[error("a task of the plan reads or writes outside its memory")]
    Outside,
    /// A thread of the launch failed.
    #[error("a host thread failed while it ran the plan")]
    Thread,
}

/// A plan on the threads of this machine, ready to run.
pub struct HostSession {
    plan: Verified,
    threads: usize,
    segments: Vec<HostSegment>,
    arena: SharedArena,
    weights: Arc<[u8]>,
    trace: Vec<RTask>,
    moments: Vec<Vec<HostMoments>>,
}

/// What is prepared of a segment.
struct HostSegment {
    operators: Arena<OperatorId, HostOperator>,
    polls: Polls,
}

/// When a thread came to an instruction of its stream, began on it, and went on: nanoseconds from the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostMoments {
    /// When the thread came to it.
    pub begin: u64,
    /// When what it polls was there.
    pub polled: u64,
    /// When the thread went on.
    pub end: u64,
}

impl HostSession {
    /// Folds the plan onto at most `threads` streams, verifies it again and prepares its rOperators.
    pub fn new(plan: &Verified, weights: Arc<[u8]>, threads: usize) -> Result<Self, HostError> {
        check_plan(plan.plan(), 1)?;
        let folded = fold(plan.plan(), threads);
        let plan = verify(folded).map_err(|violations| HostError::Plan { threads, violations })?;
        let memory = &plan.plan().memory;
        if weights.len() as u64 != memory.weights_bytes {
            return Err(HostError::Weights { expected: memory.weights_bytes, found: weights.len() });
        }
        let prepared = |segment: &Segment| HostSegment {
            operators: segment.operators().values().map(|operator| HostOperator::new(operator, memory)).collect(),
            polls: match segment {
                Segment::Persistent(segment) => Polls::of(segment, memory),
                Segment::CudaGraph(_) => Polls::default(),
            },
        };
        let segments = plan.plan().segments.iter().map(prepared).collect();
        let arena = SharedArena::new(memory.arena_bytes as usize);
        Ok(Self { plan, threads, segments, arena, weights, trace: Vec::new(), moments: Vec::new() })
    }

    /// Runs the plan once.
    pub fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, HostError> {
        self.run_delayed(inputs, None)
    }

    /// Runs the plan once, with pauses if any are given.
    pub fn run_delayed(&mut self, inputs: &[Tensor], delays: Option<Delays>) -> Result<Vec<Tensor>, HostError> {
        let memory = &self.plan.plan().memory;
        if inputs.len() != memory.inputs.len() {
            return Err(HostError::InputCount { expected: memory.inputs.len(), found: inputs.len() });
        }
        for (position, (input, &id)) in inputs.iter().zip(&memory.inputs).enumerate() {
            let expected = &memory.tensors[id].ty;
            if input.ty() != expected {
                let (expected, found) = (expected.clone(), input.ty().clone());
                return Err(HostError::InputType { position, expected, found });
            }
            self.arena.write(self.offset(id), input.bytes());
        }
        let faults = IndexFaults::default();
        let shared = Memory { arena: &self.arena, weights: &self.weights, staged: Vec::new(), faults: &faults };
        (self.moments, self.trace) = (Vec::new(), Vec::new());
        for (segment, HostSegment { operators, polls }) in self.plan.plan().segments.iter().zip(&self.segments) {
            match segment {
                Segment::Persistent(segment) => {
                    let moments = Launch::new(segment, operators, polls, delays).run(&shared)?;
                    self.trace.extend(executed(segment, &moments));
                    self.moments.extend(moments);
                }
                Segment::CudaGraph(segment) => {
                    self.trace.extend(nodes::run(segment, operators, &shared, self.threads)?);
                }
            }
        }
        if self.arena.was_left() {
            return Err(HostError::Outside);
        }
        if let Some(fault) = faults.first() {
            return Err(HostError::Index(fault));
        }
        Ok(memory.outputs.iter().map(|&output| self.read(output)).collect())
    }

    /// What a tensor of the arena holds.
    pub fn read(&self, tensor: TensorId) -> Tensor {
        let ty = self.plan.plan().memory.tensors[tensor].ty.clone();
        let mut bytes = vec![0; ty.bytes()];
        self.arena.read(self.offset(tensor), &mut bytes);
        Tensor::from_bytes(ty, bytes.into()).expect("as many bytes as the type has")
    }

    /// Writes what a tensor of the arena, which has this type, holds when the next run begins.
    pub fn write(&mut self, tensor: TensorId, value: &Tensor) {
        self.arena.write(self.offset(tensor), value.bytes());
    }

    /// Sets every byte that outputs are read from, until the next run writes them.
    pub fn fill_outputs(&mut self, byte: u8) {
        let memory = &self.plan.plan().memory;
        for &id in &memory.outputs {
            self.arena.write(self.offset(id), &vec![byte; memory.tensors[id].ty.bytes()]);
        }
    }

    /// The rTasks that the last run executed, segment after segment: each thread's in order, thread after thread.
    pub fn trace(&self) -> &[RTask] {
        &self.trace
    }

    /// When the last run came to the instructions of every stream of the persistent segments, in their order.
    pub fn moments(&self) -> &[Vec<HostMoments>] {
        &self.moments
    }

    /// The plan as it is run: folded onto the threads.
    pub fn plan(&self) -> &Verified {
        &self.plan
    }

    fn offset(&self, tensor: TensorId) -> usize {
        let buffer = self.plan.plan().memory.tensors[tensor].buffer;
        let buffer = buffer.expect("a verified plan places inputs and outputs");
        assert_eq!(buffer.space, BufferSpace::Arena, "inputs and outputs are in the arena");
        buffer.offset as usize
    }
}

/// One launch: the streams, this launch's counters, and which rTasks have ended of those that somebody polls.
struct Launch<'a> {
    segment: &'a PersistentSegment,
    operators: &'a Arena<OperatorId, HostOperator>,
    polls: &'a Polls,
    ended: Arena<OperatorId, Vec<AtomicBool>>,
    counters: Arena<CounterId, AtomicU32>,
    failed: AtomicBool,
    delays: Option<Delays>,
}

impl<'a> Launch<'a> {
    fn new(
        segment: &'a PersistentSegment,
        operators: &'a Arena<OperatorId, HostOperator>,
        polls: &'a Polls,
        delays: Option<Delays>,
    ) -> Self {
        let counters = segment.counters.values().map(|_| AtomicU32::new(0)).collect();
        let ended = segment.operators.values().map(|operator| match polls.is_empty() {
            true => Vec::new(),
            false => (0..operator.tasks()).map(|_| AtomicBool::new(false)).collect(),
        });
        Self { segment, operators, polls, ended: ended.collect(), counters, failed: AtomicBool::new(false), delays }
    }

    fn run(&self, memory: &Memory) -> Result<Vec<Vec<HostMoments>>, HostError> {
        let start = Instant::now();
        let moments: Vec<Option<Vec<HostMoments>>> = std::thread::scope(|scope| {
            let streams = (0..self.segment.streams.len())
                .map(|stream| scope.spawn(move || self.run_stream(stream, memory, start)));
            let running: Vec<_> = streams.collect();
            running.into_iter().map(|thread| thread.join().ok().flatten()).collect()
        });
        moments.into_iter().collect::<Option<Vec<_>>>().ok_or(HostError::Thread)
    }

    /// Runs one stream; `None` if another thread failed.
    fn run_stream(&self, stream: usize, memory: &Memory, start: Instant) -> Option<Vec<HostMoments>> {
        let guard = RaiseOnPanic(&self.failed);
        let now = || start.elapsed().as_nanos() as u64;
        let instructions = &self.segment.streams[stream];
        let mut moments = Vec::with_capacity(instructions.len());
        for (position, instruction) in instructions.iter().enumerate() {
            self.delays.iter().for_each(|delays| delays.pause(stream, position));
            let begin = now();
            let mut polled = begin;
            match *instruction {
                Instruction::Run(task) => {
                    for &writer in self.polls.writers(task) {
                        let ended = &self.ended[writer.operator][writer.tile as usize];
                        self.wait(|| ended.load(Ordering::Acquire))?;
                        polled = now();
                    }
                    self.operators[task.operator].run(task.tile, memory);
                    if self.polls.is_polled(task) {
                        self.ended[task.operator][task.tile as usize].store(true, Ordering::Release);
                    }
                }
                // Every constant is as near as any other.
                Instruction::Hold(_) | Instruction::Prefetch(_) => {}
                Instruction::Signal(counter) => _ = self.counters[counter].fetch_add(1, Ordering::Release),
                Instruction::Wait { counter, signals } => {
                    self.wait(|| self.counters[counter].load(Ordering::Acquire) >= signals)?;
                }
            }
            moments.push(HostMoments { begin, polled, end: now() });
        }
        std::mem::forget(guard);
        Some(moments)
    }

    /// Spins until something has happened; `None` if another thread failed.
    fn wait(&self, happened: impl Fn() -> bool) -> Option<()> {
        let mut polls = 0u32;
        while !happened() {
            if self.failed.load(Ordering::Relaxed) {
                return None;
            }
            polls += 1;
            if polls.is_multiple_of(64) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        Some(())
    }
}

/// The rTasks of the instructions that were executed, stream after stream.
fn executed(segment: &PersistentSegment, moments: &[Vec<HostMoments>]) -> Vec<RTask> {
    let streams = segment.streams.iter().zip(moments);
    let tasks = streams.flat_map(|(stream, moments)| stream.iter().take(moments.len()));
    let task = |instruction: &Instruction| match *instruction {
        Instruction::Run(task) => Some(task),
        Instruction::Hold(_) | Instruction::Prefetch(_) | Instruction::Wait { .. } | Instruction::Signal(_) => None,
    };
    tasks.filter_map(task).collect()
}

/// Raises the flag when dropped: a thread that unwinds tells the others not to wait for it.
struct RaiseOnPanic<'f>(&'f AtomicBool);

impl Drop for RaiseOnPanic<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The bytes of the weights buffer of a plan, from the value of each constant.
pub fn pack_weights<'t>(plan: &Verified, constant: impl Fn(TensorId) -> Option<&'t Tensor>) -> Option<Arc<[u8]>> {
    let memory = &plan.plan().memory;
    let mut weights = vec![0u8; memory.weights_bytes as usize];
    for &id in &memory.constants {
        let buffer = memory.tensors[id].buffer?;
        let value = constant(id)?;
        weights.get_mut(buffer.offset as usize..)?.get_mut(..value.bytes().len())?.copy_from_slice(value.bytes());
    }
    Some(weights.into())
}
