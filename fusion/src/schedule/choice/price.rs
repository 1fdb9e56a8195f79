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
        .map(|group| (group, group.params.rules().prefetchable(&group.body, &loads_before_waits)))
        .collect();
    let (prices, kinds) = deduplicated(
        &sided,
        |(group, sides)| (StructuralKey::of(&group.body, &group.params), sides.clone()),
        |(FusionGroup { body, params, .. }, sides), _| {
            (cost.task_microseconds(body, params), cost.prologue_microseconds(body, params, sides))
        },
    );
    let priced = groups.iter().zip(kinds).map(|(FusionGroup { body, params, origins, .. }, kind)| {
        let (task_microseconds, prologue_microseconds) = prices[kind];
        let (body, params, origins) = (body.clone(), params.clone(), origins.clone());
        ROperator { body, params, task_microseconds, prologue_microseconds, origins }
    });
    priced.collect()
}
