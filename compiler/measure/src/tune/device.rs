//! Kernels measured on a GPU. Never run on one so far.

use std::time::Duration;

use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::cost::timings::{Machine, Version};
use warpweave_fusion::partition::search::FusionGroup;
use warpweave_graph::expr::{ExprBuilder, UnaryOp};
use warpweave_graph::program::ProgramBuilder;
use warpweave_graph::reference::evaluate;
use warpweave_graph::types::{ElementType, TensorType};
use warpweave_graph::{Tensor, TensorProgram};
use warpweave_plan::body::signature::Signature;
use warpweave_runtime::cuda::{CudaError, CudaOptions, CudaSession, DeviceInfo, Driver, ResidentContext};
use warpweave_runtime::session::{CLOCK_RAMP, FailureKind, Session, SessionError, pack_program};
use warpweave_runtime::target::Target;

use super::{Measure, Outcome};
use warpweave::KernelProgram;
use warpweave::architecture;
use warpweave::prices;
use warpweave::random_inputs;
use warpweave::{BuildError, device_code};
use warpweave::{DeviceCompileError, DeviceCompiler};
use warpweave::{OpenError, device_target};
use warpweave_fusion::partition::search::partition;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::pipeline::prepare;

/// What passes of an element's difference to the reference: this share of the element, and this share of the largest one.
const RELATIVE: f64 = 1e-3;
const OF_LARGEST: f64 = 1e-4;
/// Runs of the kernel that does nothing.
const LAUNCHES: u32 = 64;
/// After how long a wait of a kernel's plan gives up.
const WAIT_LIMIT: Duration = Duration::from_secs(2);

/// Runs kernels on a GPU: each as a persistent program of its own, on fresh random inputs, its values compared with the
/// reference's. A time is the median of events around the launch, less that of a kernel that does nothing, and a dependent step
/// of the estimate.
pub struct DeviceMeasure<'a> {
    program: &'a TensorProgram,
    compiler: &'a dyn DeviceCompiler,
    device: DeviceInfo,
    target: Target,
    driver: Version,
    prices: GpuPrices,
    /// Microseconds of a launch that computes one element, once they are known.
    launch: Option<f64>,
    /// Of the next inputs.
    seed: u64,
    _context: ResidentContext,
    /// The group that was measured last, with what the reference says of it.
    expected: Option<Expected>,
}

struct Expected {
    signature: Signature,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
}

impl<'a> DeviceMeasure<'a> {
    /// Measures kernels of a program on GPU `ordinal`, with inputs from `seed` on, by the constants that are
    /// given, else by the device's.
    pub fn new(
        program: &'a TensorProgram,
        compiler: &'a dyn DeviceCompiler,
        ordinal: u32,
        given: Option<GpuPrices>,
        seed: u64,
    ) -> Result<Self, OpenError> {
        let driver = Driver::open().map_err(SessionError::from)?;
        let device = driver.device(ordinal).map_err(SessionError::from)?;
        let target = device_target(&device)?;
        let (major, minor) = driver.version();
        let context = ResidentContext::new(ordinal).map_err(SessionError::from)?;
        let prices = given.unwrap_or_else(|| prices::of_gpu(&device));
        let driver = Version { major, minor };
        Ok(Self {
            program,
            compiler,
            device,
            target,
            driver,
            prices,
            launch: None,
            seed,
            _context: context,
            expected: None,
        })
    }

    /// The constants that kernels are chosen by where no time is recorded.
    pub fn prices(&self) -> &GpuPrices {
        &self.prices
    }

    /// What kernels are compiled for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// What the times are recorded for.
    pub fn machine(&self) -> Machine {
        let (major, minor) = self.compiler.version();
        Machine { architecture: architecture(self.target), driver: self.driver, compiler: Version { major, minor } }
    }

    /// The inputs and outputs that a group is checked with, the same for all its kernels.
    fn expected(&mut self, signature: Signature, kernel: &KernelProgram) -> Result<&Expected, OpenError> {
        if self.expected.as_ref().is_none_or(|expected| expected.signature != signature) {
            let inputs = self.fresh_inputs(kernel);
            let outputs = evaluate(&kernel.program, &inputs);
            let outputs = outputs.map_err(|error| SessionError::Internal(error.to_string()))?;
            self.expected = Some(Expected { signature, inputs, outputs });
        }
        Ok(self.expected.as_ref().expect("it was made if it was not there"))
    }

    fn session(&self, kernel: &KernelProgram) -> Result<CudaSession, OpenError> {
        let code = device_code(self.target, &kernel.kernels, self.compiler)?.code;
        let weights = pack_program(&kernel.plan.plan.plan().memory, &kernel.program)?;
        let options = CudaOptions { wait_limit: WAIT_LIMIT, ..CudaOptions::default() };
        Ok(CudaSession::open(self.device.ordinal, &kernel.plan, &code, &weights, options)?)
    }

    fn run(&mut self, group: &FusionGroup, runs: u32) -> Result<Outcome, OpenError> {
        let units = self.device.multiprocessors as usize;
        let kernel = match KernelProgram::new(self.program, group, &self.prices, units) {
            Ok(kernel) => kernel,
            Err(error) => return Ok(Outcome::NoKernel { reason: error.to_string() }),
        };
        let mut session = self.session(&kernel)?;
        let expected = self.expected(Signature::of(group.kernel.body()), &kernel)?;
        let excess = excess(&session.run(&expected.inputs)?, &expected.outputs);
        if excess > 1.0 {
            return Ok(Outcome::Wrong { excess });
        }
        let inputs = self.fresh_inputs(&kernel);
        let launched = median(&mut session, &inputs, runs)?;
        let launch = self.launch_microseconds()?;
        let step = self.prices.arch.step_microseconds.value;
        Ok(Outcome::Time { microseconds: (launched - launch).max(0.0) + step })
    }

    fn fresh_inputs(&mut self, kernel: &KernelProgram) -> Vec<Tensor> {
        let inputs = random_inputs(&kernel.signature, self.seed);
        self.seed = self.seed.wrapping_add(1);
        inputs
    }

    /// Microseconds of a launch that computes one element.
    fn launch_microseconds(&mut self) -> Result<f64, OpenError> {
        if let Some(known) = self.launch {
            return Ok(known);
        }
        let prepared = prepare(&one_element());
        let options = PlanOptions::gpu(&self.prices);
        let partition = partition(&prepared, &*options.cost, options.fusion);
        let units = self.device.multiprocessors as usize;
        let kernel = KernelProgram::new(&prepared.program, &partition.groups[0], &self.prices, units);
        let kernel = kernel.map_err(BuildError::from)?;
        let inputs = self.fresh_inputs(&kernel);
        let launch = median(&mut self.session(&kernel)?, &inputs, LAUNCHES)?;
        self.launch = Some(launch);
        Ok(launch)
    }
}

/// The negation of one element.
fn one_element() -> TensorProgram {
    let ty = TensorType::new(ElementType::F32, vec![1]);
    let mut program = ProgramBuilder::new();
    let input = program.input(ty.clone());
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&[1]);
    let operand = expr.operand(&ty);
    let negated = expr.broadcast_read(operand, &axes).unary(UnaryOp::Negate);
    let output = program.compute(expr.map(ElementType::F32, negated), &[input]);
    program.finish(vec![output])
}

/// The median of the device's times in microseconds, once its clocks are up.
pub(crate) fn median(session: &mut CudaSession, inputs: &[Tensor], runs: u32) -> Result<f64, SessionError> {
    session.run(inputs)?;
    session.spin(CLOCK_RAMP)?;
    let mut times = Vec::with_capacity(runs as usize);
    for _ in 0..runs {
        session.run(inputs)?;
        let missing = || SessionError::Internal("the driver gives no time of a launch".to_owned());
        times.push(session.device_time().ok_or_else(missing)?);
    }
    times.sort_unstable();
    Ok(times[times.len() / 2].as_secs_f64() * 1e6)
}

impl Measure for DeviceMeasure<'_> {
    fn measure(&mut self, kernel: &FusionGroup, runs: u32) -> Result<Outcome, OpenError> {
        match self.run(kernel, runs) {
            Err(error) if is_of_kernel(&error) => Ok(Outcome::NoKernel { reason: error.to_string() }),
            outcome => outcome,
        }
    }
}

/// Whether an error says something about a kernel alone, and others may still be measured.
fn is_of_kernel(error: &OpenError) -> bool {
    match error {
        OpenError::Build(BuildError::Registers { .. } | BuildError::Compile(_)) => true,
        OpenError::Build(BuildError::Device(error)) => match error {
            DeviceCompileError::Process { .. }
            | DeviceCompileError::TimeLimit { .. }
            | DeviceCompileError::MemoryLimit { .. }
            | DeviceCompileError::Crash { .. } => true,
            DeviceCompileError::Nvrtc(_)
            | DeviceCompileError::Target { .. }
            | DeviceCompileError::Link(_)
            | DeviceCompileError::Cubin(_)
            | DeviceCompileError::Unlimited(_) => false,
        },
        OpenError::Session(SessionError::Cuda(error)) => matches!(error, CudaError::BlockTooLarge { .. }),
        OpenError::Session(error) => error.kind() == FailureKind::Check,
        OpenError::Build(_) | OpenError::Model(_) | OpenError::Bundle(_) | OpenError::NoCompiler(_) => false,
    }
}

/// The largest difference between tensors in multiples of what passes; infinite where only one of two elements is a number.
pub fn excess(found: &[Tensor], expected: &[Tensor]) -> f64 {
    let of_tensor = |(found, expected): (&Tensor, &Tensor)| {
        let (found, expected) = (found.to_f64(), expected.to_f64());
        let finite = expected.iter().copied().filter(|element| element.is_finite());
        let largest = finite.fold(0.0, |largest: f64, element| largest.max(element.abs()));
        let of_element = |(found, expected): (&f64, &f64)| {
            if found == expected || (found.is_nan() && expected.is_nan()) {
                return 0.0;
            }
            let passes = RELATIVE * expected.abs() + OF_LARGEST * largest;
            let excess = (found - expected).abs() / passes;
            if excess.is_nan() { f64::INFINITY } else { excess }
        };
        found.iter().zip(&expected).map(of_element).fold(0.0, f64::max)
    };
    found.iter().zip(expected).map(of_tensor).fold(0.0, f64::max)
}
