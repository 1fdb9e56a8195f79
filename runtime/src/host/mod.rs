//! The host back end: virtual execution units are threads of this machine.
//!
//! It runs the plan — every rTask, every wait and signal — on vector registers and native matrix products instead of
//! kernels. A poll is a wait for the rTasks that write what is polled, before the rTask that polls begins. The plan is
//! verified as it was folded onto the threads. So the rTasks that write stand before the one that polls in one order of
//! all streams. The first rTask in that order that has not ended can always go on. Segments run one after another; of a
//! graph, thread i of n runs blocks i, i + n, i + 2n and so on of a node. Only threads with rTasks take part in a segment, the caller's
//! first. Streams are merged in the order of the program. Steps go
//! through the constants that they share forwards and backwards in turn, so that a thread reads again what its caches
//! still hold. What a run needs is prepared when the session is opened: threads, registers, addresses.

mod constant_uses;
mod contraction;
mod cover;
mod indices;
mod known;
mod lane_program;
mod lanes;
mod launch;
mod matrix_product;
mod memory;
mod opaque;
mod operator;
mod points;
mod pool;
mod simd;
mod stage;
mod staged;
mod streams;
mod vector;
mod window_dimension;

use std::sync::Arc;
use std::time::Instant;

use warpweave_graph::Tensor;
use warpweave_graph::index_check::IndexFault;
use warpweave_graph::program::TensorId;
use warpweave_graph::types::TensorType;
use warpweave_plan::plan::{BufferSpace, KernelNode, RTask, Segment};
use warpweave_plan::streams::fold::{Merging, fold};
use warpweave_plan::verify::Verified;
use warpweave_plan::verify::verify;
use warpweave_plan::verify::violation::Violation;

use crate::session::memory_limit::{NotEnoughMemory, check_plan};
use launch::{Launch, Recording};
use pool::Pool;
pub use streams::Delays;
use streams::{turning, with_busy_streams};

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
    pool: Pool,
    trace: Vec<RTask>,
    moments: Vec<Vec<HostMoments>>,
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
        let busy = with_busy_streams(plan.plan());
        let folded = turning(fold(&busy, threads, Merging::ProgramOrder));
        let plan = verify(folded).map_err(|violations| HostError::Plan { threads, violations })?;
        let memory = &plan.plan().memory;
        if weights.len() as u64 != memory.weights_bytes {
            return Err(HostError::Weights { expected: memory.weights_bytes, found: weights.len() });
        }
        let threads =
            plan.plan().segments.iter().map(|segment| segment_threads(segment, threads)).max().unwrap_or(1).max(1);
        let pool = Pool::new(Launch::new(plan, weights, threads)).map_err(|_| HostError::Thread)?;
        Ok(Self { pool, trace: Vec::new(), moments: Vec::new() })
    }

    /// Runs the plan once.
    pub fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, HostError> {
        self.execute(inputs, None)
    }

    /// Runs the plan once, with pauses if any are given, and notes what each thread does: see [`Self::trace`] and
    /// [`Self::moments`].
    pub fn run_traced(&mut self, inputs: &[Tensor], delays: Option<Delays>) -> Result<Vec<Tensor>, HostError> {
        (self.trace, self.moments) = (Vec::new(), Vec::new());
        let outputs = self.execute(inputs, Some(Recording { start: Instant::now(), delays }))?;
        let records = self.pool.launch().records();
        for segment in 0..self.plan().plan().segments.len() {
            for record in &records {
                self.trace.extend(record.tasks.iter().filter(|(of, _)| *of == segment).map(|(_, task)| *task));
                let moments = record.moments.iter().filter(|(of, _)| *of == segment);
                self.moments.extend(moments.map(|(_, moments)| moments.clone()));
            }
        }
        Ok(outputs)
    }

    fn execute(&mut self, inputs: &[Tensor], recording: Option<Recording>) -> Result<Vec<Tensor>, HostError> {
        let launch = self.pool.launch();
        let memory = &launch.plan.plan().memory;
        if inputs.len() != memory.inputs.len() {
            return Err(HostError::InputCount { expected: memory.inputs.len(), found: inputs.len() });
        }
        for (position, (input, &id)) in inputs.iter().zip(&memory.inputs).enumerate() {
            let expected = &memory.tensors[id].ty;
            if input.ty() != expected {
                let (expected, found) = (expected.clone(), input.ty().clone());
                return Err(HostError::InputType { position, expected, found });
            }
            launch.arena.write(self.offset(id), input.bytes());
        }
        launch.begin(recording);
        self.pool.run();
        let launch = self.pool.launch();
        let (was_left, fault) = (launch.arena.was_left(), launch.faults.take());
        if launch.has_failed() {
            return Err(HostError::Thread);
        }
        if was_left {
            return Err(HostError::Outside);
        }
        if let Some(fault) = fault {
            return Err(HostError::Index(fault));
        }
        let memory = &self.plan().plan().memory;
        Ok(memory.outputs.iter().map(|&output| self.read(output)).collect())
    }

    /// What a tensor of the arena holds.
    pub fn read(&self, tensor: TensorId) -> Tensor {
        let launch = self.pool.launch();
        let ty = launch.plan.plan().memory.tensors[tensor].ty.clone();
        let mut bytes = vec![0; ty.bytes()];
        launch.arena.read(self.offset(tensor), &mut bytes);
        Tensor::from_bytes(ty, bytes.into()).expect("as many bytes as the type has")
    }

    /// Writes what a tensor of the arena, which has this type, holds when the next run begins.
    pub fn write(&mut self, tensor: TensorId, value: &Tensor) {
        self.pool.launch().arena.write(self.offset(tensor), value.bytes());
    }

    /// Copies what a tensor of the arena holds to another one of its type.
    pub fn copy(&mut self, from: TensorId, to: TensorId) {
        let launch = self.pool.launch();
        let bytes = launch.plan.plan().memory.tensors[from].ty.bytes();
        launch.arena.copy(self.offset(from), self.offset(to), bytes);
    }

    /// Sets every byte that outputs are read from, until the next run writes them.
    pub fn fill_outputs(&mut self, byte: u8) {
        let launch = self.pool.launch();
        let memory = &launch.plan.plan().memory;
        for &id in &memory.outputs {
            launch.arena.write(self.offset(id), &vec![byte; memory.tensors[id].ty.bytes()]);
        }
    }

    /// The threads that take part in a run, the caller's included: the most that a segment has rTasks for. At least 1.
    pub fn threads(&self) -> usize {
        self.pool.launch().threads
    }

    /// The rTasks that the last traced run executed, segment after segment: each thread's in order, thread after thread.
    pub fn trace(&self) -> &[RTask] {
        &self.trace
    }

    /// When the last traced run came to the instructions of every stream of the persistent segments, in their order.
    pub fn moments(&self) -> &[Vec<HostMoments>] {
        &self.moments
    }

    /// The plan as it is run: folded onto the threads.
    pub fn plan(&self) -> &Verified {
        &self.pool.launch().plan
    }

    fn offset(&self, tensor: TensorId) -> usize {
        let buffer = self.plan().plan().memory.tensors[tensor].buffer;
        let buffer = buffer.expect("a verified plan places inputs and outputs");
        assert_eq!(buffer.space, BufferSpace::Arena, "inputs and outputs are in the arena");
        buffer.offset as usize
    }
}

/// The most threads, of so many, that a segment has work for at a time.
fn segment_threads(segment: &Segment, threads: usize) -> usize {
    match segment {
        Segment::Persistent(segment) => segment.streams.len(),
        Segment::CudaGraph(segment) => segment.nodes.iter().map(|node| node_threads(node, threads)).max().unwrap_or(1),
    }
}

/// The threads, of so many, among which the blocks of a node are shared out.
fn node_threads(node: &KernelNode, threads: usize) -> usize {
    threads.min(node.blocks as usize)
}

/// Singles of the vectors that products of panels use on this processor.
pub fn vector_lanes() -> usize {
    contraction::vector_lanes()
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
