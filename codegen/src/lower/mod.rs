//! Fusion groups to kernel IR: one template a file, over a shared emitter.
//!
//! Extents, strides, offsets and divisors become operands of the rTask, so that groups which differ only in them share
//! one rKernel body.

mod contraction;
mod convert;
mod emitter;
mod hoist;
mod index;
mod index_check;
mod kept;
mod minifloat;
mod opaque;
mod pointwise;
mod reduce;
mod row;
mod scalar;
mod staged;
mod store;
mod tile;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use warpweave_fusion::partition::Template;
use warpweave_fusion::partition::contraction::AxisClass;
use warpweave_fusion::partition::padded::PaddedBody;
use warpweave_fusion::partition::params::BLOCK_THREADS;
use warpweave_fusion::schedule::plan::{OperatorId, ROperator};
use warpweave_fusion::schedule::tables::{self, Binding};
use warpweave_fusion::schedule::{ExecutionPlan, MemoryPlan, PlanBackend, Segment, prefetch};
use warpweave_graph::ElementType;
use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::program::TensorId;

use crate::kernel_ir::{Entry, Kernel, KernelId, MixedEntries, Program};
use crate::{nodes, persistent};
use emitter::Emitter;

/// Why a group has no kernel.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LowerError {
    /// Kernels do not hold elements of this type.
    #[error("kernels do not support {element} elements")]
    Element {
        /// The rOperator.
        operator: OperatorId,
        /// The type.
        element: ElementType,
    },
    /// A function is not defined for the type it is applied to.
    #[error("kernels do not compute {function} of {element} elements")]
    Function {
        /// The rOperator.
        operator: OperatorId,
        /// The function's name.
        function: &'static str,
        /// The type.
        element: ElementType,
    },
    /// An offset or extent does not fit 31 bits.
    #[error("{tensor} is too large: kernels address 2^31 elements")]
    TooLarge {
        /// The rOperator.
        operator: OperatorId,
        /// The tensor.
        tensor: TensorId,
    },
}

impl LowerError {
    /// The rOperator.
    pub fn operator(&self) -> OperatorId {
        match self {
            Self::Element { operator, .. } | Self::Function { operator, .. } | Self::TooLarge { operator, .. } => {
                *operator
            }
        }
    }
}

/// A program and, per rOperator, its kernel and operands; those of all segments are numbered through.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoweredProgram {
    /// The kernels and the entry.
    pub program: Program,
    /// Per rOperator, which kernel runs it and where its operands begin.
    pub bindings: Arena<OperatorId, Binding>,
    /// The operands of all rOperators.
    pub operands: Vec<i32>,
}

/// Lowers every rOperator of a plan; equal bodies become one rKernel, whatever their segments.
pub fn lower(plan: &ExecutionPlan) -> Result<LoweredProgram, LowerError> {
    let mut kernels: Arena<KernelId, Kernel> = Arena::new();
    let mut known: HashMap<Kernel, KernelId> = HashMap::new();
    let mut bindings: Arena<OperatorId, Binding> = Arena::new();
    let mut operands: Vec<i32> = Vec::new();
    let awaiting = plan.segments.iter().flat_map(|segment| match segment {
        Segment::Persistent(segment) => prefetch::awaiting(segment, &plan.memory).values().copied().collect(),
        Segment::CudaGraph(graph) => vec![false; graph.operators.len()],
    });
    for ((id, operator), awaits) in plan.operators().iter().zip(awaiting) {
        let mut bind = |(kernel, own): (Kernel, Vec<i32>)| {
            let kernel = *known.entry(kernel).or_insert_with_key(|kernel| kernels.push(kernel.clone()));
            let first = operands.len() as u32;
            operands.extend(own);
            (kernel.index() as u32, first)
        };
        let early = if awaits { prefetch::planned_sides(operator, &plan.memory) } else { Vec::new() };
        let (kernel, first) = bind(lower_operator(id, operator, &plan.memory, &early)?);
        let keep = match operator.params.template {
            Template::Kept => Some(bind(lower_keep(id, operator, &plan.memory)?)),
            Template::Pointwise { .. }
            | Template::Row(_)
            | Template::Contraction(_)
            | Template::Staged
            | Template::Attention { .. }
            | Template::Opaque => None,
        };
        bindings.push(Binding { kernel, operands: first, keep });
    }
    let entry = match plan.backend() {
        PlanBackend::Persistent => Entry::Persistent(persistent::entry(&kernels)),
        PlanBackend::CudaGraph => Entry::Nodes(kernels.ids().map(nodes::entry).collect()),
        PlanBackend::Mixed => {
            let launched: Vec<KernelId> = tables::encode(plan, &bindings, Vec::new())
                .nodes()
                .map(|node| KernelId::from_index(node.kernel as usize))
                .collect();
            let nodes = launched.into_iter().map(|kernel| (kernel, nodes::entry(kernel))).collect();
            Entry::Mixed(MixedEntries { persistent: persistent::entry(&kernels), nodes })
        }
    };
    let program = Program { threads: BLOCK_THREADS as u32, kernels, entry };
    Ok(LoweredProgram { program, bindings, operands })
}

/// Why rOperators of a plan have no kernels: the first reason of each.
pub fn refused(plan: &ExecutionPlan) -> Vec<LowerError> {
    let operators = plan.operators();
    let lowered = operators.iter().map(|(id, operator)| lower_operator(id, operator, &plan.memory, &[]));
    lowered.filter_map(Result::err).collect()
}

/// The kernel that brings what one rOperator keeps on chip, and its operands.
fn lower_keep(id: OperatorId, operator: &ROperator, memory: &MemoryPlan) -> Result<(Kernel, Vec<i32>), LowerError> {
    let mut emitter = Emitter::new(id, operator, memory);
    if operator.tasks() > 0 {
        kept::emit_keep(&mut emitter)?;
    }
    let (kernel, operands) = emitter.finish();
    Ok((hoist::hoist_operands(kernel), operands))
}

/// The kernel of one rOperator, which fetches `early` before its waits and then does them itself, and its operands.
fn lower_operator(
    id: OperatorId,
    operator: &ROperator,
    memory: &MemoryPlan,
    early: &[AxisClass],
) -> Result<(Kernel, Vec<i32>), LowerError> {
    let padded = PaddedBody::of(&operator.body);
    let seen = ROperator { body: padded.body.clone().into_owned().into(), ..operator.clone() };
    let mut emitter = Emitter::new(id, &seen, memory);
    if operator.tasks() == 0 {
        return Ok(emitter.finish());
    }
    match operator.params.template {
        Template::Pointwise { per_thread } => pointwise::emit(&mut emitter, per_thread)?,
        Template::Row(threads) => row::emit(&mut emitter, threads)?,
        Template::Kept => kept::emit(&mut emitter)?,
        Template::Opaque => opaque::emit(&mut emitter)?,
        Template::Contraction(shape) => contraction::emit(&mut emitter, shape, early, (&operator.body, &padded))?,
        Template::Staged => staged::emit(&mut emitter, &operator.body, &padded)?,
        Template::Attention { .. } => staged::emit_attention(&mut emitter, &operator.body, &padded)?,
    }
    let (kernel, operands) = emitter.finish();
    Ok((hoist::hoist_operands(kernel), operands))
}
