//! Exchanges and launches as records of the lab have measured them.

use std::fs;
use std::path::Path;

use serde::Deserialize;
pub use warpweave_fusion::cost::edges::{Edge, EdgeTime};

#[derive(Deserialize)]
struct Lab {
    format: String,
    version: u64,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    status: String,
    findings: Option<Findings>,
}

/// Findings of any kind; only those of one have edges.
#[derive(Deserialize)]
struct Findings {
    #[serde(default)]
    edges: Vec<EdgeTime>,
}

/// The times in each record of a folder that has some, of steps that ran.
pub fn edges(folder: &Path) -> Vec<Vec<EdgeTime>> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let records = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
    records.map(|path| of_record(&path)).filter(|edges| !edges.is_empty()).collect()
}

fn of_record(path: &Path) -> Vec<EdgeTime> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lab: Lab = serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!((lab.format.as_str(), lab.version), ("warpweave-lab", 1), "{}", path.display());
    let ran = lab.steps.into_iter().filter(|step| step.status == "ran");
    ran.filter_map(|step| step.findings).flat_map(|findings| findings.edges).collect()
}
