//! Pictures hold what they are drawn of. `scripts/check_pictures.py` looks at them in a browser.

use std::fs;
use std::path::Path;

use warpweave::runtime::json::{self, Value};

use crate::support::tool::{Folder, model, succeed};

/// The area of an outline of rectangles, such as `M56 44h1400v24h-1400z`.
fn area(outline: &str) -> f64 {
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let of_one = |rectangle: &str| {
        let (_, sides) = rectangle.split_once('h').expect("a width");
        let (width, sides) = sides.split_once('v').expect("a height");
        number(width) * number(sides.split_once('h').expect("the way back").0)
    };
    outline.split('z').filter(|rectangle| !rectangle.is_empty()).map(of_one).sum()
}

/// The share of a timeline's rows that has colour.
fn coloured(timeline: &str) -> f64 {
    let outlines = |beginning: &str| {
        let paths = timeline.lines().filter(|line| line.starts_with(beginning));
        paths.filter_map(|line| line.split_once(" d=\"")?.1.split('"').next()).map(area).sum::<f64>()
    };
    outlines("<path fill=") / outlines("<path class=\"idle\"")
}

/// The share of its threads' time in which a trace has rTasks that run.
fn busy(trace: &[u8]) -> f64 {
    let trace: Value = json::from_slice(trace).expect("a trace is JSON");
    let events = trace["traceEvents"].as_array().expect("there are events");
    let number = |event: &Value, name: &str| event[name].as_f64().unwrap_or(0.0);
    let runs = events.iter().filter(|event| ["run", "hold", "prefetch"].iter().any(|kind| event["cat"] == *kind));
    let units = events.iter().filter(|event| event["name"] == "thread_name").count();
    let end = events.iter().find(|event| event["name"] == "end").map_or(0.0, |end| number(end, "ts"));
    runs.map(|event| number(event, "dur")).sum::<f64>() / (units as f64 * end)
}

#[test]
fn a_timeline_is_coloured_for_as_long_as_units_run() {
    let folder = Folder::new();
    let check = |out: &Path, what: &str| {
        let read = |file: &str| fs::read(out.join(file)).expect("it is written");
        let (coloured, busy) = (coloured(&String::from_utf8_lossy(&read("timeline.svg"))), busy(&read("trace.json")));
        assert!(busy > 0.0 && (coloured - busy).abs() < 0.02 * busy, "{what}: {coloured} of {busy}");
    };
    for name in ["lstm", "bert", "mobilenet_v2", "dlrm", "resnet_bottleneck"] {
        let path = model(name, "torchscript.onnx");
        for (kind, command) in [
            ("predicted", &["explain", "--plan", "--backend", "persistent"][..]),
            ("recorded", &["profile", "--device", "host", "--threads", "2"]),
        ] {
            let out = folder.join(&format!("{name}-{kind}"));
            succeed(&[command, &[&path, "-o", &out.display().to_string()]].concat());
            check(&out, &format!("{name}, {kind}"));
        }
    }
}

#[test]
fn a_partition_has_every_group_in_each_of_its_drawings() {
    let folder = Folder::new();
    let path = model("bert", "torchscript.onnx");
    let told = succeed(&["explain", &path, "-o", &folder.join("out").display().to_string()]);
    let picture = fs::read_to_string(folder.join("out/partition.svg")).expect("the picture is written");
    for group in 0..told["groups"].as_array().map_or(0, Vec::len) {
        let shown = picture.matches(&format!("\ngroup {group}: ")).count();
        assert_eq!(shown, 4, "wide and narrow, folded and opened");
    }
    assert!(picture.contains("× 2 · groups") && !picture.contains("<script"));
}
