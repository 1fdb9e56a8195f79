//! CUDA's compiler tools: what `doctor` tells of them, what `compile` says where the linker is missing, and the process that compiles.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use warpweave::runtime::json::{self, Value};

use crate::support::tool::{Folder, has_nvrtc, model, succeed};

const TOOLS: [&str; 3] = ["nvrtc", "linker", "nvdisasm"];

/// Runs the binary where only `folder` is searched for CUDA's tools.
fn tool_with(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpweave"));
    command.args(arguments).arg("--json").env("WARPWEAVE_CUDA_DIR", folder).output().expect("the binary can be started")
}

fn printed(output: &Output) -> Value {
    json::from_slice(&output.stdout).expect("JSON is printed")
}

/// A folder with the NVRTC that `doctor` finds, and nothing else.
fn nvrtc_alone() -> Folder {
    let folder = Folder::new();
    let found = succeed(&["doctor"])["nvrtc"]["path"].as_str().map(str::to_owned).expect("NVRTC has a path");
    let libraries = std::fs::read_dir(Path::new(&found).parent().expect("it has a folder")).expect("it can be read");
    for library in libraries.flatten() {
        let name = library.file_name().to_string_lossy().into_owned();
        if name.starts_with("libnvrtc") {
            symlink(library.path(), folder.join(&name)).expect("the folder is ours");
        }
    }
    folder
}

#[test]
fn doctor_tells_where_each_tool_is() {
    let told = succeed(&["doctor"]);
    for tool in TOOLS {
        let entry = &told[tool];
        let is_found = entry["found"].as_bool().expect("it says whether it is found");
        for key in ["version", "path"] {
            assert_eq!(entry[key].is_string(), is_found, "{tool}, {key}: {entry}");
        }
        assert_eq!(entry["reason"].is_string(), !is_found, "{tool}: {entry}");
    }
    if has_nvrtc() {
        assert_eq!(told["linker"]["links"], true, "{told}");
    }
}

#[test]
fn doctor_searches_a_named_folder_alone() {
    let empty = Folder::new();
    let told = printed(&tool_with(&empty.join("."), &["doctor"]));
    for tool in TOOLS {
        let reason = told[tool]["reason"].as_str().unwrap_or_default();
        assert_eq!(told[tool]["found"], false, "{told}");
        assert!(reason.contains(&empty.join(".").display().to_string()), "{reason}");
        assert!(reason.contains("--fetch-cuda") && reason.contains("WARPWEAVE_CUDA_DIR"), "{reason}");
    }
}

#[test]
fn a_missing_linker_is_said() {
    if !has_nvrtc() {
        return;
    }
    let (tools, folder) = (nvrtc_alone(), Folder::new());
    let (path, out) = (model("dlrm", "torchscript.onnx"), folder.join("x.weave").display().to_string());
    let compile = ["compile", &path, "-o", &out, "--target", "sm_90a", "--backend", "persistent"];
    let output = tool_with(&tools.join("."), &compile);
    let (notes, value) = (String::from_utf8_lossy(&output.stderr).into_owned(), printed(&output));
    assert_eq!(output.status.code(), Some(0), "{notes}");
    let reason = value["targets"][0]["unlinked"].as_str().unwrap_or_else(|| panic!("{value}"));
    assert!(reason.starts_with(&format!("nvJitLink not found in {}", tools.join(".").display())), "{reason}");
    assert_eq!(value["targets"][0]["code_units"], 1);
    assert!(notes.contains("compiled as one unit") && notes.contains(reason), "{notes}");
    assert_eq!(succeed(&compile)["targets"][0]["unlinked"], Value::Null);
}

#[test]
fn the_executable_may_be_replaced_while_it_compiles() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let (copy, out) = (folder.join("warpweave"), folder.join("x.weave"));
    std::fs::copy(env!("CARGO_BIN_EXE_warpweave"), &copy).expect("the binary can be copied");
    let mut command = Command::new(&copy);
    command.args(["compile", &model("dlrm", "torchscript.onnx"), "--target", "sm_90a", "-o"]).arg(&out);
    let compiling = command.stderr(Stdio::piped()).spawn().expect("the copy can be started");
    std::fs::remove_file(&copy).expect("the copy is ours");
    let output = compiling.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(out.exists());
}
