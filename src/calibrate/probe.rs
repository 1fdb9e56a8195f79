//! The programs that constants are measured with.

use warpweave_fusion::partition::FusionLevel;
use warpweave_fusion::partition::arch::{Constant, GpuArch};
use warpweave_graph::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use warpweave_graph::program::{ProgramBuilder, TensorId};
use warpweave_graph::{ElementType, Tensor, TensorProgram, TensorType};

/// A constant that is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Probe {
    /// Bytes from and to device memory: one is added to more elements than the cache holds.
    Memory,
    /// Bytes from and to the second-level cache: one is added to elements that stay in it from launch to launch.
    Cache,
    /// Operations of a product of matrices.
    Arithmetic,
    /// A load that hits the second-level cache: each address is what the load before it read.
    Latency,
    /// A dependent step: each element is a maximum over all elements of the step before.
    Step,
}

/// How large a probe's program is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Size {
    /// The program whose time is subtracted.
    Small,
    /// Twice as large.
    Large,
}

impl Size {
    fn times(self, small: usize) -> usize {
        match self {
            Self::Small => small,
            Self::Large => 2 * small,
        }
    }
}

/// Rows and columns of the product; its inner extent is that of the size.
const PRODUCT: usize = 4096;
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
            Self::Arithmetic => &mut arch.operations_per_microsecond,
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

    /// What the program does: bytes, operations, loads or steps.
    pub fn work(self, arch: &GpuArch, size: Size) -> f64 {
        let work = match self {
            Self::Memory | Self::Cache => 8 * self.elements(arch, size),
            Self::Arithmetic => 2 * PRODUCT * PRODUCT * size.times(PRODUCT),
            Self::Latency => size.times(LOADS),
            Self::Step => size.times(STEPS),
        };
        work as f64
    }

    /// The level at which the program has the kernels that are meant.
    pub fn fusion(self) -> FusionLevel {
        match self {
            Self::Step => FusionLevel::None,
            Self::Memory | Self::Cache | Self::Arithmetic | Self::Latency => FusionLevel::Register,
        }
    }

    /// The program, for a device of about these constants.
    pub fn program(self, arch: &GpuArch, size: Size) -> TensorProgram {
        match self {
            Self::Memory | Self::Cache => one_more(self.elements(arch, size)),
            Self::Arithmetic => product(size.times(PRODUCT)),
            Self::Latency => chase(size.times(LOADS)),
            Self::Step => maxima(size.times(STEPS)),
        }
    }

    /// Elements that are read and written: eight times the cache, or a sixteenth of it, for the small program.
    fn elements(self, arch: &GpuArch, size: Size) -> usize {
        let cache = arch.cache_bytes.value / 8;
        let small = match self {
            Self::Memory => 8 * cache,
            Self::Cache | Self::Arithmetic | Self::Latency | Self::Step => cache / 16,
        };
        size.times(small.max(1))
    }
}

fn floats(shape: &[usize]) -> TensorType {
    TensorType::new(ElementType::F32, shape.to_vec())
}

fn one_more(elements: usize) -> TensorProgram {
    let mut program = ProgramBuilder::new();
    let input = program.input(floats(&[elements]));
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&[elements]);
    let operand = expr.operand(&floats(&[elements]));
    let body = expr.broadcast_read(operand, &axes).binary(BinaryOp::Add, Scalar::literal(ElementType::F32, 1.0));
    let output = program.compute(expr.map(ElementType::F32, body), &[input]);
    program.finish(vec![output])
}

fn product(inner: usize) -> TensorProgram {
    let mut program = ProgramBuilder::new();
    let types = [floats(&[PRODUCT, inner]), floats(&[inner, PRODUCT])];
    let inputs = types.each_ref().map(|ty| program.input(ty.clone()));
    let mut expr = ExprBuilder::new();
    let [row, column] = expr.parallels(&[PRODUCT, PRODUCT])[..] else { unreachable!("two axes were asked for") };
    let step = expr.reduced(inner);
    let operands = types.each_ref().map(|ty| expr.operand(ty));
    let left = expr.read(operands[0], vec![Index::axis(row), Index::axis(step)]);
    let right = expr.read(operands[1], vec![Index::axis(step), Index::axis(column)]);
    let body = left.binary(BinaryOp::Multiply, right);
    let output = program.compute(expr.reduce(ElementType::F32, Reducer::Sum, body, None), &inputs);
    program.finish(vec![output])
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
