//! Damaged and hostile plans whose hashes are right: refused or sound, never a panic.

use std::sync::Arc;
use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_fusion::partition::search::{FusionLevel, partition};
use warpweave_fusion::schedule::choice::parts::SegmentGroups;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::arena::Arena;
use warpweave_graph::ops::activations::relu::Relu;
use warpweave_graph::ops::products::matmul::MatMul;
use warpweave_graph::pipeline::PreparedProgram;
use warpweave_graph::program::ProgramBuilder;
use warpweave_graph::views::{inline_views, place_concats};
use warpweave_graph::{ElementType, Tensor, TensorProgram, TensorType};
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::plan::OperatorId;
use warpweave_plan::plan::backend::{Backend, BackendReason};
use warpweave_plan::tables::Binding;

use super::manifest::TargetRecord;
use super::name::BundleTarget;
use super::plan::{TargetPlan, segment_records, stored_plan};
use crate::host::{HostError, HostSession};
use crate::session::pack_weights;
use crate::target::Target;

const UNITS: usize = 3;

fn program() -> TensorProgram {
    let mut builder = ProgramBuilder::new();
    let x = builder.input(TensorType::new(ElementType::F32, [40usize, 24]));
    let w = builder.constant(Tensor::new([24usize, 70], &[0.5f32; 24 * 70]));
    let y = builder.apply(&MatMul, &[Some(x), Some(w)], 1)[0];
    let z = builder.apply(&Relu, &[Some(y)], 1)[0];
    let joined = builder.concat(1, &[z, y]);
    builder.finish(vec![joined])
}

/// A plan with what its manifest says.
struct Case {
    target: BundleTarget,
    plan: TargetPlan,
    record: TargetRecord,
}

/// One persistent program for the host, and segments of both kinds for a GPU.
fn cases() -> [Case; 2] {
    let (program, layouts) = place_concats(&inline_views(&program()));
    let prepared = PreparedProgram { program, layouts };
    let options = PlanOptions::new(UNITS, Arc::new(EstimatedCost { arch: GpuArch::h200() }), SyncCosts::h200());
    let partition = partition(&prepared, &*options.cost, FusionLevel::None);
    let one = warpweave_fusion::schedule::choice::plan(&prepared, &partition, &options).plan;
    let groups = partition.groups.len();
    let parts = [
        SegmentGroups { groups: 0..groups / 2, backend: Backend::CudaGraph },
        SegmentGroups { groups: groups / 2..groups, backend: Backend::Persistent },
    ];
    let mixed = warpweave_fusion::schedule::choice::parts::plan_parts(&prepared, &partition, &options, &parts).plan;
    let kernel = Binding { kernel: 0, operands: 0, keep: None, shared_operands: None };
    let bindings = mixed.operators().values().map(|_| kernel).collect();
    [case(BundleTarget::Host, one, Arena::new()), case(BundleTarget::Gpu(Target::Sm90a), mixed, bindings)]
}

fn case(target: BundleTarget, plan: ExecutionPlan, bindings: Arena<OperatorId, Binding>) -> Case {
    let plan = warpweave_plan::verify::verify(plan).expect("the schedule is sound");
    let record = TargetRecord {
        backend: plan.plan().backend(),
        backend_reason: BackendReason::Asked,
        units: UNITS as u32,
        segments: segment_records(plan.plan()),
        threads: 1,
        shared_bytes: 0,
        arena_bytes: plan.plan().memory.arena_bytes,
        weights_bytes: plan.plan().memory.weights_bytes,
        node_shared_bytes: vec![0; usize::from(target != BundleTarget::Host)],
        counters: plan.plan().arrivals().len() as u32,
        minimum_driver: None,
    };
    Case {
        target,
        plan: TargetPlan {
            plan,
            bindings,
            operands: Vec::new(),
            relocations: Vec::new(),
            reason: BackendReason::Asked,
        },
        record,
    }
}

#[test]
fn plans_are_read_back() {
    for Case { target, plan, record } in cases() {
        let bytes = plan.encode(target).expect("a plan can be encoded");
        assert_eq!(TargetPlan::decode(target, &record, &bytes).expect("the plan is sound"), plan);
    }
}

#[test]
fn the_host_follows_no_segments_of_both_kinds() {
    let [_, Case { mut plan, record, .. }] = cases();
    plan.bindings = Arena::new();
    let bytes = plan.encode(BundleTarget::Host).expect("a plan can be encoded");
    let refused = TargetPlan::decode(BundleTarget::Host, &record, &bytes).expect_err("a host has no kernels");
    assert!(refused.to_string().contains("one persistent program"), "{refused}");
}

#[test]
fn no_changed_byte_makes_it_panic() {
    for Case { target, plan, record } in cases() {
        let bytes = plan.encode(target).expect("a plan can be encoded");
        for at in 0..bytes.len() {
            for change in [1, 2, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                let _ = TargetPlan::decode(target, &record, &damaged);
            }
        }
    }
}

/// Decoded with a manifest that says what the plan says, as in a bundle in which both are forged.
fn forged(target: BundleTarget, record: &TargetRecord, bytes: &[u8]) -> Option<TargetPlan> {
    let mut record = record.clone();
    if let Ok(plan) = stored_plan(bytes) {
        (record.arena_bytes, record.weights_bytes) = (plan.memory.arena_bytes, plan.memory.weights_bytes);
        (record.units, record.counters) = (plan.units() as u32, plan.arrivals().len() as u32);
        (record.backend, record.segments) = (plan.backend(), segment_records(&plan));
    }
    TargetPlan::decode(target, &record, bytes).ok()
}

#[test]
fn whatever_is_accepted_runs() {
    let [Case { target, plan, record }, _] = cases();
    let bytes = plan.encode(target).expect("a plan can be encoded");
    let mut accepted = 0;
    for at in 0..bytes.len() {
        for change in [1, 2, 4, 8, 0x10, 0x40, 0x7f, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            let Some(plan) = forged(target, &record, &damaged) else { continue };
            let memory = &plan.plan.plan().memory;
            let inputs: Vec<Tensor> = memory.inputs.iter().map(|&input| zeros(&memory.tensors[input].ty)).collect();
            let weights = pack_weights(memory, |_, _, _| Ok::<_, ()>(())).expect("nothing is read");
            let ran = HostSession::new(&plan.plan, weights, 2).map(|mut session| session.run(&inputs));
            accepted += usize::from(matches!(ran, Ok(Ok(_))));
            assert!(!matches!(ran, Ok(Err(HostError::Thread))), "byte {at} changed by {change}");
        }
    }
    assert!(accepted > 100, "only {accepted} changed plans were run");
}

fn zeros(ty: &TensorType) -> Tensor {
    Tensor::from_bytes(ty.clone(), vec![0; ty.bytes()].into()).expect("as many bytes as the type has")
}

#[test]
fn cut_plans_are_refused() {
    for Case { target, plan, record } in cases() {
        let bytes = plan.encode(target).expect("a plan can be encoded");
        for length in 0..bytes.len() {
            assert!(TargetPlan::decode(target, &record, &bytes[..length]).is_err(), "{length}");
        }
    }
}
