//! The precision that is predicted to be fastest.

use warpweave_fusion::schedule::simulation::Jitter;
use warpweave_fusion::schedule::simulation::plan::simulate_plan;
use warpweave_graph::Tensor;
use warpweave_graph::program::precision::Precision;
use warpweave_runtime::bundle::BundleTarget;

use super::fit::Fit;
use super::values::{beyond_range, run};
use crate::build::Build;
use crate::compiler::compile;
use crate::open::{OpenError, Source};
use crate::storage::{KeepList, Storage};

/// A precision that could be taken.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// How singles are stored.
    pub storage: Storage,
    /// The predicted microseconds of a run.
    pub microseconds: f64,
    /// The largest error of an output on the samples, over its largest value; infinite where one overflows.
    pub error: f64,
}

/// What decides which precision is taken.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'c> {
    /// What predictions are for.
    pub target: BundleTarget,
    /// Inputs of the model, a list for each sample.
    pub samples: &'c [Vec<Tensor>],
    /// The largest error that is accepted.
    pub most_error: f64,
}

/// All precisions, FP32 first, and the place of the fastest among those whose error is accepted. Errors are those of the host
/// against FP32.
///
/// # Errors
/// The model has no plan for the target, does not run on the host, or not on a sample.
pub fn fastest(build: &Build, keep: &KeepList, choice: Choice<'_>) -> Result<(Vec<Candidate>, usize), OpenError> {
    let exact = outputs(build, choice.samples)?;
    let mut candidates = Vec::new();
    for precision in Precision::ALL {
        let beyond = match precision.storage() {
            Some(storage) => beyond_range(build, choice.samples, storage)?,
            None => Default::default(),
        };
        let storage = Storage { precision, keep: keep.clone(), beyond };
        let stored = build.clone().stored_in(&storage)?;
        let error = match precision {
            Precision::Fp32 => 0.0,
            Precision::Fp16 | Precision::Bf16 => {
                let found = outputs(&stored, choice.samples)?;
                found.iter().zip(&exact).map(|(found, exact)| error(found, exact)).fold(0.0, f64::max)
            }
        };
        candidates.push(Candidate { storage, microseconds: predicted(&stored, choice.target)?, error });
    }
    let accepted = (0..candidates.len()).filter(|&at| candidates[at].error <= choice.most_error);
    let key = |at: &usize| (candidates[*at].microseconds, candidates[*at].error);
    let chosen = accepted.min_by(|left, right| {
        let ((time, error), (other, others_error)) = (key(left), key(right));
        time.total_cmp(&other).then(error.total_cmp(&others_error))
    });
    let chosen = chosen.unwrap_or(0);
    Ok((candidates, chosen))
}

/// The outputs of every sample, one sample behind the other.
fn outputs(build: &Build, samples: &[Vec<Tensor>]) -> Result<Vec<Tensor>, OpenError> {
    let source = Source::Model(Box::new(build.clone()));
    let found: Result<Vec<Vec<Tensor>>, OpenError> = samples.iter().map(|inputs| run(&source, inputs)).collect();
    Ok(found?.concat())
}

/// The largest difference between two tensors over the largest value of the exact one; infinite where one is a number and the
/// other is none, or where integers differ.
pub(super) fn error(found: &Tensor, exact: &Tensor) -> f64 {
    if found.shape() != exact.shape() || !exact.element().is_float() {
        return if found == exact { 0.0 } else { f64::INFINITY };
    }
    Fit::of(&found.to_f64(), &exact.to_f64()).error
}

/// The predicted microseconds of a run on a target.
fn predicted(build: &Build, target: BundleTarget) -> Result<f64, OpenError> {
    let part = compile(build, target, None, &mut |_| {})?;
    Ok(match target {
        BundleTarget::Host => part.partition.groups.iter().map(|group| group.microseconds).sum(),
        BundleTarget::Gpu(gpu) => {
            let costs = &build.prices(gpu).sync;
            simulate_plan(part.plan.plan.plan(), costs, Jitter::None).makespan
        }
    })
}
