//! A device's constants: measuring them without a GPU, and using a file of them.

use std::fs;
use std::path::Path;

use warpweave::frontend::ImportOptions;
use warpweave::fusion::cost::arch::GpuArch;
use warpweave::fusion::cost::cpu::{CpuArch, CpuKind};
use warpweave::fusion::cost::gpu::{GpuPrices, GpuProduct};
use warpweave::runtime::bundle::BundleTarget;
use warpweave::runtime::json::{self, Value};
use warpweave::runtime::target::Target;
use warpweave::{Build, DeviceArch, Model, compile, read_arch, write_arch};
use warpweave_measure::bench::{Estimator, LowerBounds, profile};

use crate::support::tool::{Folder, fail, model, succeed, tool};

#[test]
fn constants_come_from_a_file() {
    let folder = Folder::new();
    let path = folder.join("a100.json");
    let a100 = GpuProduct::A100With40Gb.prices();
    write_arch(&path, a100.clone()).expect("the folder is there");
    let DeviceArch::Gpu(read) = read_arch(&path).expect("it was just written") else { panic!("it is of a GPU") };
    assert_eq!((read.arch, read.sync, read.priced_for().as_str()), (a100.arch, a100.sync, "a100.json"));
    let (model, path) = (model("dlrm", "torchscript.onnx"), path.display().to_string());
    let units = |arguments: &[&str]| {
        let explained = succeed(&[&["explain", &model, "--plan"], arguments].concat());
        explained["units"].as_u64().expect("a plan has units")
    };
    assert_eq!((units(&[]), units(&["--arch", &path])), (132, 108));
    let explained = succeed(&["explain", &model, "--plan", "--arch", &path]);
    assert_eq!(explained["priced_for"], "a100.json");
    assert_eq!(succeed(&["explain", &model])["priced_for"], "NVIDIA H200, built-in constants");
}

/// The predicted seconds of a model for a target by these constants with the bytes a second of the device, and whose they are said
/// to be.
fn predicted(model: &str, target: BundleTarget, prices: Option<GpuPrices>) -> ([Option<f64>; 2], String) {
    let model = Model::import(Path::new(model), &ImportOptions::default()).expect("the model imports");
    let mut build = Build::new(model).expect("the passes are right");
    build.prices = prices;
    let part = compile(&build, target, None, &mut |_| {}).expect("the model has a plan");
    let estimator = match target {
        BundleTarget::Host => Estimator::Host,
        BundleTarget::Gpu(gpu) => Estimator::Gpu(build.prices(gpu)),
    };
    let profile = profile(part.plan.plan.plan(), &estimator, &build.model.program.names);
    let bytes = match &estimator {
        Estimator::Gpu(prices) => Some(LowerBounds::of(&prices.arch).bytes_per_second),
        Estimator::Host | Estimator::Unknown => None,
    };
    ([profile.predicted_seconds.or(profile.estimated_seconds), bytes], build.priced_for(target))
}

#[test]
fn every_device_is_predicted_by_its_own_constants() {
    let model = model("dlrm", "torchscript.onnx");
    let (ampere, hopper) = (BundleTarget::Gpu(Target::Sm80), BundleTarget::Gpu(Target::Sm90a));
    let found = [
        predicted(&model, ampere, None),
        predicted(&model, hopper, None),
        predicted(&model, hopper, Some(GpuProduct::H100Sxm.prices())),
        predicted(&model, BundleTarget::Host, None),
    ];
    let said: Vec<&str> = found.iter().map(|(_, priced_for)| priced_for.as_str()).collect();
    let expected = ["NVIDIA A100 40 GB", "NVIDIA H200", "NVIDIA H100 SXM", "processor with avx2"];
    assert_eq!(said, expected.map(|name| format!("{name}, built-in constants")));
    for (at, (one, _)) in found.iter().enumerate() {
        assert!(one[0].is_some_and(|seconds| seconds > 0.0), "{found:?}");
        assert!(found[..at].iter().all(|(other, _)| other != one), "no two are the same: {found:?}");
    }
}

#[test]
fn files_without_costs_of_waiting_have_those_of_their_generation() {
    let folder = Folder::new();
    let path = folder.join("old.json");
    for product in [GpuProduct::A100With40Gb, GpuProduct::H200] {
        let prices = product.prices();
        write_arch(&path, prices.clone()).expect("the folder is there");
        let text = fs::read_to_string(&path).expect("it was just written");
        let mut old: Value = json::from_str(&text).expect("it is JSON");
        assert!(old.as_object_mut().expect("it is an object").remove("sync").is_some());
        fs::write(&path, old.to_string()).expect("the folder is there");
        let DeviceArch::Gpu(read) = read_arch(&path).expect("it has all else") else { panic!("it is of a GPU") };
        assert_eq!((read.arch, read.sync), (prices.arch, prices.sync), "{product}");
        fs::remove_file(&path).expect("it was just written");
    }
}

#[test]
fn a_file_of_something_else_is_refused() {
    let folder = Folder::new();
    let model = model("dlrm", "torchscript.onnx");
    let path = folder.join("arch.json");
    let name = path.display().to_string();
    let command = ["explain", &model, "--arch", &name];
    assert!(fail(2, "arch", &command).contains("check the path"));
    let h200 = || GpuProduct::H200.prices();
    let none = GpuArch { step_microseconds: GpuArch::measured(0.0), ..h200().arch };
    let mut falling = h200().sync;
    falling.exchange.value[1].0 = 1;
    for wrong in [GpuPrices { arch: none, ..h200() }, GpuPrices { sync: falling, ..h200() }] {
        write_arch(&path, wrong).expect("the folder is there");
        assert!(fail(2, "arch", &command).contains("--calibrate"));
    }
    fs::write(&path, "[1, 2]").expect("the folder is there");
    assert!(fail(2, "arch", &command).contains("--calibrate"));
}

#[test]
fn without_the_device_nothing_is_measured() {
    let folder = Folder::new();
    let path = folder.join("arch.json").display().to_string();
    fail(4, "cuda", &["doctor", "--calibrate", &path, "--device", "cuda:4095"]);
    assert!(fail(2, "usage", &["doctor", "--calibrate", &path, "--device", "emulator"]).contains("cuda:N"));
    assert_eq!(tool(&["doctor", "--device", "cuda:0"]).status.code(), Some(2));
    assert_eq!(folder.names(), [] as [&str; 0]);
}

#[test]
fn the_host_is_measured_and_compiled_for() {
    let folder = Folder::new();
    let path = folder.join("host.json");
    let name = path.display().to_string();
    let printed = tool(&["doctor", "--calibrate", &name, "--device", "host", "--json"]);
    let found: Value = json::from_slice(&printed.stdout).expect("JSON is printed");
    let readings = found["readings"].as_array().expect("there are readings");
    assert_eq!(readings.len(), 8, "{found}");
    let is_complete = readings.iter().all(|reading| reading["now"].is_f64());
    assert_eq!(printed.status.code(), Some(if is_complete { 0 } else { 1 }), "other work may hide a constant: {found}");
    let DeviceArch::Processor(arch) = read_arch(&path).expect("it was just written") else {
        panic!("the constants are those of a processor")
    };
    assert!(arch.is_sound());
    let model = model("dlrm", "torchscript.onnx");
    let bundle = |file: &str, arguments: &[&str]| {
        let path = folder.join(file).display().to_string();
        succeed(&[&["compile", &model, "--target", "host", "-o", &path], arguments].concat());
        fs::read(path).expect("the bundle was written")
    };
    let own = bundle("own.weave", &["--arch", &name]);
    assert_eq!(own, bundle("again.weave", &["--arch", &name]), "a plan follows from its constants");
    assert_eq!(bundle("none.weave", &[]), bundle("avx2.weave", &["--arch", "avx2"]));
    bundle("avx512.weave", &["--arch", "avx512"]);
}

#[test]
fn constants_of_processors_print_and_parse() {
    let folder = Folder::new();
    let path = folder.join("host.json");
    for arch in CpuKind::ALL.map(CpuArch::of) {
        write_arch(&path, arch).expect("the folder is there");
        assert_eq!(read_arch(&path).expect("it was just written"), DeviceArch::Processor(arch));
        fs::remove_file(&path).expect("it was just written");
    }
}

#[test]
fn constants_that_no_processor_has_are_refused() {
    let folder = Folder::new();
    let model = model("dlrm", "torchscript.onnx");
    let path = folder.join("host.json");
    write_arch(&path, CpuArch::avx2()).expect("the folder is there");
    let text = fs::read_to_string(&path).expect("it was just written");
    let name = path.display().to_string();
    let command = ["compile", &model, "--target", "host", "-o", &folder.join("x.weave").display().to_string()];
    let command = [&command[..], &["--arch", &name]].concat();
    for (from, to) in [
        ("\"value\": 8\n", "\"value\": 0\n"),
        ("\"value\": 8\n", "\"value\": -8\n"),
        ("40000.0", "1e999"),
        ("40000.0", "-1.0"),
        ("vector_lanes", "lanes"),
        ("524288", "18446744073709551615"),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).expect("the folder is there");
        assert!(fail(2, "arch", &command).contains("--calibrate"), "{from} for {to}");
    }
    fs::write(&path, text).expect("the folder is there");
    assert!(fail(2, "usage", &["explain", &model, "--arch", &name]).contains("give those of a GPU"));
    let twice = [&command[..], &["--arch", "neon"]].concat();
    assert!(fail(2, "usage", &twice).contains("one of a processor"));
}
