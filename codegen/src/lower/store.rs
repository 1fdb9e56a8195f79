//! Writes of stage outputs.

use warpweave_graph::expr::Index;
use warpweave_graph::program::TensorId;
use warpweave_plan::body::{GroupBody, StageSource};

use crate::kernel_ir::expression::Expression;
use crate::kernel_ir::ids::LocalId;
use crate::kernel_ir::statement::Statement;
use crate::lower::convert::rounded;
use crate::lower::emitter::{Emitter, add};
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;

/// A local with a stage's value. Where another stage reads it, or memory holds it as a single, it is rounded to its element type;
/// elsewhere the store does that.
pub(crate) fn bind_value(emitter: &mut Emitter, stage: usize, value: Expression) -> Result<LocalId, LowerError> {
    let body = emitter.body();
    let memory = emitter.memory_type(body.stages[stage].expr.element)?;
    let is_read = body.stages.iter().any(|later| later.sources.contains(&StageSource::Stage(stage)));
    let is_tagged = output(emitter, stage).is_some_and(|(tensor, _)| emitter.is_tagged(tensor));
    let rounds = body.stages[stage].is_rounded() && (is_read || is_tagged);
    let value = if rounds { rounded(memory, value) } else { value };
    Ok(emitter.bind(memory.scalar_type(), value))
}

/// Writes a stage's value to its output, if it has one.
pub(crate) fn store(emitter: &mut Emitter, point: &mut Point, stage: usize, value: LocalId) -> Result<(), LowerError> {
    let Some((tensor, element)) = output(emitter, stage) else { return Ok(()) };
    let index = address(emitter, point, (stage, tensor), &element)?;
    let memory = emitter.memory_type(emitter.memory.tensors[tensor].ty.element)?;
    let tag = emitter.mark(tensor)?;
    emitter.push(match tag {
        Some(tag) => Statement::StoreTagged { index, tag, value: value.into() },
        None => Statement::StoreGlobal { memory, index, values: vec![value.into()] },
    });
    Ok(())
}

/// Writes several values to the output of a stage, which carries no tags, from a point on.
pub(crate) fn store_neighbours(
    emitter: &mut Emitter,
    point: &mut Point,
    stage: usize,
    values: Vec<Expression>,
) -> Result<(), LowerError> {
    let (tensor, element) = output(emitter, stage).expect("only what leaves the group is stored");
    let index = address(emitter, point, (stage, tensor), &element)?;
    let memory = emitter.memory_type(emitter.memory.tensors[tensor].ty.element)?;
    emitter.push(Statement::StoreGlobal { memory, index, values });
    Ok(())
}

/// A stage's output and the number of its element in the memory of its root, if it has one.
pub(crate) fn output(emitter: &Emitter, stage: usize) -> Option<(TensorId, Index)> {
    let body: &GroupBody = emitter.body();
    let output = body.stages[stage].output.as_ref()?;
    let tensor = body.outputs[output.position];
    let layout = &emitter.memory.tensors[tensor].layout;
    Some((tensor, Index::linear(&output.index, &layout.strides, layout.offset)))
}

fn address(
    emitter: &mut Emitter,
    point: &mut Point,
    (stage, tensor): (usize, TensorId),
    element: &Index,
) -> Result<Expression, LowerError> {
    let base = emitter.element(tensor, element.offset())?;
    let relative = element.plus(-element.offset());
    match relative.terms() {
        [] => Ok(base),
        _ => {
            let expr = &emitter.body().stages[stage].expr;
            Ok(add(point.index(emitter, expr, &relative)?, base))
        }
    }
}
