//! Element-wise statements that the search places as one node.
//!
//! A statement that computes element by element what nothing else reads, and that its reader continues element by element, is
//! read and written in the same number of bytes wherever a group ends between the two. So a search over all these ends prices
//! many groups for little. Such statements are one node, unless the reader brings in another computed operand: where values meet,
//! it matters which group ends before the other.

use crate::partition::build::Uses;
use crate::partition::search::groups::FusionLevel;
use crate::partition::search::problem::{DependenceGraph, Memo, NodeSet, PartitionProblem, Solution};
use crate::partition::search::program::ProgramProblem;
use crate::partition::search::size::ScalarSizes;
use crate::tuning::SearchTuning;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index};
use warpweave_graph::program::{Source, Statement, StatementId, TensorId, TensorProgram};

/// A program's statements as nodes, some of them together.
pub(super) struct Clusters<'p, 'a> {
    problem: &'p ProgramProblem<'a>,
    /// The statements of each node, ascending. Nodes stand in the order of their last statements.
    members: Vec<NodeSet>,
    graph: DependenceGraph,
}

impl<'p, 'a> Clusters<'p, 'a> {
    pub(super) fn of(problem: &'p ProgramProblem<'a>) -> Self {
        let (program, uses, sizes) = problem.source();
        let of_statement = |members: NodeSet| {
            let is_group = members.len() < 2 || problem.evaluate_at(FusionLevel::Register, &members).is_some();
            if is_group { vec![members] } else { members.iter().map(|&member| NodeSet::from([member])).collect() }
        };
        let mut members: Vec<NodeSet> = clusters(program, uses, sizes).into_iter().flat_map(of_statement).collect();
        members.sort_by_key(|members| members.last().copied());
        let mut node_of = vec![0; program.statements.len()];
        for (node, members) in members.iter().enumerate() {
            members.iter().for_each(|&member| node_of[member] = node);
        }
        let named = |(node, members): (usize, &NodeSet)| {
            let before = members.iter().flat_map(|&member| problem.graph().predecessors(member));
            before.map(|&member| node_of[member]).filter(|&other| other != node).collect()
        };
        let graph = DependenceGraph::new(members.iter().enumerate().map(named).collect());
        Self { problem, members, graph }
    }

    /// A solution over nodes as one over statements.
    pub(super) fn over_statements(&self, solution: &Solution, memo: &mut Memo<'_, ProgramProblem<'a>>) -> Solution {
        Solution::new(solution.groups.iter().map(|group| self.named(group)).collect(), memo)
    }

    fn named(&self, nodes: &NodeSet) -> NodeSet {
        let mut statements: Vec<usize> = nodes.iter().flat_map(|&node| self.members[node].iter().copied()).collect();
        statements.sort_unstable();
        statements.into()
    }
}

impl PartitionProblem for Clusters<'_, '_> {
    fn graph(&self) -> &DependenceGraph {
        &self.graph
    }

    fn evaluate(&self, members: &NodeSet) -> Option<f64> {
        self.problem.evaluate(&self.named(members))
    }

    fn joins(&self, node: usize) -> bool {
        self.problem.joins(self.members[node][0])
    }
}

/// Statements that continue one another.
#[derive(Clone)]
struct Cluster {
    /// Ascending; the last computes what leaves.
    members: Vec<usize>,
    /// The tensors that they read from outside, constants left out.
    entries: Vec<TensorId>,
    is_element_wise: bool,
}

/// The statements of a program in sets, of which each but single statements computes one value element by element.
fn clusters(program: &TensorProgram, uses: &Uses, sizes: &ScalarSizes) -> Vec<NodeSet> {
    let mut found: Vec<Option<Cluster>> = Vec::with_capacity(program.statements.len());
    for (id, statement) in program.statements.iter() {
        let is_element_wise = statement.definition.expr().is_some_and(|expr| expr.reducer.is_none());
        let alone = Cluster { members: vec![id.index()], entries: entries(program, statement), is_element_wise };
        let builder = Builder { program, uses, sizes, found: &found };
        let (cluster, taken) = if is_element_wise { builder.grown(alone) } else { (alone, Vec::new()) };
        taken.into_iter().for_each(|at| found[at] = None);
        found.push(Some(cluster));
    }
    found.into_iter().flatten().map(|cluster| cluster.members.into()).collect()
}

struct Builder<'b> {
    program: &'b TensorProgram,
    uses: &'b Uses,
    sizes: &'b ScalarSizes,
    /// The clusters so far, by their last statements.
    found: &'b [Option<Cluster>],
}

impl Builder<'_> {
    /// A cluster with those that it continues, and which these are. None is taken if other operands would be computed
    /// besides those of one that is taken.
    fn grown(&self, mut cluster: Cluster) -> (Cluster, Vec<usize>) {
        let mut taken = Vec::new();
        loop {
            let before: Vec<(TensorId, usize)> =
                cluster.entries.iter().filter_map(|&entry| Some((entry, self.continued(&cluster, entry)?))).collect();
            let mut next = cluster.clone();
            next.entries.retain(|entry| !before.iter().any(|(other, _)| other == entry));
            for (_, at) in &before {
                let of = self.cluster(*at);
                next.members.extend(&of.members);
                next.entries.extend(&of.entries);
            }
            next.members.sort_unstable();
            next.entries.sort_unstable();
            next.entries.dedup();
            let covers = |at: usize| next.entries.iter().all(|entry| self.cluster(at).entries.contains(entry));
            let is_small = self.sizes.composed(&next.members) <= SearchTuning::DEFAULT.partition.cluster_scalars;
            if !is_small || !before.iter().any(|(_, at)| covers(*at)) {
                return (cluster, taken);
            }
            taken.extend(before.into_iter().map(|(_, at)| at));
            cluster = next;
        }
    }

    fn cluster(&self, at: usize) -> &Cluster {
        self.found[at].as_ref().expect("a value that only one cluster reads was taken by no other")
    }

    /// The element-wise cluster whose value an entry is, if this one alone reads it, each element at its own point, and both values
    /// have as many bytes.
    fn continued(&self, cluster: &Cluster, entry: TensorId) -> Option<usize> {
        let producer = self.program.producer(entry)?.index();
        let is_inside = |reader: &StatementId| cluster.members.binary_search(&reader.index()).is_ok();
        let readers = self.uses.readers(entry);
        let bytes = |tensor: TensorId| self.program.tensors[tensor].ty.bytes();
        let last = StatementId::from_index(*cluster.members.last()?);
        let fits = !self.uses.is_live_out(entry)
            && readers.iter().all(is_inside)
            && readers.iter().all(|reader| reads_in_place(&self.program.statements[*reader], entry))
            && bytes(entry) == bytes(self.program.statements[last].output);
        (fits && self.found[producer].as_ref().is_some_and(|of| of.is_element_wise)).then_some(producer)
    }
}

/// Whether an element-wise statement reads each element of an operand at its own point.
fn reads_in_place(statement: &Statement, operand: TensorId) -> bool {
    let Some(expr) = statement.definition.expr() else { return false };
    let own: Vec<AxisId> = expr.parallel().collect();
    let is_own = |(index, axis): (&Index, &AxisId)| {
        *index == Index::axis(*axis) || expr.axes[*axis].extent == 1 && *index == Index::constant(0)
    };
    expr.reads
        .values()
        .filter(|read| statement.operands[read.operand] == operand)
        .all(|read| read.guard.is_always() && read.index.len() == own.len() && read.index.iter().zip(&own).all(is_own))
}

/// The operands of a statement that are no constants, each once.
fn entries(program: &TensorProgram, statement: &Statement) -> Vec<TensorId> {
    let is_constant = |operand: &TensorId| matches!(program.tensors[*operand].source, Source::Constant(_));
    let mut found: Vec<TensorId> = statement.operands.iter().filter(|operand| !is_constant(operand)).copied().collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    use warpweave_graph::program::text::parse;
    use warpweave_graph::text::Tensors;

    fn of(text: &str) -> Vec<Vec<usize>> {
        let program = parse(text, &Tensors::new()).expect("a program");
        let found = clusters(&program, &Uses::new(&program), &ScalarSizes::new(&program));
        found.into_iter().map(|members| members.to_vec()).collect()
    }

    #[test]
    fn a_value_that_meets_itself_again_is_one_cluster() {
        let found = of("program\nt0: f32[1x4] = input 0\n\
            e0 (t0) -> t1: f32[1x4] = [a0<1, a1<4] add(x0[0, a1], 1.0)\n\
            e1 (t1) -> t2: f32[1x4] = [a0<1, a1<4] tanh(x0[0, a1])\n\
            e2 (t1, t2) -> t3: f32[1x4] = [a0<1, a1<4] mul(x0[a0, a1], x1[0, a1])\n\
            output t3\n");
        assert_eq!(found, [[0, 1, 2]]);
    }

    #[test]
    fn values_that_meet_and_values_that_move_are_nodes_of_their_own() {
        let found = of("program\nt0: f32[4x4] = input 0\nt1: f32[4x4] = input 1\n\
            e0 (t0) -> t2: f32[4x4] = [a0<4, a1<4] tanh(x0[a0, a1])\n\
            e1 (t1) -> t3: f32[4x4] = [a0<4, a1<4] tanh(x0[a0, a1])\n\
            e2 (t2, t3) -> t4: f32[4x4] = [a0<4, a1<4] add(x0[a0, a1], x1[a0, a1])\n\
            e3 (t4) -> t5: f32[4x4] = [a0<4, a1<4] tanh(x0[a1, a0])\n\
            output t5\n");
        assert_eq!(found, [[0], [1], [2], [3]]);
    }
}
