//! Recorded times, budgets of searches, and tuning without a GPU.

use std::fs;
use std::path::Path;

use warpweave::frontend::ImportOptions;
use warpweave::fusion::cost::arch::GpuArch;
use warpweave::fusion::cost::estimate::EstimatedCost;
use warpweave::fusion::cost::timings::{Machine, Version};
use warpweave::fusion::partition::search::partition;
use warpweave::fusion::partition::search::{FusionGroup, FusionLevel};
use warpweave::runtime::target::Target;
use warpweave::{Build, Model, OpenError, TimingsFile, TimingsFileError, architecture};
use warpweave_measure::tune::{Measure, Outcome, tune, untimed};

use crate::support::tool::{Folder, fail, model, succeed, tool};

/// Says that a kernel is the faster, the fewer tiles it has.
struct FewTiles;

impl Measure for FewTiles {
    fn measure(&mut self, group: &FusionGroup, _: u32) -> Result<Outcome, OpenError> {
        Ok(Outcome::Time { microseconds: group.kernel.tiles() as f64 })
    }
}

#[derive(Debug)]
#[expect(dead_code, reason = "read when a test fails")]
enum Failure {
    Open(OpenError),
    File(TimingsFileError),
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

/// Writes made-up times of all kernels that `dlrm` may have on `target`.
fn write_times(path: &Path, target: Target) {
    let model = Model::import(Path::new(&model("dlrm", "torchscript.onnx")), &ImportOptions::default());
    let build = Build::new(model.expect("the model imports")).expect("the passes are right");
    let version = Version { major: 13, minor: 0 };
    let machine = Machine { architecture: architecture(target), driver: version, compiler: version };
    let mut file = TimingsFile::read_or_begin(path).expect("the file is new");
    let estimate = EstimatedCost { arch: GpuArch::h200() };
    let partitions =
        [FusionLevel::Full, FusionLevel::None].map(|fusion| partition(build.prepared(), &estimate, fusion));
    let work = untimed(&build.prepared().program, &partitions, &estimate, &file.timings, &machine);
    let mut timings = file.timings.clone();
    let mut keep = |timings: &_| -> Result<(), Failure> {
        file.timings.clone_from(timings);
        file.write().map_err(Failure::File)
    };
    let report = tune(&work, &machine, &mut timings, &mut FewTiles, &|| false, &mut keep).expect("the times are kept");
    assert!(report.recorded > 20 && report.refused.is_empty(), "{report:?}");
}

#[test]
fn equal_times_give_equal_bytes_in_any_order() {
    let folder = Folder::new();
    let (times, turned) = (folder.join("times.txt"), folder.join("turned.txt"));
    write_times(&times, Target::Sm90a);
    let text = fs::read_to_string(&times).expect("the times are written");
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1..].reverse();
    fs::write(&turned, lines.join("\n")).expect("the file can be written");
    let bundle = |name: &str, timings: &[&str]| {
        let path = folder.join(name).display().to_string();
        let command = ["compile", &model("dlrm", "torchscript.onnx"), "-o", &path, "--target", "sm_90a"];
        succeed(&[&command, timings].concat());
        fs::read(path).expect("the bundle is there")
    };
    let (times, turned) = (times.display().to_string(), turned.display().to_string());
    let first = bundle("first.weave", &["--timings", &times]);
    assert!(first == bundle("second.weave", &["--timings", &times]));
    assert!(first == bundle("turned.weave", &["--timings", &turned]));
    assert!(first != bundle("estimated.weave", &[]), "the times decide something");
}

#[test]
fn recorded_times_are_explained() {
    let folder = Folder::new();
    let times = folder.join("times.txt");
    write_times(&times, Target::Sm90a);
    let path = model("dlrm", "torchscript.onnx");
    let told = succeed(&["explain", &path, "--timings", &times.display().to_string()]);
    let groups = told["groups"].as_array().expect("there are groups");
    let mut measured = 0;
    for group in groups {
        let first = group["statements"][0].as_str().expect("a group has statements");
        let command = ["explain", &path, "--node", first];
        let told = succeed(&[&command[..], &["--timings", &times.display().to_string()]].concat());
        if !told["measured_microseconds"].is_null() {
            measured += 1;
            assert_eq!(told["measured_microseconds"], told["chosen"]["estimated_microseconds"]);
        }
        assert!(succeed(&command)["measured_microseconds"].is_null());
    }
    assert!(measured > 0, "some group was measured as it is");
}

#[test]
fn useless_times_are_refused() {
    let folder = Folder::new();
    let path = model("dlrm", "torchscript.onnx");
    let out = folder.join("out.weave").display().to_string();
    let check = |timings: &Path, target: &str, code: &str, says: &str| {
        let timings = timings.display().to_string();
        let command = ["compile", &path, "-o", &out, "--target", target, "--timings", &timings];
        let message = fail(2, code, &command);
        assert!(message.contains(says), "{message}");
        if target == "sm_90a" {
            let message = fail(2, code, &["explain", &path, "--timings", &timings]);
            assert!(message.contains(says), "{message}");
        }
    };
    let (foreign, broken, empty) = (folder.join("foreign.txt"), folder.join("broken.txt"), folder.join("empty.txt"));
    write_times(&foreign, Target::Sm80);
    fs::write(&broken, "warpweave timings 1\nsm_90a\n").expect("the file can be written");
    fs::write(&empty, "warpweave timings 1\n").expect("the file can be written");
    check(&folder.join("absent.txt"), "sm_90a", "timings", "absent.txt");
    check(&broken, "sm_90a", "timings", "broken.txt: line 2: a record has 8 fields");
    check(&foreign, "sm_90a", "timings", "only of sm_80; tune for sm_90a");
    check(&empty, "sm_90a", "timings", "tune for sm_90a");
    check(&foreign, "host", "usage", "--target");
    assert!(!folder.names().contains(&"out.weave".to_owned()));
}

#[test]
fn a_search_without_time_keeps_what_it_has() {
    let folder = Folder::new();
    let path = model("mobilenet_v2", "torchscript.onnx");
    let out = folder.join("out.weave").display().to_string();
    let compile = |budget: &[&str]| {
        let told = succeed(&[&["compile", &path, "-o", &out, "--target", "host"], budget].concat());
        told["targets"][0]["groups"].as_u64().expect("groups are counted")
    };
    let (none, whole, long) = (compile(&["--search-budget", "0"]), compile(&[]), compile(&["--search-budget", "1e6"]));
    assert!(none > whole && whole == long, "{none} groups, {whole} without a limit, {long} in a long time");
    let told = tool(&["explain", &path, "--search-budget", "0"]);
    assert_eq!(told.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&told.stderr).contains("ended early"));
    let result = succeed(&["compare", &out, "--io", &model("mobilenet_v2", "io.npz"), "--device", "host"]);
    assert_eq!(result["passed"], true);
}

#[test]
fn what_is_no_budget_is_refused() {
    let path = model("dlrm", "torchscript.onnx");
    for budget in ["", "-1", "soon", "nan", "1e400"] {
        for command in [
            vec!["compile", &path, "-o", "out.weave", "--search-budget", budget],
            vec!["explain", &path, "--search-budget", budget],
            vec!["tune", &path, "--timings", "times.txt", "--budget", budget],
        ] {
            let output = tool(&command);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {errors}");
            assert!(errors.contains("budget"), "{errors}");
        }
    }
}

#[test]
fn tuning_needs_a_gpu() {
    let folder = Folder::new();
    let (path, times) = (model("dlrm", "torchscript.onnx"), folder.join("times.txt").display().to_string());
    let message = fail(4, "cuda", &["tune", &path, "--timings", &times, "--device", "cuda:4095"]);
    assert!(message.contains("driver"), "{message}");
    for device in ["host", "reference", "emulator", "text"] {
        let message = fail(2, "usage", &["tune", &path, "--timings", &times, "--device", device]);
        assert!(message.contains("--device cuda:N"), "{message}");
    }
    let broken = folder.join("broken.txt");
    fs::write(&broken, "something else\n").expect("the file can be written");
    fail(2, "timings", &["tune", &path, "--timings", &broken.display().to_string()]);
    assert_eq!(folder.names(), ["broken.txt"]);
    assert_eq!(fs::read_to_string(&broken).ok().as_deref(), Some("something else\n"));
}
