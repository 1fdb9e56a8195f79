//! The benchmark models on the command line.

use std::fs;

use warpweave::runtime::json::{self, Value};

use crate::support::model_builder::{F32, F64, node, value, write};
use crate::support::models_by_hand::{doubles, open_batch};
use crate::support::tool::{Folder, fail, has_nvrtc, succeed, tool};

#[test]
fn bad_requests_leave_no_file() {
    let folder = Folder::new();
    let path = folder.join("x.onnx").display().to_string();
    let refused = |arguments: &[&str]| fail(2, "benchmark-model", &[arguments, &["-o", &path]].concat());
    let message = refused(&["models", "export", "resnet5"]);
    assert!(message.contains("`resnet5`") && message.contains("nearest names are resnet50"), "{message}");
    assert!(refused(&["models", "export", "dlrm", "--batch", "0"]).contains("batch of 0"));
    assert!(refused(&["models", "export", "dlrm", "--form", "unrolled"]).contains("no recurrent layers"));
    let nowhere = folder.join("absent/x.onnx").display().to_string();
    assert!(fail(2, "file", &["models", "export", "dlrm", "--reduced", "-o", &nowhere]).contains("absent"));
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn what_a_compilation_made_is_told() {
    let folder = Folder::new();
    let [model, bundle] = ["x.onnx", "x.weave"].map(|name| folder.join(name).display().to_string());
    let written = succeed(&["models", "export", "dlrm", "--reduced", "-o", &model]);
    assert_eq!(written["bytes"], fs::metadata(&model).expect("the model is there").len());
    let made = succeed(&["compile", &model, "-o", &bundle, "--target", "host"]);
    assert_eq!(made["schema"], "warpweave.compile/1");
    let target = &made["targets"][0];
    for name in ["groups", "tasks", "waits", "operations", "weights_bytes", "arena_bytes"] {
        assert!(target[name].as_u64() > Some(0), "{name}: {target}");
    }
    assert!(made["statements"].as_u64() >= target["groups"].as_u64(), "{made}");
    let seconds = |value: &Value| value.as_f64().expect("seconds");
    let parts = seconds(&made["import_seconds"]) + seconds(&target["plan_seconds"]);
    assert!(parts > 0.0 && parts <= seconds(&made["seconds"]), "{made}");
    assert!(target["code_seconds"].is_null(), "the host has no device code");
}

/// A model in halves tells what runs it, and what it tells is so.
#[test]
fn a_model_in_halves_runs_where_it_says() {
    let folder = Folder::new();
    let path = folder.join("half.onnx").display().to_string();
    let output = tool(&["models", "export", "dlrm", "--reduced", "--precision", "fp16", "-o", &path]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().nth(1).expect("a line about its precision");
    assert!(
        line.starts_with("fp16: all devices run it (reference, host, emulator, text, machine-code, cuda:N)"),
        "{text}"
    );
    for device in ["reference", "host", "emulator"] {
        succeed(&["run", &path, "--device", device]);
    }
    let (_, targets) = line.split_once("compiles for ").expect("targets are told");
    assert!(targets.split(", ").count() > 10, "{targets}");
    for target in targets.split(", ") {
        succeed(&["check", &path, "--target", target]);
    }
    let single = tool(&["models", "export", "dlrm", "--reduced", "-o", &path]);
    assert_eq!(String::from_utf8_lossy(&single.stdout).lines().count(), 1);
}

#[test]
fn a_model_for_the_host_alone_is_inspected() {
    let folder = Folder::new();
    let inspected = succeed(&["inspect", &doubles(&folder)]);
    assert_eq!((&inspected["target"], &inspected["groups"]), (&"host".into(), &1.into()), "{inspected}");
    let reason = inspected["reason"].as_str().expect("a reason");
    assert!(reason.contains("f64"), "{reason}");
}

#[test]
fn a_model_without_kernels_has_its_host_bundle_all_the_same() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let inputs = vec![value("x", F64, &["4"]), value("s", F32, &["4"])];
    let nodes = vec![node("Exp", &["x"], "y"), node("Relu", &["s"], "r"), node("Tanh", &["x"], "t")];
    let outputs = vec![value("y", F64, &["4"]), value("r", F32, &["4"]), value("t", F64, &["4"])];
    let model = write(&folder, "doubles.onnx", inputs, nodes, outputs);
    let bundle = folder.join("doubles.weave").display().to_string();
    let output = tool(&["compile", &model, "-o", &bundle, "--json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let named = ["warning: sm_90a", "Exp_y (Exp)", "Tanh_t (Tanh)", "f64"];
    assert!(named.iter().all(|name| errors.contains(name)) && !errors.contains("Relu"), "{errors}");
    let told: Value = json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(told["left_out"][0]["target"], "sm_90a");
    assert_eq!(told["left_out"][0]["error"]["culprits"][0]["name"], "Exp_y (Exp)");
    assert_eq!(told["targets"].as_array().map(Vec::len), Some(1));
    succeed(&["run", &bundle]);
    assert_eq!(succeed(&["check", &model])["target"], "host");
    let told = fail(3, "model-unsupported", &["compile", &model, "-o", &bundle, "--target", "sm_90a"]);
    assert!(told.contains("Exp_y (Exp)") && told.contains("Tanh_t (Tanh)") && told.contains("--target host"), "{told}");
    // What is known of a target is checked before the search for any.
    let stages = folder.join("stages").display().to_string();
    let both = ["--target", "host,sm_90a", "--emit", "graph,partition", "--emit-dir", &stages];
    let compile = ["compile", &model, "-o", &bundle];
    fail(3, "model-unsupported", &[&compile[..], &both].concat());
    let singles = open_batch(&folder);
    let compile = ["compile", &singles, "--batch", "2", "-o", &bundle];
    let told = fail(4, "device-compiler", &[&compile[..], &both, &["--compiler-memory", "1"]].concat());
    assert!(told.contains("--compiler-memory"), "{told}");
    let emitted: Vec<_> =
        fs::read_dir(&stages).expect("the folder is there").flatten().map(|file| file.file_name()).collect();
    assert_eq!(emitted, ["graph.txt"]);
    let told = fail(3, "model-unsupported", &["run", &model, "--device", "emulator"]);
    assert!(told.contains("Exp_y (Exp)"), "{told}");
}
