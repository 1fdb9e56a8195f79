//! Microbenchmarks on a GPU: cycles of loops of one kind of work, and of the smallest rTask. Never run on one so far.

use std::time::Duration;

use warpweave_codegen::lower::LoweredProgram;
use warpweave_codegen::microbenchmark::{ENTRY, Microbenchmark};
use warpweave_fusion::partition::search::FusionLevel;
use warpweave_graph::expr::{BinaryOp, ExprBuilder, Scalar};
use warpweave_graph::program::ProgramBuilder;
use warpweave_graph::{ElementType, Tensor, TensorProgram, TensorType};
use warpweave_plan::plan::backend::BackendReason;
use warpweave_runtime::bundle::TargetPlan;
use warpweave_runtime::cuda::{CudaOptions, CudaSession, DeviceInfo, Driver, Stamp, StampedLaunch, stamps};
use warpweave_runtime::nvrtc::UnitKind;
use warpweave_runtime::session::{SessionError, pack_program};
use warpweave_runtime::target::Target;

use crate::build::{BuildError, device_code};
use crate::compiler::{CompileOptions, Prepared, kernels};
use crate::device_compiler::DeviceCompiler;
use crate::open::{OpenError, device_target};
use crate::tune::median;

/// Launches of a loop of which the last counts.
const LAUNCHES: usize = 3;
/// Rounds of a loop whose cycles are reported.
const ROUNDS: u32 = 256;
/// Rounds of multiply-adds by which the clock is measured: a hundred microseconds, many steps of a coarse clock.
const CLOCK_ROUNDS: u32 = 2048;
/// Elements of global memory for staged tiles: of every number of sums a whole number of tiles, and small enough for any
/// second-level cache.
const ELEMENTS: usize = 3 << 19;
/// Dependent additions of the smaller of both programs by which an rTask is measured.
const TASKS: usize = 512;
/// Runs of which the median counts.
const RUNS: u32 = 32;

/// What a loop takes of a multiprocessor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reading {
    /// The loop.
    pub benchmark: Microbenchmark,
    /// Cycles of a round: the median over all blocks.
    pub cycles_per_round: f64,
    /// Multiply-adds, or bytes of shared memory, a cycle.
    pub work_per_cycle: f64,
}

/// A GPU and a compiler for it.
pub struct Bench<'a> {
    compiler: &'a dyn DeviceCompiler,
    device: DeviceInfo,
    target: Target,
}

impl<'a> Bench<'a> {
    /// For GPU `ordinal`.
    pub fn new(compiler: &'a dyn DeviceCompiler, ordinal: u32) -> Result<Self, OpenError> {
        let device = Driver::open().and_then(|driver| driver.device(ordinal)).map_err(SessionError::from)?;
        let target = device_target(&device)?;
        Ok(Self { compiler, device, target })
    }

    /// What every loop takes, in the order of [`Microbenchmark::OF_CYCLES`].
    pub fn readings(&self) -> Result<Vec<Reading>, OpenError> {
        Microbenchmark::OF_CYCLES.into_iter().map(|benchmark| self.reading(benchmark)).collect()
    }

    fn reading(&self, benchmark: Microbenchmark) -> Result<Reading, OpenError> {
        let mut cycles: Vec<u64> =
            self.stamps(benchmark, ELEMENTS, ROUNDS)?.into_iter().map(|stamp| stamp.cycles).collect();
        cycles.sort_unstable();
        let cycles_per_round = cycles[cycles.len() / 2] as f64 / f64::from(ROUNDS);
        let work = benchmark.work_per_round().unwrap_or_default() as f64;
        Ok(Reading { benchmark, cycles_per_round, work_per_cycle: work / cycles_per_round })
    }

    /// Microseconds from the first block's start to the last one's end, a block a multiprocessor.
    pub fn microseconds(&self, benchmark: Microbenchmark, elements: usize, rounds: u32) -> Result<f64, OpenError> {
        let stamps = self.stamps(benchmark, elements, rounds)?;
        let start = stamps.iter().map(|stamp| stamp.start).min().unwrap_or_default();
        let end = stamps.iter().map(|stamp| stamp.end).max().unwrap_or_default();
        Ok(end.saturating_sub(start) as f64 / 1e3)
    }

    fn stamps(&self, benchmark: Microbenchmark, elements: usize, rounds: u32) -> Result<Vec<Stamp>, OpenError> {
        let cubin = self.compiler.compile(&benchmark.source(), self.target, UnitKind::Whole);
        let cubin = cubin.map_err(BuildError::from)?;
        let launch = StampedLaunch {
            entry: ENTRY,
            blocks: self.device.multiprocessors as usize,
            threads: benchmark.threads(),
            shared_bytes: benchmark.shared_bytes(),
            elements,
            rounds,
        };
        Ok(stamps(self.device.ordinal, &cubin, &launch, LAUNCHES).map_err(SessionError::from)?)
    }

    /// Cycles a microsecond while multiprocessors are busy.
    pub fn cycles_per_microsecond(&self) -> Result<f64, OpenError> {
        let stamps = self.stamps(Microbenchmark::MultiplyAdds, 0, CLOCK_ROUNDS)?;
        let rate = |stamp: &Stamp| stamp.cycles as f64 * 1e3 / stamp.end.saturating_sub(stamp.start).max(1) as f64;
        let mut rates: Vec<f64> = stamps.iter().map(rate).collect();
        rates.sort_by(f64::total_cmp);
        Ok(rates[rates.len() / 2])
    }

    /// Microseconds of an rTask that adds one to one element, which waits for nothing: fetching and decoding its
    /// instruction, its operands, and the addition.
    pub fn smallest_task(&self) -> Result<f64, OpenError> {
        let few = self.chain(TASKS)?;
        Ok((self.chain(2 * TASKS)? - few) / TASKS as f64)
    }

    fn chain(&self, tasks: usize) -> Result<f64, OpenError> {
        let prepared = Prepared::new(&additions(tasks));
        let options = CompileOptions { fusion: FusionLevel::None, units: 1, ..CompileOptions::default() };
        let plan = prepared.schedule(&options).map_err(BuildError::from)?.1;
        let lowered = kernels(plan.plan(), &prepared.program).map_err(BuildError::from)?;
        let weights = pack_program(&plan.plan().memory, &prepared.program)?;
        let code = device_code(self.target, &lowered.program, self.compiler)?.code;
        let reason = BackendReason::Asked;
        let LoweredProgram { bindings, operands, relocations, .. } = lowered;
        let plan = TargetPlan { plan, bindings, operands, relocations, reason };
        let options = CudaOptions { wait_limit: WAIT_LIMIT, ..CudaOptions::default() };
        let mut session = CudaSession::open(self.device.ordinal, &plan, &code, &weights, options)?;
        let input = Tensor::from_f64(TensorType::new(ElementType::F32, [1]), &[0.0]);
        Ok(median(&mut session, &[input], RUNS)?)
    }
}

/// After how long a wait gives up.
const WAIT_LIMIT: Duration = Duration::from_secs(2);

/// One element, to which one is added again and again.
fn additions(count: usize) -> TensorProgram {
    let ty = TensorType::new(ElementType::F32, [1]);
    let mut program = ProgramBuilder::new();
    let mut value = program.input(ty.clone());
    for _ in 0..count {
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[1]);
        let operand = expr.operand(&ty);
        let body = expr.broadcast_read(operand, &axes).binary(BinaryOp::Add, Scalar::literal(ElementType::F32, 1.0));
        value = program.compute(expr.map(ElementType::F32, body), &[value]);
    }
    program.finish(vec![value])
}
