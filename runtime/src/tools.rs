//! External programs and libraries: where they are, and running them with a time limit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::unfinished::Worker;

/// The variable that names the CUDA folder to use instead of all others.
pub(crate) const CUDA_DIRECTORY_VARIABLE: &str = "WARPWEAVE_CUDA_DIR";

/// Folders that may hold CUDA, best first. If the environment names one, it is that one alone. Else `.cuda` beside the
/// executable, the current folder or a parent of either comes first, then come the usual places of the system.
pub(crate) fn cuda_roots() -> Vec<PathBuf> {
    if let Some(root) = std::env::var_os(CUDA_DIRECTORY_VARIABLE) {
        return vec![root.into()];
    }
    let mut roots = Vec::new();
    for start in [std::env::current_dir(), std::env::current_exe()].into_iter().flatten() {
        roots.extend(start.ancestors().map(|folder| folder.join(".cuda")).filter(|folder| folder.is_dir()));
    }
    for system in ["/usr/local/cuda", "/opt/cuda", "/usr"] {
        roots.push(system.into());
    }
    roots.dedup();
    roots
}

/// The folder names under a root: unpacked wheels first, then installed toolkits and distributions.
pub(crate) const LIBRARY_FOLDERS: [&str; 5] = ["nvidia/cu13/lib", "lib64", "lib", "lib/x86_64-linux-gnu", ""];
const PROGRAM_FOLDERS: [&str; 3] = ["nvidia/cu13/bin", "bin", ""];

/// The program of this name in the CUDA folders.
pub(crate) fn find_cuda_program(name: &str) -> Option<PathBuf> {
    let mut candidates =
        cuda_roots().into_iter().flat_map(|root| PROGRAM_FOLDERS.map(|folder| root.join(folder).join(name)));
    candidates.find(|path| path.is_file())
}

/// How a program ended.
pub(crate) enum Ending {
    /// By itself, with what it wrote to its standard error.
    Exited(ExitStatus, String),
    /// It was stopped at the time limit.
    TimedOut,
}

/// The file of [`run`]'s folder in which a program's standard output is.
pub(crate) const OUTPUT_FILE: &str = "stdout";

/// Runs `command` with its output in files of `directory`, for at most `limit`. Its own temporary files are there too.
pub(crate) fn run(command: &mut Command, directory: &Path, limit: Duration) -> io::Result<Ending> {
    let log = directory.join("stderr");
    let output = fs::File::create(directory.join(OUTPUT_FILE))?;
    command.stdin(Stdio::null()).stdout(output).stderr(fs::File::create(&log)?).env("TMPDIR", directory);
    let start = Instant::now();
    let mut worker = Worker::spawn(command)?;
    loop {
        if let Some(status) = worker.try_wait()? {
            return Ok(Ending::Exited(status, String::from_utf8_lossy(&fs::read(&log)?).into_owned()));
        }
        if start.elapsed() > limit {
            return Ok(Ending::TimedOut);
        }
        std::thread::sleep(Duration::from_millis(if start.elapsed().as_millis() < 100 { 1 } else { 10 }));
    }
}

/// The first `count` lines of `text`.
pub(crate) fn first_lines(text: &str, count: usize) -> String {
    text.lines().take(count).collect::<Vec<_>>().join("\n")
}
