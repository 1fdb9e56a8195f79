//! Text to rOperators and to the bodies of groups.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Index, TensorExpr};
use warpweave_graph::procedure::Procedure;
use warpweave_graph::program::{Origins, TensorId};
use warpweave_graph::text::reader::{Parsed, Reader};
use warpweave_graph::types::TensorType;

use crate::body::{GroupBody, Stage, StageOutput, StageSource};
use crate::kernel::Kernel;
use crate::plan::{MemoryPlan, OperatorId, ROperator};
use crate::template::text as params_text;
use crate::text::ids;

/// The rOperator that is declared next, the `position`-th.
pub fn operator(reader: &mut Reader<'_>, position: usize, memory: &MemoryPlan) -> Parsed<ROperator> {
    reader.declared::<OperatorId>(position)?;
    reader.mark(":")?;
    let params = params_text::read(reader)?;
    reader.mark(",")?;
    let before = reader.clone();
    let task_microseconds = reader.literal().parse().map_err(|_| before.expected("microseconds"))?;
    reader.keyword("us")?;
    reader.keyword("a")?;
    reader.keyword("task")?;
    reader.mark(",")?;
    let before = reader.clone();
    let prologue_microseconds = reader.literal().parse().map_err(|_| before.expected("microseconds"))?;
    reader.keyword("prologue")?;
    let origins = origins(reader)?;
    let kernel = Kernel::unchecked(read(reader, memory.tensors.len())?, params);
    Ok(ROperator { kernel, task_microseconds, prologue_microseconds, origins })
}

/// The nodes of the model, if any are named.
fn origins(reader: &mut Reader<'_>) -> Parsed<Origins> {
    let mut origins = Origins::new();
    if reader.eat_word("from") {
        loop {
            origins.insert(reader.id("a node of the model", u32::MAX as usize)?);
            if !reader.eat(",") {
                break;
            }
        }
    }
    Ok(origins)
}

/// The body that comes next, of a group that reads and writes some of this many tensors.
pub fn read(reader: &mut Reader<'_>, tensors: usize) -> Parsed<GroupBody> {
    reader.keyword("tile")?;
    reader.keyword("axes")?;
    let tile_rank = reader.integer("a number of axes")?;
    reader.mark(",")?;
    reader.keyword("reads")?;
    let operands = distinct(reader, tensors)?;
    reader.mark(",")?;
    reader.keyword("writes")?;
    let outputs = distinct(reader, tensors)?;
    let mut body = GroupBody { staged: Vec::new(), stages: Vec::new(), tile_rank, operands, outputs };
    while reader.eat_word("staged") {
        let stage = stage(reader, &body, body.staged.len())?;
        body.staged.push(stage);
    }
    while reader.eat_word("stage") {
        let stage = stage(reader, &body, body.stages.len())?;
        body.stages.push(stage);
    }
    Ok(body)
}

/// Tensors in brackets, each once.
fn distinct(reader: &mut Reader<'_>, count: usize) -> Parsed<Vec<TensorId>> {
    let before = reader.clone();
    let tensors = ids(reader, "a tensor", count)?;
    let mut sorted = tensors.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() == tensors.len() { Ok(tensors) } else { Err(before.expected("each tensor once")) }
}

/// A stage after its keyword, the `position`-th of its kind.
fn stage(reader: &mut Reader<'_>, body: &GroupBody, position: usize) -> Parsed<Stage> {
    let before = reader.clone();
    if reader.integer::<usize>("a position")? != position {
        return Err(before.expected(format!("position {position}")));
    }
    reader.mark("(")?;
    let operands = reader.list(")", |reader| operand(reader, body))?;
    let (sources, types) = operands.into_iter().unzip();
    reader.mark(":")?;
    let element = reader.element_type()?;
    let procedure = if reader.eat_word("by") { Some(Procedure::read(reader)?) } else { None };
    reader.mark("=")?;
    let expr = TensorExpr::read(reader, types, element)?;
    let output = if reader.eat("->") { Some(output(reader, body, &expr)?) } else { None };
    Ok(Stage { expr, sources, output, procedure })
}

fn operand(reader: &mut Reader<'_>, body: &GroupBody) -> Parsed<(StageSource, TensorType)> {
    let source = if reader.eat_word("stage") {
        StageSource::Stage(earlier(reader, body.stages.len())?)
    } else if reader.eat_word("staged") {
        StageSource::Staged(earlier(reader, body.staged.len())?)
    } else {
        StageSource::Operand(member(reader, &body.operands, "a tensor that the group reads, or a stage")?)
    };
    reader.mark(":")?;
    Ok((source, reader.tensor_type()?))
}

fn earlier(reader: &mut Reader<'_>, count: usize) -> Parsed<usize> {
    let before = reader.clone();
    let position = reader.integer("a position")?;
    if position < count { Ok(position) } else { Err(before.expected("an earlier stage")) }
}

fn output(reader: &mut Reader<'_>, body: &GroupBody, expr: &TensorExpr) -> Parsed<StageOutput> {
    let position = member(reader, &body.outputs, "a tensor that the group writes")?;
    reader.mark("[")?;
    let index = reader.list("]", |reader| Index::read(reader, expr.axes.len()))?;
    Ok(StageOutput { position, index })
}

/// The position of a tensor in a list.
fn member(reader: &mut Reader<'_>, tensors: &[TensorId], what: &str) -> Parsed<usize> {
    let before = reader.clone();
    let count = tensors.iter().map(|tensor| tensor.index() + 1).max().unwrap_or(0);
    let tensor = reader.id::<TensorId>(what, count)?;
    tensors.iter().position(|&other| other == tensor).ok_or_else(|| before.expected(what))
}
