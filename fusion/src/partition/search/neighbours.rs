//! Why two groups of a partition are not one.

use std::collections::BTreeSet;

use warpweave_graph::arena::Id;
use warpweave_graph::pipeline::PreparedProgram;
use warpweave_graph::program::StatementId;

use crate::cost::KernelCost;
use crate::partition::search::problem::{NodeSet, PartitionProblem};
use crate::partition::search::program::ProgramProblem;
use crate::partition::search::quotient::QuotientGraph;
use crate::partition::search::{FusionLevel, Partition};

/// What merging a group with a neighbour would come to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// A path would leave the merged group and come back.
    Cycle,
    /// No template computes both.
    NoKernel,
    /// One kernel could.
    Possible {
        /// Microseconds of the merged group.
        together: f64,
        /// Microseconds of the two groups.
        apart: f64,
    },
}

/// A group that exchanges a value with another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Neighbour {
    /// Its position in the partition.
    pub group: usize,
    /// What merging the two would come to.
    pub verdict: Verdict,
}

/// The neighbours of the group at `position` of a partition, ascending.
pub fn neighbours(
    prepared: &PreparedProgram,
    cost: &dyn KernelCost,
    level: FusionLevel,
    partition: &Partition,
    position: usize,
) -> Vec<Neighbour> {
    let PreparedProgram { program, layouts } = prepared;
    let problem = ProgramProblem::new(program, layouts, cost, level);
    let graph = problem.graph();
    let own = &partition.groups[position];
    let nodes = |statements: &BTreeSet<StatementId>| statements.iter().map(|id| id.index()).collect::<Vec<usize>>();
    let adjacent: BTreeSet<usize> = nodes(&own.statements)
        .into_iter()
        .flat_map(|node| graph.predecessors(node).iter().chain(graph.successors(node)).copied())
        .collect();
    let others = partition.groups.iter().enumerate().filter(|(other, group)| {
        *other != position && group.statements.iter().any(|statement| adjacent.contains(&statement.index()))
    });
    let quotient = QuotientGraph::new(graph, partition.groups.iter().map(|group| nodes(&group.statements).into()));
    let group_of = |statements: &BTreeSet<StatementId>| {
        statements.first().map(|statement| quotient.group_of(statement.index())).expect("a group has statements")
    };
    let verdict = |other: &BTreeSet<StatementId>, apart: f64| {
        if quotient.makes_cycle(group_of(&own.statements), group_of(other)) {
            return Verdict::Cycle;
        }
        let merged: NodeSet = nodes(&own.statements.union(other).copied().collect()).into();
        problem.evaluate(&merged).map_or(Verdict::NoKernel, |together| Verdict::Possible { together, apart })
    };
    others
        .map(|(group, other)| Neighbour {
            group,
            verdict: verdict(&other.statements, own.microseconds + other.microseconds),
        })
        .collect()
}
