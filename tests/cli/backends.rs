//! Back ends of a bundle: which is chosen, what the bundle says of it, and that devices run what it holds.

use std::fs;

use warpweave::runtime::json::Value;

use crate::support::models_by_hand::open_batch;
use crate::support::tool::{Folder, fail, has_nvrtc, host_bundle, model, succeed, tool};

/// The bundle of a small model for this back end, and what `compile` said of its target.
fn bundle(folder: &Folder, name: &str, backend: &str) -> (String, Value) {
    let path = folder.join(name).display().to_string();
    let model = model("dlrm", "dynamo.onnx");
    let told = succeed(&["compile", &model, "-o", &path, "--target", "sm_90a", "--backend", backend]);
    (path, told["targets"][0].clone())
}

#[test]
fn a_bundle_runs_on_the_back_end_that_it_was_compiled_for() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let io = model("dlrm", "io.npz");
    for backend in ["persistent", "cuda-graph", "auto"] {
        let (path, told) = bundle(&folder, &format!("{backend}.weave"), backend);
        let inspected = succeed(&["inspect", &path]);
        let record = &inspected["targets"]["sm_90a"];
        assert_eq!(record["backend"], told["backend"]);
        let is_asked = record["backend_reason"] == "asked";
        assert_eq!(is_asked, backend != "auto", "{record}");
        assert!(!is_asked || record["backend"] == backend, "{record}");
        if record["backend"] == "mixed" {
            let segments = record["segments"].as_array().expect("the segments are listed");
            let reasons = record["backend_reason"]["mixed"]["segments"].as_array().expect("each has its reason");
            assert!(segments.len() > 1 && segments.len() == reasons.len(), "{record}");
            let same = |(segment, reason): (&Value, &Value)| segment["backend"] == reason["backend"];
            assert!(segments.iter().zip(reasons).all(same), "{record}");
            assert_eq!(told["segments"].as_u64(), Some(segments.len() as u64));
        }
        let plain = String::from_utf8_lossy(&tool(&["inspect", &path]).stdout).into_owned();
        assert!(plain.contains(if is_asked { "as asked" } else { "by prediction: " }), "{plain}");
        let compared = succeed(&["compare", &path, "--io", &io, "--device", "emulator", "--veus", "3"]);
        assert_eq!(compared["passed"], true, "{compared}");
    }
}

/// The notes of a command that succeeds.
#[track_caller]
fn notes(arguments: &[&str]) -> String {
    let output = tool(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    errors
}

#[test]
fn what_is_chosen_by_default_is_said_with_both_times_and_by_how_much() {
    let (path, io) = (model("dlrm", "dynamo.onnx"), model("dlrm", "io.npz"));
    let quick = ["--warmup-ms", "1", "--duration-ms", "1", "--input-sets", "1"];
    for command in [&["run", &path][..], &["compare", &path, "--io", &io], &[&["bench", &path], &quick[..]].concat()] {
        let told = notes(&[command, &["--device", "emulator"]].concat());
        let note = told.lines().find(|line| line.contains("by prediction: ")).unwrap_or_else(|| panic!("{told}"));
        assert!([" us persistent, ", " us as a graph, ", " % less"].iter().all(|part| note.contains(part)), "{note}");
        let asked = notes(&[command, &["--device", "emulator", "--backend", "cuda-graph"]].concat());
        assert!(!asked.contains("by prediction"), "{asked}");
    }
    if has_nvrtc() {
        let folder = Folder::new();
        let out = folder.join("x.weave").display().to_string();
        let told = notes(&["compile", &path, "-o", &out, "--target", "sm_90a"]);
        assert!(told.contains("note: sm_90a: ") && told.contains(" % less"), "{told}");
    }
}

#[test]
fn a_model_runs_on_the_back_end_that_is_asked_for() {
    let (path, io) = (model("dlrm", "dynamo.onnx"), model("dlrm", "io.npz"));
    for device in ["emulator", "text"] {
        for backend in ["persistent", "cuda-graph", "mixed"] {
            let arguments = ["--device", device, "--backend", backend];
            let compared = succeed(&[&["compare", &path, "--io", &io], &arguments[..]].concat());
            assert_eq!((&compared["backend"], &compared["passed"]), (&backend.into(), &true.into()), "{device}");
        }
    }
    let ran = succeed(&["run", &path, "--device", "emulator", "--backend", "mixed"]);
    assert_eq!(ran["backend"], "mixed");
    let quick = ["--warmup-ms", "1", "--duration-ms", "1", "--input-sets", "1"];
    let measured = succeed(&[&["bench", &path, "--device", "emulator", "--backend", "mixed"], &quick[..]].concat());
    assert_eq!(measured["plan"]["backend"], "mixed");
}

#[test]
fn a_back_end_that_makes_no_difference_is_refused_or_said_to_make_none() {
    let folder = Folder::new();
    let bundle = host_bundle(&folder);
    for command in ["run", "profile", "bench", "check"] {
        let message = fail(2, "usage", &[command, &bundle, "--backend", "cuda-graph"]);
        assert!(message.contains("--backend") && message.contains("compile the model again"), "{message}");
    }
    let told = notes(&["run", &model("dlrm", "dynamo.onnx"), "--backend", "mixed"]);
    assert!(told.contains("--backend makes no difference on host"), "{told}");
    let one_group = open_batch(&folder);
    let told = notes(&["run", &one_group, "--batch", "2", "--device", "emulator", "--backend", "mixed"]);
    assert!(told.contains("one group of operators makes no segments of both kinds"), "{told}");
}

#[test]
fn a_program_that_keeps_no_trace_is_recorded_as_one_that_does() {
    let path = model("dlrm", "dynamo.onnx");
    let told = notes(&["profile", &path, "--device", "emulator"]);
    assert!(told.contains("mixed, by prediction: ") && told.contains("one persistent program is recorded"), "{told}");
    let message = fail(4, "device", &["profile", &path, "--device", "emulator", "--backend", "cuda-graph"]);
    assert!(message.contains("--backend persistent"), "{message}");
}

#[test]
fn graphs_of_equal_inputs_are_equal_bytes() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let [first, second] = ["first", "second"].map(|name| bundle(&folder, name, "cuda-graph").0);
    let read = |path: &String| fs::read(path).expect("the bundle is there");
    assert!(read(&first) == read(&second));
}

#[test]
fn a_plan_is_explained_under_its_back_end() {
    let path = model("mobilenet_v2", "torchscript.onnx");
    let told = |backend| succeed(&["explain", &path, "--plan", "--backend", backend]);
    let by_default = succeed(&["explain", &path, "--plan"]);
    let [persistent, graph, auto] = ["persistent", "cuda-graph", "auto"].map(told);
    assert_eq!((persistent["waits"].as_u64() > Some(0), &graph["waits"]), (true, &Value::from(0)));
    assert_eq!(graph["backend"], "cuda-graph");
    let chosen = if auto["backend"] == "cuda-graph" { &graph } else { &persistent };
    assert_eq!((&by_default["backend"], &by_default["backend_reason"]), (&auto["backend"], &auto["backend_reason"]));
    assert_eq!(auto["predicted_makespan_microseconds"], chosen["predicted_makespan_microseconds"]);
}

#[test]
fn a_model_of_two_kinds_is_compiled_inspected_and_run_as_segments() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let (path, told) = bundle(&folder, "mixed.weave", "auto");
    assert_eq!(told["backend"], "mixed", "branches of tables, then few rTasks: {told}");
    let plain = String::from_utf8_lossy(&tool(&["inspect", &path]).stdout).into_owned();
    assert!(["mixed, by prediction: ", "; segment 0 ", " then "].iter().all(|part| plain.contains(part)), "{plain}");
    let checked = succeed(&["check", &path]);
    assert_eq!(checked["backend"], "mixed", "{checked}");
    let io = model("dlrm", "io.npz");
    for device in ["emulator", "text"] {
        let arguments = ["compare", &path, "--io", &io, "--device", device, "--veus", "3"];
        let compared = succeed(&arguments);
        assert_eq!(compared["passed"], true, "{device}: {compared}");
    }
    let model = model("dlrm", "dynamo.onnx");
    let pictures = folder.join("pictures").display().to_string();
    let explained = succeed(&["explain", &model, "--plan", "--backend", "auto", "-o", &pictures]);
    assert!(explained["segments"].as_array().is_some_and(|segments| segments.len() > 1), "{explained}");
    let pictures = folder.join("pictures");
    for name in ["timeline.svg", "trace.json"] {
        assert!(fs::read_to_string(pictures.join(name)).is_ok_and(|text| !text.is_empty()), "{name} is written");
    }
    let text = String::from_utf8_lossy(&tool(&["explain", &model, "--plan", "--backend", "auto"]).stdout).into_owned();
    assert!(text.contains("segment 0") && text.contains("segment 1"), "{text}");
}

#[test]
fn nobody_asks_for_the_back_end_of_the_host() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let compiled = tool(&["compile", &model("dlrm", "dynamo.onnx"), "-o", &path, "--target", "host"]);
    for output in [compiled, tool(&["inspect", &path])] {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("as always on the host") && !said.contains("asked"), "{said}");
    }
}
