//! What all steps share, and how a step ends.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use warpweave_runtime::session::Device;

use super::book::{CASES, KEPT};
use super::bundles::{Bundles, NoBundle, Wanted};
use super::child::{Children, Ended, Exit};
use super::conditions::Conditions;
use super::fixtures::Fixtures;
use super::options::{Backend, RunOptions};
use super::predict::WAIT_LIMIT;
use crate::lab::costs::Costs;
use crate::lab::{Findings, Outcome};

/// Seconds in which a healthy `doctor` answers.
const DOCTOR_LIMIT: Duration = Duration::from_secs(30);

/// Why a step has not run to its end with nothing wrong.
#[derive(Debug)]
pub enum Stop {
    /// It cannot be done here.
    Skip(String),
    /// The time of its budget is over.
    Time {
        /// What it was about.
        reason: String,
        /// How far it came.
        findings: Option<Box<Findings>>,
    },
    /// Something is wrong.
    Failed {
        reason: String,
        ended: Option<Box<Ended>>,
        /// What was found all the same.
        findings: Option<Box<Findings>>,
    },
}

impl Stop {
    /// A command that failed.
    pub fn failed(reason: impl Into<String>, ended: Ended) -> Self {
        Self::Failed { reason: reason.into(), ended: Some(Box::new(ended)), findings: None }
    }

    /// The same with findings.
    pub fn with(self, found: Findings) -> Self {
        match self {
            Self::Skip(reason) => Self::Skip(reason),
            Self::Time { reason, .. } => Self::Time { reason, findings: Some(Box::new(found)) },
            Self::Failed { reason, ended, .. } => Self::Failed { reason, ended, findings: Some(Box::new(found)) },
        }
    }
}

pub type Found = Result<Findings, Stop>;

/// A time by which something is over.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(pub Instant);

impl Deadline {
    /// So many seconds from now.
    pub fn after(seconds: f64) -> Self {
        Self(Instant::now() + Duration::from_secs_f64(seconds.max(0.0)))
    }

    /// What is left until then.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// The earlier of this and so many seconds from now.
    pub fn within(self, seconds: f64) -> Self {
        Self(self.0.min(Self::after(seconds).0))
    }
}

/// What `doctor --json` tells.
#[derive(Clone, Debug, Deserialize)]
pub struct Told {
    /// The compiler of device text.
    pub nvrtc: Part,
    /// The linker of device code; absent where the program does not tell.
    pub linker: Option<Part>,
    /// The disassembler, likewise.
    pub nvdisasm: Option<Part>,
    /// The driver with its devices.
    pub driver: Driver,
    pub threads: usize,
}

/// A part of the environment.
#[derive(Clone, Debug, Deserialize)]
pub struct Part {
    pub found: bool,
    pub version: Option<String>,
    /// Why it is not there.
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Driver {
    /// The CUDA version that it supports.
    pub version: Option<String>,
    /// Why its devices are not known.
    pub reason: Option<String>,
    #[serde(default)]
    pub devices: Vec<ToldDevice>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ToldDevice {
    pub ordinal: u32,
    pub name: String,
    /// Such as `9.0`.
    pub compute_capability: String,
    pub multiprocessors: usize,
    pub memory_bytes: u64,
}

/// Why a device is not there, by what `doctor` tells; none if it is.
pub fn absent(told: &Told, device: Device) -> Option<String> {
    let Device::Cuda(ordinal) = device else { return None };
    if told.driver.devices.iter().any(|known| known.ordinal == ordinal) {
        return None;
    }
    let reason = told.driver.reason.clone();
    Some(reason.unwrap_or_else(|| format!("the driver has no device {ordinal}")))
}

pub struct Context {
    pub options: RunOptions,
    /// The folder of this program's files.
    pub work: PathBuf,
    pub fixtures: Fixtures,
    pub costs: Costs,
    /// Runs the steps' commands.
    pub children: Arc<Children>,
    /// What `doctor` said at the start, and its process.
    pub doctor: (Option<Told>, Ended),
    pub bundles: Bundles,
    /// What the steps so far have shown.
    conditions: Mutex<Conditions>,
}

impl Context {
    /// A run with these conditions.
    pub fn new(
        (options, work): (RunOptions, PathBuf),
        (fixtures, costs): (Fixtures, Costs),
        (children, doctor): (Arc<Children>, (Option<Told>, Ended)),
        (bundles, conditions): (Bundles, Conditions),
    ) -> Self {
        let conditions = Mutex::new(conditions);
        Self { options, work, fixtures, costs, children, doctor, bundles, conditions }
    }

    pub fn conditions(&self) -> MutexGuard<'_, Conditions> {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn run(&self, arguments: &[String], deadline: Deadline) -> Ended {
        self.children.run(&self.options.binary, arguments, deadline.left())
    }

    /// The JSON that a command prints; exit code 1, a failed check, is left to the caller.
    pub fn printed<T: DeserializeOwned>(&self, arguments: &[String], deadline: Deadline) -> Result<(T, Ended), Stop> {
        let arguments: Vec<String> = arguments.iter().cloned().chain(["--json".to_owned()]).collect();
        let limit = deadline.left().as_secs_f64();
        let ended = self.run(&arguments, deadline);
        let command = arguments[0].clone();
        match ended.exit {
            Exit::Code(0 | 1) => match ended.parsed() {
                Some(told) => Ok((told, ended)),
                None => Err(Stop::failed(format!("{command} printed nothing that can be read"), ended)),
            },
            Exit::Code(code) => Err(Stop::failed(format!("{command} ended with {code}{}", said(&ended)), ended)),
            Exit::Signal(signal) => Err(Stop::failed(format!("{command} was ended by signal {signal}"), ended)),
            Exit::Limit => Err(Stop::failed(format!("{command} was killed after {limit:.0} s"), ended)),
            Exit::Stopped => Err(Stop::Time { reason: "the lab is stopping".to_owned(), findings: None }),
            Exit::Unstarted => Err(Stop::failed(format!("{command} could not be started"), ended)),
        }
    }

    /// The same of a command that runs programs of a back end in a step, which may end the back end's series.
    pub fn observed<T: DeserializeOwned>(
        &self,
        on: (Device, Option<Backend>),
        step: &str,
        arguments: &[String],
        deadline: Deadline,
    ) -> Result<(T, Ended), Stop> {
        let printed = self.printed(arguments, deadline);
        let exit = match &printed {
            Ok((_, ended)) => Some(ended.exit),
            Err(Stop::Failed { ended, .. }) => ended.as_ref().map(|ended| ended.exit),
            Err(Stop::Skip(_) | Stop::Time { .. }) => None,
        };
        let why = self.observe(on, step, exit.map_or(Outcome::Missing, outcome));
        match (printed, why) {
            (Err(Stop::Failed { reason, ended, findings }), Some(why)) => {
                Err(Stop::Failed { reason: format!("{reason}; {why}"), ended, findings })
            }
            (printed, _) => printed,
        }
    }

    /// A bundle, which is waited for.
    pub fn bundle(&self, wanted: &Wanted, deadline: Deadline) -> Result<PathBuf, Stop> {
        self.bundles.bundle(wanted, deadline.0).map_err(no_bundle)
    }

    pub fn gpu(&self) -> Result<Device, Stop> {
        self.options.gpus().next().ok_or_else(|| Stop::Skip(NO_GPU.to_owned()))
    }

    /// A file that a measurement leaves for the archive.
    pub fn kept_file(&self, name: &str) -> PathBuf {
        self.folder(KEPT).join(name)
    }

    /// The folder of failing cases.
    pub fn cases(&self) -> PathBuf {
        self.folder(CASES)
    }

    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.work.join(name);
        // If it cannot be made, the write that follows reports it.
        let _ = std::fs::create_dir_all(&folder);
        folder
    }

    /// Notes how a program of a back end ended. Gives why the back end is not tried again, once it is not. After a failure
    /// the device is asked for.
    pub fn observe(&self, on: (Device, Option<Backend>), step: &str, outcome: Outcome) -> Option<String> {
        let (device, Some(backend)) = on else { return None };
        if is_fatal(outcome) {
            self.check_device(device, step);
        }
        let mut conditions = self.conditions();
        let ended = conditions.observe((device, backend), step, outcome);
        conditions.lost(device).map(str::to_owned).or(ended)
    }

    /// Asks whether a GPU is still there.
    pub fn check_device(&self, device: Device, step: &str) {
        if self.conditions().lost(device).is_some() || !matches!(device, Device::Cuda(_)) {
            return;
        }
        let words = ["doctor", "--json"].map(str::to_owned);
        let ended = self.run(&words, Deadline(Instant::now() + DOCTOR_LIMIT));
        let lost = match ended.parsed::<Told>() {
            Some(told) => absent(&told, device),
            None => Some("doctor does not answer".to_owned()),
        };
        if let Some(reason) = lost {
            self.conditions().lose(device, step, &reason);
        }
    }
}

/// Why a step that needs a GPU is skipped without one.
pub const NO_GPU: &str = "no GPU among the devices";

/// The first line of a message, after a colon.
fn said(ended: &Ended) -> String {
    let line = ended.errors.lines().find(|line| line.starts_with("error"));
    line.map(|line| format!(": {}", line.chars().take(200).collect::<String>())).unwrap_or_default()
}

fn is_fatal(outcome: Outcome) -> bool {
    match outcome {
        Outcome::DeviceFault | Outcome::TimeOut | Outcome::Crash | Outcome::Refused => true,
        Outcome::Agree | Outcome::Differ | Outcome::Missing => false,
    }
}

/// Why a step has no bundle.
pub fn no_bundle(missing: NoBundle) -> Stop {
    match missing {
        NoBundle::Time => Stop::Time { reason: "budget: its bundle is not compiled yet".to_owned(), findings: None },
        NoBundle::Unable(reason) => Stop::Skip(reason),
        NoBundle::Failed(ended) => {
            let command = ended.command.get(1).cloned().unwrap_or_default();
            Stop::failed(format!("{command} made nothing{}", said(&ended)), ended)
        }
    }
}

/// How a process that ran a program ended.
pub fn outcome(exit: Exit) -> Outcome {
    match exit {
        Exit::Code(0) => Outcome::Agree,
        Exit::Code(1 | 7 | 8) => Outcome::Differ,
        Exit::Code(2..=4) => Outcome::Refused,
        Exit::Code(5) => Outcome::DeviceFault,
        Exit::Code(6) | Exit::Limit => Outcome::TimeOut,
        Exit::Code(_) | Exit::Signal(_) | Exit::Unstarted => Outcome::Crash,
        Exit::Stopped => Outcome::Missing,
    }
}

/// Options of every command that runs a program on a device.
pub fn on_device(device: Device) -> Vec<String> {
    let mut words = vec!["--device".to_owned(), device.to_string()];
    if let Device::Cuda(_) = device {
        words.extend(["--wait-limit".to_owned(), WAIT_LIMIT.to_string()]);
    }
    words
}

/// A path as an argument.
pub fn word(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
