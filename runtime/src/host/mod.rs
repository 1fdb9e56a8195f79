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
mod program;
mod simd;
mod stage;
mod staged;
mod streams;
mod vector;
mod vector_limit;
mod window_dimension;

use std::sync::Arc;
use std::time::Instant;

use warpweave_graph::Tensor;
use warpweave_graph::index_check::IndexFault;
use warpweave_graph::program::TensorId;
use warpweave_graph::types::TensorType;
use warpweave_plan::plan::{MemoryPlan, RTask};
use warpweave_plan::verify::Verified;
use warpweave_plan::verify::violation::Violation;

use crate::aligned::AlignedBytes;
use crate::session::bound::{self, BoundError, BoundInput, BoundOutput};
use crate::session::memory_limit::{NotEnoughMemory, check_plan};
use launch::{Launch, Recording};
pub use pool::ThreadPool;
pub use program::HostProgram;
pub use streams::Delays;

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
    /// `WARPWEAVE_CPU` names no vector extensions.
    #[error("WARPWEAVE_CPU is `{0}`, which names no vector extensions; set it to avx512, avx2 or base, or unset it")]
    Extensions(String),
    /// The weights are not as long as the plan says.
    #[error("the weights have {found} bytes, the plan expects {expected}")]
    Weights {
        /// What the plan expects.
        expected: u64,
        /// What there is.
        found: usize,
    },
    /// The inputs or outputs are not the plan's.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// An input has another type.
    #[error("input {position} is {found}, the plan expects {expected}")]
    InputType {
        /// Its position among the inputs.
        position: usize,
        /// What the plan reads.
        expected: TensorType,
        /// What was given.
        found: TensorType,
    },
    /// The pool has fewer threads than the plan was folded onto.
    #[error("the plan was folded onto {wanted} threads, and the pool has {found}")]
    Pool {
        /// The plan's threads.
        wanted: usize,
        /// The pool's threads.
        found: usize,
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
    launch: Arc<Launch>,
    pool: Arc<ThreadPool>,
    /// What fills outputs before the next run, if anything does.
    filling: Option<u8>,
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
    /// Folds the plan onto at most `threads` streams, verifies it again, prepares its rOperators, and starts threads.
    pub fn new(plan: &Verified, weights: Arc<[u8]>, threads: usize) -> Result<Self, HostError> {
        check_plan(plan.plan(), 1)?;
        Self::of_program(Arc::new(HostProgram::new(plan, weights, threads)?))
    }

    /// A session of a program, on threads of its own.
    pub fn of_program(program: Arc<HostProgram>) -> Result<Self, HostError> {
        let pool = ThreadPool::new(program.threads).map_err(|_| HostError::Thread)?;
        Self::on_pool(program, Arc::new(pool))
    }

    /// A session of a program, on the threads of a pool, which has as many as the program was folded onto.
    pub fn on_pool(program: Arc<HostProgram>, pool: Arc<ThreadPool>) -> Result<Self, HostError> {
        check_plan(program.plan.plan(), 1)?;
        if pool.threads() < program.threads {
            return Err(HostError::Pool { wanted: program.threads, found: pool.threads() });
        }
        let launch = Arc::new(Launch::new(program));
        Ok(Self { launch, pool, filling: None, trace: Vec::new(), moments: Vec::new() })
    }

    /// Runs the plan once.
    pub fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, HostError> {
        self.run_tensors(inputs, None)
    }

    /// Runs the plan once on memory of the caller: reads inputs where they lie, and writes outputs where they shall be. Nothing
    /// is allocated.
    pub fn run_bound(&mut self, inputs: &[BoundInput<'_>], outputs: &mut [BoundOutput<'_>]) -> Result<(), HostError> {
        self.execute(inputs, outputs, None)
    }

    /// Runs the plan once, with pauses if any are given, and notes what each thread does: see [`Self::trace`] and
    /// [`Self::moments`].
    pub fn run_traced(&mut self, inputs: &[Tensor], delays: Option<Delays>) -> Result<Vec<Tensor>, HostError> {
        (self.trace, self.moments) = (Vec::new(), Vec::new());
        let outputs = self.run_tensors(inputs, Some(Recording { start: Instant::now(), delays }))?;
        let records = self.launch.records();
        for segment in 0..self.plan().plan().segments.len() {
            for record in &records {
                self.trace.extend(record.tasks.iter().filter(|(of, _)| *of == segment).map(|(_, task)| *task));
                let moments = record.moments.iter().filter(|(of, _)| *of == segment);
                self.moments.extend(moments.map(|(_, moments)| moments.clone()));
            }
        }
        Ok(outputs)
    }

    fn run_tensors(&mut self, inputs: &[Tensor], recording: Option<Recording>) -> Result<Vec<Tensor>, HostError> {
        let memory = self.memory();
        for (position, (input, &tensor)) in inputs.iter().zip(&memory.inputs).enumerate() {
            let expected = &memory.tensors[tensor].ty;
            if input.ty() != expected {
                let (expected, found) = (expected.clone(), input.ty().clone());
                return Err(HostError::InputType { position, expected, found });
            }
        }
        let inputs: Vec<Tensor> = inputs.iter().map(aligned).collect();
        let bound: Vec<BoundInput<'_>> = inputs.iter().map(|input| BoundInput::from(&input.bytes()[..])).collect();
        let types: Vec<_> = memory.outputs.iter().map(|&output| memory.tensors[output].ty.clone()).collect();
        let filling = self.filling.take().unwrap_or(0);
        let mut outputs: Vec<_> = types.iter().map(|ty| AlignedBytes::filled(ty.bytes(), filling)).collect();
        let mut written: Vec<_> = outputs.iter_mut().map(|bytes| BoundOutput::from(bytes.as_mut())).collect();
        self.execute(&bound, &mut written, recording)?;
        let tensor = |(ty, bytes): (_, AlignedBytes)| Tensor::from_bytes(ty, bytes.into_bytes());
        let tensor = |output| tensor(output).expect("as many bytes as the type has");
        Ok(types.into_iter().zip(outputs).map(tensor).collect())
    }

    fn execute(
        &mut self,
        inputs: &[BoundInput<'_>],
        outputs: &mut [BoundOutput<'_>],
        recording: Option<Recording>,
    ) -> Result<(), HostError> {
        let memory = self.memory();
        let ty = |&tensor: &TensorId| &memory.tensors[tensor].ty;
        bound::check((memory.inputs.iter().map(ty), inputs), (memory.outputs.iter().map(ty), outputs))?;
        self.bind(inputs, outputs);
        self.launch.begin(recording);
        self.pool.run(&self.launch);
        self.read_unbound(outputs);
        self.launch.arena.ports().release();
        let (was_left, fault) = (self.launch.arena.was_left(), self.launch.faults.take());
        if self.launch.has_failed() {
            return Err(HostError::Thread);
        }
        if was_left {
            return Err(HostError::Outside);
        }
        fault.map_or(Ok(()), |fault| Err(HostError::Index(fault)))
    }

    /// Makes memory that was checked what the plan's inputs and outputs are. What is no port is written to the arena.
    fn bind(&self, inputs: &[BoundInput<'_>], outputs: &mut [BoundOutput<'_>]) {
        let Launch { program, arena, .. } = &*self.launch;
        let memory = self.memory();
        for (&tensor, input) in memory.inputs.iter().zip(inputs) {
            match program.ports.number(tensor) {
                Some(number) => arena.ports().bind(number, input.start().cast_mut()),
                None => arena.write(program.offset(tensor), input.as_slice()),
            }
        }
        for (position, (&tensor, output)) in memory.outputs.iter().zip(outputs).enumerate() {
            if let Some(number) = program.ports.number(tensor).filter(|_| is_own(memory, position)) {
                arena.ports().bind(number, output.start());
            }
        }
    }

    /// Copies what is no port of its own to the memory of outputs.
    fn read_unbound(&self, outputs: &mut [BoundOutput<'_>]) {
        let Launch { program, arena, .. } = &*self.launch;
        let memory = self.memory();
        for (position, (&tensor, output)) in memory.outputs.iter().zip(outputs).enumerate() {
            if program.ports.number(tensor).is_none() || !is_own(memory, position) {
                arena.read(program.offset(tensor), output.as_mut_slice());
            }
        }
    }

    /// What a tensor of the arena holds.
    pub fn read(&self, tensor: TensorId) -> Tensor {
        let ty = self.memory().tensors[tensor].ty.clone();
        let mut bytes = vec![0; ty.bytes()];
        self.launch.arena.read(self.launch.program.offset(tensor), &mut bytes);
        Tensor::from_bytes(ty, bytes.into()).expect("as many bytes as the type has")
    }

    /// Writes what a tensor of the arena, which has this type, holds when the next run begins.
    pub fn write(&mut self, tensor: TensorId, value: &Tensor) {
        self.launch.arena.write(self.launch.program.offset(tensor), value.bytes());
    }

    /// Copies what a tensor of the arena holds to another one of its type.
    pub fn copy(&mut self, from: TensorId, to: TensorId) {
        let Launch { program, arena, .. } = &*self.launch;
        arena.copy(program.offset(from), program.offset(to), self.memory().tensors[from].ty.bytes());
    }

    /// Sets every byte of the memory that the next run writes its outputs to, if that is not the caller's.
    pub fn fill_outputs(&mut self, byte: u8) {
        self.filling = Some(byte);
    }

    /// The threads that take part in a run, the caller's included: the most that a segment has rTasks for. At least 1.
    pub fn threads(&self) -> usize {
        self.launch.program.threads
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
        &self.launch.program.plan
    }

    fn memory(&self) -> &MemoryPlan {
        &self.plan().plan().memory
    }
}

/// Whether an output is a tensor that is no input, and no output before.
fn is_own(memory: &MemoryPlan, position: usize) -> bool {
    !memory.inputs.iter().chain(&memory.outputs[..position]).any(|tensor| *tensor == memory.outputs[position])
}

/// The tensor in memory that is aligned to its elements.
fn aligned(tensor: &Tensor) -> Tensor {
    match tensor.bytes().as_ptr().addr().is_multiple_of(tensor.element().bytes()) {
        true => tensor.clone(),
        false => {
            let bytes = AlignedBytes::copy_of(tensor.bytes()).into_bytes();
            Tensor::from_bytes(tensor.ty().clone(), bytes).expect("as many bytes as before")
        }
    }
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
