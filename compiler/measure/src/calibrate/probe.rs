//! The trials that constants are measured with.

use warpweave_codegen::microbenchmark::Microbenchmark;
use warpweave_fusion::cost::arch::{Constant, GpuArch};
use warpweave_fusion::partition::search::FusionLevel;
use warpweave_graph::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use warpweave_graph::program::{ProgramBuilder, TensorId};
use warpweave_graph::{ElementType, Tensor, TensorProgram, TensorType};

/// A constant that is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Probe {
    /// Bytes from device memory: all blocks stream more than the cache holds.
    Memory,
    /// Bytes from the second-level cache: all blocks stream again and again what stays in it.
    Cache,
    /// Operations of multiply-adds in registers.
    Arithmetic,
    /// A load that hits the second-level cache: each address is what the load before it read.
    Latency,
    /// A dependent step: each element is a maximum over all elements of the step before.
    Step,
}

/// How large a probe's trial is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Size {
    /// The one whose time is subtracted.
    Small,
    /// Twice as large.
    Large,
}

impl Size {
    pub(super) fn times(self, small: usize) -> usize {
        match self {
            Self::Small => small,
            Self::Large => 2 * small,
        }
    }
}

/// Rounds of multiply-adds of the small trial: milliseconds.
const ARITHMETIC_ROUNDS: usize = 20_000;
/// Times that the small trial streams what stays in the cache.
const CACHE_ROUNDS: usize = 64;
const LOADS: usize = 48;
const STEPS: usize = 24;
const STEP_ELEMENTS: usize = 256;
/// Elements from one load of the chain to the next: a line of the first-level cache, so that none hits it.
const CHAIN_STRIDE: usize = 32;

impl Probe {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Self; 5] = [Self::Memory, Self::Cache, Self::Arithmetic, Self::Latency, Self::Step];

    /// The constant's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory_bytes_per_microsecond",
            Self::Cache => "cache_bytes_per_microsecond",
            Self::Arithmetic => "operations_per_microsecond",
            Self::Latency => "load_latency_cycles",
            Self::Step => "step_microseconds",
        }
    }

    /// The constant.
    pub fn constant(self, arch: &mut GpuArch) -> &mut Constant<f64> {
        match self {
            Self::Memory => &mut arch.memory_bytes_per_microsecond,
            Self::Cache => &mut arch.cache_bytes_per_microsecond,
            Self::Arithmetic => &mut arch.peaks.simt_single.operations_per_microsecond,
            Self::Latency => &mut arch.load_latency_cycles,
            Self::Step => &mut arch.step_microseconds,
        }
    }

    /// The constant's value, where so much more work takes so many microseconds more.
    pub fn value(self, arch: &GpuArch, work: f64, microseconds: f64) -> f64 {
        match self {
            Self::Memory | Self::Cache | Self::Arithmetic => work / microseconds,
            Self::Latency => microseconds / work * arch.cycles_per_microsecond.value,
            Self::Step => microseconds / work,
        }
    }

    /// What the trial does: bytes, operations, loads or steps.
    pub fn work(self, arch: &GpuArch, size: Size) -> f64 {
        let work = match self {
            Self::Memory => 4 * size.times(MEMORY_CACHES * cache_elements(arch)),
            Self::Cache => 4 * cache_elements(arch) / CACHE_PART * size.times(CACHE_ROUNDS),
            Self::Arithmetic => {
                let of_block = Microbenchmark::MultiplyAdds.work_per_round().unwrap_or_default();
                2 * of_block * arch.multiprocessors.value * size.times(ARITHMETIC_ROUNDS)
            }
            Self::Latency => size.times(LOADS),
            Self::Step => size.times(STEPS),
        };
        work as f64
    }

    /// What is run, for a device of about these constants.
    pub fn trial(self, arch: &GpuArch, size: Size) -> Trial {
        let stream = |elements: usize, rounds: usize| Trial::Loop {
            benchmark: Microbenchmark::Stream,
            elements,
            rounds: rounds as u32,
        };
        match self {
            Self::Memory => stream(size.times(MEMORY_CACHES * cache_elements(arch)), 1),
            Self::Cache => stream(cache_elements(arch) / CACHE_PART, size.times(CACHE_ROUNDS)),
            Self::Arithmetic => Trial::Loop {
                benchmark: Microbenchmark::MultiplyAdds,
                elements: 0,
                rounds: size.times(ARITHMETIC_ROUNDS) as u32,
            },
            Self::Latency => Trial::Program(chase(size.times(LOADS)), FusionLevel::Register),
            Self::Step => Trial::Program(maxima(size.times(STEPS)), FusionLevel::None),
        }
    }
}

/// What is run once.
#[derive(Clone, PartialEq, Debug)]
pub enum Trial {
    /// A program, partitioned at this level: the median time of a launch.
    Program(TensorProgram, FusionLevel),
    /// A loop on every multiprocessor: from the first block's start to the last one's end.
    Loop {
        benchmark: Microbenchmark,
        /// Singles of global memory that it reads.
        elements: usize,
        /// How often each block goes round.
        rounds: u32,
    },
}

/// Caches that the small trial of memory streams.
const MEMORY_CACHES: usize = 8;
/// What part of the cache the trial of the cache streams: one of so many.
const CACHE_PART: usize = 4;

/// Singles that the second-level cache holds, in whole groups of four for each part.
fn cache_elements(arch: &GpuArch) -> usize {
    (arch.cache_bytes.value / 4).next_multiple_of(4 * CACHE_PART)
}

fn floats(shape: &[usize]) -> TensorType {
    TensorType::new(ElementType::F32, shape.to_vec())
}

/// A ring of indices through lines of the cache, followed for so many loads.
fn chase(loads: usize) -> TensorProgram {
    let mut program = ProgramBuilder::new();
    let elements = 4096 * CHAIN_STRIDE;
    let ring: Vec<i64> = (0..elements).map(|index| ((index + CHAIN_STRIDE) % elements) as i64).collect();
    let ring = program.constant(Tensor::new(vec![elements], &ring));
    let ty = TensorType::new(ElementType::I64, vec![elements]);
    let mut expr = ExprBuilder::new();
    let axis = expr.parallel(1);
    let operand = expr.operand(&ty);
    let mut value = expr.read(operand, vec![Index::axis(axis)]);
    for _ in 1..loads {
        let index = expr.indirect(&value, elements);
        value = expr.read(operand, vec![index]);
    }
    let output = program.compute(expr.map(ElementType::I64, value), &[ring]);
    program.finish(vec![output])
}

fn maxima(steps: usize) -> TensorProgram {
    let mut program = ProgramBuilder::new();
    let ty = floats(&[STEP_ELEMENTS]);
    let mut values: TensorId = program.input(ty.clone());
    for _ in 0..steps {
        let mut expr = ExprBuilder::new();
        let row = expr.parallel(STEP_ELEMENTS);
        let column = expr.reduced(STEP_ELEMENTS);
        let operand = expr.operand(&ty);
        let body = expr.read(operand, vec![Index::axis(column)]).binary(
            BinaryOp::Add,
            Scalar::Index(Index::axis(row), ElementType::I64).cast(ElementType::I64, ElementType::F32),
        );
        values = program.compute(expr.reduce(ElementType::F32, Reducer::Maximum, body, None), &[values]);
    }
    program.finish(vec![values])
}
