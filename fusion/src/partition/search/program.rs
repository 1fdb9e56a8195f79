//! The partition of a tensor program as an abstract problem: a node a statement, concats included.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::program::{Definition, StatementId, TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use crate::cost::{KernelCost, PricedKernel};
use crate::partition::build::merge_axes::merge_axes;
use crate::partition::build::{Uses, build, build_staged};
use crate::partition::search::groups::{FusionGroup, FusionLevel, Partition};
use crate::partition::search::problem::{DependenceGraph, NodeSet, PartitionProblem, Solution};
use crate::partition::search::size::ScalarSizes;
use crate::partition::search::structure::{StructuralKey, Structures};
use crate::template::contraction::shortlist::KnownSums;
use warpweave_plan::body::GroupBody;
use warpweave_plan::body::deduplication::deduplicated;
use warpweave_plan::kernel::{Kernel, ScheduleParams};

/// A program whose groups are priced by a cost model, each structure once.
pub(crate) struct ProgramProblem<'a> {
    program: &'a TensorProgram,
    layouts: &'a Arena<TensorId, Layout>,
    cost: &'a dyn KernelCost,
    level: FusionLevel,
    /// The structures that may be staged; any if absent.
    stageable: Option<BTreeSet<StructuralKey>>,
    uses: Uses,
    graph: DependenceGraph,
    structures: Structures,
    sizes: ScalarSizes,
    /// Prices at register level, and of what shared memory adds to it.
    registers: Arc<Prices>,
    staged: Arc<Prices>,
    /// What is known of the sums of contractions.
    sums: Arc<KnownSums>,
}

/// The cheapest kernel of a structure, and the level at which its body is built.
#[derive(Clone)]
struct ChosenKernel {
    level: FusionLevel,
    params: ScheduleParams,
    microseconds: f64,
}

/// What is known of each structure.
type Prices = Mutex<FxHashMap<StructuralKey, Asked>>;

/// The price of a structure, and at which levels it was asked for.
#[derive(Clone, Default)]
struct Asked {
    /// The cost of its cheapest kernel; `None` if no kernel takes it.
    price: Arc<OnceLock<Option<f64>>>,
    levels: Vec<FusionLevel>,
}

impl<'a> ProgramProblem<'a> {
    pub(crate) fn new(
        program: &'a TensorProgram,
        layouts: &'a Arena<TensorId, Layout>,
        cost: &'a dyn KernelCost,
        level: FusionLevel,
    ) -> Self {
        let producers = |operands: &[TensorId]| -> Vec<usize> {
            operands.iter().filter_map(|&operand| program.producer(operand)).map(Id::index).collect()
        };
        let predecessors = program.statements.values().map(|statement| producers(&statement.operands));
        Self {
            program,
            layouts,
            cost,
            level,
            stageable: None,
            uses: Uses::new(program),
            graph: DependenceGraph::new(predecessors.collect()),
            structures: Structures::new(program, layouts),
            sizes: ScalarSizes::new(program),
            registers: Arc::default(),
            staged: Arc::default(),
            sums: Arc::default(),
        }
    }

    /// The same problem at another level; what is priced for the one is known to the other.
    pub(crate) fn at_level(&self, level: FusionLevel) -> Self {
        let (registers, staged) = (Arc::clone(&self.registers), Arc::clone(&self.staged));
        let sums = Arc::clone(&self.sums);
        Self { registers, staged, sums, ..Self::new(self.program, self.layouts, self.cost, level) }
    }

    /// The same problem where only these structures may be staged.
    pub(crate) fn staging_only(self, structures: BTreeSet<StructuralKey>) -> Self {
        Self { stageable: Some(structures), ..self }
    }

    /// The program with its uses, and the sizes of its scalars.
    pub(super) fn source(&self) -> (&'a TensorProgram, &Uses, &ScalarSizes) {
        (self.program, &self.uses, &self.sizes)
    }

    fn may_stage(&self, level: FusionLevel, key: &StructuralKey) -> bool {
        let allowed = self.stageable.as_ref().is_none_or(|allowed| allowed.contains(key));
        match level {
            FusionLevel::Full => allowed,
            FusionLevel::None | FusionLevel::Register => false,
        }
    }

    /// Distinct structures that were priced at this level.
    pub(crate) fn structures(&self) -> usize {
        let known = self.registers.lock().unwrap_or_else(PoisonError::into_inner);
        known.values().filter(|asked| asked.levels.contains(&self.level)).count()
    }

    fn is_concat(&self, node: usize) -> bool {
        match self.program.statements[StatementId::from_index(node)].definition {
            Definition::Concat { .. } => true,
            Definition::Compute(_) | Definition::Opaque(_) => false,
        }
    }

    /// The cheapest kernel for these statements; at register level among equals.
    fn choose(&self, statements: &BTreeSet<StatementId>) -> Option<ChosenKernel> {
        let levels: &[FusionLevel] = match self.may_stage(self.level, &self.key_of(statements)) {
            true => &[FusionLevel::Register, FusionLevel::Full],
            false => &[FusionLevel::Register],
        };
        let kernels = levels.iter().filter_map(|&level| {
            let PricedKernel { kernel, microseconds } = self.kernel(self.body(level, statements))?;
            Some(ChosenKernel { level, params: kernel.params().clone(), microseconds })
        });
        kernels.min_by(|a, b| a.microseconds.total_cmp(&b.microseconds))
    }

    fn key_of(&self, statements: &BTreeSet<StatementId>) -> StructuralKey {
        let members: Vec<StatementId> = statements.iter().copied().collect();
        self.structures.key(self.program, &self.uses, &members)
    }

    fn body(&self, level: FusionLevel, statements: &BTreeSet<StatementId>) -> Option<GroupBody> {
        match level {
            FusionLevel::None | FusionLevel::Register => build(self.program, &self.uses, statements),
            FusionLevel::Full => build_staged(self.program, &self.uses, statements),
        }
    }

    fn kernel(&self, body: Option<GroupBody>) -> Option<PricedKernel> {
        let body = merge_axes(&body?, self.layouts);
        self.cost.best_known(self.program, &body.into(), &self.sums)
    }

    /// The price of a structure at a level, from what is known or from the body that `build` gives.
    fn price(
        &self,
        known: &Prices,
        (level, key): (FusionLevel, &StructuralKey),
        build: impl FnOnce() -> Option<GroupBody>,
    ) -> Option<f64> {
        let price = {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            if !known.contains_key(key) {
                known.insert(key.clone(), Asked::default());
            }
            let asked = known.get_mut(key).expect("it has been inserted");
            if !asked.levels.contains(&level) {
                asked.levels.push(level);
            }
            Arc::clone(&asked.price)
        };
        *price.get_or_init(|| self.kernel(build()).map(|priced| priced.microseconds))
    }

    /// The groups of a solution with their bodies and kernels, in topological order.
    pub(crate) fn partition(&self, solution: &Solution) -> Partition {
        let mut group_of = vec![0; self.graph.len()];
        let mut computing: Vec<BTreeSet<StatementId>> = Vec::new();
        for members in &solution.groups {
            members.iter().for_each(|&member| group_of[member] = members[0]);
            if !self.is_concat(members[0]) {
                computing.push(members.iter().map(|&node| StatementId::from_index(node)).collect());
            }
        }
        let choose =
            |statements: &BTreeSet<StatementId>, _| self.choose(statements).expect("a priced group has a kernel");
        let (chosen, kinds) = deduplicated(&computing, |statements| self.key_of(statements), choose);
        let group = |(statements, kind): (BTreeSet<StatementId>, usize)| {
            let ChosenKernel { level, params, microseconds } = chosen[kind].clone();
            let body = self.body(level, &statements).expect("a chosen kernel has a body");
            let kernel = Kernel::unchecked(merge_axes(&body, self.layouts), params);
            let first = statements.first().expect("groups have members").index();
            let origins = self.program.origins_of(&statements);
            (first, FusionGroup { statements, kernel, microseconds, origins })
        };
        let mut groups: BTreeMap<usize, FusionGroup> = computing.into_par_iter().zip(kinds).map(group).collect();
        let order = self.order(solution, &group_of);
        Partition { groups: order.into_iter().filter_map(|name| groups.remove(&name)).collect() }
    }

    /// The groups' first nodes, every group after those that it depends on.
    fn order(&self, solution: &Solution, group_of: &[usize]) -> Vec<usize> {
        let members: BTreeMap<usize, &NodeSet> = solution.groups.iter().map(|group| (group[0], group)).collect();
        let mut order: Vec<usize> = Vec::with_capacity(members.len());
        let mut entered = vec![false; self.graph.len()];
        for &first in members.keys() {
            let mut stack = vec![(first, false)];
            while let Some((name, ready)) = stack.pop() {
                if ready {
                    order.push(name);
                    continue;
                }
                if std::mem::replace(&mut entered[name], true) {
                    continue;
                }
                stack.push((name, true));
                let read: BTreeSet<usize> = members[&name]
                    .iter()
                    .flat_map(|&member| self.graph.predecessors(member))
                    .map(|&node| group_of[node])
                    .collect();
                stack.extend(read.into_iter().filter(|&other| !entered[other]).map(|other| (other, false)));
            }
        }
        order
    }
}

impl PartitionProblem for ProgramProblem<'_> {
    fn graph(&self) -> &DependenceGraph {
        &self.graph
    }

    fn evaluate(&self, members: &NodeSet) -> Option<f64> {
        self.evaluate_at(self.level, members)
    }

    fn joins(&self, node: usize) -> bool {
        !self.is_concat(node)
    }
}

impl ProgramProblem<'_> {
    /// The price of a set at a level.
    pub(crate) fn evaluate_at(&self, level: FusionLevel, members: &NodeSet) -> Option<f64> {
        if members.iter().any(|&node| self.is_concat(node)) {
            return (members.len() == 1).then_some(0.0);
        }
        let statements: Vec<StatementId> = members.iter().map(|&node| StatementId::from_index(node)).collect();
        let leaves = |node: usize| {
            let output = self.program.statements[StatementId::from_index(node)].output;
            self.uses.leaves_slice(output, &statements)
        };
        if !self.sizes.fit(members, leaves) {
            return None;
        }
        let key = self.structures.key(self.program, &self.uses, &statements);
        let statements: BTreeSet<StatementId> = statements.into_iter().collect();
        let registers = self.price(&self.registers, (level, &key), || build(self.program, &self.uses, &statements));
        let staged = match self.may_stage(level, &key) {
            true => self.price(&self.staged, (level, &key), || build_staged(self.program, &self.uses, &statements)),
            false => None,
        };
        registers.into_iter().chain(staged).min_by(f64::total_cmp)
    }

    /// The price of a set as a staged group, if that is the cheapest that it can be.
    pub(crate) fn staged_price(&self, members: &NodeSet) -> Option<f64> {
        let full = self.evaluate_at(FusionLevel::Full, members)?;
        let registers = self.evaluate_at(FusionLevel::Register, members);
        registers.is_none_or(|registers| full < registers).then_some(full)
    }

    /// The structure of a set.
    pub(crate) fn key(&self, members: &NodeSet) -> StructuralKey {
        let statements: Vec<StatementId> = members.iter().map(|&node| StatementId::from_index(node)).collect();
        self.structures.key(self.program, &self.uses, &statements)
    }
}
