//! Commands in the process of another program, which takes what they say.

use std::ffi::OsString;

use crate::commands;
use crate::interrupt::{self as requests};
use crate::output::{Output, StageWatcher, watched};

/// What a command has said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Captured {
    /// What it exits with: 0 is success.
    pub code: u8,
    /// Its result, or its error, as JSON; empty where it has none.
    pub result: String,
    /// Notes and warnings, in their order.
    pub notes: Vec<String>,
}

/// Runs a command with `--json`, such as `["bench", "model.onnx"]`, and takes what it says. `stage` is told of each stage that
/// begins. Signals are the caller's.
pub fn capture(arguments: Vec<OsString>, stage: StageWatcher) -> Captured {
    let json = Some(OsString::from("--json")).filter(|json| !arguments.contains(json));
    let words = std::iter::once(OsString::from("warpweave")).chain(arguments).chain(json);
    watched(stage, || {
        let output = Output::kept();
        let code = commands::run(words.collect(), |_, _| &output);
        let (result, notes) = output.taken();
        Captured { code, result, notes }
    })
}

/// Ends the search that runs with the best that it has found, and training with the step at hand. `false` if there is none.
pub fn end_early() -> bool {
    requests::request()
}
