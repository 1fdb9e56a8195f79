//! A bundle written, opened and run by the runtime alone, without a compiler.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::pipeline::PreparedProgram;

use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::partition::search::{FusionLevel, partition};
use warpweave_graph::arena::Arena;
use warpweave_graph::ops::activations::relu::Relu;
use warpweave_graph::ops::products::matmul::MatMul;
use warpweave_graph::program::{ProgramBuilder, TensorId};
use warpweave_graph::views::{inline_views, place_concats};
use warpweave_graph::{ElementType, Tensor, TensorProgram, TensorType};
use warpweave_plan::plan::backend::BackendReason;
use warpweave_runtime::bundle::{
    Bundle, BundleContents, BundleTarget, ModelRecord, Port, Signature, TargetContents, TargetPlan, write,
};
use warpweave_runtime::session::{Device, FailureKind, OpenOptions, TensorNames, open_bundle};

fn contents() -> BundleContents {
    let mut builder = ProgramBuilder::new();
    let x = builder.input(TensorType::new(ElementType::F32, [5usize, 12]));
    let weights: Vec<f32> = (0..12 * 9).map(|at| (at as f32 * 0.37).sin()).collect();
    let w = builder.constant(Tensor::new([12usize, 9], &weights));
    let bytes = builder.constant(Tensor::new([3usize], &[1u8, 2, 3]));
    let y = builder.apply(&MatMul, &[Some(x), Some(w)], 1)[0];
    let z = builder.apply(&Relu, &[Some(y)], 1)[0];
    let (program, layouts) = place_concats(&inline_views(&builder.finish(vec![z, bytes])));
    let prepared = PreparedProgram { program, layouts };
    let options = PlanOptions::new(4, Arc::new(EstimatedCost { arch: GpuArch::h200() }), SyncCosts::h200());
    let partition = partition(&prepared, &*options.cost, FusionLevel::Register);
    let plan = warpweave_fusion::schedule::choice::plan(&prepared, &partition, &options).plan;
    let program = prepared.program;
    let plan = warpweave_plan::verify::verify(plan).expect("the schedule is sound");
    let plan = TargetPlan {
        plan,
        bindings: Arena::new(),
        operands: Vec::new(),
        relocations: Vec::new(),
        reason: BackendReason::Asked,
    };
    BundleContents {
        storage: None,
        training: None,
        index_tensors: TensorNames::new(),
        of_host: None,
        model: ModelRecord { name: "small \"model\"\n".to_owned(), ..ModelRecord::default() },
        signature: Signature {
            inputs: ports(&program, &program.inputs),
            outputs: ports(&program, &program.outputs),
            counted: Vec::new(),
        },
        program,
        targets: BTreeMap::from([(BundleTarget::Host, TargetContents { plan, code: None })]),
    }
}

fn ports(program: &TensorProgram, tensors: &[TensorId]) -> Vec<Port> {
    let port = |tensor: &TensorId| Port {
        name: tensor.to_string(),
        ty: program.tensors[*tensor].ty.clone(),
        index_limit: None,
        default: None,
    };
    tensors.iter().map(port).collect()
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("warpweave-{name}-{}.weave", std::process::id()))
}

#[test]
fn a_bundle_holds_the_program_and_runs() {
    let (contents, path) = (contents(), path("runs"));
    write(&contents, &path).expect("the bundle can be written");
    let bundle = Bundle::open(&path).expect("the bundle opens");
    assert_eq!(bundle.manifest().model, contents.model);
    assert_eq!(bundle.manifest().signature, contents.signature);
    assert_eq!(bundle.program().expect("the program is there"), contents.program);
    assert_eq!(bundle.target(BundleTarget::Host).expect("the plan is sound"), contents.targets[&BundleTarget::Host]);
    let x: Vec<f32> = (0..60).map(|at| (at as f32 * 0.21).cos()).collect();
    let inputs = [Tensor::new([5usize, 12], &x)];
    let mut outputs = [Device::Host, Device::Reference].map(|device| {
        let session = open_bundle(&bundle, device, &OpenOptions::default());
        session.and_then(|mut session| session.run(&inputs)).unwrap_or_else(|error| panic!("{device}: {error}"))
    });
    for output in &mut outputs {
        assert_eq!(output.pop().as_ref().map(Tensor::to_i64), Some(vec![1, 2, 3]));
    }
    let [host, reference] = outputs.map(|outputs| outputs[0].to_f64());
    assert!(host.iter().zip(&reference).all(|(host, reference)| (host - reference).abs() < 1e-5));
    std::fs::remove_file(path).expect("the bundle can be removed");
}

#[test]
fn wrong_inputs_and_absent_devices_are_errors() {
    let path = path("errors");
    write(&contents(), &path).expect("the bundle can be written");
    let bundle = Bundle::open(&path).expect("the bundle opens");
    let mut session = open_bundle(&bundle, Device::Host, &OpenOptions::default()).expect("the session opens");
    assert_eq!(session.run(&[]).map_err(|error| error.kind()), Err(FailureKind::Usage));
    let wrong = Tensor::new([5usize, 12], &[0i32; 60]);
    assert_eq!(session.run(&[wrong]).map_err(|error| error.kind()), Err(FailureKind::Usage));
    let absent = open_bundle(&bundle, Device::Cuda(4096), &OpenOptions::default()).map(drop);
    assert_eq!(absent.map_err(|error| error.kind()), Err(FailureKind::Environment));
    let emulated = open_bundle(&bundle, Device::Emulator, &OpenOptions::default()).map(drop);
    assert_eq!(emulated.map_err(|error| error.kind()), Err(FailureKind::Environment));
    std::fs::remove_file(path).expect("the bundle can be removed");
}
