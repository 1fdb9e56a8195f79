//! A device's constants: measuring them without a GPU, and using a file of them.

use std::fs;

use warpweave::fusion::cost::arch::GpuArch;
use warpweave::{read_arch, write_arch};

use crate::support::tool::{Folder, fail, model, succeed, tool};

#[test]
fn constants_come_from_a_file() {
    let folder = Folder::new();
    let path = folder.join("a100.json");
    write_arch(&path, &GpuArch::a100()).expect("the folder is there");
    assert_eq!(read_arch(&path).expect("it was just written"), GpuArch::a100());
    let (model, path) = (model("dlrm", "torchscript.onnx"), path.display().to_string());
    let units = |arguments: &[&str]| {
        let explained = succeed(&[&["explain", &model, "--plan"], arguments].concat());
        explained["units"].as_u64().expect("a plan has units")
    };
    assert_eq!((units(&[]), units(&["--arch", &path])), (132, 108));
}

#[test]
fn a_file_of_something_else_is_refused() {
    let folder = Folder::new();
    let model = model("dlrm", "torchscript.onnx");
    let path = folder.join("arch.json");
    let name = path.display().to_string();
    let command = ["explain", &model, "--arch", &name];
    assert!(fail(2, "arch", &command).contains("check the path"));
    let none = GpuArch { step_microseconds: GpuArch::measured(0.0), ..GpuArch::h200() };
    write_arch(&path, &none).expect("the folder is there");
    assert!(fail(2, "arch", &command).contains("--calibrate"));
    fs::write(&path, "[1, 2]").expect("the folder is there");
    assert!(fail(2, "arch", &command).contains("--calibrate"));
}

#[test]
fn without_the_device_nothing_is_measured() {
    let folder = Folder::new();
    let path = folder.join("arch.json").display().to_string();
    fail(4, "cuda", &["doctor", "--calibrate", &path, "--device", "cuda:4095"]);
    assert!(fail(2, "usage", &["doctor", "--calibrate", &path, "--device", "host"]).contains("cuda:N"));
    assert_eq!(tool(&["doctor", "--device", "cuda:0"]).status.code(), Some(2));
    assert_eq!(folder.names(), [] as [&str; 0]);
}
