//! Every exported model, evaluated by the reference, gives the exporter's outputs.

mod common;

use common::{models, read_npz};
use warpweave_frontend::{ImportOptions, import};
use warpweave_graph::reference::evaluate;
use warpweave_graph::{Tensor, ir::Origin, lower};

const RELATIVE: f64 = 1e-3;
const ABSOLUTE: f64 = 1e-5;

/// Largest excess over the tolerance, in multiples of it.
fn error(found: &Tensor, expected: &Tensor) -> f64 {
    assert_eq!(found.ty(), expected.ty());
    let pairs = found.to_f64().into_iter().zip(expected.to_f64());
    pairs.map(|(found, expected)| (found - expected).abs() / (ABSOLUTE + RELATIVE * expected.abs())).fold(0.0, f64::max)
}

fn check(model: &str, exporter: &str) {
    let folder = models().join(model);
    let started = std::time::Instant::now();
    let graph = import(&folder.join(format!("{exporter}.onnx")), &ImportOptions::default())
        .unwrap_or_else(|error| panic!("{model}/{exporter}: {error}"));
    let arrays = read_npz(&folder.join("io.npz"));
    let inputs: Vec<Tensor> =
        graph.inputs.iter().map(|&input| arrays[&format!("in_{}", graph.values[input].name)].clone()).collect();
    let program = lower(&graph);
    let imported = started.elapsed();
    let outputs = evaluate(&program, &inputs).expect("the reference evaluates the model");
    assert!(!outputs.is_empty());
    let worst = outputs.iter().enumerate().map(|(at, output)| error(output, &arrays[&format!("out_{at}")]));
    let worst = worst.fold(0.0, f64::max);
    let statements = program.statements.len();
    eprintln!(
        "{model}/{exporter}: {worst:.2e} of the tolerance, {} nodes, {statements} statements, import {imported:?}, all {:?}",
        graph.nodes.len(),
        started.elapsed()
    );
    assert!(worst <= 1.0, "{model}/{exporter}: error is {worst} of the tolerance");
    let constants = graph.values.values().filter(|value| matches!(value.origin, Origin::Constant(_)));
    assert!(constants.count() > 0);
}

macro_rules! models {
    ($($test:ident: $($exporter:literal),+;)*) => {
        $(#[test]
        fn $test() {
            $(check(stringify!($test), $exporter);)+
        })*
    };
}

models! {
    bert: "torchscript", "dynamo";
    deepspeech2: "torchscript", "dynamo";
    densenet: "torchscript", "dynamo";
    dlrm: "torchscript", "dynamo";
    gpt2: "dynamo";
    inception: "torchscript", "dynamo";
    lstm: "torchscript", "dynamo";
    mobilenet_v2: "torchscript", "dynamo";
    resnet_bottleneck: "torchscript";
    squeezenet: "torchscript", "dynamo";
    unet: "torchscript", "dynamo";
    vit: "torchscript", "dynamo";
}
