//! rOperators with their predicted times.

use warpweave_graph::program::TensorId;

use crate::cost::KernelCost;
use crate::partition::search::FusionGroup;
use warpweave_plan::body::deduplication::{StructuralKey, deduplicated};
use warpweave_plan::plan::ROperator;
use warpweave_plan::template::contraction::AxisClass;

/// Groups under their parameters, at their costs, where `loads_before_waits` tells which operands an rTask may load
/// before it waits. Groups that are alike are priced once.
pub fn price(
    groups: &[FusionGroup],
    cost: &dyn KernelCost,
    loads_before_waits: impl Fn(TensorId) -> bool,
) -> Vec<ROperator> {
    let sided: Vec<(&FusionGroup, Vec<AxisClass>)> = groups
        .iter()
        .map(|group| (group, group.kernel.rules().prefetchable(&group.kernel, &loads_before_waits)))
        .collect();
    let (prices, kinds) = deduplicated(
        &sided,
        |(group, sides)| (StructuralKey::of(&group.kernel), sides.clone()),
        |(FusionGroup { kernel, .. }, sides), _| {
            (cost.task_microseconds(kernel), cost.prologue_microseconds(kernel, sides))
        },
    );
    let priced = groups.iter().zip(kinds).map(|(FusionGroup { kernel, origins, .. }, kind)| {
        let (task_microseconds, prologue_microseconds) = prices[kind];
        let (kernel, origins) = (kernel.clone(), origins.clone());
        ROperator { kernel, task_microseconds, prologue_microseconds, origins }
    });
    priced.collect()
}
