//! What the update of a training step moves.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::states::StateMove;
use warpweave_plan::plan::{ExecutionPlan, ROperator};

/// Bytes of the arena that the update of a step reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct OptimizerTraffic {
    /// What rOperators that write what states become read and write, whole tensors. Of one that reduces to a gradient, only states
    /// count: the rest is the backward pass's.
    pub bytes: u64,
    /// What moving states behind the launch reads and writes.
    pub moved_bytes: u64,
    /// The fewest: every state is read and written once, and so is every gradient read that is not in registers.
    pub least_bytes: u64,
}

impl OptimizerTraffic {
    /// That of a plan.
    pub fn of(plan: &ExecutionPlan) -> Self {
        let memory = &plan.memory;
        let root = |tensor: &TensorId| memory.tensors[*tensor].layout.root;
        let next: BTreeSet<TensorId> = memory.states.iter().map(|state| root(&state.next)).collect();
        let states: BTreeMap<TensorId, u64> =
            memory.states.iter().map(|state| (root(&state.tensor), memory.tensors[state.tensor].bytes())).collect();
        let updates =
            |operator: &&ROperator| operator.kernel.body().outputs.iter().any(|output| next.contains(&root(output)));
        let mut gradients: BTreeMap<TensorId, u64> = BTreeMap::new();
        let mut bytes = 0;
        for operator in plan.operators().values().filter(updates) {
            let reduces = operator.kernel.body().reductions().next().is_some();
            for operand in &operator.kernel.body().operands {
                let own = memory.tensors[*operand].bytes();
                if states.contains_key(&root(operand)) {
                    bytes += own;
                } else if !reduces {
                    bytes += own;
                    gradients.insert(*operand, own);
                }
            }
            let outputs =
                operator.kernel.body().outputs.iter().filter(|output| !reduces || next.contains(&root(output)));
            bytes += outputs.map(|output| memory.tensors[*output].bytes()).sum::<u64>();
        }
        let moved_bytes = memory.state_moves().iter().map(|StateMove { bytes, .. }| 2 * bytes).sum();
        let kept: u64 = states.values().map(|bytes| 2 * bytes).sum();
        Self { bytes, moved_bytes, least_bytes: kept + gradients.values().sum::<u64>() }
    }
}
