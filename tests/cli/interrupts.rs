//! Requests to end: what is left, how soon, and what is said.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use warpweave::runtime::checkpoint::Checkpoint;

use crate::support::tool::{Folder, has_nvrtc, model, succeed};
use crate::training;

/// How soon a process ends that is asked to.
const SOON: Duration = Duration::from_secs(1);
/// How long something that begins is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a pipe holds at least, in lines.
const PIPE_BYTES: usize = 60_000;

/// A command that runs, with folders of its own for its files.
struct Running {
    process: Child,
    folder: Folder,
}

impl Running {
    /// A compilation of several seconds.
    fn compile() -> Self {
        let folder = Folder::new();
        let [model, bundle] = ["mobilenet.onnx", "out/x.weave"].map(|name| folder.join(name).display().to_string());
        succeed(&["models", "export", "mobilenet_v2", "-o", &model]);
        Self::start(folder, &["compile", &model, "-o", &bundle, "--target", "sm_90a"])
    }

    /// A training run without end that saves what it learns, with what it prints.
    fn train() -> (Self, ChildStdout) {
        let folder = Folder::new();
        let step = training::step(&folder, &training::scores(), "step.weave", &[]);
        let data = training::data(&folder);
        let [save, pictures] = ["out/x.safetensors", "out"].map(|name| folder.join(name).display().to_string());
        let forever = u64::MAX.to_string();
        let arguments = ["train", &step, "--data", &data, "--steps", &forever, "--save", &save, "-o", &pictures];
        let mut running = Self::start_with(folder, &arguments, Stdio::piped());
        let mut printed = running.process.stdout.take().expect("it is piped");
        printed.read_exact(&mut [0]).expect("a step is taken");
        (running, printed)
    }

    fn start(folder: Folder, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, Stdio::null())
    }

    fn start_with(folder: Folder, arguments: &[&str], stdout: Stdio) -> Self {
        for name in ["out", "tmp"] {
            fs::create_dir(folder.join(name)).expect("a folder can be made");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpweave"));
        command.args(arguments).env("TMPDIR", folder.join("tmp")).stdout(stdout).stderr(Stdio::piped());
        Self { process: command.spawn().expect("the binary can be started"), folder }
    }

    /// Waits until a temporary file or folder is there.
    fn until_it_makes_a_folder(&mut self) {
        let folder = self.folder.join("tmp");
        self.until(|| !names(&folder).is_empty());
    }

    /// Waits until the bundle is begun. An empty file is there before, to see whether there is room for one.
    fn until_it_writes(&mut self) {
        let out = self.folder.join("out");
        let bytes = |name: &String| fs::metadata(out.join(name)).map_or(0, |file| file.len());
        self.until(|| names(&out).iter().any(|name| name.starts_with("x.weave.") && bytes(name) > 0));
    }

    /// Waits until the device's compiler runs on the program: before the bundle is begun, it is tried on another.
    fn until_it_compiles(&mut self) {
        self.until_it_writes();
        let tasks = format!("/proc/{}/task", self.process.id());
        self.until(|| {
            let tasks = fs::read_dir(&tasks).into_iter().flatten().flatten();
            let children = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
            tasks.map(children).any(|children| !children.trim().is_empty())
        });
    }

    /// Waits until it has filled a pipe and prints no more.
    fn until_nobody_reads(&mut self) {
        let counts = format!("/proc/{}/io", self.process.id());
        let written = || {
            let counts = fs::read_to_string(&counts).unwrap_or_default();
            let written = counts.lines().find_map(|line| line.strip_prefix("wchar: "));
            written.and_then(|bytes| bytes.parse::<usize>().ok()).unwrap_or(0)
        };
        self.until(|| {
            let before = written();
            thread::sleep(Duration::from_millis(20));
            before >= PIPE_BYTES && written() == before
        });
    }

    fn until(&mut self, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            let has_ended = self.process.try_wait().is_ok_and(|status| status.is_some());
            assert!(!has_ended && start.elapsed() < PATIENCE, "the moment does not come");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.process.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the process is there");
    }

    /// Reads what it says until it tells that it stops.
    fn until_it_answers(&mut self, said: &mut Vec<u8>) {
        let stderr = self.process.stderr.as_mut().expect("it is piped");
        let mut answer = [0; 1024];
        while !String::from_utf8_lossy(said).contains("stopping") {
            let length = stderr.read(&mut answer).expect("it can be read");
            assert!(length > 0, "it ends without an answer");
            said.extend_from_slice(&answer[..length]);
        }
    }

    /// Sends requests to end, each once the one before is answered: signals that wait together count as one. Its exit
    /// code, what it said, the bundles that it left, and how long it went on after the last.
    fn end_by(mut self, signals: &[&str]) -> (Option<i32>, String, Vec<String>, Duration) {
        let mut said = Vec::new();
        for (place, signal) in signals.iter().enumerate() {
            if place > 0 {
                self.until_it_answers(&mut said);
            }
            self.signal(signal);
        }
        let start = Instant::now();
        let output = self.process.wait_with_output().expect("the process ends");
        let took = start.elapsed();
        assert_eq!(names(&self.folder.join("tmp")), [] as [&str; 0], "temporary files are left");
        said.extend(output.stderr);
        (output.status.code(), String::from_utf8_lossy(&said).into_owned(), names(&self.folder.join("out")), took)
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_request_to_end_leaves_nothing_behind() {
    if !has_nvrtc() {
        return;
    }
    for (signals, code) in [(&["INT", "INT"][..], 130), (&["TERM"], 143)] {
        let mut running = Running::compile();
        running.until_it_writes();
        let (ended, said, left, took) = running.end_by(signals);
        assert_eq!((ended, left.is_empty()), (Some(code), true), "{signals:?}: {said}, {left:?}");
        assert!(said.contains("stopping") && took < SOON, "{signals:?}: {said}, {took:?}");
    }
}

#[test]
fn the_first_interrupt_of_a_search_keeps_the_best_so_far() {
    if !has_nvrtc() {
        return;
    }
    let mut running = Running::compile();
    running.until_it_writes();
    let (ended, said, left, _) = running.end_by(&["INT"]);
    assert!(said.contains("stopping"), "{said}");
    // The search may have ended before the signal came.
    let whole = ended == Some(0) && left == ["x.weave"] && said.contains("the best so far is kept");
    let nothing = ended == Some(130) && left.is_empty();
    assert!(whole || nothing, "{ended:?}: {said}, {left:?}");
}

#[test]
fn the_compiler_of_device_code_ends_with_the_process() {
    if !has_nvrtc() {
        return;
    }
    for delay in [0, 100] {
        let mut running = Running::compile();
        running.until_it_compiles();
        thread::sleep(Duration::from_millis(delay));
        let (ended, said, left, took) = running.end_by(&["INT"]);
        assert_eq!((ended, left.is_empty()), (Some(130), true), "{said}, {left:?}");
        assert!(said.contains("stopping") && took < SOON, "{said}, {took:?}");
    }
}

#[test]
fn an_interrupted_measurement_leaves_no_temporary_folder() {
    let path = model("dlrm", "dynamo.onnx");
    for delay in [0, 300] {
        let mut running =
            Running::start(Folder::new(), &["bench", &path, "--device", "text", "--duration-ms", "60000"]);
        running.until_it_makes_a_folder();
        thread::sleep(Duration::from_millis(delay));
        let (ended, said, _, took) = running.end_by(&["INT"]);
        assert!(ended == Some(130) && said.contains("stopping") && took < SOON, "{ended:?}: {said}, {took:?}");
    }
}

#[test]
fn the_first_interrupt_of_training_keeps_the_steps_that_were_taken() {
    let (running, mut printed) = Running::train();
    let saved = running.folder.join("out/x.safetensors");
    let reader = thread::spawn(move || io::copy(&mut printed, &mut io::sink()));
    running.signal("INT");
    let output = running.process.wait_with_output().expect("the process ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("stopping after this step") && said.contains("go on with --resume"), "{said}");
    let taken = Checkpoint::read(&saved).expect("it is saved").steps;
    assert!(said.contains(&format!("interrupted after step {taken};")) && taken > 0, "{said}");
    assert!(names(&running.folder.join("out")).iter().any(|name| name == "loss.svg"), "the picture is drawn");
    assert!(reader.join().is_ok());
}

#[test]
fn the_second_interrupt_of_training_ends_it_at_once() {
    let (mut running, printed) = Running::train();
    // What prints into a full pipe takes no further step.
    running.until_nobody_reads();
    let (ended, said, left, took) = running.end_by(&["INT", "INT"]);
    assert_eq!((ended, left.is_empty()), (Some(130), true), "{said}, {left:?}");
    assert!(said.contains("stopping after this step") && took < SOON, "{said}, {took:?}");
    drop(printed);
}

#[test]
fn a_signal_that_is_to_be_ignored_is() {
    let script = "trap '' HUP; exec \"$0\" bench \"$1\" --duration-ms 500 --warmup-ms 1";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_warpweave"), &model("dlrm", "dynamo.onnx")]);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("there is a shell");
    thread::sleep(Duration::from_millis(200));
    let sent = Command::new("kill").args(["-HUP".to_owned(), process.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "the process is there");
    assert_eq!(process.wait().expect("the process ends").code(), Some(0));
}
