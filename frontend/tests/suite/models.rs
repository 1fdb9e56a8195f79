//! Every exported model, evaluated by the reference before and after the passes, gives the exporter's outputs, and survives
//! printing and parsing.

use crate::npz::{models, read_npz};
use warpweave_frontend::{ImportOptions, import, import_bytes};
use warpweave_graph::reference::evaluate;
use warpweave_graph::verify::verify;
use warpweave_graph::{Tensor, lower, passes, text};

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
    let graph = import(&folder.join(format!("{exporter}.onnx")), &ImportOptions::default())
        .unwrap_or_else(|error| panic!("{model}/{exporter}: {error}"));
    let arrays = read_npz(&folder.join("io.npz"));
    let inputs: Vec<Tensor> =
        graph.inputs.iter().map(|&input| arrays[&format!("in_{}", graph.values[input].name)].clone()).collect();
    assert_eq!(verify(&graph), []);
    assert_eq!(text::parse(&text::print(&graph), &text::tensors(&graph)), Ok(graph.clone()));
    let simplified = passes::run(&graph).expect("the passes keep the graph valid");
    assert!(simplified.nodes.len() <= graph.nodes.len());
    for graph in [&graph, &simplified] {
        let outputs = evaluate(&lower(graph), &inputs).expect("the reference evaluates the model");
        assert!(!outputs.is_empty());
        let worst = outputs.iter().enumerate().map(|(at, output)| error(output, &arrays[&format!("out_{at}")]));
        let worst = worst.fold(0.0, f64::max);
        assert!(worst <= 1.0, "{model}/{exporter}: the error is {worst} times the tolerance");
    }
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

#[test]
fn damaged_exports_are_errors_or_valid() {
    let mut state = 11u32;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % bound
    };
    for model in ["dlrm", "unet", "lstm"] {
        let good = std::fs::read(models().join(model).join("torchscript.onnx")).expect("the model is there");
        let mut imported = 0;
        for _ in 0..2000 {
            let mut bad = good.clone();
            for _ in 0..next(3) + 1 {
                // The nodes stand at the front.
                let at = next(bad.len().min(6000));
                bad[at] = next(256) as u8;
            }
            if let Ok(graph) = import_bytes(bad.into(), None, &ImportOptions::default()) {
                assert_eq!(verify(&graph), []);
                imported += 1;
            }
        }
        assert!(imported > 0, "some damage to {model} does not matter");
    }
}
