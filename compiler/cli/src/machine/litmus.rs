//! `warpweave litmus`: what plans assume of a device's memory, tried many times over.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use warpweave::graph::legible::counted;
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::session::Device;
use warpweave_measure::litmus::{Litmus, Outcome, Rounds, run};

use crate::arguments::program::child_compiler;
use crate::error::{CliError, Passed};
use crate::output::{Output, Progress};

/// Arguments of `litmus`.
#[derive(Args)]
pub struct Arguments {
    /// emulator, text, machine-code, or cuda:N
    #[arg(long, default_value = "cuda:0")]
    device: Device,
    /// Messages between rTasks that each program tries; a million on a GPU, a thousand elsewhere unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// The most seconds that each program takes
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    if !arguments.device.runs_kernels() {
        let text = format!("{} runs no kernels; choose emulator, text, machine-code, or cuda:N", arguments.device);
        return Err(CliError::Usage(text));
    }
    let messages = arguments.rounds.unwrap_or(match arguments.device {
        Device::Cuda(_) => 1_000_000,
        Device::Reference | Device::Host | Device::Emulator | Device::Text | Device::MachineCode => 1_000,
    });
    let rounds = Rounds { messages, limit: Duration::from_secs(arguments.limit) };
    let progress = Progress::new(Litmus::ALL.len(), output);
    let (mut text, mut records, mut passed) = (String::new(), Vec::new(), true);
    for litmus in Litmus::ALL {
        progress.step(litmus.name());
        let outcome = run(litmus, arguments.device, rounds, &child_compiler)?;
        passed &= outcome.passed();
        let _ = writeln!(text, "{}", line(litmus, &outcome));
        records.push(record(litmus, &outcome));
    }
    drop(progress);
    let device = arguments.device.to_string();
    let value = json!({"device": device, "passed": passed, "tests": records});
    output.result("litmus", &value, &text);
    Ok(passed)
}

/// The outcomes of launches, counted: all as sent, something else, and one that did not come to an end.
fn record(litmus: Litmus, outcome: &Outcome) -> Value {
    let as_sent = outcome.launches - outcome.wrong_launches;
    let stuck = u64::from(outcome.failure.is_some());
    json!({
        "name": litmus.name(), "rounds": outcome.messages, "passed": outcome.passed(),
        "outcomes": {"launches as sent": as_sent, "launches otherwise": outcome.wrong_launches, "failed": stuck},
        "wrong_elements": outcome.wrong_elements, "failure": outcome.failure,
    })
}

fn line(litmus: Litmus, outcome: &Outcome) -> String {
    let verdict = if outcome.passed() { "ok    " } else { "FAILED" };
    let Outcome { launches, messages, wrong_launches, wrong_elements, failure } = outcome;
    let mut line =
        format!("{verdict}  {}: {} in {}", litmus.name(), counted(messages, "message"), counted(launches, "launch"));
    if *wrong_launches > 0 {
        let _ = write!(line, ", {} in {}", counted(wrong_elements, "wrong element"), counted(wrong_launches, "launch"));
    }
    if let Some(failure) = failure {
        let _ = write!(line, ", then: {failure}");
    }
    line
}
