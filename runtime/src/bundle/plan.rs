//! A target's part of a bundle, and what must hold of it before its plan is verified.

use serde::{Deserialize, Serialize};
use warpweave_fusion::partition::attention::AttentionKernel;
use warpweave_fusion::partition::boxed;
use warpweave_fusion::partition::kept::{kept_elements, kept_reads};
use warpweave_fusion::partition::staged::{self, STAGED_BYTES};
use warpweave_fusion::partition::{GroupBody, Stage, StageSource, Template};
use warpweave_fusion::schedule::plan::OperatorId;
use warpweave_fusion::schedule::tables::{self, Binding, Tables};
use warpweave_fusion::schedule::{
    Backend, BackendReason, ExecutionPlan, MemoryPlan, ROperator, Segment, Verified, verify,
};
use warpweave_graph::ElementType;
use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::expr::{AxisKind, Index};
use warpweave_graph::types::MAX_RANK;

use super::error::BundleError;
use super::manifest::{SegmentRecord, TargetRecord};
use super::name::{BundleTarget, EntryName};

/// A plan with what its launch needs: kernels by number and their operands.
#[derive(Clone, PartialEq, Debug)]
pub struct TargetPlan {
    /// The plan.
    pub plan: Verified,
    /// Per rOperator, numbered through the segments, its kernel and first operand; none for the host, which runs
    /// expressions.
    pub bindings: Arena<OperatorId, Binding>,
    /// The operands of all rOperators.
    pub operands: Vec<i32>,
    /// Why the plan is for its back end.
    pub reason: BackendReason,
}

#[derive(Serialize)]
struct Stored<'a> {
    plan: &'a ExecutionPlan,
    bindings: &'a Arena<OperatorId, Binding>,
    operands: &'a [i32],
}

#[derive(Deserialize)]
struct Loaded {
    plan: ExecutionPlan,
    bindings: Arena<OperatorId, Binding>,
    operands: Vec<i32>,
}

impl TargetPlan {
    /// The tables of a launch.
    pub fn tables(&self) -> Tables {
        tables::encode(self.plan.plan(), &self.bindings, self.operands.clone())
    }

    /// What runs the plan on a GPU and why, where predictions have chosen it.
    pub fn choice(&self) -> Option<String> {
        let advantage = self.reason.advantage();
        advantage.map(|_| format!("{}, {}", self.plan.plan().backend(), self.reason.brief()))
    }

    /// The plan on at most `units` units, verified again.
    pub fn folded(&self, target: BundleTarget, units: usize) -> Result<Self, BundleError> {
        let plan = warpweave_fusion::schedule::fold::fold(self.plan.plan(), units);
        Ok(Self { plan: verified(target, plan)?, ..self.clone() })
    }

    pub(super) fn encode(&self, target: BundleTarget) -> Result<Vec<u8>, BundleError> {
        let stored = Stored { plan: self.plan.plan(), bindings: &self.bindings, operands: &self.operands };
        super::decode::encode(EntryName::Plan(target), &stored)
    }

    /// Decodes, checks against the manifest, and verifies.
    pub(super) fn decode(target: BundleTarget, record: &TargetRecord, bytes: &[u8]) -> Result<Self, BundleError> {
        let loaded: Loaded = super::decode::decode(EntryName::Plan(target), bytes)?;
        let unsound = |reason: &str| BundleError::Plan { target, reason: reason.to_owned() };
        if loaded.plan.segments.is_empty() {
            return Err(unsound("it has no segment"));
        }
        if target == BundleTarget::Host && loaded.plan.only_persistent().is_none() {
            return Err(unsound("the host follows one persistent program"));
        }
        check_memory(&loaded.plan.memory).map_err(unsound)?;
        let operators = loaded.plan.operators();
        for operator in operators.values() {
            check_operator(operator, &loaded.plan.memory).map_err(unsound)?;
        }
        let counted = (loaded.plan.backend(), loaded.plan.units() as u64, loaded.plan.arrivals().len() as u64);
        let memory = (loaded.plan.memory.arena_bytes, loaded.plan.memory.weights_bytes);
        if counted != (record.backend, u64::from(record.units), u64::from(record.counters))
            || memory != (record.arena_bytes, record.weights_bytes)
            || segment_records(&loaded.plan) != record.segments
        {
            return Err(unsound("the manifest says otherwise"));
        }
        let start_inside = |binding: &Binding| {
            let keep = binding.keep.map(|(_, operands)| operands);
            [Some(binding.operands), keep].into_iter().flatten().all(|first| first as usize <= loaded.operands.len())
        };
        let keeps = |(id, binding): (OperatorId, &Binding)| {
            binding.keep.is_some() == (operators[id].params.template == Template::Kept)
        };
        let bound = match target {
            BundleTarget::Host => 0,
            BundleTarget::Gpu(_) => operators.len(),
        };
        let backends = loaded
            .plan
            .segments
            .iter()
            .flat_map(|segment| std::iter::repeat_n(segment.backend(), segment.operators().len()));
        let launchable = |(binding, backend): (&Binding, Backend)| match backend {
            Backend::Persistent => true,
            Backend::CudaGraph => (binding.kernel as usize) < record.node_shared_bytes.len(),
        };
        let bound = loaded.bindings.len() == bound && loaded.bindings.iter().all(keeps);
        let bound = bound && loaded.bindings.values().zip(backends).all(launchable);
        if !bound || !loaded.bindings.values().all(start_inside) {
            return Err(unsound("its operators have no kernels"));
        }
        drop(operators);
        let plan = verified(target, loaded.plan)?;
        Ok(Self { plan, bindings: loaded.bindings, operands: loaded.operands, reason: record.backend_reason.clone() })
    }
}

/// What a manifest says of the segments of a plan; nothing where there is only one.
pub(super) fn segment_records(plan: &ExecutionPlan) -> Vec<SegmentRecord> {
    match plan.segments.as_slice() {
        [_] => Vec::new(),
        segments => {
            let record =
                |segment: &Segment| SegmentRecord { backend: segment.backend(), units: segment.units() as u32 };
            segments.iter().map(record).collect()
        }
    }
}

fn verified(target: BundleTarget, plan: ExecutionPlan) -> Result<Verified, BundleError> {
    verify(plan).map_err(|violations| {
        let first = violations.first().map(ToString::to_string);
        BundleError::Plan { target, reason: first.unwrap_or_else(|| "it does not verify".to_owned()) }
    })
}

/// Elements that a tile can keep on chip: no device's block has more shared memory.
const MOST_KEPT: usize = 1 << 18;

type Check = Result<(), &'static str>;

/// Ids, shapes and strides of a memory plan: what the verifier takes for granted.
fn check_memory(memory: &MemoryPlan) -> Check {
    let named = [&memory.inputs, &memory.outputs, &memory.constants];
    require(named.into_iter().flatten().all(|tensor| memory.tensors.get(*tensor).is_some()), "it names no tensor")?;
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
    let held = |tensor| {
        let planned = &memory.tensors[tensor];
        planned.buffer.is_some_and(|buffer| buffer.bytes == memory.tensors[planned.layout.root].ty.bytes() as u64)
    };
    require(named.into_iter().flatten().all(|tensor| held(*tensor)), "a tensor that the host touches has no buffer")
}

/// Ids, ranks and expressions of an rOperator.
fn check_operator(operator: &ROperator, memory: &MemoryPlan) -> Check {
    let body = &operator.body;
    require(!body.stages.is_empty(), "an operator computes nothing")?;
    let mut tensors = body.operands.iter().chain(&body.outputs);
    require(tensors.all(|tensor| memory.tensors.get(*tensor).is_some()), "an operator names no tensor")?;
    for (position, stage) in body.staged.iter().enumerate() {
        stage.expr.check()?;
        require(stage.output.is_none() && stage.expr.element == ElementType::F32, "a staged value leaves its group")?;
        require(stage.expr.axes.values().all(|axis| axis.extent > 0), "a staged value is empty")?;
        check_sources(body, stage, Earlier { stages: 0, staged: position }, memory)?;
    }
    for (position, stage) in body.stages.iter().enumerate() {
        stage.expr.check()?;
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
    let tile = operator.params.tile.as_slice();
    require(tile.len() == body.tile_rank && tile.iter().all(|extent| *extent > 0), "an operator's tile is impossible")?;
    let tiles = operator.params.grid(body).into_iter().try_fold(1usize, usize::checked_mul);
    require(tiles.is_some_and(|tiles| tiles <= 1 << 24), "an operator has too many tiles")?;
    let stages = match operator.params.template {
        Template::Staged | Template::Attention { .. } | Template::Contraction(_) => true,
        Template::Pointwise { .. } | Template::Row(_) | Template::Kept => false,
    };
    require(body.staged.is_empty() || stages, "a template stages nothing")?;
    match operator.params.template {
        Template::Pointwise { per_thread } => require((1..=64).contains(&per_thread), "a template is impossible"),
        Template::Row(_) => Ok(()),
        Template::Kept => {
            let narrow = kept_elements(body, &operator.params) <= MOST_KEPT;
            require(narrow && !kept_reads(body).is_empty(), "a template is impossible")
        }
        Template::Contraction(shape) => {
            require(shape.is_possible(), "a template is impossible")?;
            let fits = || boxed::boxes(body, &operator.params).is_some();
            require(body.staged.is_empty() || fits(), "a factor has no box in shared memory")
        }
        Template::Attention { .. } => {
            require(AttentionKernel::of(body, &operator.params).is_some(), "a template is impossible")
        }
        Template::Staged => {
            let boxes = staged::boxes(body, &operator.params).ok_or("a staged value has no box")?;
            require(staged::bytes(&boxes) <= STAGED_BYTES, "staged values do not fit shared memory")?;
            let narrow = (0..body.stages.len()).all(|stage| body.extra_axes(stage).is_empty());
            require(narrow && body.reductions().count() <= 1, "a template is impossible")
        }
    }
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
            StageSource::Stage(position) => require(*position < earlier.stages, "a stage reads a later one")?,
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
