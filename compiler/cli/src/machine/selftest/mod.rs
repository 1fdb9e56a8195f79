//! `warpweave selftest`: built-in programs on the devices of this machine. What is not there is said to be missing, and
//! nothing counts as passed for it.

mod programs;

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use warpweave::graph::Tensor;
use warpweave::graph::legible::counted;
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::plan::backend::{Backend, BackendChoice, PlanBackend};
use warpweave::runtime::cuda::{CudaError, Driver};
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::sass::disassembler;
use warpweave::runtime::session::{Device, Session, SessionError};
use warpweave::runtime::text::{TextError, compiler_identity};
use warpweave::{OpenOptions, Source, open};

use crate::arguments::program::child_compiler;
use crate::error::{CliError, Passed};
use crate::output::{Output, Progress};
use programs::{Case, cases};

/// Arguments of `selftest`.
#[derive(Args)]
pub struct Arguments {
    /// The device to test: host, emulator, text, machine-code, or cuda:N; all that are there unless given
    #[arg(long)]
    device: Option<Device>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

const RELATIVE: f64 = 1e-3;
const ABSOLUTE: f64 = 1e-5;
/// Launch numbers shortly before signed and before unsigned 32-bit numbers wrap.
const EPOCHS_BEFORE_A_WRAP: [i32; 2] = [i32::MAX - 1, -2];
const LAUNCHES: usize = 4;

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let devices = match arguments.device {
        Some(device) => vec![device],
        None => vec![Device::Host, Device::Emulator, Device::Text, Device::MachineCode, Device::Cuda(0)],
    };
    let cases = cases()?;
    let progress = Progress::new(devices.len() * cases.len(), output);
    let (mut text, mut records, mut failures) = (String::new(), Vec::new(), 0);
    for device in devices {
        if let Err(reason) = available(device) {
            if arguments.device.is_some() {
                return Err(CliError::NoDevice { device, reason });
            }
            let _ = writeln!(text, "not tested  {device}: {reason}");
            records.push(json!({"device": device.to_string(), "tested": false, "reason": reason}));
            continue;
        }
        let mut results = Vec::new();
        for case in &cases {
            progress.step(&format!("{device} {}", case.name));
            let result = run(device, case);
            failures += usize::from(result.is_err());
            let _ = match &result {
                Ok(checks) => writeln!(text, "ok          {device} {}: {checks}", case.name),
                Err(reason) => writeln!(text, "FAILED      {device} {}: {reason}", case.name),
            };
            results.push(json!({"case": case.name, "passed": result.is_ok(), "reason": result.err()}));
        }
        records.push(json!({"device": device.to_string(), "tested": true, "cases": Value::from(results)}));
    }
    drop(progress);
    let tested = records.iter().filter(|record| record["tested"] == true).count();
    let _ = writeln!(
        text,
        "{} on {}, {}",
        counted(cases.len(), "program"),
        counted(tested, "device"),
        counted(failures, "failure")
    );
    output.result("selftest", &json!({"passed": failures == 0, "failures": failures, "devices": records}), &text);
    Ok(failures == 0)
}

/// Why a device cannot be tested.
fn available(device: Device) -> Result<(), String> {
    match device {
        Device::Reference | Device::Host | Device::Emulator => Ok(()),
        Device::Text => compiler_identity().map(drop).map_err(|error| error.to_string()),
        Device::MachineCode => {
            disassembler().map_err(|error| error.to_string())?;
            Nvrtc::locate().map(drop).map_err(|error| error.to_string())
        }
        Device::Cuda(ordinal) => {
            Driver::open().and_then(|driver| driver.device(ordinal)).map_err(|error| error.to_string())?;
            Nvrtc::locate().map(drop).map_err(|error| error.to_string())
        }
    }
}

/// What was checked under every back end that the device has, or what is wrong.
fn run(device: Device, case: &Case) -> Result<String, String> {
    let persistent = BackendChoice::Only(Backend::Persistent);
    let choices: &[BackendChoice] = if device.runs_kernels() {
        &[persistent, BackendChoice::Only(Backend::CudaGraph), BackendChoice::Mixed]
    } else {
        &[persistent]
    };
    let checked = |choice: &BackendChoice| {
        let checked = run_source(device, case, *choice);
        checked.map(|checks| format!("{choice}: {checks}")).map_err(|reason| format!("{choice}: {reason}"))
    };
    Ok(choices.iter().map(checked).collect::<Result<Vec<String>, String>>()?.join("; "))
}

fn run_source(device: Device, case: &Case, choice: BackendChoice) -> Result<String, String> {
    let mut build = case.build.clone();
    build.backend = choice;
    let source = &Source::Model(Box::new(build));
    let interleavings = if case.stress { 2 } else { 1 };
    let options = OpenOptions { interleavings, ..OpenOptions::default() };
    let mut session = open(source, device, &options, &child_compiler).map_err(|error| error.to_string())?;
    let made = session.execution_plan().map(ExecutionPlan::backend);
    if choice == BackendChoice::Mixed && made != Some(PlanBackend::Mixed) {
        return Ok("not made of one group".to_owned());
    }
    let first = session.run(&case.inputs).map_err(|error| error.to_string())?;
    agree(&first, &case.expected)?;
    let mut checks = "outputs agree".to_owned();
    if case.stress {
        repeat(&mut session, case, &first, "repeated")?;
        checks.push_str(", repeated launches agree");
        for epoch in EPOCHS_BEFORE_A_WRAP {
            if session.start_at(epoch).map_err(|error| error.to_string())? {
                repeat(&mut session, case, &first, "across the wrap of launch numbers")?;
                checks.push_str(&format!(", from launch {epoch} too"));
            }
        }
        if matches!(device, Device::Cuda(_)) {
            relaunch_after_abort(&mut session, case, &first, options.wait_limit)?;
            checks.push_str(", also after an abort");
        }
    }
    Ok(checks)
}

fn repeat(session: &mut dyn Session, case: &Case, first: &[Tensor], how: &str) -> Result<(), String> {
    for launch in 0..LAUNCHES {
        let outputs = session.run(&case.inputs).map_err(|error| format!("{how}, launch {launch}: {error}"))?;
        if outputs != first {
            return Err(format!("{how}, launch {launch} gives other bits"));
        }
    }
    Ok(())
}

/// With next to no patience a launch gives up wherever it has to wait; after a reset everything is as before.
fn relaunch_after_abort(
    session: &mut dyn Session,
    case: &Case,
    first: &[Tensor],
    patience: Duration,
) -> Result<(), String> {
    session.set_wait_limit(Duration::from_nanos(1));
    match session.run(&case.inputs) {
        Ok(_) | Err(SessionError::Cuda(CudaError::Wait(_)) | SessionError::Text(TextError::Wait(_))) => {}
        Err(error) => return Err(format!("without patience: {error}")),
    }
    session.set_wait_limit(patience);
    session.start_at(1).map_err(|error| error.to_string())?;
    repeat(session, case, first, "after an abort")
}

fn agree(found: &[Tensor], expected: &[Tensor]) -> Result<(), String> {
    for (position, (found, expected)) in found.iter().zip(expected).enumerate() {
        if found.ty() != expected.ty() {
            return Err(format!("output {position} is {}, expected {}", found.ty(), expected.ty()));
        }
        let pairs = found.to_f64().into_iter().zip(expected.to_f64());
        let wrong = |(found, expected): &(f64, f64)| {
            let error = (found - expected).abs();
            error.is_nan() || error > ABSOLUTE + RELATIVE * expected.abs()
        };
        if let Some((element, (found, expected))) = pairs.enumerate().find(|(_, pair)| wrong(pair)) {
            return Err(format!("output {position}, element {element} is {found:e}, expected {expected:e}"));
        }
    }
    if found.len() == expected.len() { Ok(()) } else { Err("there are fewer outputs than expected".to_owned()) }
}
