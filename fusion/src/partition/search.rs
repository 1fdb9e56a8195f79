//! The search for a partition: DeepCuts' merging of neighbouring groups, first improvement first.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::arena::Arena;
use warpweave_graph::program::{Definition, StatementId, TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use super::body::GroupBody;
use super::build::{Uses, build};
use super::cost::{KernelCost, best};
use super::merge_axes::merge_axes;
use super::params::ScheduleParams;

/// Statements that one kernel computes.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct FusionGroup {
    /// The members, ascending.
    pub statements: BTreeSet<StatementId>,
    /// What they compute together.
    pub body: GroupBody,
    /// The chosen kernel.
    pub params: ScheduleParams,
    /// Its cost in microseconds, as the search saw it.
    pub microseconds: f64,
}

/// Groups in topological order; every computing statement is in exactly one. Groups are connected and convex.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Partition {
    /// The groups.
    pub groups: Vec<FusionGroup>,
}

/// How far the search fuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FusionLevel {
    /// One statement a group.
    None,
    /// Register-level fusion and row fusion.
    Register,
}

/// The partition of a program whose joins have been placed.
pub fn partition(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    cost: &impl KernelCost,
    level: FusionLevel,
) -> Partition {
    let mut search = Search::new(program, layouts, cost);
    if level == FusionLevel::Register {
        while search.merge_round() {}
    }
    search.finish()
}

struct Search<'a, C> {
    program: &'a TensorProgram,
    layouts: &'a Arena<TensorId, Layout>,
    uses: Uses,
    cost: &'a C,
    groups: BTreeMap<StatementId, FusionGroup>,
    group_of: BTreeMap<StatementId, StatementId>,
    rejected: BTreeSet<(BTreeSet<StatementId>, BTreeSet<StatementId>)>,
}

impl<'a, C: KernelCost> Search<'a, C> {
    fn new(program: &'a TensorProgram, layouts: &'a Arena<TensorId, Layout>, cost: &'a C) -> Self {
        let uses = Uses::new(program);
        let mut search = Self {
            program,
            layouts,
            uses,
            cost,
            groups: BTreeMap::new(),
            group_of: BTreeMap::new(),
            rejected: BTreeSet::new(),
        };
        for (id, statement) in program.statements.iter() {
            if matches!(statement.definition, Definition::Compute(_)) {
                let group = search.evaluate(BTreeSet::from([id])).expect("a single statement is a group");
                search.groups.insert(id, group);
                search.group_of.insert(id, id);
            }
        }
        search
    }

    fn evaluate(&self, statements: BTreeSet<StatementId>) -> Option<FusionGroup> {
        let body = merge_axes(&build(self.program, &self.uses, &statements)?, self.layouts);
        let (params, microseconds) = best(self.cost, self.program, &body);
        Some(FusionGroup { statements, body, params, microseconds })
    }

    /// Tries every pair of neighbouring groups once; whether any was merged.
    fn merge_round(&mut self) -> bool {
        let mut merged = false;
        for consumer in self.program.statements.ids() {
            for &operand in &self.program.statements[consumer].operands {
                let Some(producer) = self.program.producer(operand) else { continue };
                let (Some(&x), Some(&y)) = (self.group_of.get(&producer), self.group_of.get(&consumer)) else {
                    continue;
                };
                merged |= x != y && self.try_merge(x, y);
            }
        }
        merged
    }

    fn try_merge(&mut self, x: StatementId, y: StatementId) -> bool {
        let (first, second) = (&self.groups[&x], &self.groups[&y]);
        let pair = (first.statements.clone(), second.statements.clone());
        if self.rejected.contains(&pair) {
            return false;
        }
        let separate = first.microseconds + second.microseconds;
        let union: BTreeSet<StatementId> = first.statements.union(&second.statements).copied().collect();
        let better = |group: &FusionGroup| group.microseconds < separate && self.is_convex(&union);
        let Some(group) = self.evaluate(union.clone()).filter(better) else {
            self.rejected.insert(pair);
            return false;
        };
        self.groups.remove(&x);
        self.groups.remove(&y);
        let key = *union.first().expect("a group has members");
        for &member in &union {
            self.group_of.insert(member, key);
        }
        self.groups.insert(key, group);
        true
    }

    /// Whether no path leaves the set and comes back.
    fn is_convex(&self, members: &BTreeSet<StatementId>) -> bool {
        let last = members.last().copied();
        let mut seen = BTreeSet::new();
        let mut stack: Vec<StatementId> = Vec::new();
        let outside = |from: StatementId, stack: &mut Vec<StatementId>| {
            let output = self.program.statements[from].output;
            stack.extend(self.uses.readers(output).iter().filter(|reader| !members.contains(reader)));
        };
        for &member in members {
            outside(member, &mut stack);
        }
        while let Some(statement) = stack.pop() {
            let group = self.group_of.get(&statement).map(|key| &self.groups[key].statements);
            let single = BTreeSet::from([statement]);
            let peers = group.unwrap_or(&single);
            if peers.first().copied() > last || !seen.insert(statement) {
                continue;
            }
            for &peer in peers {
                if self.uses.readers(self.program.statements[peer].output).iter().any(|reader| members.contains(reader))
                {
                    return false;
                }
                outside(peer, &mut stack);
            }
        }
        true
    }

    fn finish(self) -> Partition {
        let mut order: Vec<StatementId> = Vec::new();
        let mut placed: BTreeSet<StatementId> = BTreeSet::new();
        for &key in self.groups.keys() {
            self.place(key, &mut order, &mut placed);
        }
        let mut groups = self.groups;
        Partition { groups: order.iter().filter_map(|key| groups.remove(key)).collect() }
    }

    /// Appends a group after the groups that it reads.
    fn place(&self, key: StatementId, order: &mut Vec<StatementId>, placed: &mut BTreeSet<StatementId>) {
        let mut stack = vec![(key, false)];
        while let Some((key, ready)) = stack.pop() {
            if ready {
                order.push(key);
                continue;
            }
            if !placed.insert(key) {
                continue;
            }
            stack.push((key, true));
            stack.extend(
                self.producers(key).into_iter().filter(|other| !placed.contains(other)).map(|other| (other, false)),
            );
        }
    }

    /// The groups whose tensors a group reads, through joins too.
    fn producers(&self, key: StatementId) -> BTreeSet<StatementId> {
        let mut found = BTreeSet::new();
        let mut stack: Vec<TensorId> = self.groups[&key].body.operands.clone();
        while let Some(tensor) = stack.pop() {
            let Some(statement) = self.program.producer(tensor) else { continue };
            match self.group_of.get(&statement) {
                Some(&group) => _ = found.insert(group),
                None => stack.extend(&self.program.statements[statement].operands),
            }
        }
        found
    }
}
