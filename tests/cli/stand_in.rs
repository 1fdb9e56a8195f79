//! `cuda:0` on the stand-in driver: sessions, graphs and occupancy as on a GPU, kernels on the emulator, and faults.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use warpweave::runtime::json::{self, Value};

use crate::support::tool::{Folder, has_nvrtc, model, succeed};
use crate::training;

/// A driver with or without a fault, and the file in which its launches are counted.
struct Driver<'a> {
    name: String,
    launches: Option<&'a Path>,
}

impl Driver<'_> {
    fn sound() -> Self {
        Self { name: "stand-in".to_owned(), launches: None }
    }

    fn with(fault: &str) -> Self {
        Self { name: format!("stand-in:{fault}"), launches: None }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpweave"));
        command.args(arguments).env("WARPWEAVE_DRIVER", &self.name);
        if let Some(path) = self.launches {
            command.env("WARPWEAVE_STAND_IN_STATE", path);
        }
        command.output().expect("the binary can be started")
    }

    /// Runs the binary, and returns what it printed as JSON; it ends with `exit`.
    #[track_caller]
    fn told(&self, exit: i32, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {errors}");
        json::from_slice(&output.stdout).expect("JSON is printed")
    }

    /// Runs the binary, which ends with `exit`, and returns what it said.
    #[track_caller]
    fn said(&self, exit: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {errors}");
        errors
    }
}

/// The bundle of a test model for this back end, and its stored arrays.
fn bundle(folder: &Folder, name: &str, backend: &str) -> (String, String) {
    let path = folder.join(&format!("{name}.{backend}.weave")).display().to_string();
    let file = model(name, "torchscript.onnx");
    succeed(&["compile", &file, "-o", &path, "--target", "sm_90a", "--backend", backend]);
    (path, model(name, "io.npz"))
}

fn compare<'a>((path, io): &'a (String, String), more: &[&'a str]) -> Vec<&'a str> {
    [&["compare", path, "--io", io, "--device", "cuda:0"], more].concat()
}

#[test]
fn every_back_end_agrees_and_is_launched_again_and_again() {
    if !has_nvrtc() {
        return;
    }
    let (folder, driver) = (Folder::new(), Driver::sound());
    let devices = driver.told(0, &["doctor"])["driver"]["devices"].clone();
    assert_eq!((&devices[0]["name"], devices.as_array().map(Vec::len)), (&"stand-in for NVIDIA H200".into(), Some(1)));
    for backend in ["persistent", "cuda-graph", "mixed"] {
        let files = bundle(&folder, "lstm", backend);
        assert_eq!(driver.told(0, &compare(&files, &[]))["passed"], true, "{backend}");
        let quick = ["--warmup-ms", "0", "--duration-ms", "0", "--input-sets", "2"];
        let soak = ["--soak", "0.1", "--launches", "50", "--against", "emulator"];
        let measured = driver.told(0, &[&["bench", &files.0, "--device", "cuda:0"], &quick[..], &soak].concat());
        assert_eq!(measured["soak"]["different"], 0, "{backend}: {measured}");
        assert!(measured["device_time"]["p50"].as_f64() > Some(0.0), "{backend}: {measured}");
    }
    let checked = driver.told(0, &["selftest", "--device", "cuda:0"]);
    assert_eq!(checked["devices"][0]["device"], "cuda:0", "{checked}");
}

#[test]
fn states_change_places_from_step_to_step() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let file = |name: &str| folder.join(name).display().to_string();
    let (step, data) = (file("step.weave"), training::data(&folder));
    let trained = ["--train", "loss=cross_entropy", "--optimizer", "sgd,lr=0.1,momentum=0.9"];
    let target = ["compile", &training::scores(), "-o", &step, "--target", "sm_90a"];
    succeed(&[&target[..], &trained].concat());
    let saved = ["cuda:0", "emulator"].map(|device| {
        let path = file(&format!("{}.safetensors", device.replace(':', "")));
        let arguments = ["train", &step, "--data", &data, "--steps", "3", "--device", device, "--save", &path];
        Driver::sound().told(0, &arguments);
        fs::read(path).expect("it is saved")
    });
    assert!(saved[0] == saved[1], "three steps on the driver end with other bytes than on the emulator");
}

#[test]
fn fewer_multiprocessors_get_the_plan_folded() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let files = bundle(&folder, "resnet_bottleneck", "persistent");
    let said = Driver::with("fewer-units").said(0, &compare(&files, &[]));
    assert!(said.contains("folded onto 100"), "{said}");
}

#[test]
fn faults_of_persistent_launches_leave_graphs_alone() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let [persistent, graph] = ["persistent", "cuda-graph"].map(|backend| bundle(&folder, "lstm", backend));
    for (fault, exit, word) in [
        ("hang", 6, "the launch did not end within 6 s"),
        ("abort", 6, "waited too long"),
        ("wrong-output", 1, "outputs differ"),
    ] {
        let (driver, limits) = (Driver::with(fault), ["--wait-limit", "1"]);
        let start = Instant::now();
        let output = driver.run(&compare(&persistent, &limits));
        let told = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.code() == Some(exit) && told.contains(word), "{fault}: {told}");
        assert!(start.elapsed() < Duration::from_secs(30), "{fault} ends in time");
        driver.said(0, &compare(&graph, &limits));
    }
}

#[test]
fn a_refused_allocation_names_the_call() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let [large, small] = ["bert", "lstm"].map(|name| bundle(&folder, name, "cuda-graph"));
    let driver = Driver::with("refused-allocation");
    let said = driver.said(4, &compare(&large, &[]));
    assert!(said.contains("cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY"), "{said}");
    driver.said(0, &compare(&small, &[]));
}

#[test]
fn a_lost_device_stays_lost() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let launches = folder.join("launches");
    let files = bundle(&folder, "lstm", "cuda-graph");
    let driver = Driver { launches: Some(&launches), ..Driver::with("lost-device") };
    driver.said(0, &compare(&files, &[]));
    let said = driver.said(5, &["bench", &files.0, "--device", "cuda:0", "--warmup-ms", "0", "--soak", "1"]);
    assert!(said.contains("the device is lost"), "{said}");
    let said = driver.said(4, &compare(&files, &[]));
    assert!(said.contains("cuda:0 does not exist"), "{said}");
    assert_eq!(driver.told(0, &["doctor"])["driver"]["devices"].as_array().map(Vec::len), Some(0));
}

#[test]
fn unknown_drivers_are_refused_with_those_that_are_known() {
    let said = Driver::with("nothing").said(4, &["selftest", "--device", "cuda:0"]);
    assert!(said.contains("`stand-in:nothing`") && said.contains("stand-in:lost-device"), "{said}");
}
