//! Rewrites of graphs: one pass a file, and the driver that runs them.

pub mod batch_normalization_folding;
pub mod common_subexpressions;
pub mod constant_folding;
pub mod dead_code;
pub mod identity_removal;
pub mod movement_merging;
pub mod rewrite;

use crate::ir::{Graph, ValueId};
use crate::legible::legible;
use crate::verify::{Violation, verify};
use rewrite::{Patch, apply};

/// A pass: finds patches, changes nothing.
pub type Pass = fn(&Graph) -> Vec<Patch>;

/// The passes in the order in which they run, with the names that their patches carry.
pub const PASSES: [(&str, Pass); 6] = [
    (constant_folding::NAME, constant_folding::constant_folding),
    (identity_removal::NAME, identity_removal::identity_removal),
    (movement_merging::NAME, movement_merging::movement_merging),
    (batch_normalization_folding::NAME, batch_normalization_folding::batch_normalization_folding),
    (common_subexpressions::NAME, common_subexpressions::common_subexpressions),
    (dead_code::NAME, dead_code::dead_code),
];

/// Rounds over all passes after which the driver stops even if something still changes.
const MOST_ROUNDS: usize = 16;

/// A pass, or the import before the first, has made a graph invalid.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("pass {pass} leaves an invalid graph: {}", shown(violations, names))]
pub struct InvalidRewrite {
    /// The pass, or `import`.
    pub pass: &'static str,
    /// What does not hold of the graph.
    pub violations: Vec<Violation>,
    /// The names of the nodes and values in the model that they are about, in their order; empty where there is none.
    pub names: Vec<String>,
}

fn shown(violations: &[Violation], names: &[String]) -> String {
    let shown = violations.iter().zip(names).map(|(violation, name)| match name.is_empty() {
        true => violation.to_string(),
        false => format!("{violation} (`{}`)", legible(name)),
    });
    shown.collect::<Vec<_>>().join("; ")
}

/// The graph after all passes, run in turn until nothing changes; verified before the first and after each that changes
/// something.
pub fn run(graph: &Graph) -> Result<Graph, InvalidRewrite> {
    run_chosen(graph, |_| true, false)
}

/// The same of the passes of which `runs` is true by their place in the list; `once` or in turn until nothing changes.
pub fn run_chosen(graph: &Graph, runs: impl Fn(usize) -> bool, once: bool) -> Result<Graph, InvalidRewrite> {
    let mut graph = verified("import", graph.clone())?;
    for _ in 0..if once { 1 } else { MOST_ROUNDS } {
        let mut changed = false;
        for (_, (pass, find)) in PASSES.into_iter().enumerate().filter(|(place, _)| runs(*place)) {
            let patches = find(&graph);
            if patches.is_empty() {
                continue;
            }
            graph = verified(pass, apply(&graph, &patches))?;
            changed = true;
        }
        if !changed {
            break;
        }
    }
    Ok(graph)
}

fn verified(pass: &'static str, graph: Graph) -> Result<Graph, InvalidRewrite> {
    let violations = verify(&graph);
    if violations.is_empty() {
        return Ok(graph);
    }
    let names = violations.iter().map(|violation| violation.name(&graph)).collect();
    Err(InvalidRewrite { pass, violations, names })
}

/// How often a value is read by nodes and named as an output of the graph.
fn uses(graph: &Graph, value: ValueId) -> usize {
    let read = graph.nodes.values().flat_map(|node| &node.inputs).filter(|input| **input == Some(value));
    read.count() + graph.outputs.iter().filter(|output| output.value == value).count()
}
