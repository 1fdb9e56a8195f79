//! Initializers that are also inputs.

use std::fs;

use warpweave::graph::{Tensor, npy};
use warpweave::runtime::npz;

use crate::support::model_builder::{F32, Weight, node, value, write_with};
use crate::support::tool::{Folder, fail, succeed};

/// A model that adds an input `w`, which is 1, 2 by default.
fn added(folder: &Folder) -> String {
    let inputs = vec![value("x", F32, &["2"]), value("w", F32, &["2"])];
    let outputs = vec![value("y", F32, &["2"])];
    let weights = [Weight::singles("w", &[2], &[1.0, 2.0])];
    write_with(folder, "added.onnx", inputs, vec![node("Add", &["x", "w"], "y")], outputs, &weights)
}

#[test]
fn an_input_that_has_a_default_need_not_be_given() {
    let folder = Folder::new();
    let model = added(&folder);
    let path = |name: &str| folder.join(name).display().to_string();
    let (bundle, y) = (path("added.weave"), path("y.npz"));
    let array = |name: &str, values: &[f32]| {
        fs::write(folder.join(name), npy::print(&Tensor::new([values.len()], values)).expect("NumPy has singles"))
            .expect("the array is written");
        path(name)
    };
    let (x, w, short) = (array("x.npy", &[10.0, 20.0]), array("w.npy", &[5.0, 5.0]), array("short.npy", &[5.0]));
    succeed(&["compile", &model, "-o", &bundle, "--target", "host"]);
    for program in [&model, &bundle] {
        let sum = |more: &[String]| {
            succeed(&[&["run", program, "--output", &y, "--input", &format!("x={x}")][..], &args(more)].concat());
            npz::read(y.as_ref()).expect("an archive")["y"].to_f32()
        };
        assert_eq!(sum(&[]), [11.0, 22.0]);
        assert_eq!(sum(&["--input".to_owned(), format!("w={w}")]), [15.0, 25.0]);
        let told = fail(2, "input", &["run", program, "--input", &format!("w={w}")]);
        assert!(told.contains("`x`"), "{told}");
        let told = succeed(&["inspect", program]);
        assert_eq!(told["signature"]["inputs"][1]["default"], "f32[2] 1, 2");
    }
    let told = fail(2, "input", &["run", &bundle, "--input", &format!("x={x}"), "--input", &format!("w={short}")]);
    assert!(told.contains("`w` must be f32[2]"), "{told}");
    // As a constant it is no input any more.
    for fixed in [["--overridable", "none"], ["--constant", "w=@w.npy"]] {
        let fixed = fixed.map(|text| text.replace("w.npy", &w));
        let told = succeed(&[&["inspect", &model][..], &args(&fixed)].concat());
        assert_eq!(told["signature"]["inputs"].as_array().map(Vec::len), Some(1));
    }
    let told = fail(2, "model-choice", &["run", &model, "--overridable", "x"]);
    assert!(told.contains("`x`") && told.contains("also inputs are w"), "{told}");
    let told = fail(2, "usage", &["run", &bundle, "--overridable", "w"]);
    assert!(told.contains("--overridable"), "{told}");
}

fn args(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
