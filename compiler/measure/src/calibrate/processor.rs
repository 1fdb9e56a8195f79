//! The trials that a processor's constants are measured with.

use std::cell::Cell;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use warpweave::compile;

use warpweave_fusion::cost::arch::Constant;
use warpweave_fusion::cost::cpu::{CpuArch, CpuKind};
use warpweave_fusion::partition::search::FusionLevel;
use warpweave_graph::expr::{BinaryOp, ExprBuilder, Index, Reducer};
use warpweave_graph::program::{ProgramBuilder, TensorId};
use warpweave_graph::{ElementType, Tensor, TensorProgram, TensorType};
use warpweave_runtime::bundle::BundleTarget;
use warpweave_runtime::host::{HostSession, vector_lanes};
use warpweave_runtime::session::{SessionError, pack_program};

use super::{Calibration, Reading, Size, least_times, slope};
use crate::processor_caches::Caches;
use warpweave::Build;
use warpweave::Model;
use warpweave::OpenError;
use warpweave::random_inputs;

/// A constant of a processor that is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProcessorProbe {
    /// Bytes from the second-level cache: every core reads again and again what stays in its own.
    Level2,
    /// Bytes from the shared cache: every core reads more than its own caches hold.
    SharedCache,
    /// Bytes from memory: all cores stream more than the shared cache holds.
    Memory,
    /// Multiply-adds of a product of matrices on one core.
    MultiplyAdds,
    /// Operations of short expressions on one core, on values from its caches.
    Operations,
    /// An rTask of next to no work, after another one.
    Task,
    /// A number that two threads take in turns, both looking for it.
    HandOver,
    /// Two threads that wake each other in turns.
    WakeUp,
}

/// What is run once.
#[derive(Clone, PartialEq, Debug)]
pub enum ProcessorTrial {
    /// A program on one thread, partitioned at this level.
    Program(TensorProgram, FusionLevel),
    /// Every core reads its part of so many bytes, so often.
    Stream {
        /// Bytes of all cores.
        bytes: usize,
        /// How often they are read.
        rounds: usize,
    },
    /// So many hand-overs from one thread to another.
    HandOvers(usize),
    /// So many wake-ups of one thread by another.
    WakeUps(usize),
}

const LARGEST_STREAM: usize = 256 << 20;
const PRODUCT: [usize; 2] = [96, 1024];
const PRODUCT_STEPS: usize = 1024;
const CACHE_ROUNDS: usize = 64;
const SHARED_ROUNDS: usize = 8;
const STAGE_POINTS: usize = 16 << 10;
/// A product, a difference, and the read of what they are of.
const STAGE_OPERATIONS: usize = 3;
const STAGES: usize = 24;
const STEPS: usize = 256;
const STEP_ELEMENTS: usize = 16;
const HAND_OVERS: usize = 20_000;
const WAKE_UPS: usize = 2_000;

impl ProcessorProbe {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Self; 8] = [
        Self::Level2,
        Self::SharedCache,
        Self::Memory,
        Self::MultiplyAdds,
        Self::Operations,
        Self::Task,
        Self::HandOver,
        Self::WakeUp,
    ];

    /// The constant's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Level2 => "level2_bytes_per_microsecond",
            Self::SharedCache => "shared_cache_bytes_per_microsecond",
            Self::Memory => "memory_bytes_per_microsecond",
            Self::MultiplyAdds => "multiply_adds_per_microsecond",
            Self::Operations => "operations_per_microsecond",
            Self::Task => "task_microseconds",
            Self::HandOver => "hand_over_microseconds",
            Self::WakeUp => "wake_up_microseconds",
        }
    }

    /// The constant.
    pub fn constant(self, arch: &mut CpuArch) -> &mut Constant<f64> {
        match self {
            Self::Level2 => &mut arch.level2_bytes_per_microsecond,
            Self::SharedCache => &mut arch.shared_cache_bytes_per_microsecond,
            Self::Memory => &mut arch.memory_bytes_per_microsecond,
            Self::MultiplyAdds => &mut arch.multiply_adds_per_microsecond,
            Self::Operations => &mut arch.operations_per_microsecond,
            Self::Task => &mut arch.task_microseconds,
            Self::HandOver => &mut arch.hand_over_microseconds,
            Self::WakeUp => &mut arch.wake_up_microseconds,
        }
    }

    /// The constant's value, where so much more work takes so many microseconds more.
    pub fn value(self, work: f64, microseconds: f64) -> f64 {
        match self {
            Self::Level2 | Self::SharedCache | Self::Memory | Self::MultiplyAdds | Self::Operations => {
                work / microseconds
            }
            Self::Task | Self::HandOver | Self::WakeUp => microseconds / work,
        }
    }

    /// What the trial does: bytes, multiply-adds, operations, rTasks, hand-overs or wake-ups.
    pub fn work(self, arch: &CpuArch, size: Size) -> f64 {
        let work = match self {
            Self::Level2 => size.times(CACHE_ROUNDS) * own_bytes(arch),
            Self::SharedCache => size.times(SHARED_ROUNDS) * shared_bytes(arch),
            Self::Memory => size.times(stream_bytes(arch)),
            Self::MultiplyAdds => PRODUCT.iter().product::<usize>() * size.times(PRODUCT_STEPS),
            Self::Operations => STAGE_POINTS * STAGE_OPERATIONS * size.times(STAGES),
            Self::Task => size.times(STEPS),
            Self::HandOver => size.times(HAND_OVERS),
            Self::WakeUp => size.times(WAKE_UPS),
        };
        work as f64
    }

    /// What is run, for a processor of about these constants.
    pub fn trial(self, arch: &CpuArch, size: Size) -> ProcessorTrial {
        let stream = |bytes: usize, rounds: usize| ProcessorTrial::Stream { bytes, rounds: size.times(rounds) };
        match self {
            Self::Level2 => stream(own_bytes(arch) * cores(), CACHE_ROUNDS),
            Self::SharedCache => stream(shared_bytes(arch) * cores(), SHARED_ROUNDS),
            Self::Memory => stream(stream_bytes(arch), 1),
            Self::MultiplyAdds => ProcessorTrial::Program(product(size.times(PRODUCT_STEPS)), FusionLevel::Register),
            Self::Operations => ProcessorTrial::Program(stages(size.times(STAGES)), FusionLevel::None),
            Self::Task => ProcessorTrial::Program(maxima(size.times(STEPS)), FusionLevel::None),
            Self::HandOver => ProcessorTrial::HandOvers(size.times(HAND_OVERS)),
            Self::WakeUp => ProcessorTrial::WakeUps(size.times(WAKE_UPS)),
        }
    }
}

/// Bytes that are streamed from memory: several shared caches, as far as machines have room.
fn stream_bytes(arch: &CpuArch) -> usize {
    arch.shared_cache_bytes.value.saturating_mul(4).clamp(1 << 20, LARGEST_STREAM)
}

/// Bytes that every core streams from its second-level cache.
fn own_bytes(arch: &CpuArch) -> usize {
    arch.level2_bytes.value.min(LARGEST_STREAM) / 2
}

/// Bytes that every core streams from the shared cache.
fn shared_bytes(arch: &CpuArch) -> usize {
    let most = arch.shared_cache_bytes.value.min(LARGEST_STREAM) / 2 / cores();
    (4 * arch.level2_bytes.value.min(LARGEST_STREAM)).min(most).max(1 << 12)
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn floats(shape: &[usize]) -> TensorType {
    TensorType::new(ElementType::F32, shape.to_vec())
}

/// The product of an input and a constant.
fn product(steps: usize) -> TensorProgram {
    let [rows, columns] = PRODUCT;
    let (left, right) = (floats(&[rows, steps]), floats(&[steps, columns]));
    let mut program = ProgramBuilder::new();
    let input = program.input(left.clone());
    let constant = program.constant(Tensor::new(vec![steps, columns], &vec![0.5f32; steps * columns]));
    let mut expr = ExprBuilder::new();
    let (row, column, step) = (expr.parallel(rows), expr.parallel(columns), expr.reduced(steps));
    let operands = [expr.operand(&left), expr.operand(&right)];
    let factors = [(row, step), (step, column)];
    let [left, right] = [0, 1].map(|at| {
        let (first, second) = factors[at];
        expr.read(operands[at], vec![Index::axis(first), Index::axis(second)])
    });
    let expr = expr.reduce(ElementType::F32, Reducer::Sum, left.binary(BinaryOp::Multiply, right), None);
    let output = program.compute(expr, &[input, constant]);
    program.finish(vec![output])
}

/// A short expression of every element of the stage before, one stage after another.
fn stages(count: usize) -> TensorProgram {
    let ty = floats(&[STAGE_POINTS]);
    let mut program = ProgramBuilder::new();
    let mut values: TensorId = program.input(ty.clone());
    for _ in 0..count {
        let mut expr = ExprBuilder::new();
        let axis = expr.parallel(STAGE_POINTS);
        let operand = expr.operand(&ty);
        let element = expr.read(operand, vec![Index::axis(axis)]);
        let square = element.clone().binary(BinaryOp::Multiply, element.clone());
        let body = square.binary(BinaryOp::Subtract, element);
        values = program.compute(expr.map(ElementType::F32, body), &[values]);
    }
    program.finish(vec![values])
}

/// Maxima of all elements of the step before, one step after another.
fn maxima(steps: usize) -> TensorProgram {
    let ty = floats(&[STEP_ELEMENTS]);
    let mut program = ProgramBuilder::new();
    let mut values: TensorId = program.input(ty.clone());
    for _ in 0..steps {
        let mut expr = ExprBuilder::new();
        expr.parallel(STEP_ELEMENTS);
        let column = expr.reduced(STEP_ELEMENTS);
        let operand = expr.operand(&ty);
        let body = expr.read(operand, vec![Index::axis(column)]);
        values = program.compute(expr.reduce(ElementType::F32, Reducer::Maximum, body, None), &[values]);
    }
    program.finish(vec![values])
}

/// What runs trials and takes their times.
pub trait ProcessorStopwatch {
    /// The time of a trial in microseconds.
    fn microseconds(&mut self, trial: &ProcessorTrial) -> Result<f64, OpenError>;
}

/// What is known of this processor before anything is measured: its vectors and caches, and what is shipped of its kind.
pub fn processor_base() -> CpuArch {
    let lanes = vector_lanes();
    let base = CpuArch { vector_lanes: CpuArch::stated(lanes), ..CpuArch::of(CpuKind::of_lanes(lanes)) };
    let known = Caches::of_system().onto(base);
    if known.is_sound() { known } else { base }
}

/// Replaces the constants of `base` by what `stopwatch` measures.
pub fn calibrate_processor(
    base: CpuArch,
    stopwatch: &mut dyn ProcessorStopwatch,
) -> Result<Calibration<CpuArch>, OpenError> {
    let mut arch = base;
    let mut readings = Vec::new();
    for probe in ProcessorProbe::ALL {
        let microseconds = least_times(|size| stopwatch.microseconds(&probe.trial(&base, size)))?;
        let work = probe.work(&base, Size::Large) - probe.work(&base, Size::Small);
        let before = probe.constant(&mut arch).value;
        let now = slope(microseconds).map(|slope| probe.value(work, slope));
        if let Some(now) = now {
            *probe.constant(&mut arch) = CpuArch::measured(now);
        }
        readings.push(Reading { constant: probe.name(), microseconds: Some(microseconds), before, now });
    }
    Ok(Calibration { arch, readings, failed: Vec::new() })
}

/// Takes the least time of several runs on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadStopwatch;

/// Fewest runs of a trial.
const FEWEST_RUNS: usize = 3;
/// Most runs of a trial.
const MOST_RUNS: usize = 20;
/// After so long, no other run of a trial begins.
const ENOUGH: Duration = Duration::from_millis(100);

impl ProcessorStopwatch for ThreadStopwatch {
    fn microseconds(&mut self, trial: &ProcessorTrial) -> Result<f64, OpenError> {
        match trial {
            ProcessorTrial::Program(program, fusion) => run(program, *fusion),
            &ProcessorTrial::Stream { bytes, rounds } => {
                let values = vec![1u64; bytes / size_of::<u64>()];
                Ok(least(|| stream(&values, rounds)))
            }
            &ProcessorTrial::HandOvers(count) => Ok(least(|| in_turns(count, &spin_some, &|_| {}))),
            &ProcessorTrial::WakeUps(count) => Ok(least(|| in_turns(count, &thread::park, &Thread::unpark))),
        }
    }
}

/// The least time of some runs, in microseconds.
fn least(mut run: impl FnMut()) -> f64 {
    let (begin, mut least) = (Instant::now(), f64::INFINITY);
    for number in 0..MOST_RUNS {
        if number >= FEWEST_RUNS && begin.elapsed() > ENOUGH {
            break;
        }
        let start = Instant::now();
        run();
        least = least.min(start.elapsed().as_secs_f64() * 1e6);
    }
    least
}

/// The time of a program on one thread.
fn run(program: &TensorProgram, fusion: FusionLevel) -> Result<f64, OpenError> {
    let names = |count: usize| -> Vec<String> { (0..count).map(|position| position.to_string()).collect() };
    let (inputs, outputs) = (names(program.inputs.len()), names(program.outputs.len()));
    let mut build = Build::new(Model::new("probe", program.clone(), &inputs, &outputs))?;
    build.fusion = Some(fusion);
    let plan = compile(&build, BundleTarget::Host, None, &mut |_| {})?.plan;
    let weights = pack_program(&plan.plan.plan().memory, &build.prepared().program)?;
    let mut session = HostSession::new(&plan.plan, weights, 1).map_err(SessionError::from)?;
    let inputs = random_inputs(&build.model.signature, 1);
    session.run(&inputs).map_err(SessionError::from)?;
    let mut result = Ok(());
    let time = least(|| result = session.run(&inputs).map(|outputs| drop(black_box(outputs))));
    result.map_err(SessionError::from)?;
    Ok(time)
}

/// Every core reads its part of some values, so often.
fn stream(values: &[u64], rounds: usize) {
    thread::scope(|scope| {
        for part in values.chunks(values.len().div_ceil(cores()).max(1)) {
            scope.spawn(move || (0..rounds).for_each(|_| _ = black_box(parity(black_box(part)))));
        }
    });
}

/// What follows from all values in next to no time beside that of reading them.
fn parity(values: &[u64]) -> u64 {
    values.iter().fold(0, |parity, value| parity ^ value)
}

/// Two threads take a number in turns until one has grown so often; each waits, and tells the other when it is its turn.
fn in_turns(count: usize, wait: &(impl Fn() + Sync), wake: &(impl Fn(&Thread) + Sync)) {
    let turn = AtomicUsize::new(0);
    let take = |own: usize, other: Thread| {
        loop {
            let now = turn.load(Ordering::Acquire);
            if now >= count {
                break;
            }
            if now % 2 == own {
                turn.store(now + 1, Ordering::Release);
                wake(&other);
            } else {
                wait();
            }
        }
        wake(&other);
    };
    thread::scope(|scope| {
        let caller = thread::current();
        let worker = scope.spawn(|| take(1, caller));
        take(0, worker.thread().clone());
    });
}

/// Looks a few times, and then lets others run: on one core the other thread has to.
fn spin_some() {
    thread_local! { static LOOKS: Cell<u32> = const { Cell::new(0) } }
    let looks = LOOKS.get() + 1;
    LOOKS.set(looks % 64);
    if looks < 64 { spin_loop() } else { thread::yield_now() }
}
