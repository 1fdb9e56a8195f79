//! What every other check takes for granted: ids, ranks, types and expressions of memory and rOperators.

use std::collections::BTreeSet;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisKind, Index};
use warpweave_graph::program::TensorId;
use warpweave_graph::types::MAX_RANK;

use crate::body::{GroupBody, Stage, StageSource};
use crate::plan::states::PlannedState;
use crate::plan::{MemoryPlan, ROperator};
use crate::template::opaque;
use crate::verify::operators::Operators;
use crate::verify::violation::Violation;

/// The first thing of memory and of the rOperators' bodies that is malformed, if any is.
pub(super) fn check(operators: &Operators, memory: &MemoryPlan) -> Result<(), Violation> {
    check_memory(memory).map_err(Violation::Memory)?;
    of_each(operators, |operator| check_body(operator.kernel.body(), memory))
}

/// The first rOperator whose template cannot compute its body, if there is one; its tile is possible.
pub(super) fn check_templates(operators: &Operators) -> Result<(), Violation> {
    of_each(operators, |operator| operator.kernel.check())
}

fn of_each(operators: &Operators, check: impl Fn(&ROperator) -> Check) -> Result<(), Violation> {
    let mut operators = operators.iter();
    operators
        .try_for_each(|(id, operator)| check(operator).map_err(|reason| Violation::Malformed { operator: id, reason }))
}

type Check = Result<(), &'static str>;

/// Ids, shapes and strides of a memory plan: what the verifier takes for granted.
fn check_memory(memory: &MemoryPlan) -> Check {
    let mut named = memory.live_in().chain(memory.live_out()).chain(memory.constants.iter().copied());
    require(named.all(|tensor| memory.tensors.get(tensor).is_some()), "it names no tensor")?;
    let keeps_type = |state: &PlannedState| memory.tensors[state.tensor].ty == memory.tensors[state.next].ty;
    require(memory.states.iter().all(keeps_type), "a state becomes a tensor of another type")?;
    let states: BTreeSet<TensorId> = memory.states.iter().map(|state| state.tensor).collect();
    let is_own = |state: &PlannedState| state.next == state.tensor || !states.contains(&state.next);
    require(memory.states.iter().all(is_own), "a state becomes what another one was")?;
    for tensor in memory.tensors.values() {
        let elements = tensor.ty.shape.checked_elements();
        let bytes = elements.and_then(|elements| elements.checked_mul(tensor.ty.element.bytes()));
        require(tensor.ty.shape.len() <= MAX_RANK && bytes.is_some(), "a tensor's shape is impossible")?;
        let root = memory.tensors.get(tensor.layout.root).ok_or("a view has no root")?;
        let inside = root.ty.shape.checked_elements().is_some_and(|elements| tensor.layout.offset <= elements);
        let strides = tensor.layout.strides.as_slice();
        require(inside && strides.len() == tensor.ty.shape.len(), "a view does not lie in its root")?;
        require(strides.iter().all(|stride| (1..=1 << 40).contains(stride)), "a view's strides are impossible")?;
        require(root.ty.shape.len() == tensor.ty.shape.len(), "a view and its root differ in rank")?;
        require(root.ty.element == tensor.ty.element, "a view and its root differ in type")?;
    }
    Ok(())
}

/// Ids, ranks, types and expressions of a body.
fn check_body(body: &GroupBody, memory: &MemoryPlan) -> Check {
    require(!body.stages.is_empty(), "an operator computes nothing")?;
    let mut tensors = body.operands.iter().chain(&body.outputs);
    require(tensors.all(|tensor| memory.tensors.get(*tensor).is_some()), "an operator names no tensor")?;
    for (position, stage) in body.staged.iter().enumerate() {
        stage.expr.check()?;
        require(stage.procedure.is_none(), "a procedure computes a staged value")?;
        require(stage.sums_singles(), "a staged value is reduced in another type than F32")?;
        require(stage.output.is_none() && stage.expr.element.is_single(), "a staged value leaves its group")?;
        require(stage.expr.axes.values().all(|axis| axis.extent > 0), "a staged value is empty")?;
        check_sources(body, stage, Earlier { stages: 0, staged: position }, memory)?;
    }
    if body.procedure().is_some() {
        opaque::check(body)?;
    }
    for (position, stage) in body.stages.iter().enumerate() {
        match stage.procedure {
            Some(procedure) => procedure.check(&stage.expr)?,
            None => stage.expr.check()?,
        }
        let parallel = stage.expr.axes.values().take_while(|axis| axis.kind == AxisKind::Parallel).count();
        require(body.tile_rank <= parallel, "a stage has too few axes")?;
        let extents = |body: &GroupBody, stage: usize| -> Vec<usize> {
            body.stages[stage].expr.axes.values().take(body.tile_rank).map(|axis| axis.extent).collect()
        };
        require(extents(body, position) == extents(body, 0), "stages differ in their tile axes")?;
        check_sources(body, stage, Earlier { stages: position, staged: body.staged.len() }, memory)?;
        if let Some(output) = &stage.output {
            let tensor = body.outputs.get(output.position).ok_or("a stage writes an unknown output")?;
            let ty = &memory.tensors[*tensor].ty;
            require(output.index.len() == ty.shape.len(), "a stage writes an output of another rank")?;
            require(stage.expr.element == ty.element, "a stage writes an output of another type")?;
            let mut known = true;
            let free = output.index.iter().all(Index::is_free_of_reads);
            output
                .index
                .iter()
                .for_each(|index| index.visit(&mut |axis| known &= axis.index() < parallel, &mut |_| {}));
            require(known && free, "an output's index names unknown axes")?;
        }
    }
    Ok(())
}

/// How many stages and staged stages come before one.
#[derive(Clone, Copy)]
struct Earlier {
    stages: usize,
    staged: usize,
}

/// Where a stage's operands come from.
fn check_sources(body: &GroupBody, stage: &Stage, earlier: Earlier, memory: &MemoryPlan) -> Check {
    require(stage.sources.len() == stage.expr.operands.len(), "a stage has operands from nowhere")?;
    for (source, declared) in stage.sources.iter().zip(&stage.expr.operands) {
        match source {
            StageSource::Operand(operand) => {
                let tensor = body.operands.get(*operand).ok_or("a stage reads an unknown operand")?;
                require(memory.tensors[*tensor].ty == *declared, "a stage reads an operand of another type")?;
            }
            StageSource::Stage(position) => {
                require(*position < earlier.stages, "a stage reads a later one")?;
                let element = body.stages[*position].expr.element;
                require(element == declared.element, "a stage reads a value of another type")?;
            }
            StageSource::Staged(position) => {
                require(*position < earlier.staged, "a stage reads a later one")?;
                require(body.staged[*position].expr.output() == *declared, "a stage reads a value of another type")?;
            }
        }
    }
    Ok(())
}

fn require(holds: bool, otherwise: &'static str) -> Check {
    if holds { Ok(()) } else { Err(otherwise) }
}
