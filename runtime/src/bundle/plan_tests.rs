//! Damaged and hostile plans whose hashes are right: refused or sound, never a panic.

use warpweave_fusion::partition::cost::EstimatedCost;
use warpweave_fusion::partition::{FusionLevel, arch::GpuArch, partition};
use warpweave_fusion::schedule::{self, BackendReason, PlanBackend};
use warpweave_graph::arena::Arena;
use warpweave_graph::ops::matmul::MatMul;
use warpweave_graph::ops::relu::Relu;
use warpweave_graph::program::ProgramBuilder;
use warpweave_graph::views::{inline_views, place_joins};
use warpweave_graph::{ElementType, Tensor, TensorProgram, TensorType};

use super::manifest::TargetRecord;
use super::name::BundleTarget;
use super::plan::TargetPlan;

const UNITS: usize = 3;

fn program() -> TensorProgram {
    let mut builder = ProgramBuilder::new();
    let x = builder.input(TensorType::new(ElementType::F32, [40usize, 24]));
    let w = builder.constant(Tensor::new([24usize, 70], &[0.5f32; 24 * 70]));
    let y = builder.apply(&MatMul, &[Some(x), Some(w)], 1)[0];
    let z = builder.apply(&Relu, &[Some(y)], 1)[0];
    let joined = builder.join(1, &[z, y]);
    builder.finish(vec![joined])
}

fn plan() -> (TargetPlan, TargetRecord) {
    let (program, layouts) = place_joins(&inline_views(&program()));
    let cost = EstimatedCost { arch: GpuArch::h200() };
    let partition = partition(&program, &layouts, &cost, FusionLevel::Register);
    let plan = schedule::plan(&program, &layouts, &partition, &cost, UNITS);
    let plan = schedule::verify(plan).expect("the schedule is sound");
    let record = TargetRecord {
        backend: PlanBackend::Persistent,
        backend_reason: BackendReason::Asked,
        units: UNITS as u32,
        segments: Vec::new(),
        threads: 1,
        shared_bytes: 0,
        arena_bytes: plan.plan().memory.arena_bytes,
        weights_bytes: plan.plan().memory.weights_bytes,
        node_shared_bytes: Vec::new(),
        counters: plan.plan().persistent().counters.len() as u32,
        minimum_driver: None,
    };
    (TargetPlan { plan, bindings: Arena::new(), operands: Vec::new(), reason: BackendReason::Asked }, record)
}

#[test]
fn plans_are_read_back() {
    let (plan, record) = plan();
    let bytes = plan.encode(BundleTarget::Host).expect("a plan can be encoded");
    assert_eq!(TargetPlan::decode(BundleTarget::Host, &record, &bytes).expect("the plan is sound"), plan);
}

#[test]
fn no_changed_byte_makes_it_panic() {
    let (plan, record) = plan();
    let bytes = plan.encode(BundleTarget::Host).expect("a plan can be encoded");
    for at in 0..bytes.len() {
        for change in [1, 2, 0x7f, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            let _ = TargetPlan::decode(BundleTarget::Host, &record, &damaged);
        }
    }
}

#[test]
fn cut_plans_are_refused() {
    let (plan, record) = plan();
    let bytes = plan.encode(BundleTarget::Host).expect("a plan can be encoded");
    for length in 0..bytes.len() {
        assert!(TargetPlan::decode(BundleTarget::Host, &record, &bytes[..length]).is_err(), "{length}");
    }
}
