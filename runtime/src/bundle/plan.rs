//! A target's part of a bundle, and what must hold of it beside its plan.

use serde::{Deserialize, Serialize};
use warpweave_graph::arena::Arena;
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::backend::{Backend, BackendReason};
use warpweave_plan::plan::{BUFFER_ALIGNMENT, Buffer, BufferSpace, OperatorId};
use warpweave_plan::plan::{ExecutionPlan, MemoryPlan, Segment};
use warpweave_plan::streams::fold::{Merging, fold};
use warpweave_plan::tables;
use warpweave_plan::tables::{Binding, Relocation, Tables};
use warpweave_plan::verify::Verified;
use warpweave_plan::verify::verify;

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
    /// What is added to operands in every other launch, in which states and what they become lie in each other's places.
    pub relocations: Vec<Relocation>,
    /// Why the plan is for its back end.
    pub reason: BackendReason,
}

#[derive(Serialize)]
struct Stored<'a> {
    plan: &'a ExecutionPlan,
    bindings: &'a Arena<OperatorId, Binding>,
    operands: &'a [i32],
    relocations: &'a [Relocation],
}

#[derive(Deserialize)]
struct Loaded {
    plan: ExecutionPlan,
    bindings: Arena<OperatorId, Binding>,
    operands: Vec<i32>,
    relocations: Vec<Relocation>,
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
        let plan = fold(self.plan.plan(), units, Merging::Turns);
        Ok(Self { plan: verified(target, plan)?, ..self.clone() })
    }

    /// That of every other launch, in which states and what they become lie in each other's places; none where all launches are
    /// alike.
    pub fn exchanged(&self) -> Option<Self> {
        let plan = self.plan.exchanged()?;
        let mut other = Self { plan, ..self.clone() };
        for Relocation { operand, elements } in &mut other.relocations {
            other.operands[*operand as usize] += *elements;
            *elements = -*elements;
        }
        Some(other)
    }

    pub(super) fn encode(&self, target: BundleTarget) -> Result<Vec<u8>, BundleError> {
        let Self { plan, bindings, operands, relocations, .. } = self;
        let stored = Stored { plan: plan.plan(), bindings, operands, relocations };
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
        let plan = verified(target, loaded.plan)?;
        if !host_tensors_have_buffers(&plan.plan().memory) {
            return Err(unsound("a tensor that the host touches has no buffer"));
        }
        let operators = plan.plan().operators();
        let counted = (plan.plan().backend(), plan.plan().units() as u64, plan.plan().arrivals().len() as u64);
        let memory = (plan.plan().memory.arena_bytes, plan.plan().memory.weights_bytes);
        if counted != (record.backend, u64::from(record.units), u64::from(record.counters))
            || memory != (record.arena_bytes, record.weights_bytes)
            || segment_records(plan.plan()) != record.segments
        {
            return Err(unsound("the manifest says otherwise"));
        }
        let start_inside = |binding: &Binding| {
            let keep = binding.keep.map(|(_, operands)| operands);
            [Some(binding.operands), keep].into_iter().flatten().all(|first| first as usize <= loaded.operands.len())
        };
        let keeps = |(id, binding): (OperatorId, &Binding)| {
            binding.keep.is_some() == (operators[id].kernel.rules().holds_residents())
        };
        let bound = match target {
            BundleTarget::Host => 0,
            BundleTarget::Gpu(_) => operators.len(),
        };
        let backends = plan
            .plan()
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
        let Loaded { bindings, operands, relocations, .. } = loaded;
        if !are_sound(&relocations, &operands) {
            return Err(unsound("an operand is moved that is none"));
        }
        Ok(Self { plan, bindings, operands, relocations, reason: record.backend_reason.clone() })
    }
}

/// Whether every relocation is of an operand that has room for it, and none of the same as another.
fn are_sound(relocations: &[Relocation], operands: &[i32]) -> bool {
    let has_room = |relocation: &Relocation| {
        let own = operands.get(relocation.operand as usize);
        relocation.elements != i32::MIN && own.is_some_and(|own| own.checked_add(relocation.elements).is_some())
    };
    relocations.iter().all(has_room) && relocations.is_sorted_by(|one, next| one.operand < next.operand)
}

/// The plan in an entry, not verified.
#[cfg(test)]
pub(super) fn stored_plan(bytes: &[u8]) -> Result<ExecutionPlan, BundleError> {
    Ok(super::decode::decode::<Loaded>(EntryName::Plan(BundleTarget::Host), bytes)?.plan)
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

/// Whether every input and output has a buffer of its own in the arena, and every constant among the weights, which hold
/// nothing else: what the host copies whole.
fn host_tensors_have_buffers(memory: &MemoryPlan) -> bool {
    let lies_in = |tensor: &TensorId, space: BufferSpace, limit: u64| {
        let planned = &memory.tensors[*tensor];
        let fits = |buffer: Buffer| {
            let end = buffer.offset.checked_add(buffer.bytes);
            buffer.space == space && buffer.bytes == planned.ty.bytes() as u64 && end.is_some_and(|end| end <= limit)
        };
        planned.layout.is_own(*tensor, &planned.ty) && planned.buffer.is_some_and(fits)
    };
    let mut touched = memory.live_in().chain(memory.live_out());
    let weights = memory.constants.iter().map(|tensor| memory.tensors[*tensor].ty.bytes() as u64);
    let most = weights.fold(0u64, |all, bytes| all.saturating_add(bytes).saturating_add(BUFFER_ALIGNMENT));
    touched.all(|tensor| lies_in(&tensor, BufferSpace::Arena, memory.arena_bytes))
        && memory.constants.iter().all(|tensor| lies_in(tensor, BufferSpace::Weights, memory.weights_bytes))
        && memory.weights_bytes <= most
}
