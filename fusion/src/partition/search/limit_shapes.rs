//! Few shapes a program: every shape of a contraction is code to compile, and groups that agree on one share it.

use warpweave_graph::program::TensorProgram;

use crate::cost::{KernelCost, PricedKernel};
use crate::partition::search::groups::{FusionGroup, Partition};
use warpweave_plan::body::deduplication::{StructuralKey, deduplicated};
use warpweave_plan::kernel::{Kernel, ScheduleParams};
use warpweave_plan::template::Template;
use warpweave_plan::template::contraction::Contraction;
use warpweave_plan::template::contraction::shape::ContractionShape;

/// What a group costs more under a shape that it cannot have: it keeps its own, beyond the limit. More than any other choice does.
const FOREIGN_MICROSECONDS: f64 = 1e9;

/// The partition with at most `limit` shapes of contractions among its groups: those of the groups' own choices under
/// which all groups together cost least, chosen one after another. A reduction stays in as many parts, or becomes whole.
pub fn limit_shapes(
    program: &TensorProgram,
    mut partition: Partition,
    cost: &dyn KernelCost,
    limit: usize,
) -> Partition {
    let shapes = shapes(&partition);
    if shapes.len() <= limit {
        return partition;
    }
    let options = |&(kernel, microseconds): &(&Kernel, f64)| -> Option<Vec<PricedKernel>> {
        let own = kernel.rules().contraction_shape()?;
        let contraction = kernel.contraction()?;
        let priced = PricedKernel { kernel: kernel.clone(), microseconds };
        Some(shapes.iter().map(|&shape| cheapest(program, &priced, contraction, own, shape, cost)).collect())
    };
    let kernels: Vec<(&Kernel, f64)> =
        partition.groups.iter().map(|group| (&group.kernel, group.microseconds)).collect();
    let (of_kinds, kinds) = deduplicated(&kernels, |&(kernel, _)| StructuralKey::of(kernel), |group, _| options(group));
    let priced: Vec<Option<&[PricedKernel]>> = kinds.iter().map(|&kind| of_kinds[kind].as_deref()).collect();
    let chosen = choose(&priced, shapes.len(), limit);
    for (group, options) in partition.groups.iter_mut().zip(priced) {
        let Some(options) = options else { continue };
        let best = chosen.iter().copied().min_by(|a, b| PricedKernel::by_price(&options[*a], &options[*b]));
        let PricedKernel { kernel, microseconds } = &options[best.expect("a shape is chosen")];
        if *microseconds < FOREIGN_MICROSECONDS {
            (group.microseconds, group.kernel) = (*microseconds, group.kernel.like(kernel));
        }
    }
    partition
}

/// The shapes of contractions in a partition, each once; parts do not count.
pub fn shapes(partition: &Partition) -> Vec<ContractionShape> {
    let mut shapes: Vec<ContractionShape> = partition.groups.iter().filter_map(shape).map(whole).collect();
    shapes.sort_unstable();
    shapes.dedup();
    shapes
}

fn shape(group: &FusionGroup) -> Option<ContractionShape> {
    group.kernel.rules().contraction_shape()
}

fn whole(shape: ContractionShape) -> ContractionShape {
    ContractionShape { split_k: 1, ..shape }
}

/// A group under a shape, in one part or in as many as it chose.
fn cheapest(
    program: &TensorProgram,
    group: &PricedKernel,
    contraction: &Contraction,
    own: ContractionShape,
    shape: ContractionShape,
    cost: &dyn KernelCost,
) -> PricedKernel {
    let kernel = || group.kernel.clone();
    if whole(own) == shape {
        return PricedKernel { kernel: kernel(), microseconds: group.microseconds };
    }
    if !shape.unit.multiplies(contraction.numerics()) {
        return PricedKernel { kernel: kernel(), microseconds: group.microseconds + FOREIGN_MICROSECONDS };
    }
    let under = |parts: usize, tile: Vec<usize>| {
        let shape = ContractionShape { split_k: parts, ..shape };
        let params = ScheduleParams { template: Template::Contraction(shape), tile };
        cost.price(program, group.kernel.with_params(params))
    };
    let tiles = shape.tiles(group.kernel.body(), contraction);
    let priced = [1, own.split_k].into_iter().flat_map(|parts| tiles.iter().map(move |tile| (parts, tile.clone())));
    let cheapest = PricedKernel::cheapest(priced.map(|(parts, tile)| under(parts, tile)));
    cheapest.expect("a shape has a tile")
}

/// Numbers of shapes, each the one that lowers the sum of the groups' cheapest costs most.
fn choose(priced: &[Option<&[PricedKernel]>], shapes: usize, limit: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let mut cheapest: Vec<f64> = priced.iter().flatten().map(|_| f64::INFINITY).collect();
    while chosen.len() < limit {
        let total = |shape: usize| -> f64 {
            let with = priced.iter().flatten().zip(&cheapest);
            with.map(|(options, known)| options[shape].microseconds.min(*known)).sum()
        };
        let next = (0..shapes).filter(|shape| !chosen.contains(shape)).min_by(|a, b| total(*a).total_cmp(&total(*b)));
        let Some(next) = next else { break };
        chosen.push(next);
        for (known, options) in cheapest.iter_mut().zip(priced.iter().flatten()) {
            *known = known.min(options[next].microseconds);
        }
    }
    chosen
}
