//! Which unit keeps which constants on chip: the plan's [`Instruction::Hold`](warpweave_plan::plan::Instruction::Hold)s.

use crate::tuning::SearchTuning;
use std::collections::BTreeMap;
use warpweave_plan::template::weight_stationary::rules::of_tiles;
use warpweave_plan::template::weight_stationary::rules::whole;

use rustc_hash::FxHashMap;
use warpweave_graph::program::TensorProgram;

use crate::cost::KernelCost;
use crate::partition::search::{FusionGroup, Partition};
use crate::schedule::choice::interplay::GroupGraph;
use warpweave_plan::body::signature::Signature;
use warpweave_plan::kernel::{Kernel, ScheduleParams};
use warpweave_plan::template::block::BlockSize;
use warpweave_plan::template::row::row_bytes;
use warpweave_plan::template::weight_stationary::reads::{ResidentKey, resident_bytes, resident_elements};

/// The partition with constants that many groups read kept on chip, each tile's on a unit of its own; `None` if no unit has
/// room for its part.
///
/// `bytes` are what a unit has for them and for what the other groups' kernels need in shared memory. Those kernels
/// that leave too little room become the cheapest that leave enough. What is read one after the other shares units. Of
/// each phase, units are shared out by the elements that its groups keep. A phase for which there is no room keeps
/// nothing.
pub fn make_resident(
    program: &TensorProgram,
    partition: &Partition,
    graph: &GroupGraph,
    cost: &dyn KernelCost,
    (units, bytes): (usize, usize),
) -> Option<Partition> {
    let mut families: BTreeMap<ResidentKey, Family> = BTreeMap::new();
    for (position, group) in partition.groups.iter().enumerate() {
        if let Some(key) = key(program, group) {
            families.entry(key).or_default().push(position);
        }
    }
    families.retain(|_, members| members.len() >= SearchTuning::DEFAULT.schedule.fewest_resident_readers);
    let phases = phases(&families, graph);
    let mut kept = partition.clone();
    let most = bytes.saturating_sub(row_bytes(BlockSize::default()));
    let wanted = |phase: &Vec<&Family>| shared_out(partition, phase, (units, most))?.iter().map(resident_bytes).max();
    let wanted = phases.iter().filter_map(wanted).max()?;
    make_smaller(program, &mut kept, cost, bytes - wanted);
    let room = bytes.checked_sub(other_bytes(&kept, &families))?;
    let mut is_any = false;
    for phase in phases {
        let Some(kernels) = shared_out(partition, &phase, (units, room)) else { continue };
        for (members, kernel) in phase.into_iter().zip(kernels) {
            for &member in members {
                let own = &mut kept.groups[member].kernel;
                *own = own.like(&kernel);
            }
            is_any = true;
        }
    }
    is_any.then_some(kept)
}

/// Gives groups whose kernels take more bytes of shared memory the cheapest kernels that do not, where there are any.
fn make_smaller(program: &TensorProgram, partition: &mut Partition, cost: &dyn KernelCost, bytes: usize) {
    let mut known: FxHashMap<(Signature, ScheduleParams), Option<Kernel>> = FxHashMap::default();
    for group in &mut partition.groups {
        if group.kernel.shared_bytes() <= bytes {
            continue;
        }
        let key = (Signature::of(group.kernel.body()), group.kernel.params().clone());
        let smaller = known.entry(key).or_insert_with(|| cost.best_within(program, group.kernel.shared_body(), bytes));
        if let Some(smaller) = smaller {
            group.kernel = group.kernel.like(smaller);
        }
    }
}

/// The positions of groups that would keep the same constants, ascending.
type Family = Vec<usize>;

/// Families by when they run: the groups of a phase begin after those of the phase before have ended, were every group a step.
fn phases<'f>(families: &'f BTreeMap<ResidentKey, Family>, graph: &GroupGraph) -> Vec<Vec<&'f Family>> {
    let steps = graph.steps();
    let span = |members: &'f Family| {
        let of_members = || members.iter().map(|&member| steps[member]);
        (of_members().min(), of_members().max(), members)
    };
    let mut spans: Vec<_> = families.values().map(span).collect();
    spans.sort_unstable();
    let mut phases: Vec<Vec<&Family>> = Vec::new();
    let mut end = None;
    for (first, last, members) in spans {
        match phases.last_mut().filter(|_| first <= end) {
            Some(phase) => phase.push(members),
            None => phases.push(vec![members]),
        }
        end = end.max(last);
    }
    phases
}

/// For each family of a phase the kernel that shares the units out between them; `None` if a unit has no room for its part.
fn shared_out(partition: &Partition, phase: &[&Family], (units, room): (usize, usize)) -> Option<Vec<Kernel>> {
    let whole = |members: &Family| {
        let kernel = &partition.groups[members[0]].kernel;
        resident_elements(&kernel.with_params(whole(kernel.body())))
    };
    let all: usize = phase.iter().map(|members| whole(members)).sum();
    let kernels = phase.iter().map(|members| {
        let group = &partition.groups[members[0]];
        let kernel = of_tiles(group.kernel.shared_body(), (units * whole(members) / all).max(1))?;
        (resident_bytes(&kernel) <= room).then_some(kernel)
    });
    (phase.len() <= units).then(|| kernels.collect()).flatten()
}

/// What a group would keep, if that may be resident.
fn key(program: &TensorProgram, group: &FusionGroup) -> Option<ResidentKey> {
    let may = group.kernel.rules().may_hold_residents();
    let key = ResidentKey::of_body(group.kernel.body()).filter(|_| may)?;
    let are_resident = key.tensors().all(|tensor| program.mutability(tensor).is_resident());
    are_resident.then_some(key)
}

/// Bytes of shared memory that the other groups' kernels may need.
fn other_bytes(partition: &Partition, families: &BTreeMap<ResidentKey, Family>) -> usize {
    let is_kept = |position: usize| families.values().any(|members| members.binary_search(&position).is_ok());
    let others = partition.groups.iter().enumerate().filter(|(position, _)| !is_kept(*position));
    kernel_bytes(others.map(|(_, group)| group))
}

/// Bytes of shared memory that kernels of these groups need at most, but for what they keep and for boxes of factors.
pub(crate) fn kernel_bytes<'g>(groups: impl Iterator<Item = &'g FusionGroup>) -> usize {
    let of_group = |group: &FusionGroup| group.kernel.shared_bytes();
    groups.map(of_group).max().unwrap_or(0).max(row_bytes(BlockSize::default()))
}
