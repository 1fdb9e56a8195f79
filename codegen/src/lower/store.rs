//! Writes of stage outputs.

use warpweave_graph::expr::Index;

use crate::kernel_ir::ids::LocalId;
use crate::kernel_ir::statement::Statement;
use crate::lower::emitter::{Emitter, add};
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;

/// Writes a stage's value to its output, if it has one.
pub(crate) fn store(emitter: &mut Emitter, point: &mut Point, stage: usize, value: LocalId) -> Result<(), LowerError> {
    let body = emitter.body();
    let Some(output) = &body.stages[stage].output else { return Ok(()) };
    let tensor = body.outputs[output.position];
    let planned = &emitter.memory.tensors[tensor];
    let memory = emitter.memory_type(planned.ty.element)?;
    let (_, first) = emitter.place(tensor);
    let offset = Index::linear(&output.index, &planned.layout.strides, planned.layout.offset);
    let base = emitter.operand(first + offset.offset())?;
    let relative = offset.plus(-offset.offset());
    let index = match relative.terms() {
        [] => base,
        _ => add(point.index(emitter, &body.stages[stage].expr, &relative)?, base),
    };
    let tag = emitter.mark(tensor)?;
    emitter.push(match tag {
        Some(tag) => Statement::StoreTagged { index, tag, value: value.into() },
        None => Statement::StoreGlobal { memory, index, values: vec![value.into()] },
    });
    Ok(())
}
