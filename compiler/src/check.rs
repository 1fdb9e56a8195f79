//! What is proved of a plan, and the race that removing a wait causes.

use std::sync::Arc;

use warpweave_codegen::kernel_ir::Program;
use warpweave_graph::Tensor;
use warpweave_plan::streams::waits;
use warpweave_plan::streams::waits::PlannedWait;
use warpweave_plan::verify::verify;
use warpweave_plan::verify::violation::Evidence;
use warpweave_plan::verify::violation::Violation;
use warpweave_runtime::bundle::{BundleTarget, DeviceCode, TargetPlan, kernel_ir};
use warpweave_runtime::session::missing_wait::{Corruption, corruption, machine_code_corruption};
use warpweave_runtime::session::{
    DEFAULT_KERNEL_TARGET, Device, Kernels, OpenOptions, Session, SessionError, open_kernels, pack_program,
};

use crate::compiler::{compile, device_code};
use crate::error::BuildError;
use crate::open::{CompilerSource, OpenError, Source};

/// The verified plan of a model or bundle for a target.
pub struct Checked {
    /// The target.
    pub target: BundleTarget,
    /// The plan.
    pub plan: TargetPlan,
    /// Its kernels; none for the host.
    pub kernels: Option<Kernels>,
    /// The machine code that a bundle holds; none of a model, or for the host.
    pub code: Option<DeviceCode>,
    /// The weights, packed as the plan lays them out.
    pub weights: Arc<[u8]>,
}

/// A plan without one of its waits.
#[derive(Clone, PartialEq, Debug)]
pub struct WithoutWait {
    /// The wait's number among all, unit by unit in the order of the streams.
    pub number: usize,
    /// The wait.
    pub wait: PlannedWait,
    /// What the verifier finds; nothing if the plan is right without the wait.
    pub violations: Vec<Violation>,
}

impl Checked {
    /// Plans, or decodes, and verifies for `target`; unless given for the newest GPU that there is something for, or the host.
    pub fn of(source: &Source, target: Option<BundleTarget>) -> Result<Self, OpenError> {
        let newest = |held: Vec<BundleTarget>| held.into_iter().next_back().unwrap_or(BundleTarget::Host);
        match source {
            Source::Model(build) => {
                let part =
                    compile(build, target.unwrap_or(BundleTarget::Gpu(DEFAULT_KERNEL_TARGET)), None, &mut |_| {});
                let part = match (part, target) {
                    (Err(BuildError::NoKernels { .. }), None) => compile(build, BundleTarget::Host, None, &mut |_| {})?,
                    (part, _) => part?,
                };
                let weights = pack_program(&part.plan.plan.plan().memory, &build.model.program)?;
                Ok(Self::new(part.target, part.plan, part.program, weights))
            }
            Source::Bundle(bundle) => {
                let target = target.unwrap_or_else(|| newest(bundle.manifest().targets.keys().copied().collect()));
                let contents = bundle.target(target)?;
                let weights = bundle.packed_weights(&contents.plan.plan.plan().memory)?;
                let code = contents.code.as_ref().map(|code| kernel_ir::decode(code.target, &code.kernel_ir));
                Ok(Self { code: contents.code, ..Self::new(target, contents.plan, code.transpose()?, weights) })
            }
        }
    }

    fn new(target: BundleTarget, plan: TargetPlan, program: Option<Program>, weights: Arc<[u8]>) -> Self {
        let kernels = match (target, program) {
            (BundleTarget::Gpu(gpu), Some(program)) => Some(Kernels { target: gpu, plan: plan.clone(), program }),
            (BundleTarget::Host | BundleTarget::Gpu(_), _) => None,
        };
        Self { target, plan, kernels, code: None, weights }
    }

    /// The kernels; none for the host.
    pub fn program(&self) -> Option<&Program> {
        self.kernels.as_ref().map(|kernels| &kernels.program)
    }

    /// A session of kernels that were changed, on the emulator or as text: what an error of a compiler would do.
    pub fn open_changed(
        self,
        change: &dyn Fn(&Program) -> Program,
        device: Device,
        options: &OpenOptions,
    ) -> Result<Box<dyn Session>, OpenError> {
        let missing = || SessionError::Internal(format!("{} has no kernels", self.target));
        let kernels = self.kernels.clone().ok_or_else(missing)?;
        let program = change(&kernels.program);
        Ok(open_kernels(Kernels { program, ..kernels }, self.weights, device, options)?)
    }

    /// What was proved.
    pub fn evidence(&self) -> Evidence {
        self.plan.plan.evidence()
    }

    /// The plan without the wait of this number, verified; `None` if there are fewer waits, or it is not one persistent
    /// segment.
    pub fn without_wait(&self, number: usize) -> Option<WithoutWait> {
        let plan = self.plan.plan.plan();
        let wait = waits::waits(plan.only_persistent()?).nth(number)?;
        let violations = verify(waits::without(plan, wait)).err().unwrap_or_default();
        Some(WithoutWait { number, wait, violations })
    }

    /// What the emulator shows of the first two rTasks that are not ordered without the wait; `None` if there are none,
    /// or no kernels.
    pub fn corruption(
        &self,
        without: &WithoutWait,
        inputs: &[Tensor],
        seed: u64,
    ) -> Result<Option<Corruption>, SessionError> {
        let conflict = without.violations.iter().find_map(Violation::conflict);
        let Some((kernels, conflict)) = self.kernels.as_ref().zip(conflict) else { return Ok(None) };
        corruption(kernels, &self.weights, inputs, without.wait, conflict, seed).map(Some)
    }

    /// What machine code shows of the same: that of the bundle, or what `compiler` makes of the kernels.
    pub fn machine_code_corruption(
        &self,
        without: &WithoutWait,
        inputs: &[Tensor],
        seed: u64,
        compiler: CompilerSource<'_>,
    ) -> Result<Option<Corruption>, OpenError> {
        let conflict = without.violations.iter().find_map(Violation::conflict);
        let Some((kernels, conflict)) = self.kernels.as_ref().zip(conflict) else { return Ok(None) };
        let code = match &self.code {
            Some(code) => code.clone(),
            None => {
                let compiler = compiler().map_err(OpenError::NoCompiler)?;
                device_code(kernels.target, &kernels.program, compiler.as_ref())?.code
            }
        };
        let (plan, weights) = (&self.plan, &self.weights);
        Ok(Some(machine_code_corruption(&code, plan, weights, inputs, without.wait, conflict, seed)?))
    }
}
