//! What compiling and running the benchmark models takes, as `warpweave lab costs` has measured it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use warpweave_runtime::json;

/// The measured costs of this build's models.
const COMMITTED: &str = include_str!("../../../../models/lab/costs/sm_90a.json");

/// Seconds of exporting, compiling and running models on one machine.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Costs {
    /// What compiled them.
    pub version: String,
    /// Threads of the machine's processor.
    pub cores: usize,
    /// The small models of tests/models.
    pub fixtures: Vec<FixtureCosts>,
    pub models: Vec<ModelCosts>,
}

/// Costs of a small model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FixtureCosts {
    /// Its folder and file, such as `bert/dynamo`.
    pub model: String,
    /// By back end.
    pub bundles: Vec<BundleCosts>,
}

/// Costs of a benchmark model at batch 1.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModelCosts {
    pub model: String,
    /// Whether its recurrent layers are unrolled.
    pub is_unrolled: bool,
    /// Processor seconds of exporting it.
    pub export_seconds: f64,
    /// Bytes of the exported files.
    pub bytes: u64,
    /// Processor seconds of one run on the host, loading included.
    pub host_seconds: Option<f64>,
    /// By back end.
    pub bundles: Vec<BundleCosts>,
}

/// Costs of a bundle for the host and sm_90a.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BundleCosts {
    /// The back end that was asked for.
    pub backend: String,
    /// The back end of the plan.
    pub made: String,
    /// Processor seconds of compiling, by all of its processes: what else the machine does counts little.
    pub processor_seconds: f64,
    /// Bytes of the bundle.
    pub bytes: u64,
}

impl Costs {
    /// The committed ones; empty ones predict by defaults.
    pub fn committed() -> Self {
        json::from_str(COMMITTED).unwrap_or_default()
    }

    /// Those of a file; none if it holds no costs.
    pub fn read(path: &Path) -> Option<Self> {
        json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// The text of such a file.
    pub fn text(&self) -> String {
        json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// A benchmark model's.
    pub fn model(&self, model: &str, is_unrolled: bool) -> Option<&ModelCosts> {
        self.models.iter().find(|costs| costs.model == model && costs.is_unrolled == is_unrolled)
    }

    /// A small model's.
    pub fn fixture(&self, model: &str) -> Option<&FixtureCosts> {
        self.fixtures.iter().find(|costs| costs.model == model)
    }
}

/// The bundle of a back end among some.
pub fn bundle_of<'a>(bundles: &'a [BundleCosts], backend: &str) -> Option<&'a BundleCosts> {
    bundles.iter().find(|costs| costs.backend == backend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_costs_are_whole() {
        let costs: Costs = json::from_str(COMMITTED).expect("the file holds costs");
        for info in warpweave_models::all() {
            let found = costs.model(info.name, false).unwrap_or_else(|| panic!("{} has no costs", info.name));
            for backend in ["persistent", "cuda-graph", "auto"] {
                let bundle = bundle_of(&found.bundles, backend);
                assert!(bundle.is_some_and(|bundle| bundle.processor_seconds > 0.0), "{} {backend}", info.name);
            }
        }
        assert!(costs.model("lstm_tc", true).is_some());
    }
}
