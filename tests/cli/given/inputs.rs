//! Wrong inputs and wrong usage: each is named, with what to do.

use std::fs;

use warpweave::graph::{Tensor, npy};

use crate::support::models_by_hand::open_batch;
use crate::support::tool::{Folder, fail, model, succeed, tool};

fn array(folder: &Folder, name: &str, tensor: &Tensor) -> String {
    let path = folder.join(name).display().to_string();
    fs::write(&path, npy::print(tensor).expect("the type has an array")).expect("the file can be written");
    path
}

#[test]
fn inputs_are_checked_by_name_and_type() {
    let folder = Folder::new();
    let path = model("inception", "torchscript.onnx");
    let shape = [1usize, 3, 64, 64];
    let right = succeed(&["inspect", &path])["signature"]["inputs"][0]["type"].as_str().map(str::to_owned);
    let right = right.expect("the model has an input");
    let wrong = array(&folder, "wrong.npy", &Tensor::new([2usize, 3], &[0.0f32; 6]));
    let message = fail(2, "input", &["run", &path, "--input", &format!("x={wrong}")]);
    assert!(message.contains("`x`") && message.contains("f32[2x3]") && message.contains(&right), "{message}");
    let integers = array(&folder, "integers.npy", &Tensor::new(shape, &vec![0i32; shape.iter().product()]));
    let message = fail(2, "input", &["run", &path, "--input", &format!("x={integers}")]);
    assert!(message.contains("i32[1x3x64x64]"), "{message}");
    let message = fail(2, "input", &["run", &path, "--input", &format!("y={wrong}")]);
    assert!(message.contains("no input `y`") && message.contains("its inputs are x"), "{message}");
    let message = fail(2, "file", &["run", &path, "--input", "x=absent.npy"]);
    assert!(message.contains("absent.npy"), "{message}");
    fs::write(folder.join("text.npy"), "no array").expect("the file can be written");
    let text = format!("x={}", folder.join("text.npy").display());
    fail(2, "array", &["run", &path, "--input", &text]);
}

#[test]
fn a_missing_input_is_named() {
    let folder = Folder::new();
    let path = model("dlrm", "torchscript.onnx");
    let inputs = succeed(&["inspect", &path])["signature"]["inputs"].clone();
    let names: Vec<&str> =
        inputs.as_array().expect("inputs").iter().filter_map(|input| input["name"].as_str()).collect();
    assert!(names.len() > 1);
    let io = warpweave::runtime::npz::read(model("dlrm", "io.npz").as_ref()).expect("the arrays are readable");
    let first = array(&folder, "first.npy", &io[&format!("in_{}", names[0])]);
    let message = fail(2, "input", &["run", &path, "--input", &format!("{}={first}", names[0])]);
    assert!(message.contains(&format!("`{}`", names[1])) && message.contains("--input"), "{message}");
}

#[test]
fn wrong_usage_ends_with_two() {
    for arguments in [
        &["run"][..],
        &["run", "x", "--device", "gpu"],
        &["compile", "x", "-o", "y", "--target", "sm_91"],
        &["compile", "x", "-o", "y", "--shape", "x"],
        &["compare", "x"],
        &["weave"],
        &["run", "x", "--input", "x="],
        &["run", "x", "--input", "=x.npy"],
        &["profile", "x", "--veus", "0"],
        &["reduce", "x", "-o", "y", "--veus", "0"],
    ] {
        assert_eq!(tool(arguments).status.code(), Some(2), "{arguments:?}");
    }
    fail(2, "bundle-file", &["run", "absent.weave"]);
    let file = Folder::new().join("nowhere/arch.json").display().to_string();
    assert!(fail(2, "file", &["doctor", "--device", "host", "--calibrate", &file]).contains("cannot write"));
    fail(2, "file", &["compile", "absent.onnx", "-o", "x.weave", "--target", "host"]);
}

#[test]
fn what_is_no_model_is_unsupported() {
    let folder = Folder::new();
    let path = folder.join("text.onnx").display().to_string();
    fs::write(&path, "no model at all").expect("the file can be written");
    let message = fail(3, "model-decode", &["inspect", &path]);
    assert!(message.contains("help: "), "{message}");
}

#[test]
fn a_gpu_without_a_driver_is_a_clear_error() {
    if succeed(&["doctor"])["driver"]["found"] == true {
        return;
    }
    let path = model("dlrm", "torchscript.onnx");
    for command in ["run", "bench"] {
        let message = fail(4, "cuda", &[command, &path, "--device", "cuda:0"]);
        assert!(message.contains("no CUDA driver") && message.contains("use another device"), "{message}");
    }
    let message = fail(4, "device", &["selftest", "--device", "cuda:0"]);
    assert!(message.contains("no CUDA driver"), "{message}");
}

#[test]
fn a_batch_that_the_model_does_not_leave_open_is_refused() {
    let folder = Folder::new();
    let (fixed, io) = (model("dlrm", "torchscript.onnx"), model("dlrm", "io.npz"));
    let (open, out) = (open_batch(&folder), folder.join("x.weave").display().to_string());
    let compile = ["-o", &out, "--target", "host"];
    for (command, more) in [
        ("run", &[][..]),
        ("compile", &compile),
        ("compare", &["--io", &io]),
        ("bench", &["--duration-ms", "1"]),
        ("profile", &[]),
        ("explain", &[]),
        ("check", &[]),
        ("inspect", &[]),
    ] {
        let message = fail(2, "model-batch", &[&[command, &fixed, "--batch", "777"], more].concat());
        assert!(message.contains("no first dimension is open") && message.contains("--batch"), "{command}: {message}");
        let message = fail(2, "model-batch", &[&[command, &open, "--shape", "x=2x8", "--batch", "3"], more].concat());
        assert!(message.contains("x f32[2x8]"), "{command}: {message}");
    }
    succeed(&["run", &open, "--batch", "3"]);
    succeed(&["run", &open, "--shape", "x=2x8", "--batch", "2"]);
    assert_eq!(folder.names(), ["rows.onnx"]);
}
