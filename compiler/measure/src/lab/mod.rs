//! The lab: runs everything that a device can tell of a build, and records it. `run` runs it; here is the record.

pub mod costs;
mod findings;
mod measure_costs;
pub mod run;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod verdict;

pub use findings::{
    Calibrated, Check, CodeCycles, CodeKind, Comparison, Edge, EdgeTime, Findings, Gpu, KernelStalls, LitmusTest,
    LoopCycles, Measurement, Outcome, PartTime, PeerTime, SINGLE, SoakFound, UnitShares,
};
pub use measure_costs::{CostsError, measure_costs};
pub use table::Table;
pub use tables::markdown;
pub use verdict::{Verdict, verdict};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpweave_graph::legible::file_remedy;
use warpweave_runtime::json::{self, Value};

/// What a record calls itself.
pub const FORMAT: &str = "warpweave-lab";
/// The version that is written, and the only one that is read.
pub const VERSION: u64 = 1;

/// A run of the lab.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Lab {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u64,
    /// When it began, in UTC, as in `2026-01-31T12:00:00Z`.
    pub began: String,
    /// Seconds that it took, resumed runs included.
    pub seconds: f64,
    /// What was asked for.
    pub options: LabOptions,
    /// The program that ran.
    pub binary: Binary,
    /// What would have made a file of results too large.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The steps, in order of worth.
    pub steps: Vec<Step>,
}

/// What was asked for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LabOptions {
    /// Devices as on the command line.
    pub devices: Vec<String>,
    /// Whether models were reduced and few.
    pub reduced: bool,
    /// Seconds that it might take.
    pub budget_seconds: f64,
    /// What a stand-in driver injected, which answered instead of a GPU; none of a run on devices.
    #[serde(default)]
    pub dry: Option<String>,
}

/// A program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Binary {
    /// What it says of itself.
    pub version: String,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
}

/// A part of the lab; parts of equal letters belong together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabPart {
    /// The machine, the self-test, and what is assumed of its memory.
    Machine,
    /// Small models compared with stored outputs.
    Correctness,
    /// Cycles of loops, and the device's constants.
    Cycles,
    /// Benchmark models measured.
    Models,
    /// Where the time of models goes.
    Profiles,
    /// Times of kernels.
    Tuning,
}

/// One step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Its name, unique among all.
    pub name: String,
    /// What it belongs to.
    pub part: LabPart,
    /// Seconds that it took.
    pub seconds: f64,
    /// How it ended.
    #[serde(flatten)]
    pub status: Status,
    /// What it found, as far as it came.
    pub findings: Option<Findings>,
}

/// How a step ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Status {
    /// To its end, and nothing is wrong.
    Ran,
    /// Something is wrong, or it did not come to its end.
    Failed {
        /// What.
        reason: String,
        /// The command that failed.
        command: Vec<String>,
        /// What it ended with; none if it was stopped.
        exit_code: Option<i32>,
        /// The end of what it printed.
        tail: String,
    },
    /// It was not begun.
    Skipped {
        /// Why.
        reason: String,
    },
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}; {}", path.display(), file_remedy(source))]
    File { path: PathBuf, source: std::io::Error },
    /// The file is no record.
    #[error("{} is no record of the lab: {reason}; `warpweave lab run` writes them", path.display())]
    Format { path: PathBuf, reason: String },
    /// The record is of another version.
    #[error("{} is a record of version {found}, this program reads version {VERSION}; use the program that wrote it", path.display())]
    Version { path: PathBuf, found: String },
}

impl Lab {
    /// Reads a record.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let bytes = std::fs::read(path).map_err(|source| LabError::File { path: path.to_owned(), source })?;
        Self::parse(path, &bytes)
    }

    /// Reads the bytes of a record; errors call it `path`.
    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, LabError> {
        let damaged = |reason: String| LabError::Format { path: path.to_owned(), reason };
        let value: Value = json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if value["format"] != FORMAT {
            return Err(damaged(format!("its `format` is {}, not \"{FORMAT}\"", value["format"])));
        }
        if value["version"] != VERSION {
            return Err(LabError::Version { path: path.to_owned(), found: value["version"].to_string() });
        }
        json::from_value(value).map_err(|error| damaged(error.to_string()))
    }

    /// How many steps ran, failed and were skipped.
    pub fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for step in &self.steps {
            let at = match step.status {
                Status::Ran => 0,
                Status::Failed { .. } => 1,
                Status::Skipped { .. } => 2,
            };
            counts[at] += 1;
        }
        counts
    }
}
