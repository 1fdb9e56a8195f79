//! Every operator's derived gradient against differences.

use std::path::Path;

use warpweave::frontend::{ImportOptions, import};
use warpweave::graph::ElementType;
use warpweave::graph::lower::lower_differentiable;
use warpweave::operators::samples;
use warpweave_tests::doubles::in_doubles;
use warpweave_tests::random::Random;
use warpweave_tests::suite::{Suite, is_full};

use super::differences::{Outcome, check};

/// Between which values inputs lie: some functions are defined in one of the ranges only.
const RANGES: [(f64, f64); 4] = [(0.1, 0.9), (-0.9, 0.9), (1.1, 1.9), (-3.0, 3.0)];
/// As many operators have derivatives at least; there are fewer only if one has none any more.
const FEWEST_OPERATORS: usize = 150;
const FEWEST_NODE_TESTS: usize = 900;
/// Elements of all tensors of a node test: larger ones take long.
const MOST_ELEMENTS: usize = 20_000;
/// Trials among which the node tests are dealt out.
const PARTS: usize = 8;

/// One trial over the smallest applications of all operators.
pub fn add(suite: &mut Suite) {
    suite.trial("operators", || {
        let mut compared = 0;
        for (name, graph) in samples(ElementType::F64) {
            // Some compute in singles whatever their inputs are, which differences do not bear.
            let forward = in_doubles(&lower_differentiable(&graph)).expect("the program in doubles is one");
            let mut random = Random::new(7);
            let outcomes = RANGES.map(|range| check(name, &forward, range, &mut random));
            assert!(!outcomes.iter().all(|outcome| *outcome == Outcome::NoValue), "{name} has no value anywhere");
            compared += usize::from(outcomes.contains(&Outcome::Agree));
        }
        assert!(compared >= FEWEST_OPERATORS, "{compared} operators were compared");
    });
}

/// Trials over ONNX's node tests in doubles: over every third one unless every bar is asked for.
pub fn add_node_tests(suite: &mut Suite) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.onnx");
    let mut folders = Vec::new();
    for group in ["node", "pytorch-converted", "pytorch-operator"] {
        let entries = std::fs::read_dir(root.join(group)).into_iter().flatten().flatten();
        folders.extend(entries.map(|entry| entry.path()));
    }
    folders.sort();
    let stride = if is_full() { 1 } else { 3 };
    for part in (0..PARTS).step_by(stride) {
        let own: Vec<_> = folders.iter().skip(part).step_by(PARTS).cloned().collect();
        suite.trial(format!("node tests {part}"), move || {
            let compared = own.iter().filter(|folder| is_compared(folder)).count();
            assert!(compared * PARTS >= FEWEST_NODE_TESTS * 3 / 4, "{compared} node tests were compared");
        });
    }
}

/// Whether the gradients of a node test were compared: it is supported, and its inputs and outputs are floating-point numbers.
fn is_compared(folder: &Path) -> bool {
    let Ok(graph) = import(&folder.join("model.onnx"), &ImportOptions::default()) else { return false };
    let forward = lower_differentiable(&graph);
    let elements: usize = forward.program.tensors.values().map(|tensor| tensor.ty.shape.elements()).sum();
    let Some(forward) = in_doubles(&forward).filter(|_| elements <= MOST_ELEMENTS) else { return false };
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut random = Random::new(11);
    RANGES[..2].iter().any(|range| check(&name, &forward, *range, &mut random) == Outcome::Agree)
}
