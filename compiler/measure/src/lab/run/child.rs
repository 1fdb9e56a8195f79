//! Child processes with a time limit, in process groups of their own that are killed whole.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use warpweave_runtime::json;
use warpweave_runtime::unfinished::Worker;

/// Characters of what a process printed that are kept.
const TAIL_CHARACTERS: usize = 2000;

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed at its time limit.
    Limit,
    /// It was killed because the lab ends.
    Stopped,
    /// It could not be started.
    Unstarted,
}

impl Exit {
    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or(0)),
        }
    }

    /// As records have it: negative for a signal, none where the lab killed it.
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal(signal) => Some(-signal),
            Self::Limit | Self::Stopped | Self::Unstarted => None,
        }
    }
}

/// A process that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    pub command: Vec<String>,
    pub exit: Exit,
    pub out: String,
    pub errors: String,
}

impl Ended {
    pub fn is_ok(&self) -> bool {
        self.exit == Exit::Code(0)
    }

    /// The end of what it printed, errors last.
    pub fn tail(&self) -> String {
        let last = |text: &str, most: usize| {
            let text = text.trim();
            let skipped = text.chars().count().saturating_sub(most);
            text.chars().skip(skipped).collect::<String>()
        };
        format!("{}\n{}", last(&self.out, TAIL_CHARACTERS / 4), last(&self.errors, TAIL_CHARACTERS)).trim().to_owned()
    }

    /// The JSON that it printed, if it is some.
    pub fn parsed<T: DeserializeOwned>(&self) -> Option<T> {
        json::from_str(&self.out).ok()
    }
}

/// Starts processes, and kills those that run when it is told to stop.
#[derive(Default)]
pub struct Children {
    environment: Vec<(OsString, OsString)>,
    is_stopping: AtomicBool,
}

impl Children {
    /// Children with these variables beside the lab's own.
    pub fn new(environment: Vec<(OsString, OsString)>) -> Self {
        Self { environment, is_stopping: AtomicBool::new(false) }
    }

    /// Kills all that run, in the threads that wait for them.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Runs a program for at most `limit`, with its whole process group.
    pub fn run<S: AsRef<OsStr>>(&self, program: impl AsRef<OsStr>, arguments: &[S], limit: Duration) -> Ended {
        let start = Instant::now();
        let words = [program.as_ref()].into_iter().chain(arguments.iter().map(AsRef::as_ref));
        let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let ended = |exit, out, errors| Ended { command: words.clone(), exit, out, errors };
        if self.is_stopping.load(Ordering::Relaxed) {
            return ended(Exit::Stopped, String::new(), "the lab is stopping".to_owned());
        }
        let mut command = Command::new(program.as_ref());
        command.args(arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut worker = match Worker::spawn_bound(&mut command) {
            Ok(worker) => worker,
            Err(error) => return ended(Exit::Unstarted, String::new(), error.to_string()),
        };
        let (_, stdout, stderr) = worker.pipes();
        thread::scope(|scope| {
            let out = scope.spawn(move || read_all(stdout));
            let errors = scope.spawn(move || read_all(stderr));
            let exit = self.wait(&mut worker, start, limit);
            // A killed group closes its pipes, which ends the threads.
            drop(worker);
            let text = |thread: thread::ScopedJoinHandle<'_, String>| thread.join().unwrap_or_default();
            ended(exit, text(out), text(errors))
        })
    }

    fn wait(&self, worker: &mut Worker, start: Instant, limit: Duration) -> Exit {
        loop {
            match worker.try_wait() {
                Ok(Some(status)) => return Exit::of(status),
                Ok(None) if self.is_stopping.load(Ordering::Relaxed) => return Exit::Stopped,
                Ok(None) if start.elapsed() >= limit => return Exit::Limit,
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Err(_) => return Exit::Unstarted,
            }
        }
    }
}

fn read_all(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // A pipe that breaks shows as a process that failed.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The first program of this name on `PATH` or in one of these folders.
pub fn find_program(name: &str, folders: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let listed = std::env::split_paths(&path).chain(folders.iter().map(PathBuf::from));
    listed.map(|folder| folder.join(name)).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a process runs; one that has ended and is not waited for does not.
    fn is_alive(process: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next().map(str::to_owned));
        state.is_some_and(|state| state != "Z" && state != "X")
    }

    #[test]
    fn kills_the_whole_group_at_the_limit() {
        let children = Children::default();
        let start = Instant::now();
        let ended = children.run("sh", &["-c", "sleep 60 & echo $!; wait"], Duration::from_millis(500));
        assert!(ended.exit == Exit::Limit && start.elapsed().as_secs() < 30, "{ended:?}");
        thread::sleep(Duration::from_millis(200));
        assert!(!ended.out.trim().is_empty() && !is_alive(ended.out.trim()), "{ended:?}");
    }

    #[test]
    fn tells_how_a_process_ended() {
        let children = Children::new(vec![("LAB_WORD".into(), "told".into())]);
        let ended = children.run("sh", &["-c", "echo $LAB_WORD; echo why >&2; exit 3"], Duration::from_secs(20));
        assert_eq!((ended.exit, ended.tail().as_str()), (Exit::Code(3), "told\nwhy"));
        let ended = children.run("sh", &["-c", "kill -9 $$"], Duration::from_secs(20));
        assert_eq!((ended.exit, ended.exit.code()), (Exit::Signal(9), Some(-9)));
        assert_eq!(children.run("/absent/program", &["x"], Duration::from_secs(1)).exit, Exit::Unstarted);
        children.stop();
        assert_eq!(children.run("sh", &["-c", "exit 0"], Duration::from_secs(1)).exit, Exit::Stopped);
    }
}
