//! Shapes of contractions for groups that share the device. The kernel that is fastest alone pays for its shorter duration
//! with unit-time (units × duration), which the other groups need.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use warpweave_graph::program::TensorProgram;

use crate::cost::KernelCost;
use crate::partition::search::{FusionGroup, Partition};
use crate::schedule::choice::variants::Variant;
use crate::schedule::placement::Time;
use crate::tuning::SearchTuning;
use warpweave_plan::template::contraction::AxisClass;
use warpweave_plan::template::contraction::shape::ContractionShape;

/// Extents and classes of a contraction's axes: groups that agree on them have the same shapes to choose from.
type Extents = Vec<(usize, AxisClass)>;

/// The shapes under which groups take the least unit-time, in descending order of what they save: at most
/// [`most_shared_shapes`](crate::tuning::ScheduleTuning::most_shared_shapes), each of which saves at least the worthwhile share.
pub(super) fn shared_shapes(
    program: &TensorProgram,
    partition: &Partition,
    cost: &dyn KernelCost,
) -> Vec<ContractionShape> {
    let tuning = &SearchTuning::DEFAULT.schedule;
    let mut alike: FxHashMap<Extents, (&FusionGroup, Time)> = FxHashMap::default();
    for group in &partition.groups {
        let Some(contraction) = group.kernel.contraction() else { continue };
        let axes = group.kernel.body().stages[0].expr.axes.values().map(|axis| axis.extent);
        alike.entry(axes.zip(contraction.classes.iter().copied()).collect()).or_insert((group, 0)).1 += 1;
    }
    let mut alike: Vec<(Extents, (&FusionGroup, Time))> = alike.into_iter().collect();
    alike.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let work = |kernel| Variant::new(program, kernel, cost).work(0);
    let saved = |(_, (group, count)): &(Extents, (&FusionGroup, Time))| {
        let own = work(group.kernel.clone());
        let shared = cost.beside_others(program, group.kernel.shared_body()).into_iter().filter_map(|kernel| {
            let shape = kernel.rules().contraction_shape()?;
            let saved = own.saturating_sub(work(kernel)) * count;
            Some((ContractionShape { split_k: 1, ..shape }, saved))
        });
        (own * count, shared.collect())
    };
    let found: Vec<(Time, Vec<(ContractionShape, Time)>)> = alike.par_iter().map(saved).collect();
    let all: Time = found.iter().map(|(own, _)| own).sum();
    let mut shapes: Vec<(ContractionShape, Time)> = Vec::new();
    for (shape, saved) in found.into_iter().flat_map(|(_, found)| found) {
        match shapes.iter_mut().find(|(other, _)| *other == shape) {
            Some((_, sum)) => *sum += saved,
            None => shapes.push((shape, saved)),
        }
    }
    shapes.retain(|(_, saved)| *saved as f64 > tuning.worthwhile_shape_share * all as f64);
    shapes.sort_by_key(|(shape, saved)| (std::cmp::Reverse(*saved), *shape));
    shapes.into_iter().take(tuning.most_shared_shapes).map(|(shape, _)| shape).collect()
}
