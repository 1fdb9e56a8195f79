//! Failures of models, made as small as they can be: each with an error that is planted in what the device runs.

use std::fs;

use warpweave::graph::Tensor;
use warpweave::runtime::json::{self, Value};
use warpweave::runtime::npz;

use crate::support::model_builder::{F32, F64, node, value, write};
use crate::support::tool::{Folder, fail, model, succeed, tool};

/// What `reduce` tells of a model, and the text of the program that it leaves.
fn reduced(folder: &Folder, model: &str, options: &[&str]) -> (Value, String) {
    let small = folder.join("small").display().to_string();
    let told = succeed(&[&["reduce", model, "-o", &small][..], options].concat());
    let program = fs::read_to_string(folder.join("small/program.txt")).expect("the program is left");
    let stored = fs::read(folder.join("small/case.json")).expect("the case is left");
    let stored: Value = json::from_slice(&stored).expect("JSON");
    assert_eq!((&stored["kind"], &stored["statements"]), (&told["kind"], &told["statements"]));
    assert!(folder.join("small/io.npz").is_file(), "its arrays are left");
    assert!(!folder.join("small/attempt").exists(), "attempts are not left");
    (told, program)
}

/// The same failure of what was left, which cannot be made smaller.
fn fails_again(folder: &Folder, told: &Value, options: &[&str]) {
    let path = |name: &str| folder.join(name).display().to_string();
    let (program, arrays, again) = (path("small/program.txt"), path("small/io.npz"), path("again"));
    let found = succeed(&[&["reduce", &program, "--io", &arrays, "-o", &again][..], options].concat());
    for field in ["kind", "detail", "statements"] {
        assert_eq!(found[field], told[field], "{field}");
    }
}

#[test]
fn a_wrong_function_is_one_statement() {
    let folder = Folder::new();
    let (onnx, io) = (model("dlrm", "torchscript.onnx"), model("dlrm", "io.npz"));
    let options = ["--device", "host", "--fault", "replace:max(=>min("];
    let (told, program) = reduced(&folder, &onnx, &[&options[..], &["--io", &io]].concat());
    assert_eq!((&told["kind"], &told["statements"]), (&"differs".into(), &1.into()), "{told}");
    assert!(told["statements_before"].as_u64() > Some(5), "{told}");
    assert!(program.contains("max(") && program.contains("f32[1x1]"), "{program}");
    fails_again(&folder, &told, &options);

    let test = fs::read_to_string(folder.join("small/filetest.txt")).expect("a file test is left");
    assert!(test.starts_with(&program) && test.contains("\n==== devices ") && test.contains("\nreference, "), "{test}");
    let path = |name: &str| folder.join(name).display().to_string();
    let replay = told["replay"].as_str().expect("a command").split(' ').collect::<Vec<&str>>();
    assert_eq!(replay[..5], ["warpweave", "compare", "program.txt", "--io", "io.npz"]);
    let (small, arrays) = (path("small/program.txt"), path("small/io.npz"));
    let compare = [&["compare", &small, "--io", &arrays][..], &replay[5..]].concat();
    assert_eq!(tool(&compare).status.code(), Some(0), "without the fault all is well");
}

#[test]
fn a_wait_that_acquires_nothing_is_a_few_statements() {
    let folder = Folder::new();
    let onnx = model("dlrm", "torchscript.onnx");
    let options = ["--device", "emulator", "--backend", "persistent", "--fault", "relaxed-waits"];
    let (told, program) = reduced(&folder, &onnx, &options);
    assert_eq!((&told["kind"], &told["detail"]), (&"refused".into(), &"emulator-violation".into()), "{told}");
    assert!(told["statements"].as_u64() <= Some(3), "{program}");
    fails_again(&folder, &told, &options);
}

#[test]
fn a_type_that_is_refused_is_one_statement() {
    let folder = Folder::new();
    let inputs = vec![value("x", F32, &["4", "6"]), value("d", F64, &["4", "6"])];
    let nodes = vec![
        node("Relu", &["x"], "r"),
        node("Exp", &["r"], "y"),
        node("Tanh", &["y"], "t"),
        node("Exp", &["d"], "e"),
        node("Transpose", &["d"], "g"),
        node("MatMul", &["e", "g"], "z"),
    ];
    let outputs = vec![value("t", F32, &["4", "6"]), value("z", F64, &["4", "4"])];
    let onnx = write(&folder, "doubles.onnx", inputs, nodes, outputs);
    let options = ["--device", "emulator"];
    let (told, program) = reduced(&folder, &onnx, &options);
    let expected = (&"refused".into(), &"model-unsupported".into(), &1.into());
    assert_eq!((&told["kind"], &told["detail"], &told["statements"]), expected, "{told}");
    assert!(program.contains("f64[1x1]") && !program.contains("f32"), "{program}");
    fails_again(&folder, &told, &options);
}

#[test]
fn a_crash_is_one_statement() {
    let folder = Folder::new();
    let options = ["--device", "host", "--fault", "abort:exp("];
    let onnx = model("bert", "torchscript.onnx");
    let (told, program) = reduced(&folder, &onnx, &options);
    assert_eq!((&told["kind"], &told["statements"]), (&"crash".into(), &1.into()), "{told}");
    assert!(told["detail"].as_str().is_some_and(|detail| detail.contains("SIGABRT")), "{told}");
    assert!(program.contains("exp("), "{program}");
    fails_again(&folder, &told, &options);
}

#[test]
fn what_is_slow_is_one_statement() {
    let folder = Folder::new();
    let onnx = model("dlrm", "torchscript.onnx");
    // The delay is the only difference between the device and the one that it is compared with. One thread waits for no other,
    // however busy the machine is.
    let device = ["--device", "host", "--threads", "1", "--slower-than", "20", "--against", "host"];
    let options = [&device[..], &["--fault", "delay:max("]].concat();
    let (told, program) = reduced(&folder, &onnx, &options);
    assert_eq!((&told["kind"], &told["statements"]), (&"slow".into(), &1.into()), "{told}");
    assert!(program.contains("max("), "{program}");
}

/// A model whose second node computes something else than the archive's author meant, and its arrays: `named` stores the value between
/// the nodes.
fn misunderstood(folder: &Folder, named: bool) -> [String; 2] {
    let (inputs, outputs) =
        (vec![value("x", F32, &["2", "3"])], vec![value("z", F32, &["2", "3"]), value("w", F32, &["2", "3"])]);
    let nodes =
        vec![node("Relu", &["x"], "r"), node("Exp", &["r"], "e"), node("Tanh", &["e"], "z"), node("Neg", &["r"], "w")];
    let onnx = write(folder, "model.onnx", inputs, nodes, outputs);
    let x = [-1.0f32, 0.5, 0.25, 1.0, -0.75, 2.0];
    let tensor = |of: &dyn Fn(f32) -> f32| Tensor::new([2, 3], &x.map(of));
    let stored =
        [("x", tensor(&|x| x)), ("z", tensor(&|x| (x.max(0.0) + 1.0).tanh())), ("w", tensor(&|x| -x.max(0.0)))];
    let inside = [("out_r", tensor(&|x| x.max(0.0))), ("out_e", tensor(&|x| x.max(0.0) + 1.0))];
    let arrays = stored.iter().chain(inside.iter().filter(|_| named));
    let bytes = npz::print(arrays.map(|(name, tensor)| (*name, tensor))).expect("an archive");
    let path = folder.join("arrays.npz");
    fs::write(&path, bytes).expect("it can be written");
    [onnx, path.display().to_string()]
}

#[test]
fn stored_outputs_show_an_import_that_is_wrong() {
    for (named, left, operator) in [(false, 3, "tanh("), (true, 1, "exp(")] {
        let folder = Folder::new();
        let [onnx, io] = misunderstood(&folder, named);
        let (told, program) = reduced(&folder, &onnx, &["--device", "host", "--io", &io]);
        assert_eq!((&told["kind"], &told["judge"]), (&"differs".into(), &"archive".into()), "{told}");
        assert_eq!(told["statements"], left, "{program}");
        assert!(program.contains(operator) && !program.contains("-x") && told["message"].is_string(), "{program}");
        fails_again(&folder, &told, &["--device", "host"]);
        let path = |name: &str| folder.join("small").join(name).display().to_string();
        let compare = tool(&["compare", &path("program.txt"), "--io", &path("io.npz"), "--device", "host"]);
        assert_eq!(compare.status.code(), Some(1), "the case fails when it is replayed");
    }
    let folder = Folder::new();
    let [onnx, io] = misunderstood(&folder, true);
    // The fault of a device comes first: the reference judges it, as far as statements can be left out.
    let fault = ["--device", "host", "--fault", "replace:max(=>min(", "--io", &io];
    let (told, program) = reduced(&folder, &onnx, &fault);
    assert_eq!((&told["judge"], &told["statements"]), (&"reference".into(), &1.into()), "{program}");
}

#[test]
fn what_is_stored_is_right_whatever_the_reference_says() {
    let folder = Folder::new();
    let (onnx, io, small) =
        (model("dlrm", "torchscript.onnx"), model("dlrm", "io.npz"), folder.join("small").display().to_string());
    assert_eq!(tool(&["reduce", &onnx, "--io", &io, "-o", &small]).status.code(), Some(1));
    assert!(folder.names().is_empty());
}

#[test]
fn what_does_not_fail_leaves_nothing() {
    let folder = Folder::new();
    let (onnx, small) = (model("dlrm", "torchscript.onnx"), folder.join("small").display().to_string());
    assert_eq!(tool(&["reduce", &onnx, "-o", &small]).status.code(), Some(1));
    assert!(folder.names().is_empty());
    let taken = folder.join("").display().to_string();
    let told = fail(2, "usage", &["reduce", &onnx, "-o", &taken]);
    assert!(told.contains("is there already"), "{told}");
}

#[test]
fn a_text_that_is_no_program_is_refused_with_its_line() {
    let folder = Folder::new();
    let path = folder.join("program.txt");
    fs::write(&path, "program\nt0 \"x\": f32[2] = input 0\nt1 nonsense\n").expect("it can be written");
    let told = fail(2, "program-file", &["run", &path.display().to_string()]);
    assert!(told.contains("line 3"), "{told}");
}
