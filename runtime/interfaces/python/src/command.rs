//! The commands of the command line, in this process.

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyString;

/// How often it is asked whether the user wants an end.
const PATIENCE: Duration = Duration::from_millis(50);

enum Event {
    Stage(String),
    Ended(warpweave_cli::Captured),
}

/// Runs a command. `stage` is called with the name of each stage that begins; what it raises ends the command as Ctrl-C does.
/// Returns the exit code, the result as JSON, and what was said beside it.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    arguments: Vec<OsString>,
    stage: Option<Bound<'_, PyAny>>,
) -> PyResult<(u8, String, Vec<String>)> {
    let (send, events) = mpsc::channel();
    // Only this thread receives.
    let events = Mutex::new(events);
    let worker = std::thread::spawn(move || {
        let stages = send.clone();
        let told = Box::new(move |name: &str| {
            // A caller that has gone listens no longer.
            let _ = stages.send(Event::Stage(name.to_owned()));
        });
        let _ = send.send(Event::Ended(warpweave_cli::capture(arguments, told)));
    });
    // What the user or the callback asked for: the command ends as soon as it can, and then that is raised.
    let mut raised: Option<PyErr> = None;
    loop {
        let event = py.detach(|| events.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE));
        let asked = match event {
            Ok(Event::Ended(ended)) => {
                let warpweave_cli::Captured { code, result, notes } = ended;
                return raised.map_or(Ok((code, result, notes)), Err);
            }
            Ok(Event::Stage(name)) => stage.as_ref().map_or(Ok(()), |stage| stage.call1((name,)).map(drop)),
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(()),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let panicked = worker.join().is_err();
                let text = if panicked { "the command failed inside of warpweave" } else { "the command said nothing" };
                return Err(pyo3::exceptions::PyRuntimeError::new_err(text));
            }
        };
        if let (Err(error), None) = (asked.and_then(|()| py.check_signals()), &raised) {
            warpweave_cli::end_early();
            raised = Some(error);
        }
    }
}

/// Runs the program `warpweave` as it is run from a shell; what the process should exit with.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| warpweave_cli::main_code(words.into_iter()))
}

/// Says by which command line the program `warpweave` is started in processes of its own.
#[pyfunction]
pub(crate) fn run_by(words: Vec<Bound<'_, PyString>>) -> PyResult<()> {
    let words = words.iter().map(|word| Ok(OsString::from(word.to_str()?))).collect::<PyResult<_>>()?;
    warpweave_cli::run_by(words);
    Ok(())
}
