//! The body of a statement that a procedure computes.

use std::collections::BTreeSet;

use warpweave_graph::expr::{AxisId, Index};
use warpweave_graph::procedure::Opaque;
use warpweave_graph::program::{Definition, StatementId, TensorId, TensorProgram};

use warpweave_plan::body::{GroupBody, Stage, StageOutput, StageSource};

/// The body of one opaque statement; `None` for anything else.
pub(crate) fn opaque_body(program: &TensorProgram, members: &BTreeSet<StatementId>) -> Option<GroupBody> {
    let (Some(&member), 1) = (members.first(), members.len()) else { return None };
    let statement = &program.statements[member];
    let Definition::Opaque(Opaque { procedure, access }) = &statement.definition else { return None };
    let mut operands: Vec<TensorId> = Vec::new();
    let mut source = |tensor: TensorId| {
        let known = operands.iter().position(|other| *other == tensor);
        StageSource::Operand(known.unwrap_or_else(|| {
            operands.push(tensor);
            operands.len() - 1
        }))
    };
    let sources = statement.operands.iter().map(|operand| source(*operand)).collect();
    let parallel = access.parallel().count();
    let dimension = |axis: AxisId| match access.axes[axis].extent {
        1 => Index::constant(0),
        _ => Index::axis(axis),
    };
    let index = access.parallel().map(dimension).collect();
    let output = Some(StageOutput { position: 0, index });
    let stage = Stage { expr: access.clone(), sources, output, procedure: Some(*procedure) };
    Some(GroupBody {
        staged: Vec::new(),
        stages: vec![stage],
        tile_rank: parallel - 1,
        operands,
        outputs: vec![statement.output],
    })
}
