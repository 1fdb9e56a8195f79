//! Running the binary in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use warpweave::runtime::json::{self, Value};

/// A folder that is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("warpweave-cli-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("a new folder can be made");
        Self(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder is there");
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file of a test model.
pub fn model(name: &str, file: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models").join(name).join(file).display().to_string()
}

pub fn tool(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpweave")).args(arguments).output().expect("the binary can be started")
}

/// Whether there is NVRTC to compile with. Continuous integration has it, so that nothing is left out there.
#[track_caller]
pub fn has_nvrtc() -> bool {
    let found = succeed(&["doctor"])["nvrtc"]["found"] == true;
    assert!(found || std::env::var_os("CI").is_none(), "there is no NVRTC");
    if !found {
        eprintln!("left out: there is no NVRTC");
    }
    found
}

/// Runs the binary, expects success, and returns what it printed as JSON.
#[track_caller]
pub fn succeed(arguments: &[&str]) -> Value {
    let output = tool(&[arguments, &["--json"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    json::from_slice(&output.stdout).expect("JSON is printed")
}

/// What a command that succeeds prints for people.
#[track_caller]
pub fn printed(arguments: &[&str]) -> String {
    let output = tool(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs the binary, expects a failure with this exit code and error code, and returns the whole message.
#[track_caller]
pub fn fail(exit: i32, code: &str, arguments: &[&str]) -> String {
    let output = tool(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {errors}");
    assert!(errors.contains(&format!("error[{code}]: ")), "{arguments:?}: {errors}");
    assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
    errors
}

/// A bundle of a small model for the host, in `folder`.
pub fn host_bundle(folder: &Folder) -> String {
    let path = folder.join("dlrm.weave").display().to_string();
    succeed(&["compile", &model("dlrm", "torchscript.onnx"), "-o", &path, "--target", "host"]);
    path
}
