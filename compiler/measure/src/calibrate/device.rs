//! The stopwatch of a GPU. Never run on one so far.

use std::time::Duration;
use warpweave::{BuildError, compile};
use warpweave_runtime::bundle::BundleTarget;

use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::partition::search::FusionLevel;
use warpweave_graph::TensorProgram;
use warpweave_runtime::cuda::{CudaOptions, CudaSession};
use warpweave_runtime::session::pack_program;

use super::{Stopwatch, Trial};
use crate::microbench::{Bench, EdgeReadings};
use warpweave::Build;
use warpweave::DeviceCompiler;
use warpweave::Model;
use warpweave::OpenError;
use warpweave::random_inputs;

/// After how long a wait gives up.
const WAIT_LIMIT: Duration = Duration::from_secs(2);

/// Compiles programs for a GPU and takes the median of events around their launches.
pub struct DeviceStopwatch<'a> {
    compiler: &'a dyn DeviceCompiler,
    bench: Bench<'a>,
}

impl<'a> DeviceStopwatch<'a> {
    /// For GPU `ordinal`.
    pub fn new(compiler: &'a dyn DeviceCompiler, ordinal: u32) -> Result<Self, OpenError> {
        Ok(Self { compiler, bench: Bench::new(compiler, ordinal)? })
    }

    /// What is known of the device before anything is measured: the constants of its product or of its generation, with its own
    /// attributes.
    pub fn base(&self) -> GpuPrices {
        self.bench.prices().clone()
    }
}

impl Stopwatch for DeviceStopwatch<'_> {
    fn microseconds(&mut self, trial: &Trial) -> Result<f64, OpenError> {
        match trial {
            Trial::Program(program, fusion) => self.launch(program, *fusion),
            Trial::Loop { benchmark, elements, rounds } => self.bench.microseconds(*benchmark, *elements, *rounds),
        }
    }

    fn edges(&mut self) -> EdgeReadings {
        self.bench.edges()
    }
}

impl DeviceStopwatch<'_> {
    fn launch(&self, program: &TensorProgram, fusion: FusionLevel) -> Result<f64, OpenError> {
        let names = |count: usize| -> Vec<String> { (0..count).map(|position| position.to_string()).collect() };
        let (inputs, outputs) = (names(program.inputs.len()), names(program.outputs.len()));
        let mut build = Build::new(Model::new("probe", program.clone(), &inputs, &outputs))?;
        (build.fusion, build.prices) = (Some(fusion), Some(self.base()));
        let target = BundleTarget::Gpu(self.bench.target());
        let part = compile(&build, target, Some(self.compiler), &mut |_| {})?;
        let code = part.code.ok_or(BuildError::NoCompiler(self.bench.target()))?.code;
        let weights = pack_program(&part.plan.plan.plan().memory, &build.prepared().program)?;
        let options = CudaOptions { wait_limit: WAIT_LIMIT, ..CudaOptions::default() };
        let ordinal = self.bench.device().ordinal;
        let mut session = CudaSession::open(ordinal, &part.plan, &code, &weights, options)?;
        let inputs = random_inputs(&build.model.signature, 1);
        self.bench.median(&mut session, &inputs)
    }
}
