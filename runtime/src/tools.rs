//! Running external programs with a time limit.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::unfinished::Worker;

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
