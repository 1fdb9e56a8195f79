//! `warpweave doctor`: what this machine offers.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use warpweave::runtime::cuda::Driver;
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::session::{Device, SessionError};
use warpweave::runtime::text::compiler_identity;
use warpweave::{DeviceArch, write_arch};
use warpweave_measure::calibrate::{
    Calibration, DeviceStopwatch, Reading, ThreadStopwatch, calibrate, calibrate_processor, processor_base,
};
use warpweave_measure::microbench::FailedEdge;

use super::device_tools::{device_tools, fetch};
use super::microbench::failed_value;
use crate::arguments::program::child_compiler;
use crate::error::{CliError, Passed};
use crate::output::Output;
use crate::output_kinds::OutputKind;
use crate::output_paths::{self, OutputFile};

/// Arguments of `doctor`.
#[derive(Args)]
pub struct Arguments {
    /// Measures a device's constants and writes them here, for --arch of compile, and of explain where it is a GPU
    #[arg(long, value_name = "FILE")]
    calibrate: Option<PathBuf>,
    /// The device to measure: host or cuda:N
    #[arg(long, default_value_t = Device::Cuda(0), requires = "calibrate")]
    device: Device,
    /// Downloads NVRTC, nvJitLink and nvdisasm with python3 -m pip, in pinned versions, into warpweave/cuda of the cache folder:
    /// XDG_CACHE_HOME, or .cache in the home folder
    #[arg(long, conflicts_with = "calibrate")]
    fetch_cuda: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command. It fails only where something is there and does not work.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    if let Some(path) = &arguments.calibrate {
        output_paths::check_files(&[OutputFile::new(path, OutputKind::Constants)], &[])?;
        return calibrated(path, arguments.device, output);
    }
    let mut text = String::new();
    let mut passed = true;
    let fetched = if arguments.fetch_cuda { fetch(&mut text)? } else { Value::Null };
    let tools = device_tools(&mut text, &mut passed);
    let driver = driver(&mut text, &mut passed);
    let compiler = match compiler_identity() {
        Ok(identity) => {
            let _ = writeln!(text, "C++ compiler: {identity}");
            json!({"found": true, "identity": identity})
        }
        Err(error) => {
            let _ = writeln!(text, "C++ compiler: {error}");
            json!({"found": false, "reason": error.to_string()})
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let _ = writeln!(text, "processor threads: {threads}");
    let _ =
        writeln!(text, "devices: reference, host and emulator always; text with a C++ compiler; cuda:N with a driver");
    let _ = writeln!(text, "not yet run on a GPU: the launch path; its programs run on emulator and text");
    let value = json!({
        "passed": passed, "fetched": fetched, "nvrtc": tools.nvrtc, "linker": tools.linker, "nvdisasm": tools.nvdisasm, "driver": driver, "cpp_compiler": compiler, "threads": threads,
        "never_run_on_a_gpu": ["cuda launch path"]
    });
    output.result("doctor", &value, &text);
    Ok(passed)
}

/// Measures the constants of a device. It fails where one could not be measured.
fn calibrated(path: &Path, device: Device, output: &Output) -> Result<Passed, CliError> {
    match device {
        Device::Host => {
            let found = calibrate_processor(processor_base(), &mut ThreadStopwatch)?;
            let assumed = found.arch.assumptions();
            written(path, device, found, assumed, output)
        }
        Device::Cuda(ordinal) => {
            Driver::open().and_then(|driver| driver.device(ordinal)).map_err(SessionError::from)?;
            let compiler = child_compiler().map_err(|reason| CliError::NoDevice { device, reason })?;
            let mut stopwatch = DeviceStopwatch::new(compiler.as_ref(), ordinal)?;
            let found = calibrate(stopwatch.base(), &mut stopwatch)?;
            let assumed = found.arch.assumptions();
            written(path, device, found, assumed, output)
        }
        Device::Reference | Device::Emulator | Device::Text | Device::MachineCode => {
            let text = format!("{device} has no constants to measure; give --device host or cuda:N");
            Err(CliError::Usage(text))
        }
    }
}

/// Writes the constants of a device, and says what was measured.
fn written(
    path: &Path,
    device: Device,
    found: Calibration<impl Into<DeviceArch>>,
    assumed: Vec<&'static str>,
    output: &Output,
) -> Result<Passed, CliError> {
    let Calibration { arch, readings, failed } = found;
    write_arch(path, arch)?;
    let mut text = format!("{}: constants of {device}\n", path.display());
    let mut records = Vec::new();
    for Reading { constant, microseconds, before, now } in &readings {
        let _ = match (now, microseconds) {
            (Some(now), Some([small, large])) => {
                writeln!(text, "  {constant}: {now:.4e}, was {before:.4e} ({small:.2} and {large:.2} us)")
            }
            (Some(now), None) => writeln!(text, "  {constant}: {now:.4e}, was {before:.4e}"),
            (None, Some(_)) => {
                writeln!(text, "  {constant}: not measured, the larger trial was no slower; {before:.4e} stays")
            }
            (None, None) => writeln!(text, "  {constant}: not measured; {before:.4e} stays"),
        };
        records.push(json!({"constant": constant, "now": now, "before": before, "microseconds": microseconds}));
    }
    for FailedEdge { edge, reason, .. } in &failed {
        let _ = writeln!(text, "  {}: {reason}", edge.name());
    }
    if !assumed.is_empty() {
        let _ = writeln!(text, "  assumed still: {}", assumed.join(", "));
    }
    let failed = failed.iter().map(failed_value).collect::<Vec<Value>>();
    let value = json!({"file": path.display().to_string(), "readings": records, "assumed": assumed, "failed": failed});
    output.result("doctor", &value, &text);
    Ok(readings.iter().all(|reading| reading.now.is_some()))
}

fn driver(text: &mut String, passed: &mut bool) -> Value {
    let found = match Driver::open() {
        Ok(found) => found,
        Err(error) => {
            let _ = writeln!(text, "CUDA driver: {error}");
            return json!({"found": false, "reason": error.to_string()});
        }
    };
    let (major, minor) = found.version();
    let _ = writeln!(text, "CUDA driver: supports CUDA {major}.{minor}");
    let devices = match found.devices() {
        Ok(devices) => devices,
        Err(error) => {
            *passed = false;
            let _ = writeln!(text, "  its devices cannot be read: {error}");
            return json!({"found": true, "version": format!("{major}.{minor}"), "reason": error.to_string()});
        }
    };
    if devices.is_empty() {
        let _ = writeln!(text, "  no device");
    }
    let mut records = Vec::new();
    for device in devices {
        let (major, minor) = device.capability;
        let _ = writeln!(
            text,
            "  cuda:{}: {}, compute capability {major}.{minor}, {} multiprocessors, {} MiB, {} shared bytes a block{}",
            device.ordinal,
            device.name,
            device.multiprocessors,
            device.memory_bytes >> 20,
            device.shared_bytes,
            if device.cooperative { "" } else { ", no cooperative launches" }
        );
        records.push(json!({
            "ordinal": device.ordinal, "name": device.name, "compute_capability": format!("{major}.{minor}"),
            "multiprocessors": device.multiprocessors, "memory_bytes": device.memory_bytes,
            "shared_bytes": device.shared_bytes, "cooperative": device.cooperative
        }));
    }
    json!({"found": true, "version": format!("{major}.{minor}"), "devices": records})
}
