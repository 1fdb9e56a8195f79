//! What of a model in 16 bits stays in FP32, as text and JSON.

use std::collections::BTreeMap;

use warpweave::Build;
use warpweave::graph::program::precision::{Kept, Precision};
use warpweave::runtime::json::{Value, json};

/// How many tensors stay in FP32 where others are stored in 16 bits, a reason each.
fn counts(build: &Build) -> BTreeMap<Kept, usize> {
    let mut counts = BTreeMap::new();
    build.kept_in_singles().values().for_each(|why| *counts.entry(*why).or_insert(0) += 1);
    counts
}

/// The same as JSON.
pub fn record(build: &Build) -> Value {
    counts(build).into_iter().map(|(why, count)| json!({ "why": why.to_string(), "tensors": count })).collect()
}

/// A line on what is stored in 16 bits; none where nothing is.
pub fn text(precision: Precision, build: &Build) -> String {
    let Some(storage) = precision.storage() else { return String::new() };
    let tensors = build.prepared().program.tensors.values();
    let stored = tensors.filter(|tensor| tensor.ty.element == storage).count();
    let kept: Vec<String> = counts(build).into_iter().map(|(why, count)| format!("{why} ({count})")).collect();
    let kept = if kept.is_empty() { String::new() } else { format!("; in FP32 stay {}", kept.join(", ")) };
    format!("  {stored} tensors are stored in {storage}{kept}\n")
}
