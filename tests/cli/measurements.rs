//! `bench` and `report`: what they write, and how they take bad input.

use std::fs;

use warpweave::runtime::json::{Value, json};

use crate::tool::{Folder, fail, host_bundle, model, succeed, tool};

const QUICK: [&str; 4] = ["--warmup-ms", "5", "--duration-ms", "20"];

fn bench(path: &str, more: &[&str]) -> Value {
    succeed(&[&["bench", path][..], &QUICK, more].concat())
}

/// One field of a message in the encoding of protocol buffers.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).expect("a short field")], bytes].concat()
}

fn integer(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

/// A model `y = Relu(x)` of `N` rows of 8 numbers, `N` open.
fn open_batch(folder: &Folder) -> String {
    let value = |name: &str| {
        let dimensions = [field(1, &field(2, b"N")), field(1, &integer(1, 8))].concat();
        let tensor = [integer(1, 1), field(2, &dimensions)].concat();
        [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
    };
    let node = [field(1, b"x"), field(2, b"y"), field(4, b"Relu")].concat();
    let graph = [field(1, &node), field(2, b"rows"), field(11, &value("x")), field(12, &value("y"))].concat();
    let bytes = [integer(1, 8), field(8, &integer(2, 17)), field(7, &graph)].concat();
    let path = folder.join("rows.onnx");
    fs::write(&path, bytes).expect("the file can be written");
    path.display().to_string()
}

fn peers(folder: &Folder, median_ms: f64) -> String {
    let peer = |batch: usize| {
        json!({"model": "rows", "batch": batch, "precision": "fp32", "peer": "other 1", "mode": "graph",
               "median_ms": median_ms})
    };
    let path = folder.join("peers.jsonl");
    fs::write(&path, format!("{}\n{}\n", peer(1), peer(4))).expect("the file can be written");
    path.display().to_string()
}

#[test]
fn a_measurement_tells_what_ran() {
    let result = bench(&model("dlrm", "torchscript.onnx"), &["--threads", "2", "--cold-l2"]);
    assert_eq!(result["schema"], "warpweave.bench/1");
    for absent in ["training", "clocks", "device_time", "transfers", "product", "sweep"] {
        assert_eq!(result[absent], Value::Null, "{absent}");
    }
    let plan = &result["plan"];
    assert_eq!(plan["launches"], 1);
    let groups = plan["groups"].as_array().expect("groups");
    let operations: u64 = groups.iter().filter_map(|group| group["operations"].as_u64()).sum();
    assert!(operations > 0 && plan["operations"] == operations);
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

#[test]
fn bad_batches_and_baselines_are_refused() {
    let folder = Folder::new();
    let (path, open) = (model("dlrm", "torchscript.onnx"), open_batch(&folder));
    for batch in ["0", "1,0", "many", "-1", ""] {
        let output = tool(&["bench", &open, &format!("--batch={batch}")]);
        assert_eq!(output.status.code(), Some(2), "{batch}");
    }
    let message = fail(2, "usage", &["bench", &path, "--batch", "777"]);
    assert!(message.contains("fixes its shapes") && message.contains("open first dimension"), "{message}");
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
    assert!(message.contains("no peer for `rows`, batch 2, fp32"), "{message}");
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
