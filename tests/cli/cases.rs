//! Failed comparisons that are left in a folder and replayed from there.

use std::fs;

use warpweave::runtime::json::{self, Value};

use crate::support::tool::{Folder, fail, has_nvrtc, host_bundle, model, succeed, tool};

/// No result in single precision has the very bits of another program's.
const IMPOSSIBLE: [&str; 4] = ["--rtol", "0", "--atol", "0"];

#[test]
fn outputs_that_differ_are_replayed_on_the_emulator() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let path = |name: &str| folder.join(name).display().to_string();
    let (bundle, case) = (path("mobilenet_v2.weave"), path("case"));
    succeed(&[
        "compile",
        &model("mobilenet_v2", "torchscript.onnx"),
        "-o",
        &bundle,
        "--target",
        "host,sm_90a",
        "--backend",
        "persistent",
    ]);
    let compare = |bundle: &str, io: &str, more: &[&str]| {
        tool(&[&["compare", bundle, "--io", io, "--device", "emulator", "--json"][..], more].concat())
    };
    let more = [&IMPOSSIBLE[..], &["--veus", "3", "--save-failure", &case]].concat();
    let failed = compare(&bundle, &model("mobilenet_v2", "io.npz"), &more);
    assert_eq!(failed.status.code(), Some(1));
    fs::remove_file(&bundle).expect("the bundle is no longer needed");

    let kept = ["model.weave", "io.npz", "plan.txt", "kernels.txt", "got/out_0.npy", "case.json"];
    assert!(kept.iter().all(|name| folder.join("case").join(name).is_file()), "a case is whole");
    let told: Value = json::from_slice(&fs::read(folder.join("case/case.json")).expect("it is there")).expect("JSON");
    assert_eq!((&told["kind"], &told["units"], &told["error"]), (&"outputs-differ".into(), &3.into(), &Value::Null));
    let replay = told["replay"].as_str().expect("a command").split(' ').collect::<Vec<&str>>();
    assert_eq!(replay[..3], ["warpweave", "compare", "model.weave"]);
    let again = compare(&path("case/model.weave"), &path("case/io.npz"), &[&replay[7..], &IMPOSSIBLE].concat());
    assert_eq!(again.status.code(), Some(1));
    let again: Value = json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["outputs"], told["outputs"]["outputs"], "the emulator gives what it gave");
}

#[test]
fn what_agrees_leaves_nothing() {
    let folder = Folder::new();
    let (bundle, case) = (host_bundle(&folder), folder.join("case").display().to_string());
    succeed(&["compare", &bundle, "--io", &model("dlrm", "io.npz"), "--save-failure", &case]);
    assert_eq!(folder.names(), ["dlrm.weave"]);
}

#[test]
fn a_case_replaces_nothing() {
    let folder = Folder::new();
    let (bundle, io) = (host_bundle(&folder), model("dlrm", "io.npz"));
    let taken = folder.join("").display().to_string();
    let told = fail(2, "usage", &["compare", &bundle, "--io", &io, "--save-failure", &taken]);
    assert!(told.contains("is there already"), "{told}");
    let onnx = model("dlrm", "torchscript.onnx");
    let case = folder.join("case").display().to_string();
    let told = fail(2, "usage", &["compare", &onnx, "--io", &io, "--save-failure", &case]);
    assert!(told.contains("compile it"), "{told}");
}
