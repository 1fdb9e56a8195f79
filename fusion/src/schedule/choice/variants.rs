//! What a group may run as: its own kernel and those that are the best on a part of the device.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use warpweave_graph::arena::Id;
use warpweave_graph::program::{TensorId, TensorProgram};

use crate::cost::KernelCost;
use crate::partition::search::limit_shapes::shapes;
use crate::partition::search::{FusionGroup, Partition};
use crate::partition::split::{SplitKernels, split_kernel};
use crate::schedule::choice::shared_shapes::shared_shapes;
use crate::schedule::placement::{Time, nanoseconds};
use warpweave_plan::body::signature::Signature;
use warpweave_plan::kernel::{Kernel, ScheduleParams};
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::weight_stationary::reads::resident_bytes;

/// A kernel of a group, and the kernels that run one after another for it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Variant {
    pub(crate) kernel: Kernel,
    pub(crate) kernels: Vec<VariantKernel>,
}

/// rTasks side by side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct VariantKernel {
    pub(crate) tasks: u32,
    pub(crate) time: Time,
}

impl VariantKernel {
    /// Microseconds of an rTask.
    pub(crate) fn microseconds(&self) -> f64 {
        self.time as f64 / 1000.0
    }

    /// The most rTasks that one of `units` units runs.
    pub(crate) fn rounds(&self, units: usize) -> Time {
        u64::from(self.tasks).div_ceil(units as u64)
    }
}

impl Variant {
    pub(crate) fn new(program: &TensorProgram, kernel: Kernel, cost: &dyn KernelCost) -> Self {
        let variant = |kernel: &Kernel| {
            let time = nanoseconds(cost.task_microseconds(kernel)).max(1);
            VariantKernel { tasks: kernel.tiles() as u32, time }
        };
        let kernels = match split_kernel(&kernel, TensorId::from_index(program.tensors.len())) {
            Some(SplitKernels { parts, sum, .. }) => vec![variant(&parts), variant(&sum)],
            None => vec![variant(&kernel.in_one_part())],
        };
        Self { kernel, kernels }
    }

    /// Time from start to end on a device of its own.
    pub(crate) fn alone(&self, units: usize, exchange: Time) -> Time {
        let times = self.kernels.iter().map(|kernel| kernel.rounds(units) * kernel.time);
        times.sum::<Time>() + exchange * (self.kernels.len() as Time - 1)
    }

    /// Time of all units together.
    pub(crate) fn work(&self, signal: Time) -> Time {
        self.kernels.iter().map(|kernel| u64::from(kernel.tasks) * (kernel.time + signal)).sum()
    }
}

/// Per group, its own kernel and what else it may run as; and the number of its class: groups that compute the same have
/// the same.
pub(crate) type Variants = (Vec<Vec<Variant>>, Vec<usize>);

/// The variants of all groups of a partition.
pub(crate) fn variants(program: &TensorProgram, partition: &Partition, cost: &dyn KernelCost) -> Variants {
    let mut shapes = shapes(partition);
    shapes.extend(shared_shapes(program, partition, cost));
    shapes.sort_unstable();
    shapes.dedup();
    let keys: Vec<(Signature, &ScheduleParams)> =
        partition.groups.iter().map(|group| (Signature::of(group.kernel.body()), group.kernel.params())).collect();
    let mut classes: FxHashMap<&(Signature, &ScheduleParams), usize> = FxHashMap::default();
    let mut firsts = Vec::new();
    for (position, key) in keys.iter().enumerate() {
        classes.entry(key).or_insert_with(|| {
            firsts.push(position);
            firsts.len() - 1
        });
    }
    let room = cost.shared_bytes_per_block().saturating_sub(kept_bytes(partition));
    let of_class = |&first: &usize| of_group(program, &partition.groups[first], &shapes, (cost, room));
    let found: Vec<Vec<Variant>> = firsts.par_iter().map(of_class).collect();
    let classes: Vec<usize> = keys.iter().map(|key| classes[key]).collect();
    (classes.iter().map(|&class| found[class].clone()).collect(), classes)
}

/// Bytes of shared memory that a unit keeps constants in at most.
fn kept_bytes(partition: &Partition) -> usize {
    let keeps = partition.groups.iter().filter(|group| group.kernel.rules().holds_residents());
    keeps.map(|group| resident_bytes(&group.kernel)).max().unwrap_or(0)
}

fn of_group(
    program: &TensorProgram,
    group: &FusionGroup,
    shapes: &[ContractionShape],
    (cost, room): (&dyn KernelCost, usize),
) -> Vec<Variant> {
    let others = cost.variants(program, group.kernel.shared_body(), shapes).into_iter();
    let others = others.filter(|kernel| *kernel != group.kernel && kernel.shared_bytes() <= room);
    let all = std::iter::once(group.kernel.clone()).chain(others);
    all.map(|kernel| Variant::new(program, kernel, cost)).collect()
}
