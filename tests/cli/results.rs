//! What commands compute and write.

use std::fs;

use warpweave::codegen::kernel_ir::text as kernel_text;
use warpweave::graph::npy;
use warpweave::plan::text as plan_text;
use warpweave::runtime::npz;

use crate::support::tool::{Folder, fail, has_nvrtc, model, succeed, tool};

#[test]
fn outputs_are_written_whole() {
    let folder = Folder::new();
    let (path, out) = (model("lstm", "torchscript.onnx"), folder.join("out"));
    let io = npz::read(model("lstm", "io.npz").as_ref()).expect("the arrays are readable");
    let mut arguments = vec!["run".to_owned(), path, "--output".to_owned(), out.display().to_string()];
    for (name, array) in &io {
        let Some(name) = name.strip_prefix("in_") else { continue };
        let file = folder.join(&format!("{name}.npy"));
        fs::write(&file, npy::print(array).expect("the type has an array")).expect("the file can be written");
        arguments.extend(["--input".to_owned(), format!("{name}={}", file.display())]);
    }
    let result = succeed(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(result["device"], "host");
    let outputs = result["outputs"].as_array().expect("outputs").len();
    assert_eq!(fs::read_dir(&out).expect("the folder is there").count(), outputs);
    let written = npy::parse(&fs::read(out.join("out_0.npy")).expect("the array is there").into());
    let (written, expected) = (written.expect("an array").to_f64(), io["out_0"].to_f64());
    assert!(written.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-5 + 1e-3 * b.abs()));
}

#[test]
fn a_wrong_output_fails_the_comparison() {
    let (path, io) = (model("dlrm", "torchscript.onnx"), model("dlrm", "io.npz"));
    let output = tool(&["compare", &path, "--io", &io, "--rtol", "0", "--atol", "0", "--json"]);
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(1) || report.contains("\"failures\": 0"), "{report}");
    let other = model("lstm", "io.npz");
    fail(2, "input", &["compare", &path, "--io", &other]);
}

#[test]
fn emulator_and_text_agree_with_the_exporter() {
    let (path, io) = (model("dlrm", "torchscript.onnx"), model("dlrm", "io.npz"));
    for device in ["emulator", "text"] {
        let arguments = ["compare", &path, "--io", &io, "--device", device, "--veus", "3", "--interleavings", "3"];
        let result = succeed(&arguments);
        assert_eq!(result["passed"], true, "{result}");
    }
}

#[test]
fn bench_reports_percentiles_in_order() {
    let path = model("dlrm", "torchscript.onnx");
    let result = succeed(&["bench", &path, "--warmup-ms", "5", "--duration-ms", "50", "--threads", "2"]);
    let times: Vec<f64> = ["min", "p50", "p90", "p95", "p99", "max"]
        .iter()
        .map(|name| result["latency"][name].as_f64().expect("a time"))
        .collect();
    assert!(times.is_sorted() && times[0] > 0.0, "{times:?}");
    assert!(result["runs"].as_u64() >= Some(10));
}

#[test]
fn stages_are_emitted() {
    let folder = Folder::new();
    let (out, emitted) = (folder.join("x.weave").display().to_string(), folder.join("stages").display().to_string());
    let path = model("dlrm", "torchscript.onnx");
    let arguments = [
        "compile",
        &path,
        "-o",
        &out,
        "--target",
        "host",
        "--emit",
        "graph,program,partition,plan",
        "--emit-dir",
        &emitted,
    ];
    succeed(&arguments);
    for name in ["graph.txt", "program.txt", "partition.host.txt", "plan.host.txt"] {
        let text = fs::read_to_string(folder.join("stages").join(name)).expect("the stage is written");
        assert!(!text.is_empty(), "{name}");
    }
    let plan = fs::read_to_string(folder.join("stages").join("plan.host.txt")).expect("the plan is written");
    assert_eq!(plan_text::parse(&plan).map(|plan| plan.to_string()), Ok(plan));
}

#[test]
fn device_code_is_bundled_where_nvrtc_is_found() {
    if succeed(&["doctor"])["nvrtc"]["found"] != true {
        return;
    }
    let folder = Folder::new();
    let (path, io) = (model("dlrm", "torchscript.onnx"), model("dlrm", "io.npz"));
    let stages = Folder::new();
    let emitted = stages.join(".").display().to_string();
    let bundles = ["a.weave", "b.weave"].map(|name| {
        let out = folder.join(name).display().to_string();
        let emit = ["--emit", "ir", "--emit-dir", &emitted];
        let result = succeed(&[&["compile", &path, "-o", &out, "--target", "host,sm_90a"][..], &emit].concat());
        assert_eq!(result["targets"][1]["local_bytes"], 0, "{result}");
        fs::read(&out).expect("the bundle is there")
    });
    assert!(bundles[0] == bundles[1]);
    let kernels = fs::read_to_string(stages.join("ir.sm_90a.txt")).expect("the kernels are written");
    assert_eq!(kernel_text::parse(&kernels).map(|program| program.to_string()), Ok(kernels));
    let out = folder.join("a.weave").display().to_string();
    for device in ["reference", "host", "emulator", "text"] {
        let result = succeed(&["compare", &out, "--io", &io, "--device", device]);
        assert_eq!(result["passed"], true, "{result}");
    }
    assert_eq!(folder.names(), ["a.weave", "b.weave"]);
}

#[test]
fn emitted_code_keeps_functions_labels_addresses_and_encodings() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let (path, out) = (model("dlrm", "torchscript.onnx"), folder.join("x.weave").display().to_string());
    let emitted = folder.join("stages").display().to_string();
    succeed(&["compile", &path, "-o", &out, "--target", "sm_90a", "--emit", "sass", "--emit-dir", &emitted]);
    let listing = fs::read_to_string(folder.join("stages/sm_90a.sass")).expect("the listing is written");
    let (mut labels, mut targets) = (Vec::new(), Vec::new());
    for line in listing.lines() {
        labels.extend(line.strip_suffix(':').filter(|label| label.starts_with(".L_")));
        targets.extend(line.split_once("BRA `(").and_then(|(_, rest)| rest.split(')').next()));
    }
    assert!(!targets.is_empty() && targets.iter().all(|target| labels.contains(target)), "{targets:?}");
    let is_instruction = |line: &&str| line.trim_start().starts_with("/*0010*/") && line.contains("/* 0x");
    assert!(listing.lines().any(|line| is_instruction(&line)), "addresses and encodings");
    assert!(listing.contains(",@function") && listing.contains("k0"), "functions have names");
}

#[test]
fn a_device_compiler_short_of_memory_is_a_clear_error() {
    if succeed(&["doctor"])["nvrtc"]["found"] != true {
        return;
    }
    let folder = Folder::new();
    let (path, out) = (model("lstm", "torchscript.onnx"), folder.join("x.weave").display().to_string());
    let arguments = ["compile", &path, "-o", &out, "--target", "sm_90a", "--compiler-memory"];
    for mebibytes in ["1", "8", "20"] {
        let message = fail(4, "device-compiler", &[&arguments[..], &[mebibytes]].concat());
        let reasons = [format!("needs more than {mebibytes} MiB"), format!("crashed with {mebibytes} MiB")];
        assert!(reasons.iter().any(|reason| message.contains(reason)), "{message}");
        assert!(message.contains("--compiler-memory"), "{message}");
    }
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}
