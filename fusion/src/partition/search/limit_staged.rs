//! Few staged kernels a program: each structure that stages values is code of its own to compile.

use crate::tuning::SearchTuning;
use std::collections::{BTreeMap, BTreeSet};

use crate::partition::search::groups::FusionLevel;
use crate::partition::search::problem::{DependenceGraph, Memo, NodeSet, PartitionProblem, Solution};
use crate::partition::search::program::ProgramProblem;
use crate::partition::search::structure::StructuralKey;

/// The groups of a solution with at most `SearchTuning` structures of staged groups, and those structures. They are the
/// ones that save most against the same statements at register level, all their groups together. `None` if the
/// solution has no more.
pub(crate) fn limit_staged(
    problem: &ProgramProblem<'_>,
    solution: &Solution,
) -> Option<(Vec<NodeSet>, BTreeSet<StructuralKey>)> {
    let mut savings: BTreeMap<StructuralKey, f64> = BTreeMap::new();
    let mut apart: Vec<Option<(StructuralKey, Solution)>> = Vec::with_capacity(solution.groups.len());
    for group in &solution.groups {
        let Some(staged) = problem.staged_price(group) else {
            apart.push(None);
            continue;
        };
        let registers = at_register_level(problem, group);
        let key = problem.key(group);
        *savings.entry(key.clone()).or_default() += registers.cost - staged;
        apart.push(Some((key, registers)));
    }
    if savings.len() <= SearchTuning::DEFAULT.partition.most_staged_structures {
        return None;
    }
    let mut ranked: Vec<(StructuralKey, f64)> = savings.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let kept: BTreeSet<StructuralKey> =
        ranked.into_iter().take(SearchTuning::DEFAULT.partition.most_staged_structures).map(|(key, _)| key).collect();
    let mut groups: Vec<NodeSet> = Vec::with_capacity(solution.groups.len());
    for (group, apart) in solution.groups.iter().zip(&apart) {
        match apart {
            Some((key, registers)) if !kept.contains(key) => groups.extend(registers.groups.iter().cloned()),
            Some(_) | None => groups.push(group.clone()),
        }
    }
    Some((groups, kept))
}

/// Whether a solution has more than `SearchTuning` structures of staged groups.
pub(crate) fn exceeds_limit(problem: &ProgramProblem<'_>, solution: &Solution) -> bool {
    let is_staged = |group: &&NodeSet| problem.staged_price(group).is_some();
    let keys: BTreeSet<StructuralKey> =
        solution.groups.iter().filter(is_staged).map(|group| problem.key(group)).collect();
    keys.len() > SearchTuning::DEFAULT.partition.most_staged_structures
}

/// The best partition of a group's nodes at register level. The group is convex, so that any partition of it may stand in
/// its place.
fn at_register_level(problem: &ProgramProblem<'_>, group: &NodeSet) -> Solution {
    let inside = |node: &usize| group.binary_search(node).ok();
    let predecessors =
        group.iter().map(|&node| problem.graph().predecessors(node).iter().filter_map(inside).collect()).collect();
    let within = Within { problem, nodes: group, graph: DependenceGraph::new(predecessors) };
    let found = crate::partition::search::solve(&mut Memo::new(&within));
    let groups = found.groups.iter().map(|own| within.named(own)).collect();
    Solution { groups, cost: found.cost }
}

/// The nodes of one group as a problem of their own, at register level.
struct Within<'p, 'a> {
    problem: &'p ProgramProblem<'a>,
    nodes: &'p NodeSet,
    graph: DependenceGraph,
}

impl Within<'_, '_> {
    fn named(&self, members: &NodeSet) -> NodeSet {
        members.iter().map(|&node| self.nodes[node]).collect()
    }
}

impl PartitionProblem for Within<'_, '_> {
    fn graph(&self) -> &DependenceGraph {
        &self.graph
    }

    fn evaluate(&self, members: &NodeSet) -> Option<f64> {
        self.problem.evaluate_at(FusionLevel::Register, &self.named(members))
    }

    fn joins(&self, node: usize) -> bool {
        self.problem.joins(self.nodes[node])
    }
}
