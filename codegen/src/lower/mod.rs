//! Fusion groups to kernel IR: one template a file, over a shared emitter.
//!
//! Extents, strides, offsets and divisors become operands of the rTask, so that groups which differ only in them share
//! one rKernel body.

pub(crate) mod arithmetic;
pub(crate) mod attention;
pub(crate) mod contraction;
pub(crate) mod convert;
pub(crate) mod emitter;
pub mod error;
pub(crate) mod hoist;
pub(crate) mod index;
pub(crate) mod index_check;
pub(crate) mod minifloat;
pub(crate) mod opaque;
pub(crate) mod pointwise;
pub(crate) mod reduce;
pub(crate) mod row;
pub(crate) mod scalar;
pub(crate) mod shared_values;
pub(crate) mod staged;
pub(crate) mod store;
pub(crate) mod tile;
pub mod unsupported;
pub(crate) mod weight_stationary;

use std::sync::Arc;

use crate::lower::error::LowerError;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use warpweave_graph::arena::{Arena, Id};
use warpweave_plan::plan::backend::PlanBackend;
use warpweave_plan::plan::{ExecutionPlan, MemoryPlan, Segment};
use warpweave_plan::plan::{OperatorId, ROperator};
use warpweave_plan::streams::prefetch;
use warpweave_plan::tables;
use warpweave_plan::tables::{Binding, OPERAND_ALIGNMENT, Relocation};
use warpweave_plan::template::Template;
use warpweave_plan::template::block::BlockSize;
use warpweave_plan::template::contraction::AxisClass;
use warpweave_plan::template::staged::padded::PaddedBody;

use crate::kernel_ir::ids::KernelId;
use crate::kernel_ir::program::{Entry, Function, MixedEntries, Program};
use crate::lower::emitter::{Emitter, LoweredKernel};
use crate::{nodes, persistent};

/// A program and, per rOperator, its kernel and operands; those of all segments are numbered through.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoweredProgram {
    /// The kernels and the entry.
    pub program: Program,
    /// Per rOperator, which kernel runs it and where its operands begin.
    pub bindings: Arena<OperatorId, Binding>,
    /// The operands of all rOperators.
    pub operands: Vec<i32>,
    /// What is added to operands where states and what they become lie in each other's places.
    pub relocations: Vec<Relocation>,
}

/// Lowers every rOperator of a plan; equal bodies become one rKernel, whatever their segments.
pub fn lower(plan: &ExecutionPlan) -> Result<LoweredProgram, LowerError> {
    let mut kernels: Arena<KernelId, Function> = Arena::new();
    let mut known: HashMap<Function, KernelId> = HashMap::new();
    let mut bindings: Arena<OperatorId, Binding> = Arena::new();
    let mut operands: Vec<i32> = Vec::new();
    let mut relocations: Vec<Relocation> = Vec::new();
    let exchange = plan.memory.exchange();
    let awaiting = plan.segments.iter().flat_map(|segment| match segment {
        Segment::Persistent(segment) => prefetch::awaiting(segment, &plan.memory).values().copied().collect(),
        Segment::CudaGraph(graph) => vec![false; graph.operators.len()],
    });
    for ((id, operator), awaits) in plan.operators().iter().zip(awaiting) {
        let mut bind = |lowered: LoweredKernel| -> Result<(u32, u32), LowerError> {
            let kernel = *known.entry(lowered.kernel).or_insert_with_key(|kernel| kernels.push(kernel.clone()));
            operands.resize(operands.len().next_multiple_of(OPERAND_ALIGNMENT), 0);
            let first = operands.len() as u32;
            for (position, root) in lowered.places {
                let Some(elements) = exchange.elements(&plan.memory, root) else { continue };
                let moved = i64::from(lowered.operands[position as usize]) + elements;
                let too_large = |_| LowerError::TooLarge { operator: id, tensor: root };
                i32::try_from(moved).map_err(too_large)?;
                let elements = i32::try_from(elements).map_err(too_large)?;
                relocations.push(Relocation { operand: first + position, elements });
            }
            operands.extend(lowered.operands);
            Ok((kernel.index() as u32, first))
        };
        let prologue = if awaits { prefetch::prologue_sides(operator, &plan.memory) } else { Vec::new() };
        let (lowered, shared_operands) = lower_operator(id, operator, &plan.memory, &prologue)?;
        let (kernel, first) = bind(lowered)?;
        let keep = match operator.kernel.rules().holds_residents() {
            true => Some(bind(lower_hold(id, operator, &plan.memory)?)?),
            false => None,
        };
        bindings.push(Binding { kernel, operands: first, keep, shared_operands });
    }
    let entry = match plan.backend() {
        PlanBackend::Persistent => Entry::Persistent(persistent::entry(&kernels)),
        PlanBackend::CudaGraph => Entry::Nodes(kernels.ids().map(|id| nodes::entry(id, &kernels)).collect()),
        PlanBackend::Mixed => {
            let launched: Vec<KernelId> = tables::encode(plan, &bindings, Vec::new())
                .nodes()
                .map(|node| KernelId::from_index(node.kernel as usize))
                .collect();
            let nodes = launched.into_iter().map(|kernel| (kernel, nodes::entry(kernel, &kernels))).collect();
            Entry::Mixed(MixedEntries { persistent: persistent::entry(&kernels), nodes })
        }
    };
    let program = Program { threads: block_size(plan).threads() as u32, kernels, entry };
    Ok(LoweredProgram { program, bindings, operands, relocations })
}

/// The size of the blocks of a program: what each of its kernels has.
fn block_size(plan: &ExecutionPlan) -> BlockSize {
    let operators = plan.operators();
    operators.values().map(|operator| operator.kernel.rules().block_size()).max().unwrap_or_default()
}

/// Why rOperators of a plan have no kernels: the first reason of each.
pub fn refused(plan: &ExecutionPlan) -> Vec<LowerError> {
    let operators = plan.operators();
    let lowered = operators.iter().map(|(id, operator)| lower_operator(id, operator, &plan.memory, &[]));
    lowered.filter_map(Result::err).collect()
}

/// The kernel that brings what one rOperator keeps on chip, and its operands.
fn lower_hold(id: OperatorId, operator: &ROperator, memory: &MemoryPlan) -> Result<LoweredKernel, LowerError> {
    let mut emitter = Emitter::new(id, operator, memory);
    if operator.tasks() > 0 {
        weight_stationary::emit_hold(&mut emitter)?;
    }
    Ok(hoisted(emitter.finish()))
}

/// With operands that loops use again and again loaded before them.
fn hoisted(lowered: LoweredKernel) -> LoweredKernel {
    LoweredKernel { kernel: hoist::hoist_operands(lowered.kernel), ..lowered }
}

/// The kernel of one rOperator, which fetches the sides `prologue` before its waits and then does them itself, and its
/// operands. Then, where a call may run several rTasks, how many leading operands they share.
fn lower_operator(
    id: OperatorId,
    operator: &ROperator,
    memory: &MemoryPlan,
    prologue: &[AxisClass],
) -> Result<(LoweredKernel, Option<u32>), LowerError> {
    let kernel = &operator.kernel;
    let padded = PaddedBody::of(kernel.shared_body());
    let seen = ROperator { kernel: kernel.with_body(Arc::clone(&padded.body)), ..operator.clone() };
    let mut emitter = Emitter::new(id, &seen, memory);
    if operator.tasks() == 0 {
        return Ok((emitter.finish(), None));
    }
    match *operator.kernel.template() {
        Template::Pointwise(own) => pointwise::emit(&mut emitter, own)?,
        Template::Row(threads) => row::emit(&mut emitter, threads)?,
        Template::WeightStationary => weight_stationary::emit(&mut emitter)?,
        Template::Opaque => opaque::emit(&mut emitter)?,
        Template::Contraction(shape) => contraction::emit(&mut emitter, shape, prologue, (kernel, &padded))?,
        Template::Staged => staged::emit(&mut emitter, kernel, &padded)?,
        Template::Attention(_) => attention::emit(&mut emitter, kernel, &padded)?,
    }
    let shared_operands = emitter.shared_operands();
    let lowered = hoisted(emitter.finish());
    let shared_operands = shared_operands.filter(|_| hoist::loads_step_operands(&lowered.kernel));
    Ok((lowered, shared_operands))
}
