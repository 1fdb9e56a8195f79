//! A comparison that failed, as a folder that replays it elsewhere.

use std::path::{Path, PathBuf};

use warpweave::graph::Tensor;
use warpweave::runtime::bundle::BundleTarget;
use warpweave::runtime::cuda::CudaError;
use warpweave::runtime::json::{self, Value, json};
use warpweave::runtime::session::{Device, FailureKind, SessionError};
use warpweave::runtime::session_memory::TimedOutWait;
use warpweave::runtime::text::TextError;
use warpweave::{Checked, OpenError, Source};

use super::run::write_outputs;
use crate::diagnostic::Diagnostic;
use crate::error::{CliError, file_error};
use crate::output::{Output, write_file};
use crate::output_paths;

const BUNDLE: &str = "model.weave";
const ARRAYS: &str = "io.npz";

/// Where a failure is left.
pub struct Case<'a> {
    folder: PathBuf,
    source: &'a Source,
    io: &'a Path,
    device: Device,
}

/// How a comparison failed.
pub enum Failure<'a> {
    /// Outputs differ.
    Outputs {
        /// What the device gave.
        found: &'a [Tensor],
        /// What was reported of it.
        report: &'a Value,
    },
    /// There are no outputs.
    Error(&'a CliError),
}

impl<'a> Case<'a> {
    /// A case in `folder`, which must not be there yet, of a bundle that has all its weights.
    pub fn new(folder: &Path, source: &'a Source, io: &'a Path, device: Device) -> Result<Self, CliError> {
        let refuse = |text: String| Err(CliError::Usage(text));
        match source {
            Source::Model(_) => {
                let text = "--save-failure keeps the program that failed, which a model is not yet; compile it and compare \
                            the bundle";
                return refuse(text.to_owned());
            }
            Source::Bundle(bundle) if !bundle.manifest().references.files.is_empty() => {
                let text = "--save-failure keeps all of a bundle, and this one's weights lie beside it; compile it with \
                            --weights inside";
                return refuse(text.to_owned());
            }
            Source::Bundle(_) => {}
        }
        if io.is_dir() {
            return refuse(
                "--save-failure keeps one file of arrays, and --io is a folder; give them as FILE.npz".to_owned(),
            );
        }
        output_paths::check_absent(folder)?;
        let bytes = |path: &Path| std::fs::metadata(path).map(|file| file.len()).map_err(file_error("read", path));
        output_paths::check_new_folder(
            folder,
            source.files().iter().map(|path| bytes(path)).sum::<Result<u64, _>>()? + bytes(io)?,
        )?;
        Ok(Self { folder: folder.to_owned(), source, io, device })
    }

    /// Leaves the bundle, the stored arrays, the plan and the kernels as text, what the device gave, and `case.json`.
    /// `units` is how many vEUs the plan had as it was run.
    pub fn save(&self, failure: &Failure, units: Option<usize>, output: &Output) -> Result<(), CliError> {
        let Source::Bundle(bundle) = self.source else { return Ok(()) };
        std::fs::create_dir_all(&self.folder).map_err(file_error("create", &self.folder))?;
        let copy = |from: &Path, name: &str| {
            let copied = std::fs::copy(from, self.folder.join(name)).map(drop);
            copied.map_err(file_error("copy", from))
        };
        copy(bundle.path(), BUNDLE)?;
        copy(self.io, ARRAYS)?;
        let host = Some(BundleTarget::Host).filter(|_| self.device == Device::Host);
        let checked = Checked::of(self.source, host)?;
        self.write("plan.txt", &checked.plan.plan.plan().to_string())?;
        if let Some(kernels) = checked.program() {
            self.write("kernels.txt", &kernels.to_string())?;
        }
        if let Failure::Outputs { found, .. } = failure {
            write_outputs(&self.folder.join("got"), found)?;
        }
        let value = self.describe(failure, units);
        self.write("case.json", &json::to_string_pretty(&value).unwrap_or_else(|error| error.to_string()))?;
        output.note(&format!("{}: {}", self.folder.display(), self.replay(units)));
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), CliError> {
        write_file(&self.folder.join(name), text.as_bytes())
    }

    /// The command that runs the case again, in its folder: on the emulator where a GPU has run it.
    fn replay(&self, units: Option<usize>) -> String {
        let device = match self.device {
            Device::Cuda(_) => Device::Emulator,
            device => device,
        };
        let units = units.filter(|_| device == Device::Emulator).map(|units| format!(" --veus {units}"));
        format!("warpweave compare {BUNDLE} --io {ARRAYS} --device {device}{}", units.unwrap_or_default())
    }

    fn describe(&self, failure: &Failure, units: Option<usize>) -> Value {
        let (kind, report, error) = match failure {
            Failure::Outputs { report, .. } => ("outputs-differ", Some(*report), None),
            Failure::Error(error) => {
                let status = session_error(error).and_then(timed_out);
                let status = status.map(|wait: TimedOutWait| {
                    let awaited = wait.awaited.to_string();
                    json!({"veu": wait.veu, "awaited": awaited, "seen": wait.seen, "wanted": wait.wanted})
                });
                let mut value = Diagnostic::of(error).value();
                value["status"] = json!(status);
                (kind(error), None, Some(value))
            }
        };
        json!({
            "schema": "warpweave.case/1", "producer": concat!("warpweave ", env!("CARGO_PKG_VERSION")),
            "device": self.device.to_string(), "units": units, "kind": kind, "outputs": report, "error": error,
            "replay": self.replay(units)
        })
    }
}

/// Whether a device failed, and not the caller or the machine.
pub fn is_failure(error: &CliError) -> bool {
    let kind = session_error(error).map(SessionError::kind);
    matches!(kind, Some(FailureKind::Check | FailureKind::DeviceFault | FailureKind::TimeOut))
}

fn kind(error: &CliError) -> &'static str {
    match session_error(error).map(SessionError::kind) {
        Some(FailureKind::DeviceFault) => "device-fault",
        Some(FailureKind::TimeOut) => "time-out",
        Some(
            FailureKind::Check
            | FailureKind::Usage
            | FailureKind::Environment
            | FailureKind::Index
            | FailureKind::Damage,
        )
        | None => "error",
    }
}

fn session_error(error: &CliError) -> Option<&SessionError> {
    match error {
        CliError::Open(OpenError::Session(error)) => Some(error),
        _ => None,
    }
}

/// The wait that gave up, as the status words told it.
fn timed_out(error: &SessionError) -> Option<TimedOutWait> {
    match error {
        SessionError::Cuda(CudaError::Wait(wait)) | SessionError::Text(TextError::Wait(wait)) => Some(*wait),
        _ => None,
    }
}
