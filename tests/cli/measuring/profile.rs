//! Recording runs.

use std::fs;

use warpweave::runtime::json::{self, Value};

use crate::support::tool::{Folder, fail, host_bundle, model, succeed, tool};

#[test]
fn a_run_on_the_emulator_is_recorded_in_steps() {
    let folder = Folder::new();
    let out = folder.join("out").display().to_string();
    let path = model("lstm", "torchscript.onnx");
    let told = succeed(&["profile", &path, "--device", "emulator", "-o", &out]);
    assert!(told["clock"].as_str().is_some_and(|clock| clock.contains("steps")));
    let operators = told["operators"].as_array().expect("rOperators are listed");
    let tasks: u64 = operators.iter().filter_map(|operator| operator["tasks"].as_u64()).sum();
    assert_eq!(told["tasks"].as_u64(), Some(tasks));
    for parts in ["templates", "kernels"] {
        let parts = told[parts].as_array().expect("rOperators are put together");
        let of_parts: u64 = parts.iter().filter_map(|part| part["tasks"].as_u64()).sum();
        assert_eq!(of_parts, tasks, "every rTask has a template and a kernel");
    }
    let shares = ["running", "waiting", "signalling", "dispatching", "idle"];
    let whole: f64 = shares.iter().filter_map(|share| told["recorded_shares"][share].as_f64()).sum();
    assert!((whole - 1.0).abs() < 1e-9 && told["recorded_shares"]["dispatching"].as_f64() > Some(0.0), "{whole}");
    let recorded = |operator: &Value| operator["recorded"].as_f64().unwrap_or(0.0);
    assert!(operators.windows(2).all(|pair| recorded(&pair[0]) >= recorded(&pair[1])));

    let trace = fs::read(folder.join("out/trace.json")).expect("the trace is written");
    let trace: Value = json::from_slice(&trace).expect("the trace is JSON");
    let events = trace["traceEvents"].as_array().expect("there are events");
    assert_eq!(events.iter().filter(|event| event["cat"] == "run").count() as u64, tasks);
    let picture = fs::read_to_string(folder.join("out/timeline.svg")).expect("the picture is written");
    assert!(picture.contains("steps of the emulator, not times of a device") && !picture.contains("predicted"));
    let again = succeed(&["profile", &path, "--device", "emulator"]);
    assert_eq!(told, again, "equal seeds give equal steps");
}

#[test]
fn a_bundle_is_recorded_on_the_host() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let told = succeed(&["profile", &path, "--threads", "2"]);
    assert_eq!((told["device"].as_str(), told["clock"].as_str()), (Some("host"), Some("measured")));
    assert!(told["recorded"].as_f64() > Some(0.0) && told["predicted_microseconds"].as_f64() > Some(0.0));
    for device in ["emulator", "text", "machine-code"] {
        let message = fail(4, "bundle-target", &["profile", &path, "--device", device]);
        assert!(message.contains("holds host, not sm_90a; compile the model with --target sm_90a,host"), "{message}");
    }
}

/// Every column of times has one unit, which its heading names.
#[test]
fn a_column_has_one_unit() {
    let path = model("lstm", "torchscript.onnx");
    for (device, unit, decimals) in [("host", "µs", 2), ("emulator", "steps", 0)] {
        let output = tool(&["profile", &path, "--device", device]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && !text.contains(" us") && !text.contains(" ms"), "{text}");
        let mut rows = text.lines().skip_while(|line| !line.starts_with("  rOperator "));
        let heading = rows.next().expect("rOperators are listed");
        assert!(heading.contains("predicted, µs") && heading.contains(&format!("recorded, {unit}")), "{heading}");
        for row in rows {
            let cells: Vec<&str> = row.split_whitespace().collect();
            let decimals_of = |cell: &str| cell.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            let are_numbers = cells[1..4].iter().all(|cell| cell.parse::<f64>().is_ok());
            assert!(are_numbers && [decimals_of(cells[2]), decimals_of(cells[3])] == [2, decimals], "{row}");
        }
    }
}

#[test]
fn a_device_without_a_plan_is_refused() {
    let path = model("dlrm", "torchscript.onnx");
    assert!(fail(4, "device", &["profile", &path, "--device", "reference"]).contains("plan"));
    let output = tool(&["profile", &path, "--device", "toaster"]);
    assert_eq!(output.status.code(), Some(2));
}
