//! Arrays in files: what they are called, how they are packed, and the extents that follow from them.

use std::fs;

use warpweave::graph::{Tensor, npy};
use warpweave::runtime::json::{self, Value};
use warpweave::runtime::npz;

use crate::support::model_builder::{F32, node, value, write};
use crate::support::models_by_hand::open_batch;
use crate::support::tool::{Folder, fail, succeed, tool};

/// Written by `numpy.savez_compressed`: `x`, two rows of eight numbers, and `y`, those above 0.
fn compressed() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cli/given/arrays/compressed.npz").to_owned()
}

fn archive(folder: &Folder, file: &str, arrays: &[(&str, &Tensor)]) -> String {
    let path = folder.join(file).display().to_string();
    let bytes = npz::print(arrays.iter().copied()).expect("NumPy has the types");
    fs::write(&path, bytes).expect("the file can be written");
    path
}

#[test]
fn compressed_arrays_serve_everywhere_and_decide_extents() {
    let folder = Folder::new();
    let (model, io) = (open_batch(&folder), compressed());
    let told = succeed(&["compare", &model, "--io", &io]);
    assert_eq!((&told["passed"], &told["outputs"][0]["type"]), (&true.into(), &"f32[2x8]".into()));
    let run = succeed(&["run", &model, "--input", &io]);
    assert_eq!((&run["outputs"][0]["minimum"], &run["outputs"][0]["maximum"]), (&0.0.into(), &8.0.into()));
    let bench = succeed(&["bench", &model, "--input", &io, "--duration-ms", "1", "--warmup-ms", "1"]);
    assert_eq!((&bench["model"]["batch"], &bench["method"]["input_sets"]), (&2.into(), &1.into()));
    let x = folder.join("x.npy").display().to_string();
    fs::write(&x, npy::print(&Tensor::new([3, 8], &[1f32; 24])).expect("an array")).expect("it can be written");
    let run = succeed(&["run", &model, "--input", &format!("x={x}")]);
    assert_eq!(run["outputs"][0]["type"], "f32[3x8]");
    let told = fail(2, "input", &["run", &model, "--input", &format!("x={x}"), "--batch", "2"]);
    assert!(told.contains("f32[2x8]") && told.contains("f32[3x8]"), "{told}");
}

#[test]
fn what_run_writes_compare_reads() {
    let folder = Folder::new();
    let model = open_batch(&folder);
    let io = folder.join("io.npz").display().to_string();
    succeed(&["run", &model, "--device", "reference", "--input", &compressed(), "--output", &io]);
    let arrays = npz::read(io.as_ref()).expect("an archive");
    assert_eq!(arrays.keys().map(String::as_str).collect::<Vec<_>>(), ["x", "y"]);
    assert_eq!(succeed(&["compare", &model, "--io", &io])["passed"], true);
    let told = fail(2, "output-is-input", &["run", &model, "--input", &io, "--output", &io]);
    assert!(told.contains("io.npz"), "{told}");
}

#[test]
fn names_may_be_plain_or_prefixed() {
    let folder = Folder::new();
    let (inputs, outputs) = (vec![value("x", F32, &["N"]), value("in_x", F32, &["N"])], value("y", F32, &["N"]));
    let model = write(&folder, "sub.onnx", inputs, vec![node("Sub", &["x", "in_x"], "y")], vec![outputs]);
    let [one, two, less] = [1f32, 2.0, -1.0].map(|number| Tensor::new([1], &[number]));
    for (file, arrays) in [
        ("plain.npz", [("x", &one), ("in_x", &two), ("y", &less)]),
        ("prefixed.npz", [("in_x", &one), ("in_in_x", &two), ("out_y", &less)]),
        ("numbered.npz", [("in_x", &one), ("in_in_x", &two), ("out_0", &less)]),
    ] {
        let io = archive(&folder, file, &arrays);
        assert_eq!(succeed(&["compare", &model, "--io", &io])["passed"], true, "{file}");
    }
    let io = archive(&folder, "wrong.npz", &[("x", &one), ("in_x", &two), ("y", &one)]);
    assert_eq!(tool(&["compare", &model, "--io", &io]).status.code(), Some(1));
    let io = archive(&folder, "strange.npz", &[("x", &one), ("in_x", &two), ("z", &one)]);
    let told = fail(2, "array", &["compare", &model, "--io", &io]);
    assert!(told.contains("`z`") && told.contains("x, in_x") && told.contains("y"), "{told}");
    let io = archive(&folder, "inputs.npz", &[("x", &one), ("in_x", &two)]);
    let told = fail(2, "output", &["compare", &model, "--io", &io]);
    assert!(told.contains("holds none of the outputs y"), "{told}");
}

#[test]
fn a_stored_output_of_another_type_is_a_difference_under_its_own_name() {
    let folder = Folder::new();
    let outputs = ["first", "second"].map(|name| value(name, F32, &["2"])).to_vec();
    let nodes = vec![node("Relu", &["x"], "first"), node("Neg", &["x"], "second")];
    let model = write(&folder, "two.onnx", vec![value("x", F32, &["2"])], nodes, outputs);
    let (x, first, second) =
        (Tensor::new([2], &[1f32, -1.0]), Tensor::new([2], &[1f32, 0.0]), Tensor::new([2], &[-1f32, 1.0]));
    let (longer, doubles) = (Tensor::new([3], &[1f32, 0.0, 0.0]), Tensor::new([1, 2], &[-1f64, 1.0]));
    for (file, arrays, outcomes, line) in [
        (
            "shape.npz",
            vec![("x", &x), ("first", &longer), ("second", &second)],
            [("first", false), ("second", true)],
            "out_0 first f32[2]: differs, another shape is stored: f32[3]",
        ),
        (
            "both.npz",
            vec![("x", &x), ("first", &first), ("second", &doubles)],
            [("first", true), ("second", false)],
            "out_1 second f32[2]: differs, another element type and shape is stored: f64[1x2]",
        ),
        (
            "lacking.npz",
            vec![("x", &x), ("first", &first)],
            [("first", true), ("second", false)],
            "lacking.npz does not hold it",
        ),
        (
            "more.npz",
            vec![("x", &x), ("out_0", &first), ("out_1", &second), ("out_2", &longer)],
            [("first", true), ("second", true)],
            "more.npz holds it as f32[3], and the program has no such output; its outputs are first, second",
        ),
    ] {
        let io = archive(&folder, file, &arrays);
        let text = tool(&["compare", &model, "--io", &io]);
        let said = String::from_utf8_lossy(&text.stdout).into_owned();
        assert!(said.contains(line) && said.contains("host: outputs differ"), "{file}: {said}");
        let told = tool(&["compare", &model, "--io", &io, "--json"]);
        assert_eq!((text.status.code(), told.status.code()), (Some(1), Some(1)), "{file}");
        let told: Value = json::from_slice(&told.stdout).expect("JSON is printed");
        for (position, (name, passed)) in outcomes.into_iter().enumerate() {
            let output = &told["outputs"][position];
            assert_eq!((&output["name"], &output["passed"]), (&name.into(), &passed.into()), "{file}: {told}");
        }
        assert_eq!(told["outputs"].as_array().map(Vec::len), Some(if file == "more.npz" { 3 } else { 2 }), "{told}");
    }
    let stored = folder.join("stored.npz").display().to_string();
    let soak = ["bench", &model, "--warmup-ms", "1", "--duration-ms", "1", "--soak", "0.1", "--launches", "2"];
    let io = archive(&folder, "saved.npz", &[("out_0", &longer), ("out_1", &second)]);
    let told = tool(&[&soak[..], &["--against", &io, "--save-outputs", &stored]].concat());
    let errors = String::from_utf8_lossy(&told.stderr).into_owned();
    let complaint = "saved.npz: out_0 first is f32[2], and f32[3] is stored";
    assert!(told.status.code() == Some(1) && errors.contains(complaint), "{errors}");
}

#[test]
fn outputs_that_are_one_value_keep_their_names() {
    let folder = Folder::new();
    let nodes = vec![
        node("Relu", &["x"], "inner"),
        node("Identity", &["inner"], "first"),
        node("Identity", &["inner"], "second"),
        node("Identity", &["x"], "copy"),
    ];
    let outputs = ["first", "second", "copy"].map(|name| value(name, F32, &["1"])).to_vec();
    let model = write(&folder, "names.onnx", vec![value("x", F32, &["1"])], nodes, outputs);
    let [minus, zero] = [-1f32, 0.0].map(|number| Tensor::new([1], &[number]));
    let arrays = [("x", &minus), ("first", &zero), ("second", &zero), ("copy", &minus)];
    let io = archive(&folder, "io.npz", &arrays);
    let bundle = folder.join("names.weave").display().to_string();
    succeed(&["compile", &model, "--target", "host", "-o", &bundle]);
    for program in [&model, &bundle] {
        let told = succeed(&["compare", program, "--io", &io]);
        let names: Vec<_> = (0..3).map(|output| told["outputs"][output]["name"].clone()).collect();
        assert_eq!((&told["passed"], names), (&true.into(), ["first", "second", "copy"].map(Into::into).to_vec()));
    }
}

#[test]
fn an_archive_is_no_array_and_an_array_no_archive() {
    let folder = Folder::new();
    let model = open_batch(&folder);
    let told = fail(2, "array", &["run", &model, "--input", &format!("x={}", compressed())]);
    assert!(told.contains("(x, y)") && told.contains("numpy.save"), "{told}");
    let x = folder.join("x.npy").display().to_string();
    fs::write(&x, npy::print(&Tensor::new([3, 8], &[1f32; 24])).expect("an array")).expect("it can be written");
    let told = fail(2, "array", &["compare", &model, "--io", &x]);
    assert!(told.contains("one array") && told.contains("numpy.savez"), "{told}");
    assert_eq!(tool(&["run", &model, "--input", &x]).status.code(), Some(2));
}

#[test]
fn a_named_dimension_is_given_once_for_all_inputs() {
    let folder = Folder::new();
    let inputs = vec![value("x", F32, &["batch", "?"]), value("m", F32, &["batch", "?"])];
    let nodes = vec![node("Relu", &["x"], "y"), node("Relu", &["m"], "z")];
    let outputs = vec![value("y", F32, &["batch", "?"]), value("z", F32, &["batch", "?"])];
    let model = write(&folder, "two.onnx", inputs, nodes, outputs);
    let types = |arguments: &[&str]| {
        let told = succeed(&[&["inspect", &model][..], arguments].concat());
        let inputs = told["signature"]["inputs"].as_array().expect("inputs").clone();
        inputs.iter().filter_map(|input| input["type"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let fixed = |shape: &str| ["--shape".to_owned(), shape.to_owned()];
    let given = [fixed("x=4x3"), fixed("m=[4, 5]")].concat();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    assert_eq!(types(&given), ["f32[4x3]", "f32[4x5]"]);
    let told = fail(3, "model-shapes", &["run", &model, "--shape", "batch=4"]);
    assert!(told.contains("x [batch, ?]"), "{told}");
    assert_eq!(types(&[]), ["f32[batch, ?]", "f32[batch, ?]"], "what is open is shown as it is declared");
    assert!(succeed(&["inspect", &model])["help"].as_str().is_some_and(|help| help.contains("--shape x=1x1")));
    let told = fail(2, "model-name", &["inspect", &model, "--shape", "y=4"]);
    assert!(told.contains("`y`") && told.contains("x, m") && told.contains("batch"), "{told}");
    let told = fail(2, "model-choice", &["inspect", &model, "--shape", "x=4x3", "--shape", "batch=5"]);
    assert!(told.contains("`batch`"), "{told}");
    let told = String::from_utf8(tool(&["inspect", &model, "--shape", "x=batchx3"]).stderr).expect("text");
    assert!(told.contains("`batch` is no extent"), "{told}");
}

#[test]
fn columns_may_come_first() {
    let folder = Folder::new();
    let model = open_batch(&folder);
    let mut bytes = npy::print(&Tensor::new([8, 2], &(0..16u8).map(f32::from).collect::<Vec<_>>())).expect("an array");
    let header = String::from_utf8_lossy(&bytes[10..128]).replace("False", "True ").replace("(8,2,)", "(2,8,)");
    bytes[10..128].copy_from_slice(header.as_bytes());
    let array = folder.join("columns.npy");
    fs::write(&array, bytes).expect("it can be written");
    let out = folder.join("out.npz").display().to_string();
    succeed(&["run", &model, "--input", &format!("x={}", array.display()), "--output", &out]);
    let read = npz::read(out.as_ref()).expect("an archive");
    let rows = [[0f32, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0], [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0]].concat();
    assert_eq!(read["y"], Tensor::new([2, 8], &rows));
}

#[test]
fn a_wrong_type_comes_with_its_conversion() {
    let folder = Folder::new();
    let model = open_batch(&folder);
    let io = archive(&folder, "doubles.npz", &[("x", &Tensor::new([2, 8], &[1f64; 16]))]);
    let told = fail(2, "input", &["run", &model, "--input", &io]);
    assert!(told.contains("f64[2x8]") && told.contains("astype(\"float32\")") && !told.contains("--shape"), "{told}");
    let told = fail(3, "model-shapes", &["run", &model]);
    assert!(told.contains("--shape N=1"), "{told}");
}

/// A serialised tensor of ones: its extents, its element type, its name and its elements.
fn tensor(name: &str) -> Vec<u8> {
    let elements = [1f32; 16].map(f32::to_le_bytes).concat();
    let name = [&[8 << 3 | 2, name.len() as u8], name.as_bytes()].concat();
    [&[1 << 3, 2, 1 << 3, 8, 2 << 3, 1], &name[..], &[9 << 3 | 2, 64], &elements].concat()
}

#[test]
fn a_folder_of_test_data_serves_as_an_archive() {
    let folder = Folder::new();
    let model = open_batch(&folder);
    let data = folder.join("test_data_set_0");
    fs::create_dir(&data).expect("a folder can be made");
    fs::write(data.join("input_0.pb"), tensor("x")).expect("it can be written");
    fs::write(data.join("output_0.pb"), tensor("")).expect("it can be written");
    let data = data.display().to_string();
    assert_eq!(succeed(&["compare", &model, "--io", &data])["passed"], true);
    assert_eq!(succeed(&["run", &model, "--input", &format!("x={data}/output_0.pb")])["outputs"][0]["maximum"], 1.0);
    fs::write(folder.join("test_data_set_0/input_0.pb"), tensor("")).expect("it can be written");
    let told = fail(2, "usage", &["run", &model, "--input", &data]);
    let none = fail(2, "usage", &["compare", &model, "--io", &folder.join("").display().to_string()]);
    assert!(none.contains("holds neither input_0.pb nor output_0.pb"), "{none}");
    assert!(told.contains("input_0.pb has no name") && told.contains("in_NAME"), "{told}");
    fs::write(folder.join("test_data_set_0/input_0.pb"), "no tensor").expect("it can be written");
    let told = fail(2, "array", &["run", &model, "--input", &data]);
    assert!(told.contains("input_0.pb"), "{told}");
}
