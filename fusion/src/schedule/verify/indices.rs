//! Every element that indexes a dimension is checked, and has a record.

use warpweave_graph::expr::IndirectIndex;
use warpweave_graph::index_check::IndexCheck;
use warpweave_graph::program::TensorId;

use super::super::plan::{MemoryPlan, ROperator};
use super::Violation;
use super::structure::Operators;
use crate::partition::{GroupBody, Stage, StageSource};

pub(super) fn check(operators: &Operators, memory: &MemoryPlan, violations: &mut Vec<Violation>) {
    if !memory.has_sound_index_records() {
        violations.push(Violation::IndexRecords);
    }
    let is_checked = |place: &Place| {
        let check = place.tensor.map(|tensor| IndexCheck { tensor, extent: place.index.extent });
        check.is_some_and(|check| memory.index_records.word(check).is_some())
    };
    for (id, ROperator { body, .. }) in operators.iter() {
        if !body.staged.iter().chain(&body.stages).flat_map(|stage| places(body, stage)).all(|place| is_checked(&place))
        {
            violations.push(Violation::UncheckedIndex(id));
        }
    }
}

/// A place that a read names, and the tensor in memory that is read.
struct Place {
    index: IndirectIndex,
    tensor: Option<TensorId>,
}

fn places(body: &GroupBody, stage: &Stage) -> impl Iterator<Item = Place> {
    stage.expr.indirect_indices().into_iter().map(|index| {
        let tensor = match stage.sources[stage.expr.reads[index.read].operand] {
            StageSource::Operand(operand) => Some(body.operands[operand]),
            StageSource::Stage(_) | StageSource::Staged(_) => None,
        };
        Place { index, tensor }
    })
}
