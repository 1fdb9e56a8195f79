//! `bench` and `report`: what they write, and how they take bad input.

use std::fs;

use warpweave::runtime::json::{Value, json};

use crate::support::models_by_hand::open_batch;
use crate::support::tool::{Folder, fail, host_bundle, model, succeed, tool};

const QUICK: [&str; 4] = ["--warmup-ms", "5", "--duration-ms", "20"];

fn bench(path: &str, more: &[&str]) -> Value {
    succeed(&[&["bench", path][..], &QUICK, more].concat())
}

/// A line of peers: what is not said is as in a measurement of `rows` on the host.
fn peer(said: &Value) -> Value {
    let mut line = json!({
        "model": "rows", "batch": 1, "precision": "fp32", "device": "cpu", "peer": "other 1", "mode": "graph",
        "median_ms": 1.0
    });
    let fields = said.as_object().expect("fields are said").clone();
    line.as_object_mut().expect("a line has fields").extend(fields);
    line
}

fn peers(folder: &Folder, median_ms: f64) -> String {
    let line = |batch: usize| peer(&json!({"batch": batch, "median_ms": median_ms}));
    let path = folder.join("peers.jsonl");
    fs::write(&path, format!("{}\n{}\n", line(1), line(4))).expect("the file can be written");
    path.display().to_string()
}

#[test]
fn a_measurement_tells_what_ran() {
    let result = bench(&model("dlrm", "torchscript.onnx"), &["--threads", "2", "--cold-l2"]);
    assert_eq!(result["schema"], "warpweave.bench/1");
    assert_eq!(result["priced_for"], "processor with avx2, built-in constants");
    for absent in ["training", "clocks", "device_time", "transfers", "product", "sweep"] {
        assert_eq!(result[absent], Value::Null, "{absent}");
    }
    let plan = &result["plan"];
    assert_eq!(plan["launches"], 1);
    let groups = plan["groups"].as_array().expect("groups");
    let operations: u64 = groups.iter().filter_map(|group| group["operations"].as_u64()).sum();
    assert!(operations > 0 && plan["operations"] == operations);
    let profile = succeed(&["profile", &model("dlrm", "torchscript.onnx"), "--threads", "2"]);
    let recorded = profile["operators"].as_array().expect("rOperators");
    let names = |group: &Value| [group["operator"].clone(), group["nodes"].clone()];
    assert!(groups.iter().all(|group| recorded.iter().any(|operator| names(operator) == names(group))), "{plan}");
    assert!(groups[0]["nodes"].as_str().is_some_and(|nodes| nodes.starts_with("Gemm \"")), "{plan}");
    assert!(plan["arena_bytes"].as_u64() > Some(0) && plan["weights_bytes"].as_u64() > Some(0));
    assert!(plan["estimated_seconds"].as_f64() > Some(0.0));
    assert!(result["achieved"]["operations_per_second"].as_f64() > Some(0.0));
    assert_eq!(result["achieved"]["limits"], Value::Null);
    assert_eq!(result["model"]["precision"], "fp32");
    assert_eq!(result["method"]["cold_l2"], true);
    let runs = result["runs"].as_u64().expect("runs");
    assert!(runs >= 10 && result["samples"]["latency"].as_array().map(Vec::len) == Some(runs as usize));
}

#[test]
fn a_soak_repeats_launches_and_compares_devices() {
    for device in ["host", "emulator", "text"] {
        let soak = ["--device", device, "--soak", "30", "--launches", "3", "--against", "reference"];
        let result = bench(&model("dlrm", "torchscript.onnx"), &soak);
        let found = &result["soak"];
        assert_eq!((&found["launches"], &found["different"]), (&3.into(), &0.into()), "{device}: {found}");
        assert_eq!((&found["is_spoiled"], &found["against"]["device"]), (&true.into(), &"reference".into()));
        assert!(found["against"]["excess"].as_f64().is_some_and(|excess| (0.0..=1.0).contains(&excess)), "{found}");
    }
    let output = tool(&["bench", &model("dlrm", "torchscript.onnx"), "--launches", "3"]);
    assert_eq!(output.status.code(), Some(2), "launches are those of a soak");
}

#[test]
fn a_bundle_is_measured_like_its_model() {
    let folder = Folder::new();
    let (bundle, path) = (bench(&host_bundle(&folder), &[]), bench(&model("dlrm", "torchscript.onnx"), &[]));
    for key in ["groups", "arena_bytes", "weights_bytes", "operations"] {
        assert_eq!(bundle["plan"][key], path["plan"][key], "{key}");
    }
    let message = fail(2, "usage", &["bench", &host_bundle(&folder), "--batch", "1,2"]);
    assert!(message.contains("compile the model again"), "{message}");
}

#[test]
fn batches_are_swept_beside_peers() {
    let folder = Folder::new();
    let (path, peers) = (open_batch(&folder), peers(&folder, 1e6));
    let result = bench(&path, &["--batch", "4,1,2", "--baseline", &peers, "--name", "rows"]);
    assert_eq!(result["model"]["batch"], 4);
    let points = result["sweep"]["points"].as_array().expect("points");
    let batches: Vec<u64> = points.iter().filter_map(|point| point["batch"].as_u64()).collect();
    assert_eq!(batches, [1, 2, 4]);
    let peer_counts: Vec<usize> = points.iter().filter_map(|point| point["peers"].as_array()).map(Vec::len).collect();
    assert_eq!(peer_counts, [1, 0, 1]);
    assert!(result["peers"][0]["speed_up"].as_f64() > Some(1.0));
}

#[test]
fn a_slow_run_fails_the_check() {
    let folder = Folder::new();
    let path = open_batch(&folder);
    let arguments = |peers: &str| {
        let text = ["bench", &path, "--batch", "1", "--name", "rows", "--fail-if-slower", "10", "--baseline", peers];
        [text.map(str::to_owned).to_vec(), QUICK.map(str::to_owned).to_vec()].concat()
    };
    let run = |median_ms: f64| {
        let arguments = arguments(&peers(&folder, median_ms));
        tool(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let slow = run(1e-9);
    assert_eq!(slow.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&slow.stderr).contains("slower than other 1"));
    assert_eq!(run(1e9).status.code(), Some(0));
}

/// A gate passes or fails on what is equal; what is not is named, and where nothing is equal there is no verdict.
#[test]
fn only_what_is_equal_is_compared() {
    let folder = Folder::new();
    let path = open_batch(&folder);
    let fast = |said: &Value| {
        let mut line = peer(said);
        line["median_ms"] = 1e-9.into();
        line
    };
    let others = [
        (fast(&json!({"device": "NVIDIA H200"})), "1 of another device (NVIDIA H200)"),
        (fast(&json!({"precision": "fp16"})), "1 of another precision (fp16)"),
        (fast(&json!({"batch": 8})), "1 of another batch (8)"),
        (fast(&json!({"model": "rows-reduced"})), "1 of another size (rows-reduced)"),
        (fast(&json!({"training": true})), "1 of training steps"),
    ];
    let file = folder.join("peers.jsonl");
    let baseline = file.display().to_string();
    let gate = ["bench", &path, "--batch", "1", "--baseline", &baseline, "--fail-if-slower", "10"];
    for (line, reason) in &others {
        fs::write(&file, line.to_string()).expect("the file can be written");
        let message = fail(2, "peers", &[&gate[..], &QUICK].concat());
        assert!(message.contains("no peer for `rows`") && message.contains(reason), "{message}");
    }
    let slow = peer(&json!({"median_ms": 1e9}));
    let lines: Vec<String> = others.iter().map(|(line, _)| line).chain([&slow]).map(ToString::to_string).collect();
    fs::write(&file, lines.join("\n")).expect("the file can be written");
    let output = tool(&[&gate[..], &QUICK].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(0) && others.iter().all(|(_, reason)| errors.contains(reason)), "{errors}");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("peer other 1 graph on cpu, fp32, batch 1: "), "{told}");
    let result = bench(&path, &["--batch", "1", "--baseline", &baseline]);
    assert_eq!(
        (result["peers"].as_array().map(Vec::len), result["peers"][0]["device"].as_str()),
        (Some(1), Some("cpu"))
    );
    assert_eq!(result["left_out"].as_array().map(Vec::len), Some(others.len()));
    let message = fail(2, "peers", &[&gate[..], &QUICK, &["--device", "emulator"]].concat());
    assert!(message.contains("compared with nothing"), "{message}");
}

#[test]
fn a_reduced_model_is_named_so_and_compared_with_no_full_one() {
    let folder = Folder::new();
    let path = folder.join("dlrm.onnx").display().to_string();
    let written = succeed(&["models", "export", "dlrm", "--reduced", "-o", &path]);
    assert_eq!(written["model"], "dlrm-reduced");
    assert_eq!(bench(&path, &[])["model"]["name"], "dlrm-reduced");
    let file = folder.join("peers.jsonl");
    fs::write(&file, peer(&json!({"model": "dlrm"})).to_string()).expect("the file can be written");
    let baseline = file.display().to_string();
    let gate = ["bench", &path, "--baseline", &baseline, "--fail-if-slower", "10"];
    let message = fail(2, "peers", &[&gate[..], &QUICK].concat());
    assert!(message.contains("1 of another size (dlrm)"), "{message}");
    let message = fail(2, "usage", &[&gate[..], &QUICK, &["--name", "dlrm"]].concat());
    assert!(message.contains("dlrm-reduced"), "{message}");
}

#[test]
fn bad_batches_and_baselines_are_refused() {
    let folder = Folder::new();
    let open = open_batch(&folder);
    for batch in ["0", "1,0", "many", "-1", ""] {
        let output = tool(&["bench", &open, &format!("--batch={batch}")]);
        assert_eq!(output.status.code(), Some(2), "{batch}");
    }
    let message = fail(2, "file", &["bench", &open, "--batch", "1", "--baseline", "absent.jsonl"]);
    assert!(message.contains("absent.jsonl"), "{message}");
    let text = folder.join("text.jsonl").display().to_string();
    fs::write(&text, "\nno peer\n").expect("the file can be written");
    let message = fail(2, "peers", &["bench", &open, "--batch", "1", "--baseline", &text]);
    assert!(message.contains("line 2"), "{message}");
    let peers = peers(&folder, 1.0);
    let arguments =
        [&["bench", &open, "--batch", "2", "--baseline", &peers, "--fail-if-slower", "5"][..], &QUICK].concat();
    let message = fail(2, "peers", &arguments);
    assert!(message.contains("no peer for `rows`, batch 2, fp32, on cpu"), "{message}");
    assert!(message.contains("2 of another batch (1, 4)"), "{message}");
    let nowhere = folder.join("nowhere.jsonl");
    let mut line = peer(&json!({}));
    line.as_object_mut().expect("a line has fields").remove("device");
    fs::write(&nowhere, line.to_string()).expect("the file can be written");
    let nowhere = nowhere.display().to_string();
    let message = fail(2, "peers", &["bench", &open, "--batch", "1", "--baseline", &nowhere]);
    assert!(message.contains("line 1: missing field `device`"), "{message}");
    assert_eq!(tool(&["bench", &open, "--fail-if-slower", "5"]).status.code(), Some(2));
    let message = fail(2, "usage", &["bench", &open, "--batch", "1", "--device", "emulator", "--cold-l2"]);
    assert!(message.contains("emulator"), "{message}");
    fail(2, "bundle-file", &["bench", "absent.onnx"]);
}

#[test]
fn results_become_a_page() {
    let folder = Folder::new();
    let path = open_batch(&folder);
    let results = ["one.json", "two.json"].map(|name| {
        let result = bench(&path, &["--batch", "1,2"]);
        let file = folder.join(name);
        fs::write(&file, result.to_string()).expect("the file can be written");
        file.display().to_string()
    });
    let page = folder.join("page.html").display().to_string();
    let report = succeed(&["report", &results[0], &results[1], "-o", &page]);
    assert_eq!(report["results"], 2);
    let html = fs::read_to_string(&page).expect("the page is there");
    assert_eq!(report["charts"], html.matches("<figure>").count());
    assert!(html.contains("Throughput by batch, rows b1 fp32 host") && !html.contains("Speed-up"), "{html}");
    let nodes = bench(&path, &["--batch", "1"])["plan"]["groups"][0]["nodes"].clone();
    let nodes = nodes.as_str().expect("a group has nodes").replace('"', "&quot;");
    assert!(!nodes.is_empty() && html.contains(&format!("group 0: {nodes}")), "{html}");
}

#[test]
fn results_of_another_schema_leave_no_page() {
    let folder = Folder::new();
    let page = folder.join("page.html").display().to_string();
    let file = |name: &str, text: &str| {
        fs::write(folder.join(name), text).expect("the file can be written");
        folder.join(name).display().to_string()
    };
    let message =
        fail(2, "results-schema", &["report", &file("old.json", r#"{"schema": "warpweave.bench/0"}"#), "-o", &page]);
    assert!(message.contains("warpweave.bench/0") && message.contains("`warpweave.bench/1`"), "{message}");
    fail(2, "results-schema", &["report", &file("bare.json", "[]"), "-o", &page]);
    let message = fail(2, "results", &["report", &file("cut.json", r#"{"schema": "warpweave.bench/1""#), "-o", &page]);
    assert!(message.contains("cut.json"), "{message}");
    fail(2, "results", &["report", &file("few.json", r#"{"schema": "warpweave.bench/1"}"#), "-o", &page]);
    fail(2, "results", &["report", &file("empty.json", ""), "-o", &page]);
    let message = fail(2, "file", &["report", "absent.json", "-o", &page]);
    assert!(message.contains("absent.json"), "{message}");
    assert_eq!(tool(&["report", "-o", &page]).status.code(), Some(2));
    assert_eq!(folder.names(), ["bare.json", "cut.json", "empty.json", "few.json", "old.json"]);
}
