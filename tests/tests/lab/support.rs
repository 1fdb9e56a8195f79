//! Running the lab, and reading what it has recorded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Instant, SystemTime};

use warpweave_measure::lab::{Lab, Status, Step};

/// The names of the files of results.
pub const RESULTS: [&str; 3] = ["lab.json", "lab.md", "lab.zip"];

/// The program that is tested, beside this test.
pub fn warpweave() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a path");
    let folder = own.parent().and_then(Path::parent).expect("tests lie below their profile's folder");
    let program = folder.join("warpweave");
    let made = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    let changed = newest(&root().join("compiler")).max(newest(&root().join("runtime/src")));
    let remedy = "run `cargo test --workspace --exclude warpweave-benches --no-run` first";
    assert!(made(&program).is_some_and(|made| made >= changed), "{} is missing or old: {remedy}", program.display());
    program
}

/// When a file below a folder was changed last.
fn newest(folder: &Path) -> SystemTime {
    let mut last = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(folder).expect("a folder of the source can be read").flatten() {
        let path = entry.path();
        let of_file = || entry.metadata().and_then(|found| found.modified()).expect("files have times");
        last = last.max(if path.is_dir() { newest(&path) } else { of_file() });
    }
    last
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies in the workspace").to_owned()
}

/// A new folder for the files of a trial.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// A run of the lab that has ended.
pub struct Ran {
    pub output: Output,
    pub lab: Lab,
    pub tables: String,
    pub seconds: f64,
}

/// The command of a run with its folders below `folder`.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.arg(root().join("scripts/gpu_lab.sh")).current_dir(root()).args(arguments);
    command.arg("--results").arg(folder.join("results")).arg("--work").arg(folder.join("work"));
    command.env_remove("WARPWEAVE").arg(warpweave());
    command
}

pub fn lab(folder: &Path, arguments: &[&str]) -> Ran {
    lab_with(folder, arguments, &[])
}

/// The same with variables of the environment.
pub fn lab_with(folder: &Path, arguments: &[&str], variables: &[(&str, String)]) -> Ran {
    let start = Instant::now();
    let output = command(folder, arguments).envs(variables.iter().cloned()).output().expect("the lab can be started");
    let seconds = start.elapsed().as_secs_f64();
    let lab = record(folder);
    let tables = fs::read_to_string(folder.join("results/lab.md")).expect("there are tables");
    check_results(folder);
    Ran { output, lab, tables, seconds }
}

/// What a run has recorded.
pub fn record(folder: &Path) -> Lab {
    Lab::read(&folder.join("results/lab.json")).expect("the record can be read")
}

/// The folder of results holds its three files, whole and not too large, and nothing else.
pub fn check_results(folder: &Path) {
    let results = folder.join("results");
    let entries = fs::read_dir(&results).expect("the folder is there").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, RESULTS);
    for name in RESULTS {
        let bytes = fs::read(results.join(name)).expect("a file of results can be read");
        assert!(bytes.len() <= 16 << 20, "{name} has {} bytes", bytes.len());
    }
    let archive = fs::read(results.join("lab.zip")).expect("there is an archive");
    let end = archive.len().checked_sub(22).expect("an archive has an end");
    assert!(archive[end..].starts_with(b"PK\x05\x06"), "the archive is cut off");
}

/// The steps that were skipped, with their reasons.
pub fn skipped(lab: &Lab) -> BTreeMap<String, String> {
    let reason = |step: &Step| match &step.status {
        Status::Skipped { reason } => Some((step.name.clone(), reason.clone())),
        Status::Ran | Status::Failed { .. } => None,
    };
    lab.steps.iter().filter_map(reason).collect()
}

/// The steps that failed, with their reasons.
pub fn failed(lab: &Lab) -> BTreeMap<String, String> {
    let reason = |step: &Step| match &step.status {
        Status::Failed { reason, .. } => Some((step.name.clone(), reason.clone())),
        Status::Ran | Status::Skipped { .. } => None,
    };
    lab.steps.iter().filter_map(reason).collect()
}

/// The steps that ran, by name.
pub fn ran(lab: &Lab) -> BTreeMap<String, Step> {
    let ran = lab.steps.iter().filter(|step| step.status == Status::Ran);
    ran.map(|step| (step.name.clone(), step.clone())).collect()
}

/// What a run has printed, for messages.
pub fn said(ran: &Ran) -> String {
    let [out, errors] =
        [&ran.output.stdout, &ran.output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    format!("{out}\n{errors}")
}
