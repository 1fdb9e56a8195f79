//! Inputs that are fixed at compile time.

use std::fs;

use warpweave::graph::{Tensor, npy};
use warpweave::runtime::npz;

use crate::support::model_builder::{BOOL, F32, I64, node, value, write};
use crate::support::tool::{Folder, fail, has_nvrtc, succeed, tool};

/// A model that adds along the axes that an input names, of a shape that another input names.
fn sums(folder: &Folder) -> String {
    let inputs = vec![value("x", F32, &["2", "6"]), value("shape", I64, &["3"]), value("axes", I64, &["1"])];
    let nodes = vec![node("Reshape", &["x", "shape"], "cube"), node("ReduceSum", &["cube", "axes"], "y")];
    write(folder, "sums.onnx", inputs, nodes, vec![value("y", F32, &["?", "?", "?"])])
}

const FIXED: [&str; 4] = ["--constant", "shape=3,2,2", "--constant", "axes=-1"];

#[test]
fn every_command_fixes_inputs() {
    let folder = Folder::new();
    let model = sums(&folder);
    let told = fail(3, "model-unsupported", &["run", &model]);
    assert!(told.contains("it is `shape`") && told.contains("--constant"), "{told}");
    let (bundle, times) = (folder.join("sums.weave").display().to_string(), ["--duration-ms", "1", "--warmup-ms", "1"]);
    let compile = ["-o", &bundle, "--target", "host"];
    for (command, more) in [
        ("run", &[][..]),
        ("bench", &times),
        ("compile", &compile),
        ("inspect", &[]),
        ("check", &[]),
        ("explain", &[]),
        ("profile", &[]),
    ] {
        succeed(&[&[command, &model][..], more, &FIXED].concat());
    }
    let run = succeed(&[&["run", &model][..], &FIXED].concat());
    assert_eq!(run["outputs"][0]["type"], "f32[3x2x1]");
    for path in [&model, &bundle] {
        let fixed = if path == &model { &FIXED[..] } else { &[] };
        let told = succeed(&[&["inspect", path][..], fixed].concat());
        let record = if path == &model { &told } else { &told["model"] };
        assert_eq!(record["constants"]["shape"], "[3, 2, 2]");
        assert_eq!(record["constants"]["axes"], "-1");
        assert_eq!(told["signature"]["inputs"].as_array().map(Vec::len), Some(1));
    }
    let told = fail(2, "usage", &["run", &bundle, "--constant", "axes=1"]);
    assert!(told.contains("--constant"), "{told}");
}

#[test]
fn an_array_for_a_fixed_input_is_said_to_be_unused() {
    let folder = Folder::new();
    let model = sums(&folder);
    let io = folder.join("io.npz").display().to_string();
    succeed(&[&["run", &model, "--output", &io][..], &FIXED].concat());
    let mut arrays = npz::read(io.as_ref()).expect("an archive");
    arrays.insert("axes".to_owned(), Tensor::vector_i64(&[0]));
    let bytes = npz::print(arrays.iter().map(|(name, array)| (name.as_str(), array))).expect("an archive");
    fs::write(&io, bytes).expect("it can be written");
    let output = tool(&[&["compare", &model, "--io", &io][..], &FIXED].concat());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("`axes` is fixed to -1"), "{told}");
}

#[test]
fn a_constant_may_be_an_array_of_another_integer_type() {
    let folder = Folder::new();
    let model = sums(&folder);
    let array = folder.join("shape.npy");
    fs::write(&array, npy::print(&Tensor::new([3], &[1i32, 4, 3])).expect("an array")).expect("it can be written");
    let shape = format!("shape=@{}", array.display());
    let run = succeed(&["run", &model, "--constant", &shape, "--constant", "axes=[1]"]);
    assert_eq!(run["outputs"][0]["type"], "f32[1x1x3]");
    let told = fail(2, "file", &["run", &model, "--constant", "shape=@absent.npy"]);
    assert!(told.contains("absent.npy"), "{told}");
}

#[test]
fn what_cannot_be_fixed_is_refused() {
    let folder = Folder::new();
    let inputs =
        vec![value("x", F32, &["N"]), value("k", I64, &[]), value("small", 3, &["2"]), value("keep", BOOL, &[])];
    let nodes = vec![node("Relu", &["x"], "y"), node("Not", &["keep"], "z")];
    let model = write(&folder, "plain.onnx", inputs, nodes, vec![value("y", F32, &["N"]), value("z", BOOL, &[])]);
    for (code, given, parts) in [
        ("model-name", "K=3", &["`K`", "x, k, small, keep"][..]),
        ("model-constant", "k=1.5", &["k i64[]", "`1.5` is no integer"]),
        ("model-constant", "k=true", &["k i64[]", "truth value"]),
        ("model-constant", "k=9223372036854775808", &["k i64[]", "out of the range"]),
        ("model-constant", "k=1,2", &["k i64[]", "a list of 2"]),
        ("model-constant", "small=1,300", &["small i8[2]", "300 is out of the range of i8, -128 to 127"]),
        ("model-constant", "small=1,2,3", &["small i8[2]", "a list of 3"]),
        ("model-constant", "small=1", &["small i8[2]", "one number"]),
        ("model-constant", "keep=2", &["keep bool[]", "true or false"]),
        ("model-constant", "x=1e39", &["x f32[N]", "out of the range of f32"]),
    ] {
        let told = fail(2, code, &["inspect", &model, "--constant", given]);
        assert!(parts.iter().all(|part| told.contains(part)), "{given}: {told}");
    }
    let told = fail(2, "usage", &["inspect", &model, "--constant", "k=1", "--constant", "k=2"]);
    assert!(told.contains("`k` twice"), "{told}");
    succeed(&["inspect", &model, "--constant", "x=4", "--constant", "keep=true", "--constant", "k=0"]);
}

#[test]
fn a_bundle_of_a_fixed_model_runs_as_the_model_does() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let (model, bundle) = (sums(&folder), folder.join("sums.weave").display().to_string());
    succeed(&[&["compile", &model, "-o", &bundle, "--target", "host,sm_90a"][..], &FIXED].concat());
    let of_model = succeed(&[&["run", &model][..], &FIXED].concat());
    let of_bundle = succeed(&["run", &bundle, "--device", "emulator"]);
    assert_eq!(of_model["outputs"], of_bundle["outputs"]);
}
