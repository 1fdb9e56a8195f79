//! Models that are stored in 16 bits on the command line.

use std::fs;

use warpweave::runtime::json::Value;

use crate::support::model_builder::{F32, Weight, node, value, write_with};
use crate::support::tool::{Folder, fail, model, succeed, tool};

/// A model whose tensor `big` leaves the range of FP16 before `y` is small again, with arrays of its input and output.
fn overflowing(folder: &Folder) -> [String; 2] {
    let weights = |name: &str, seed: usize| {
        let values: Vec<f32> = (0..64).map(|at| ((at * 37 + seed) % 64) as f32 / 32.0 - 1.0).collect();
        Weight::singles(name, &[8, 8], &values)
    };
    let nodes = vec![
        node("MatMul", &["x", "w"], "a"),
        node("Mul", &["a", "k"], "big"),
        node("MatMul", &["big", "v"], "b"),
        node("Tanh", &["b"], "c"),
        node("MatMul", &["c", "w"], "y"),
    ];
    let [x, y] = ["x", "y"].map(|name| value(name, F32, &["4", "8"]));
    let constants = [weights("w", 5), weights("v", 11), Weight::singles("k", &[], &[1e6])];
    let path = write_with(folder, "overflowing.onnx", vec![x], nodes, vec![y], &constants);
    let io = folder.join("io.npz").display().to_string();
    succeed(&["run", &path, "--device", "reference", "--output", &io]);
    [path, io]
}

/// The exit code of a comparison within this absolute error, and what it prints.
fn compare(error: &str, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = tool(&[&["compare", "--rtol", "0", "--atol", error, "--json"], arguments].concat());
    let value = warpweave::runtime::json::from_slice(&output.stdout);
    (output.status.code(), value.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

#[test]
fn singles_are_stored_in_16_bits_where_that_is_asked_for() {
    let folder = Folder::new();
    let model = model("bert", "dynamo.onnx");
    let names = ["whole.weave", "fp16.weave", "bf16.weave"].map(|name| folder.join(name).display().to_string());
    let [whole, halves, bfloats] = &names;
    let compile = |bundle: &str, precision: &[&str]| {
        succeed(&[&["compile", &model, "-o", bundle, "--target", "host"], precision].concat())
    };
    let made = compile(whole, &[]);
    assert_eq!((&made["precision"], made["kept_in_fp32"].as_array().map(Vec::len)), (&"fp32".into(), Some(0)));
    for (bundle, precision) in [(halves, "fp16"), (bfloats, "bf16")] {
        let narrow = compile(bundle, &["--precision", precision]);
        let bytes = |made: &Value| made["targets"][0]["weights_bytes"].as_u64().expect("bytes");
        assert!(10 * bytes(&narrow) <= 6 * bytes(&made), "{precision}: {} of {}", bytes(&narrow), bytes(&made));
        let kept = narrow["kept_in_fp32"].as_array().expect("reasons");
        assert!(kept.iter().any(|kept| kept["why"] == "the input of a softmax"), "{kept:?}");
        let message = fail(2, "usage", &["run", bundle, "--precision", precision]);
        assert!(message.contains("a bundle is compiled already"), "{message}");
    }
    let refused = |more: &[&str]| {
        let output = tool(&[&["compile", &model, "-o", whole], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let message = refused(&["--precision", "fp8"]);
    assert!(message.contains("expected one of fp32, fp16, bf16 or auto"), "{message}");
    let early = ["--stop-after", "view_inlining", "--emit", "program", "--emit-dir", "stages", "--precision", "fp16"];
    assert!(refused(&early).contains("cannot be used with"));
}

#[test]
fn what_overflows_is_found_and_kept() {
    let folder = Folder::new();
    let [model, io] = overflowing(&folder);
    let list = folder.join("keep.txt").display().to_string();
    let halves = |more: &[&str]| compare("0.05", &[&[&model, "--io", &io, "--precision", "fp16"], more].concat());
    let (code, told) = halves(&["--bisect", &list]);
    assert_eq!((code, &told["outputs"][0]["overflowed"]), (Some(1), &32.into()), "{told}");
    let found = &told["bisected"];
    assert!(found["first"]["tensor"].as_str().is_some_and(|tensor| tensor.contains("`big`")), "{found}");
    assert!(found["first"]["nodes"][0].as_str().is_some_and(|node| node.contains("Mul_big")), "{found}");
    let names = found["keep_f32"].as_array().expect("names");
    let written = fs::read_to_string(&list).expect("a list");
    assert!(names.iter().all(|name| written.lines().any(|line| name == line)) && names.len() <= 3, "{written}");
    for more in [&["--keep-f32", &format!("@{list}")][..], &["--keep-f32", "Mul_*"], &["--calibrate-io", &io]] {
        let (code, told) = halves(more);
        assert_eq!(code, Some(0), "{more:?}: {told}");
    }
    let (code, _) = compare("0.3", &[&model, "--io", &io, "--precision", "bf16"]);
    assert_eq!(code, Some(0));
    let (code, told) = halves(&["--keep-f32", "big", "--bisect", &list]);
    assert_eq!((code, &told["bisected"]), (Some(0), &Value::Null), "what agrees is not bisected");
}

#[test]
fn a_bundle_says_why_a_tensor_stays() {
    let folder = Folder::new();
    let [model, io] = overflowing(&folder);
    let bundle = folder.join("x.weave").display().to_string();
    let target = ["--target", "host", "--precision", "fp16"];
    succeed(&[&["compile", &model, "-o", &bundle][..], &target, &["--calibrate-io", &io, "--keep-f32", "c"]].concat());
    let storage = &succeed(&["inspect", &bundle])["storage"];
    assert_eq!(storage["precision"], "fp16");
    let names = |why: &str| storage["kept"][why].as_array().map(Vec::len);
    assert!(names("beyond the range on samples") > Some(0), "{storage}");
    assert_eq!((names("named by the caller"), names("an input or output")), (Some(1), Some(2)), "{storage}");
    let output = tool(&["inspect", &bundle]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("stored in fp16; in FP32 stay ") && text.contains("an input or output (2), "), "{text}");
}

#[test]
fn the_fastest_precision_within_an_error_is_taken() {
    let folder = Folder::new();
    let [model, io] = overflowing(&folder);
    let bundle = folder.join("x.weave").display().to_string();
    let compile = |more: &[&str]| {
        let common = ["compile", &model, "-o", &bundle, "--target", "host", "--precision", "auto", "--json"];
        let output = tool(&[&common, more].concat());
        let told: Value = warpweave::runtime::json::from_slice(&output.stdout).expect("JSON");
        (told["precision"].clone(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (precision, note) = compile(&[]);
    assert_eq!(precision, "fp32");
    assert!(note.contains("none is given: fp32; add --calibrate-io"), "{note}");
    let (precision, note) = compile(&["--calibrate-io", &io, "--max-error", "0"]);
    assert_eq!(precision, "fp32");
    assert!(note.contains("auto takes fp32, of fp32 ") && note.contains(" bf16 "), "{note}");
    let (_, note) = compile(&["--calibrate-io", &io]);
    assert!(note.contains("where 1.0e-2 is accepted"), "{note}");
}

#[test]
fn what_says_nothing_is_refused() {
    let folder = Folder::new();
    let [model, io] = overflowing(&folder);
    let empty = folder.join("empty.txt").display().to_string();
    fs::write(&empty, "# nothing\n\n").expect("it can be written");
    let refused = |code: &str, more: &[&str]| fail(2, code, &[&["run", &model], more].concat());
    let message = refused("nothing-kept", &["--precision", "fp16", "--keep-f32", "layer*"]);
    assert!(message.contains("`layer*` names no tensor and no node") && message.contains("`x`"), "{message}");
    let message = refused("usage", &["--precision", "fp16", "--keep-f32", &format!("@{empty}")]);
    assert!(message.contains("empty.txt names nothing"), "{message}");
    assert!(refused("usage", &["--precision", "fp32", "--keep-f32", "big"]).contains("stores nothing else"));
    assert!(refused("usage", &["--precision", "fp16", "--max-error", "1"]).contains("for --precision auto"));
    let output = tool(&["run", &model, "--precision", "auto", "--max-error", "-1"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && message.contains("a number of 0 or more"), "{message}");
    assert!(refused("file", &["--precision", "fp16", "--keep-f32", "@absent.txt"]).contains("absent.txt"));
    let kept = folder.join("mine.txt").display().to_string();
    fs::write(&kept, "mine").expect("it can be written");
    let message = fail(2, "output-exists", &["compare", &model, "--io", &io, "--precision", "fp16", "--bisect", &kept]);
    assert!(message.contains("mine.txt"), "{message}");
    let output = tool(&["run", &model, "--precision", "fp16", "--check-finite"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("100.00 % of its elements are infinite or not a number"), "{text}");
    succeed(&["run", &model, "--check-finite"]);
}

#[test]
fn outputs_are_judged_by_their_largest_error_and_their_correlation() {
    let [path, io] = ["dynamo.onnx", "io.npz"].map(|file| model("bert", file));
    let judged = |bars: &[&str]| {
        let output = tool(&[&["compare", &path, "--io", &io, "--precision", "bf16", "--json"], bars].concat());
        (output.status.code(), warpweave::runtime::json::from_slice(&output.stdout).ok())
    };
    let (code, told) = judged(&["--scaled-error", "0.1", "--min-correlation", "0.99"]);
    let told: Value = told.expect("it compares");
    let [error, correlation] = ["scaled_error", "correlation"].map(|name| told["outputs"][0][name].as_f64());
    assert_eq!(code, Some(0), "{told}");
    assert!(error.is_some_and(|error| error > 0.0 && error < 0.1), "{told}");
    assert!(correlation.is_some_and(|correlation| correlation > 0.99 && correlation < 1.0), "{told}");
    for bars in [["--scaled-error", "1e-9"].as_slice(), &["--scaled-error", "0.1", "--min-correlation", "1"]] {
        assert_eq!(judged(bars).0, Some(1), "{bars:?}");
    }
    for bars in
        [["--scaled-error", "0.1", "--rtol", "0"].as_slice(), &["--min-correlation", "2"], &["--scaled-error", "-1"]]
    {
        assert_eq!(judged(bars).0, Some(2), "{bars:?}");
    }
}
