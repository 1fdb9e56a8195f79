//! The commands: results on standard output, progress and errors on standard error.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::arguments::verbosity::Verbosity;
use crate::compiling::{check, compile, device_compile, explain, refit};
use crate::help::{completions, manual, usage, version, width};
use crate::machine::{doctor, litmus, microbench, selftest};
use crate::measuring::{bench, lab, profile, report, tune};
use crate::output::{Detail, Output};
use crate::running::{attempt, compare, inspect, reduce, run};
use crate::training::{export_weights, train};
use crate::{error, interrupt, models, ops};

/// Compiles whole ONNX graphs ahead of time into persistent GPU programs.
///
/// Exit codes: 0 success, 1 a failed check, 2 wrong usage, 3 an unsupported model, 4 a missing part of the environment,
/// 5 a device fault, 6 a time-out, 7 an index out of its range, 8 a damaged bundle, 128 and its number after a signal: 130 after Ctrl-C.
#[derive(Parser)]
#[command(name = "warpweave", version = version::LINE, long_version = version::LINE, term_width = width::columns())]
struct Cli {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compiles a model to a bundle
    Compile(compile::Arguments),
    /// Gives a bundle the constants of another model of the same structure
    Refit(refit::Arguments),
    /// Runs a model or bundle once
    Run(run::Arguments),
    /// Takes training steps
    Train(train::Arguments),
    /// Writes a model with tensors that were trained
    ExportWeights(export_weights::Arguments),
    /// Verifies a plan; --without-wait N shows the race that removing a wait causes
    Check(check::Arguments),
    /// Compares a model or bundle with stored inputs and outputs
    Compare(compare::Arguments),
    /// Finds the smallest program that still fails as a model does
    Reduce(reduce::Arguments),
    /// Measures latency and throughput
    Bench(bench::Arguments),
    /// Records when every rTask runs on a device, beside what was predicted
    Profile(profile::Arguments),
    /// Makes a page of the results of measurements
    Report(report::Arguments),
    /// Shows why a model is compiled as it is
    Explain(explain::Arguments),
    /// Measures kernels on a GPU and records their times
    Tune(tune::Arguments),
    /// Shows what a model or bundle holds
    Inspect(inspect::Arguments),
    /// Lists the benchmark models, or writes one
    Models(models::Arguments),
    /// Lists the operators and what runs them
    Ops(ops::Arguments),
    /// Runs everything that a GPU can tell of this build, or shows what was recorded
    Lab(lab::Arguments),
    /// Shows what this machine offers
    Doctor(doctor::Arguments),
    /// Runs built-in programs on the devices of this machine
    Selftest(selftest::Arguments),
    /// Tries what plans assume of a device's memory
    Litmus(litmus::Arguments),
    /// Counts what a multiprocessor of a GPU does in a cycle
    Microbench(microbench::Arguments),
    /// Prints what a shell completes commands by
    Completions(completions::Arguments),
    /// Writes the pages of the manual
    Manual(manual::Arguments),
    /// Compiles device text; for use by this program itself
    #[command(hide = true)]
    DeviceCompile(device_compile::Arguments),
    /// Runs a candidate of `reduce`; for use by this program itself
    #[command(hide = true)]
    ReduceAttempt(attempt::Arguments),
}

/// The commands and their arguments, as the parser has them.
pub fn described() -> clap::Command {
    Cli::command()
}

/// Runs the command that the process was started with by these words, the first of which names the program.
pub fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    ExitCode::from(main_code(words))
}

/// The same; what the process should exit with.
pub fn main_code(words: impl Iterator<Item = OsString>) -> u8 {
    let mut output = None;
    run(words.collect(), |json, detail| {
        interrupt::handle();
        output.insert(Output::new(json, detail))
    })
}

/// Runs a command; `output` makes what takes its results. What the process exits with.
pub fn run<'o>(words: Vec<OsString>, output: impl FnOnce(bool, Detail) -> &'o Output) -> u8 {
    let Cli { verbosity, command } = match Cli::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(error) => {
            let json = words.iter().any(|word| word == "--json");
            return usage::report(&error, &words, output(json, Detail::Usual));
        }
    };
    let json = match &command {
        Command::Compile(arguments) => arguments.json,
        Command::Refit(arguments) => arguments.json,
        Command::Run(arguments) => arguments.program.json,
        Command::Train(arguments) => arguments.json,
        Command::ExportWeights(arguments) => arguments.json,
        Command::Check(arguments) => arguments.json,
        Command::Compare(arguments) => arguments.program.json,
        Command::Reduce(arguments) => arguments.program.json,
        Command::ReduceAttempt(arguments) => arguments.program.json,
        Command::Bench(arguments) => arguments.program.json,
        Command::Profile(arguments) => arguments.program.json,
        Command::Report(arguments) => arguments.json,
        Command::Explain(arguments) => arguments.json,
        Command::Tune(arguments) => arguments.json,
        Command::Inspect(arguments) => arguments.json,
        Command::Models(arguments) => arguments.json,
        Command::Ops(arguments) => arguments.json,
        Command::Lab(arguments) => arguments.json,
        Command::Doctor(arguments) => arguments.json,
        Command::Selftest(arguments) => arguments.json,
        Command::Litmus(arguments) => arguments.json,
        Command::Microbench(arguments) => arguments.json,
        Command::Completions(arguments) => arguments.json,
        Command::Manual(arguments) => arguments.json,
        Command::DeviceCompile(_) => false,
    };
    let output = output(json, verbosity.detail());
    let result = match command {
        Command::Compile(arguments) => compile::execute(&arguments, output),
        Command::Refit(arguments) => refit::execute(&arguments, output),
        Command::Run(arguments) => run::execute(&arguments, output),
        Command::Train(arguments) => train::execute(&arguments, output),
        Command::ExportWeights(arguments) => export_weights::execute(&arguments, output),
        Command::Check(arguments) => check::execute(&arguments, output),
        Command::Compare(arguments) => compare::execute(&arguments, output),
        Command::Reduce(arguments) => reduce::execute(&arguments, output),
        Command::ReduceAttempt(arguments) => attempt::execute(&arguments, output),
        Command::Bench(arguments) => bench::execute(&arguments, output),
        Command::Profile(arguments) => profile::execute(&arguments, output),
        Command::Report(arguments) => report::execute(&arguments, output),
        Command::Explain(arguments) => explain::execute(&arguments, output),
        Command::Tune(arguments) => tune::execute(&arguments, output),
        Command::Inspect(arguments) => inspect::execute(&arguments, output),
        Command::Models(arguments) => models::execute(&arguments, output),
        Command::Ops(arguments) => ops::execute(&arguments, output),
        Command::Lab(arguments) => lab::execute(&arguments, output),
        Command::Doctor(arguments) => doctor::execute(&arguments, output),
        Command::Selftest(arguments) => selftest::execute(&arguments, output),
        Command::Litmus(arguments) => litmus::execute(&arguments, output),
        Command::Microbench(arguments) => microbench::execute(&arguments, output),
        Command::Completions(arguments) => completions::execute(&arguments, output),
        Command::Manual(arguments) => manual::execute(&arguments, output),
        Command::DeviceCompile(arguments) => device_compile::execute(&arguments),
    };
    match result.and_then(|passed| output.written().map(|()| passed)) {
        Ok(true) => 0,
        Ok(false) => error::EXIT_CHECK,
        Err(error) => {
            output.error(&error);
            error.exit_code()
        }
    }
}
