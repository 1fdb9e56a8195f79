//! Which kernels have no time yet.

use std::collections::BTreeMap;

use warpweave_fusion::cost::PricedKernel;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::cost::timings::{Machine, TimedKernel, Timings};
use warpweave_fusion::partition::search::{FusionGroup, Partition};
use warpweave_graph::TensorProgram;
use warpweave_plan::body::signature::Signature;
use warpweave_plan::kernel::ScheduleParams;

/// A group and its kernels without a time.
#[derive(Clone, PartialEq, Debug)]
pub struct Untimed {
    /// The group, with any kernel.
    pub group: FusionGroup,
    pub signature: Signature,
    /// Kernels without a time, at their estimates; not empty.
    pub candidates: Vec<PricedKernel>,
}

/// The kernels that the groups of partitions may have and that were not measured on a machine, equal groups once. The
/// groups that are estimated to take most of a partition come first.
pub fn untimed<'p>(
    program: &TensorProgram,
    partitions: impl IntoIterator<Item = &'p Partition>,
    estimate: &EstimatedCost,
    timings: &Timings,
    machine: &Machine,
) -> Vec<Untimed> {
    let mut groups: BTreeMap<Signature, (f64, FusionGroup)> = BTreeMap::new();
    for group in partitions.into_iter().flat_map(|partition| &partition.groups) {
        let known = groups.entry(Signature::of(group.kernel.body())).or_insert_with(|| (0.0, group.clone()));
        known.0 += group.microseconds;
    }
    let mut groups: Vec<(Signature, (f64, FusionGroup))> = groups.into_iter().collect();
    groups.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let of_group = |(signature, (_, group)): (Signature, (f64, FusionGroup))| {
        let has_time = |params: &ScheduleParams| {
            let (machine, signature, params) = (machine.clone(), signature.clone(), params.clone());
            timings.records.contains_key(&TimedKernel { machine, signature, params })
        };
        let mut candidates = estimate.choices(program, group.kernel.shared_body());
        candidates.retain(|PricedKernel { kernel, microseconds }| {
            microseconds.is_finite() && *microseconds > 0.0 && !has_time(kernel.params())
        });
        (!candidates.is_empty()).then_some(Untimed { group, signature, candidates })
    };
    groups.into_iter().filter_map(of_group).collect()
}
