//! Text to memory plans.

use warpweave_graph::index_check::{IndexCheck, IndexCheckId};
use warpweave_graph::program::TensorId;
use warpweave_graph::text::reader::{Parsed, Reader};
use warpweave_graph::views::Layout;

use crate::plan::index_records::IndexRecords;
use crate::plan::states::PlannedState;
use crate::plan::{Buffer, BufferSpace, EdgeKind, MemoryPlan, PlannedTensor};
use crate::text::ids;

/// The memory plan that comes next.
pub fn read(reader: &mut Reader<'_>) -> Parsed<MemoryPlan> {
    let mut memory = MemoryPlan::default();
    reader.keyword("memory")?;
    reader.keyword("arena")?;
    memory.arena_bytes = reader.integer("a number of bytes")?;
    reader.keyword("weights")?;
    memory.weights_bytes = reader.integer("a number of bytes")?;
    let start = reader.clone();
    while reader.is_id::<TensorId>() {
        let tensor = tensor(reader, memory.tensors.len())?;
        memory.tensors.push(tensor);
    }
    let count = memory.tensors.len();
    if memory.tensors.values().any(|tensor| memory.tensors.get(tensor.layout.root).is_none()) {
        return Err(start.expected(format!("roots among {count} tensors")));
    }
    let mut listed = |keyword: &str| {
        reader.keyword(keyword)?;
        ids(reader, "a tensor", count)
    };
    (memory.inputs, memory.outputs, memory.constants) = (listed("inputs")?, listed("outputs")?, listed("constants")?);
    while reader.eat_word("state") {
        let tensor = reader.id("a tensor", count)?;
        reader.keyword("next")?;
        memory.states.push(PlannedState { tensor, next: reader.id("a tensor", count)? });
    }
    memory.index_records = index_records(reader, count)?;
    Ok(memory)
}

fn index_records(reader: &mut Reader<'_>, tensors: usize) -> Parsed<IndexRecords> {
    let mut records = IndexRecords::default();
    if !reader.eat_word("index") {
        return Ok(records);
    }
    reader.keyword("checks")?;
    reader.keyword("at")?;
    records.offset = reader.integer("a byte")?;
    while records.checks.is_empty() || reader.is_id::<IndexCheckId>() {
        reader.declared::<IndexCheckId>(records.checks.len())?;
        reader.mark(":")?;
        let tensor = reader.id("a tensor", tensors)?;
        reader.keyword("in")?;
        records.checks.push(IndexCheck { tensor, extent: reader.integer("an extent")? });
    }
    Ok(records)
}

fn tensor(reader: &mut Reader<'_>, position: usize) -> Parsed<PlannedTensor> {
    let id = reader.declared::<TensorId>(position)?;
    reader.mark(":")?;
    let ty = reader.tensor_type()?;
    let buffer = buffer(reader)?;
    let (edge, tag) =
        if reader.eat_word("tagged") { (EdgeKind::Tagged, reader.integer("a tag")?) } else { (EdgeKind::Counter, 0) };
    let layout = if reader.eat_word("in") {
        let root = reader.id("a tensor", u32::MAX as usize)?;
        reader.keyword("at")?;
        let offset = reader.integer("a number of elements")?;
        reader.keyword("strides")?;
        let strides = if reader.eat_word("none") { Vec::new() } else { reader.extents("strides")? };
        Layout { root, offset, strides }
    } else {
        Layout::own(id, &ty)
    };
    Ok(PlannedTensor { ty, layout, buffer, edge, tag })
}

fn buffer(reader: &mut Reader<'_>) -> Parsed<Option<Buffer>> {
    if reader.eat_word("unused") {
        return Ok(None);
    }
    let space = reader.named::<BufferSpace>("`arena`, `weights` or `unused`")?;
    let offset: u64 = reader.integer("a byte")?;
    reader.mark("..")?;
    let before = reader.clone();
    let end: u64 = reader.integer("a byte")?;
    let bytes = end.checked_sub(offset).ok_or_else(|| before.expected("a later byte"))?;
    Ok(Some(Buffer { space, offset, bytes }))
}
