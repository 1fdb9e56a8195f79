//! `warpweave litmus`: what plans assume of a device's memory, tried many times over.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use warpweave::litmus::{Litmus, Outcome, Rounds, run};
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::session::Device;

use super::Passed;
use super::arguments::child_compiler;
use super::error::CliError;
use super::output::{Output, Progress};

/// Arguments of `litmus`.
#[derive(Args)]
pub struct Arguments {
    /// emulator, text, or cuda:N
    #[arg(long, default_value = "cuda:0")]
    device: Device,
    /// Messages between rTasks that each program tries
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    rounds: u64,
    /// The most seconds that each program takes
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    limit: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    if !arguments.device.runs_kernels() {
        let text = format!("{} runs no kernels; choose emulator, text, or cuda:N", arguments.device);
        return Err(CliError::Usage(text));
    }
    let rounds = Rounds { messages: arguments.rounds, limit: Duration::from_secs(arguments.limit) };
    let progress = Progress::new(Litmus::ALL.len());
    let (mut text, mut records, mut passed) = (String::new(), Vec::new(), true);
    for litmus in Litmus::ALL {
        progress.stage(litmus.name());
        let outcome = run(litmus, arguments.device, rounds, &child_compiler)?;
        passed &= outcome.passed();
        let _ = writeln!(text, "{}", line(litmus, &outcome));
        records.push(json!({
            "program": litmus.name(), "passed": outcome.passed(), "launches": outcome.launches,
            "messages": outcome.messages, "wrong_launches": outcome.wrong_launches,
            "wrong_elements": outcome.wrong_elements, "failure": outcome.failure,
        }));
    }
    drop(progress);
    let device = arguments.device.to_string();
    let value = json!({"device": device, "passed": passed, "programs": Value::from(records)});
    output.result("litmus", &value, &text);
    Ok(passed)
}

fn line(litmus: Litmus, outcome: &Outcome) -> String {
    let verdict = if outcome.passed() { "ok    " } else { "FAILED" };
    let Outcome { launches, messages, wrong_launches, wrong_elements, failure } = outcome;
    let mut line = format!("{verdict}  {}: {messages} messages in {launches} launches", litmus.name());
    if *wrong_launches > 0 {
        let _ = write!(line, ", {wrong_elements} wrong elements in {wrong_launches} launches");
    }
    if let Some(failure) = failure {
        let _ = write!(line, ", then: {failure}");
    }
    line
}
