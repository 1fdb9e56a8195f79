//! The partition search on real graphs.

use warpweave::fusion::cost::arch::GpuArch;
use warpweave::fusion::cost::estimate::EstimatedCost;
use warpweave::fusion::partition::search::{FusionLevel, partition_with_report};
use warpweave::graph::pipeline::prepare;
use warpweave_tests::models;
use warpweave_tests::suite::Suite;

/// A trial a model: the search is never worse than merging neighbours, nor merging than not fusing.
pub fn add(suite: &mut Suite) {
    for model in models::by_turns() {
        suite.trial(format!("{} is searched as well as merged", model.name), move || {
            let prepared = prepare(&model.program());
            let cost = EstimatedCost { arch: GpuArch::h200() };
            let (_, report) = partition_with_report(&prepared, &cost, FusionLevel::Register);
            assert!(report.microseconds <= report.greedy_microseconds, "{report:?}");
            assert!(report.greedy_microseconds <= report.unfused_microseconds, "{report:?}");
        });
    }
}
