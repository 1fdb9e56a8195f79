//! What kernels cost that the search did not choose: its estimate must hold for those too, or it rejects the wrong ones.

use std::collections::BTreeMap;

use warpweave_fusion::cost::PricedKernel;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::partition::search::{FusionGroup, partition};
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::TensorProgram;
use warpweave_plan::body::signature::Signature;
use warpweave_plan::kernel::ScheduleParams;
use warpweave_runtime::bundle::BundleTarget;
use warpweave_runtime::target::Target;

use crate::build::Build;
use crate::compiler::device_code;
use crate::device_compiler::DeviceCompiler;
use crate::error::BuildError;
use crate::explain::machine_code::{CompiledCodeError, price_kernels};
use crate::kernel_program::KernelProgram;
use crate::random_inputs::Random;

/// An rOperator of a kernel that the search did not choose.
#[derive(Clone, PartialEq, Debug)]
pub struct RejectedKernel {
    /// The rOperator's kernel: of a split reduction that of the parts or that of their sum.
    pub params: ScheduleParams,
    /// What the search takes one of its rTasks to cost, in microseconds.
    pub searched: f64,
    /// What its machine code costs, in microseconds.
    pub priced: f64,
}

/// Kernels that were drawn, and how many of those drawn have no price.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RejectedKernels {
    /// The kernels.
    pub kernels: Vec<RejectedKernel>,
    /// Candidates without kernels, or whose code has no price.
    pub unpriced: usize,
}

/// So many candidates that the search rejected for the groups of a model, drawn by a seed, with the prices of their machine
/// code. Fewer where there are not as many.
pub fn rejected(
    build: &Build,
    (target, compiler): (Target, &dyn DeviceCompiler),
    (count, seed): (usize, u64),
) -> Result<RejectedKernels, CompiledCodeError> {
    let options = build.options(BundleTarget::Gpu(target)).map_err(BuildError::from)?;
    let prepared = build.prepared();
    let prices = build.prices(target);
    let cost = EstimatedCost { arch: prices.arch };
    let PlanOptions { units, .. } = options;
    let partition = partition(prepared, &*options.cost, options.fusion);
    let mut candidates = rejected_candidates(&prepared.program, &partition.groups, &cost);
    let mut random = Random::new(seed);
    let mut found = RejectedKernels::default();
    for _ in 0..count.min(candidates.len()) {
        let group = candidates.swap_remove((random.next() % candidates.len() as u64) as usize);
        let Ok(kernel) = KernelProgram::new(&prepared.program, &group, &prices, units) else {
            found.unpriced += 1;
            continue;
        };
        let compiled = device_code(target, &kernel.kernels, compiler)?;
        let priced = price_kernels(&kernel.plan, &compiled, &prices)?;
        let operators = kernel.plan.plan.plan().operators();
        for price in priced.kernels {
            match price.priced {
                Some(priced) => found.kernels.push(RejectedKernel {
                    params: operators[price.operator].kernel.params().clone(),
                    searched: price.searched,
                    priced,
                }),
                None => found.unpriced += 1,
            }
        }
    }
    Ok(found)
}

/// The groups that compute different things, each with every candidate that it did not become.
fn rejected_candidates(program: &TensorProgram, groups: &[FusionGroup], cost: &EstimatedCost) -> Vec<FusionGroup> {
    let distinct: BTreeMap<Signature, &FusionGroup> =
        groups.iter().map(|group| (Signature::of(group.kernel.body()), group)).collect();
    let of_group = |group: &&FusionGroup| {
        let choices = cost.choices(program, group.kernel.shared_body()).into_iter();
        let others = choices.filter(|priced| priced.kernel.params() != group.kernel.params());
        let candidate =
            |PricedKernel { kernel, microseconds }| FusionGroup { kernel, microseconds, ..FusionGroup::clone(group) };
        others.map(candidate).collect::<Vec<_>>()
    };
    distinct.values().flat_map(of_group).collect()
}
