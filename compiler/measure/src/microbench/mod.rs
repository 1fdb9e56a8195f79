//! Microbenchmarks on a GPU: cycles of loops of one kind of work, times of exchanges and launches, and what code takes that comes
//! from afar. Never run on one so far.

mod code;
mod edges;

pub use code::{CodeKind, CodeReading};
pub use edges::{EdgeReadings, FailedEdge};

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use warpweave_codegen::lower::LoweredProgram;
use warpweave_codegen::microbenchmark::{ENTRY, Microbenchmark, Stamped};
use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::partition::search::FusionLevel;
use warpweave_graph::expr::{BinaryOp, ExprBuilder, Scalar};
use warpweave_graph::program::ProgramBuilder;
use warpweave_graph::{ElementType, Tensor, TensorProgram, TensorType};
use warpweave_plan::plan::backend::BackendReason;
use warpweave_runtime::bundle::TargetPlan;
use warpweave_runtime::cuda::{
    CudaOptions, CudaSession, DeviceInfo, Driver, LaunchData, ResidentContext, Stamp, StampedLaunch, StampedProgram,
};
use warpweave_runtime::nvrtc::UnitKind;
use warpweave_runtime::session::{Session, SessionError, pack_program};
use warpweave_runtime::target::Target;

use crate::tune::median;
use warpweave::DeviceCompiler;
use warpweave::compiler::kernels;
use warpweave::prices;
use warpweave::{BuildError, CompileError, device_code};
use warpweave::{OpenError, device_target};
use warpweave_fusion::partition::search::partition;
use warpweave_fusion::schedule::choice::plan;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::pipeline::prepare;
use warpweave_plan::verify::verify;

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
/// How long a device is kept busy before anything is timed, so that its clocks are up.
pub const CLOCK_SPIN: Duration = Duration::from_millis(50);
/// After how long without work the clocks may have fallen.
const IDLE: Duration = Duration::from_millis(5);
/// Rounds of multiply-adds of a launch by which a device is kept busy: about a millisecond.
const SPIN_ROUNDS: u32 = 4096;

/// What a loop takes of a multiprocessor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reading {
    pub benchmark: Microbenchmark,
    /// Cycles of a round: the median over all blocks.
    pub cycles_per_round: f64,
    /// Multiply-adds, or bytes of shared memory, a cycle.
    pub work_per_cycle: f64,
}

/// A GPU, a compiler for it, and what it has compiled: each program once. Before anything is timed after a pause the device is
/// kept busy for [`CLOCK_SPIN`].
pub struct Bench<'a> {
    compiler: &'a dyn DeviceCompiler,
    device: DeviceInfo,
    target: Target,
    prices: GpuPrices,
    /// By their text.
    programs: RefCell<BTreeMap<String, Rc<StampedProgram>>>,
    last_busy: Cell<Option<Instant>>,
    clock: Cell<Option<f64>>,
    task: Cell<Option<f64>>,
    /// Last, so that all programs are freed while it is there.
    _context: ResidentContext,
}

/// Blocks and rounds of a launch, and what its data holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Extent {
    blocks: usize,
    elements: usize,
    rounds: u32,
    data: LaunchData,
}

impl<'a> Bench<'a> {
    /// For GPU `ordinal`.
    pub fn new(compiler: &'a dyn DeviceCompiler, ordinal: u32) -> Result<Self, OpenError> {
        let device = Driver::open().and_then(|driver| driver.device(ordinal)).map_err(SessionError::from)?;
        let target = device_target(&device)?;
        let context = ResidentContext::new(ordinal).map_err(SessionError::from)?;
        Ok(Self {
            compiler,
            prices: prices::of_gpu(&device),
            device,
            target,
            programs: RefCell::default(),
            last_busy: Cell::default(),
            clock: Cell::default(),
            task: Cell::default(),
            _context: context,
        })
    }

    /// The device.
    pub fn device(&self) -> &DeviceInfo {
        &self.device
    }

    /// What is compiled for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The device's constants before anything is measured.
    pub fn prices(&self) -> &GpuPrices {
        &self.prices
    }

    /// What every loop takes, in the order of [`Microbenchmark::OF_CYCLES`].
    pub fn readings(&self) -> Result<Vec<Reading>, OpenError> {
        Microbenchmark::OF_CYCLES.into_iter().map(|benchmark| self.reading(benchmark)).collect()
    }

    fn reading(&self, benchmark: Microbenchmark) -> Result<Reading, OpenError> {
        let stamps = self.stamps(&benchmark, self.everywhere(ELEMENTS, ROUNDS), LAUNCHES)?;
        let cycles_per_round = median_of(stamps.iter().map(|stamp| stamp.cycles as f64)) / f64::from(ROUNDS);
        let work = benchmark.work_per_round().unwrap_or_default() as f64;
        Ok(Reading { benchmark, cycles_per_round, work_per_cycle: work / cycles_per_round })
    }

    /// Microseconds from the first block's start to the last one's end, a block a multiprocessor.
    pub fn microseconds(&self, benchmark: Microbenchmark, elements: usize, rounds: u32) -> Result<f64, OpenError> {
        Ok(span(&self.stamps(&benchmark, self.everywhere(elements, rounds), LAUNCHES)?))
    }

    /// A block a multiprocessor, which may read so many elements.
    fn everywhere(&self, elements: usize, rounds: u32) -> Extent {
        Extent { blocks: self.device.multiprocessors as usize, elements, rounds, data: LaunchData::Kept }
    }

    /// The stamps of the last of so many launches, on a device whose clocks are up.
    fn stamps(&self, probe: &dyn Stamped, extent: Extent, launches: usize) -> Result<Vec<Stamp>, OpenError> {
        let program = self.program(probe)?;
        self.spin()?;
        let stamps = program.stamps(&launch_of(probe, extent), launches).map_err(SessionError::from)?;
        self.last_busy.set(Some(Instant::now()));
        Ok(stamps)
    }

    /// A probe's program, which is compiled and loaded the first time.
    fn program(&self, probe: &dyn Stamped) -> Result<Rc<StampedProgram>, OpenError> {
        let source = probe.source();
        if let Some(known) = self.programs.borrow().get(&source) {
            return Ok(Rc::clone(known));
        }
        let program =
            StampedProgram::load(self.device.ordinal, &self.compiled(&source)?).map_err(SessionError::from)?;
        let program = Rc::new(program);
        self.programs.borrow_mut().insert(source, Rc::clone(&program));
        Ok(program)
    }

    fn compiled(&self, source: &str) -> Result<Vec<u8>, OpenError> {
        Ok(self.compiler.compile(source, self.target, UnitKind::Whole).map_err(BuildError::from)?)
    }

    /// Keeps the device busy for [`CLOCK_SPIN`], unless it has just been.
    pub fn spin(&self) -> Result<(), OpenError> {
        if self.last_busy.get().is_some_and(|last| last.elapsed() < IDLE) {
            return Ok(());
        }
        let busy = Microbenchmark::MultiplyAdds;
        let launch = launch_of(&busy, self.everywhere(0, SPIN_ROUNDS));
        self.program(&busy)?.spin(&launch, CLOCK_SPIN).map_err(SessionError::from)?;
        self.last_busy.set(Some(Instant::now()));
        Ok(())
    }

    /// Cycles a microsecond while multiprocessors are busy.
    pub fn cycles_per_microsecond(&self) -> Result<f64, OpenError> {
        if let Some(known) = self.clock.get() {
            return Ok(known);
        }
        let stamps = self.stamps(&Microbenchmark::MultiplyAdds, self.everywhere(0, CLOCK_ROUNDS), LAUNCHES)?;
        let rate = |stamp: &Stamp| stamp.cycles as f64 * 1e3 / stamp.end.saturating_sub(stamp.start).max(1) as f64;
        let clock = median_of(stamps.iter().map(rate));
        self.clock.set(Some(clock));
        Ok(clock)
    }

    /// Microseconds of an rTask that adds one to one element, which waits for nothing: fetching and decoding its
    /// instruction, its operands, and the addition.
    pub fn smallest_task(&self) -> Result<f64, OpenError> {
        if let Some(known) = self.task.get() {
            return Ok(known);
        }
        let few = self.chain(TASKS)?;
        let task = (self.chain(2 * TASKS)? - few) / TASKS as f64;
        self.task.set(Some(task));
        Ok(task)
    }

    fn chain(&self, tasks: usize) -> Result<f64, OpenError> {
        let prepared = prepare(&additions(tasks));
        let options = PlanOptions { fusion: FusionLevel::None, units: 1, ..PlanOptions::gpu(&self.prices) };
        let partition = partition(&prepared, &*options.cost, options.fusion);
        let plan = verify(plan(&prepared, &partition, &options).plan).map_err(CompileError::Plan);
        let plan = plan.map_err(BuildError::from)?;
        let lowered = kernels(plan.plan(), &prepared.program).map_err(BuildError::from)?;
        let weights = pack_program(&plan.plan().memory, &prepared.program)?;
        let code = device_code(self.target, &lowered.program, self.compiler)?.code;
        let reason = BackendReason::Asked;
        let LoweredProgram { bindings, operands, relocations, .. } = lowered;
        let plan = TargetPlan { plan, bindings, operands, relocations, reason };
        let options = CudaOptions { wait_limit: WAIT_LIMIT, ..CudaOptions::default() };
        let mut session = CudaSession::open(self.device.ordinal, &plan, &code, &weights, options)?;
        let input = Tensor::from_f64(TensorType::new(ElementType::F32, [1]), &[0.0]);
        self.median(&mut session, &[input])
    }

    /// The median microseconds of a session's runs, once the clocks are up.
    pub(crate) fn median(&self, session: &mut CudaSession, inputs: &[Tensor]) -> Result<f64, OpenError> {
        session.run(inputs)?;
        session.spin(CLOCK_SPIN)?;
        let time = median(session, inputs, RUNS)?;
        self.last_busy.set(Some(Instant::now()));
        Ok(time)
    }
}

fn launch_of(probe: &dyn Stamped, extent: Extent) -> StampedLaunch<'static> {
    let Extent { blocks, elements, rounds, data } = extent;
    let (threads, shared_bytes) = (probe.threads(), probe.shared_bytes());
    StampedLaunch { entry: ENTRY, blocks, threads, shared_bytes, elements, rounds, data }
}

/// Microseconds from the first start to the last end.
fn span(stamps: &[Stamp]) -> f64 {
    let start = stamps.iter().map(|stamp| stamp.start).min().unwrap_or_default();
    let end = stamps.iter().map(|stamp| stamp.end).max().unwrap_or_default();
    end.saturating_sub(start) as f64 / 1e3
}

/// The middle of some numbers; of an even number of them the upper one. 0 if there are none.
fn median_of(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
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
