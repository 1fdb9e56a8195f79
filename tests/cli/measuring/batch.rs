//! Which dimension of a model's inputs is the batch, by which items a second are counted.

use warpweave::runtime::json::Value;

use crate::support::model_builder::{F32, node, value, write};
use crate::support::tool::{Folder, model, succeed, tool};

fn bench(path: &str) -> Value {
    succeed(&["bench", path, "--warmup-ms", "1", "--duration-ms", "2"])
}

/// The items that are computed in a run, where a measurement tells them.
fn items(told: &Value) -> Option<f64> {
    Some((told["items_per_second"].as_f64()? / told["throughput"].as_f64()?).round())
}

#[test]
fn the_batch_of_recurrent_layers_lies_behind_the_time() {
    let folder = Folder::new();
    let path = |name: &str| folder.join(name).display().to_string();
    let (nodes, unrolled) = (path("nodes.onnx"), path("unrolled.onnx"));
    let export = ["models", "export", "lstm_tc", "--reduced", "--batch", "3"];
    succeed(&[&export[..], &["-o", &nodes]].concat());
    succeed(&[&export[..], &["--form", "unrolled", "-o", &unrolled]].concat());
    let bundle = path("nodes.weave");
    succeed(&["compile", &nodes, "--target", "host", "-o", &bundle]);
    for (path, batch) in [(&nodes, 3.0), (&unrolled, 3.0), (&bundle, 3.0), (&model("lstm", "dynamo.onnx"), 2.0)] {
        let told = bench(path);
        assert_eq!((told["model"]["batch"].as_f64(), items(&told)), (Some(batch), Some(batch)), "{path}");
    }
    let text = String::from_utf8_lossy(&tool(&["bench", &nodes, "--duration-ms", "2"]).stdout).into_owned();
    assert!(text.contains(", batch 3,") && text.contains("items a second"), "{text}");
}

#[test]
fn samples_of_a_recurrent_step_lie_behind_the_time() {
    let folder = Folder::new();
    let path = |name: &str| folder.join(name).display().to_string();
    let (onnx, step) = (path("nodes.onnx"), path("step.weave"));
    succeed(&["models", "export", "lstm_tc", "--reduced", "--batch", "3", "-o", &onnx]);
    let train = ["--train", "loss=mse:states", "--optimizer", "sgd"];
    succeed(&[&["compile", &onnx, "--target", "host", "-o", &step][..], &train].concat());
    let told = bench(&step);
    assert_eq!((told["model"]["batch"].as_f64(), items(&told)), (Some(3.0), Some(3.0)), "{told}");
}

#[test]
fn the_batch_of_other_models_comes_first() {
    let folder = Folder::new();
    for name in ["resnet50", "mobilenet_v2", "bert_base_128", "gpt2", "vit_b_16", "deepspeech2", "dlrm"] {
        let path = folder.join(&format!("{name}.onnx")).display().to_string();
        succeed(&["models", "export", name, "--reduced", "--batch", "2", "-o", &path]);
        let told = bench(&path);
        assert_eq!((told["model"]["batch"].as_f64(), items(&told)), (Some(2.0), Some(2.0)), "{name}");
    }
}

/// Where every output follows from all elements of an input there is no batch, and no word of items.
#[test]
fn no_items_are_told_where_there_is_no_batch() {
    let folder = Folder::new();
    let (square, transposed) = (value("x", F32, &["6", "5"]), value("y", F32, &["5", "5"]));
    let nodes = vec![node("Transpose", &["x"], "t"), node("MatMul", &["t", "x"], "y")];
    let mixed = write(&folder, "mixed.onnx", vec![square], nodes, vec![transposed]);
    let told = bench(&mixed);
    assert_eq!((&told["model"]["batch"], &told["items_per_second"]), (&Value::Null, &Value::Null));
    let text = String::from_utf8_lossy(&tool(&["bench", &mixed, "--duration-ms", "2"]).stdout).into_owned();
    assert!(!text.contains("batch") && !text.contains("items"), "{text}");
}
