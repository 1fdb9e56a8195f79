//! Litmus programs: what plans assume of a device's memory, tried many times over.
//!
//! Every program is a chain of products by a permutation. So its outputs are its inputs in another order, bit by bit,
//! and every rTask of a step needs elements of many rTasks of the step before. Programs differ in how those are
//! ordered. Every launch has other inputs, so a value of an earlier launch shows too. Plans are verified like any
//! other: what is tried is not whether they are right, but whether memory does what the proof takes for granted.

mod chain;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use warpweave_codegen::lower::LoweredProgram;
use warpweave_fusion::cost::arch::Constant;
use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_fusion::partition::search::{FusionLevel, partition};
use warpweave_fusion::schedule::choice::plan;
use warpweave_fusion::schedule::memory::ArenaPolicy;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_fusion::schedule::policy::SyncPolicy;
use warpweave_fusion::schedule::streams::tagged::Tagging;
use warpweave_graph::pipeline::prepare;
use warpweave_plan::plan::backend::{Backend, BackendChoice, BackendReason};
use warpweave_plan::verify::verify;
use warpweave_runtime::bundle::{BundleTarget, TargetPlan};
use warpweave_runtime::cuda::{CudaSession, Driver};
use warpweave_runtime::session::{
    DEFAULT_KERNEL_TARGET, DEFAULT_UNITS, Device, Kernels, OpenOptions, Session, SessionError, open_kernels,
    open_machine_code, pack_program,
};
use warpweave_runtime::target::Target;

pub use chain::Chain;
use warpweave::compiler::kernels;
use warpweave::prices;
use warpweave::{BuildError, CompileError, device_code};
use warpweave::{CompilerSource, OpenError, device_target};

/// What is assumed of memory, each by a program of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Litmus {
    /// What a block stored before its barrier is seen by every thread of a block whose first thread acquires the signal.
    Bands,
    /// The same with one counter for all writers of a step.
    Operators,
    /// The same where all units meet between steps.
    Barriers,
    /// Bytes are stored again once their readers have signalled.
    ReusedBytes,
    /// A value of eight bytes is seen together with its tag or not at all, without any other order.
    TaggedValues,
    /// The same while stores of four bytes by earlier owners of the bytes may still be on their way.
    TaggedReusedBytes,
    /// A node of a graph that waits for the one before it sees what that stored.
    ProgrammaticEdges,
    /// What a persistent segment stored is seen by the nodes after it, and the reverse.
    Segments,
}

impl Litmus {
    /// All programs.
    pub const ALL: [Self; 8] = [
        Self::Bands,
        Self::Operators,
        Self::Barriers,
        Self::ReusedBytes,
        Self::TaggedValues,
        Self::TaggedReusedBytes,
        Self::ProgrammaticEdges,
        Self::Segments,
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bands => "release and acquire, by tile",
            Self::Operators => "release and acquire, by operator",
            Self::Barriers => "release and acquire, by barrier",
            Self::ReusedBytes => "bytes stored again",
            Self::TaggedValues => "tagged values",
            Self::TaggedReusedBytes => "tagged values in bytes of singles",
            Self::ProgrammaticEdges => "programmatic edges",
            Self::Segments => "segments of both kinds",
        }
    }

    /// How the program is planned.
    fn plan_options(self, plain: PlanOptions) -> PlanOptions {
        // Where signals are expensive, every value that can be tagged is.
        let drain = Constant { value: 20.0, ..plain.costs.drain };
        let costs = SyncCosts { drain, ..plain.costs };
        let persistent = PlanOptions { tagging: Tagging::Nothing, arena: ArenaPolicy::Separate, ..plain };
        let by = |sync| PlanOptions { sync: Some(sync), ..persistent.clone() };
        let tagged = |arena| PlanOptions { tagging: Tagging::Factors, costs, arena, ..by(SyncPolicy::TILE) };
        match self {
            Self::Bands => by(SyncPolicy::TILE),
            Self::Operators => by(SyncPolicy::OPERATOR),
            Self::Barriers => by(SyncPolicy::BARRIER),
            Self::ReusedBytes => PlanOptions { arena: ArenaPolicy::Small, ..by(SyncPolicy::TILE) },
            Self::TaggedValues => tagged(ArenaPolicy::Separate),
            Self::TaggedReusedBytes => tagged(ArenaPolicy::Small),
            Self::ProgrammaticEdges => PlanOptions { backend: BackendChoice::Only(Backend::CudaGraph), ..persistent },
            Self::Segments => PlanOptions { backend: BackendChoice::Mixed, ..persistent },
        }
    }
}

/// A litmus program, planned and lowered.
pub struct Planned {
    /// What is computed.
    pub chain: Chain,
    /// The kernels and their plan.
    pub kernels: Kernels,
    weights: Arc<[u8]>,
}

impl Planned {
    /// Plans a program of this size for an architecture; the plan is folded onto at most `units` units.
    pub fn new(litmus: Litmus, chain: Chain, target: Target, units: usize) -> Result<Self, OpenError> {
        let prepared = prepare(&chain.program());
        let prices = prices::of_target(DEFAULT_KERNEL_TARGET);
        let options = PlanOptions { fusion: FusionLevel::None, units, ..PlanOptions::gpu(&prices) };
        let partition = partition(&prepared, &*options.cost, options.fusion);
        let plan = plan(&prepared, &partition, &litmus.plan_options(options)).plan;
        let plan = verify(plan).map_err(CompileError::Plan).map_err(BuildError::from)?;
        let lowered = kernels(plan.plan(), &prepared.program).map_err(BuildError::from)?;
        let weights = pack_program(&plan.plan().memory, &prepared.program)?;
        let reason = BackendReason::Asked;
        let LoweredProgram { program, bindings, operands, relocations } = lowered;
        let plan = TargetPlan { plan, bindings, operands, relocations, reason };
        Ok(Self { chain, kernels: Kernels { target, plan, program }, weights })
    }

    /// Pairs of rTasks of which one reads what the other wrote, a launch.
    pub fn messages(&self) -> usize {
        let evidence = self.kernels.plan.plan.evidence();
        evidence.ordered_reads + evidence.polls
    }

    fn open(
        &self,
        device: Device,
        options: &OpenOptions,
        compiler: CompilerSource<'_>,
    ) -> Result<Box<dyn Session>, OpenError> {
        let Kernels { target, plan, program } = &self.kernels;
        match device {
            Device::Cuda(ordinal) => {
                let compiler = compiler().map_err(OpenError::NoCompiler)?;
                let code = device_code(*target, program, compiler.as_ref())?.code;
                Ok(Box::new(CudaSession::open(ordinal, plan, &code, &self.weights, options.cuda())?))
            }
            Device::MachineCode => {
                let compiler = compiler().map_err(OpenError::NoCompiler)?;
                let code = device_code(*target, program, compiler.as_ref())?.code;
                Ok(open_machine_code(plan.clone(), &code, &self.weights, options)?)
            }
            Device::Reference | Device::Host | Device::Emulator | Device::Text => {
                Ok(open_kernels(self.kernels.clone(), self.weights.clone(), device, options)?)
            }
        }
    }
}

/// When enough has been tried.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rounds {
    /// Messages of a program.
    pub messages: u64,
    /// The longest that a program takes.
    pub limit: Duration,
}

/// What was found of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Launches that came to an end.
    pub launches: u64,
    /// Messages of these launches.
    pub messages: u64,
    /// Launches with an element that is not what was sent.
    pub wrong_launches: u64,
    /// Elements that are not what was sent.
    pub wrong_elements: u64,
    /// Why the launches ended early.
    pub failure: Option<String>,
}

impl Outcome {
    /// Whether all that was sent arrived, in one launch at least.
    pub fn passed(&self) -> bool {
        self.launches > 0 && self.wrong_launches == 0 && self.failure.is_none()
    }
}

/// Runs a program on a device that runs kernels until enough has been tried or something is wrong.
pub fn run(litmus: Litmus, device: Device, rounds: Rounds, compiler: CompilerSource<'_>) -> Result<Outcome, OpenError> {
    let (target, units, chain) = match device {
        Device::Cuda(ordinal) => {
            let info = Driver::open().and_then(|driver| driver.device(ordinal)).map_err(SessionError::from)?;
            (device_target(&info)?, info.multiprocessors as usize, Chain::LARGE)
        }
        Device::Reference | Device::Host | Device::Emulator | Device::Text | Device::MachineCode => {
            (DEFAULT_KERNEL_TARGET, DEFAULT_UNITS, Chain::SMALL)
        }
    };
    let mut planned = Planned::new(litmus, chain, target, units)?;
    planned.kernels.plan = planned.kernels.plan.folded(BundleTarget::Gpu(target), units)?;
    let options = OpenOptions { units: Some(units), ..OpenOptions::default() };
    let mut session = planned.open(device, &options, compiler)?;
    let start = Instant::now();
    let mut outcome = Outcome { launches: 0, messages: 0, wrong_launches: 0, wrong_elements: 0, failure: None };
    while outcome.messages < rounds.messages && start.elapsed() < rounds.limit {
        let (input, expected) = chain.exchange(outcome.launches);
        let found = match session.run(&[input]) {
            Ok(found) => found,
            Err(error) => {
                outcome.failure = Some(error.to_string());
                break;
            }
        };
        let pairs = found[0].to_f32().into_iter().zip(&expected);
        let wrong = pairs.filter(|(found, sent)| found.to_bits() != sent.to_bits()).count() as u64;
        outcome.launches += 1;
        outcome.messages += planned.messages() as u64;
        outcome.wrong_elements += wrong;
        outcome.wrong_launches += u64::from(wrong > 0);
    }
    Ok(outcome)
}
