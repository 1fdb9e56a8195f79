//! The body of a set of statements, if one kernel can compute them.
//!
//! Fusion at register level: a statement without reduction is composed into its readers; one that reads a reduction's
//! result point by point becomes the reduction's epilogue. A chain of reductions over the same rows (softmax, the
//! normalisations) is one group whose intermediate values stay on chip.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{TensorExpr, substitute};
use warpweave_graph::program::{Definition, StatementId, TensorId, TensorProgram};
use warpweave_graph::views::merge_operands;

use super::align;
use super::body::GroupBody;

/// Where an operand comes from while a body is under construction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// A tensor from outside the group.
    Tensor(TensorId),
    /// An earlier draft.
    Draft(usize),
}

/// A stage whose axes have not been aligned with the others'.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) expr: TensorExpr,
    pub(super) sources: Vec<Source>,
    /// The tensor whose value this computes.
    pub(super) tensor: TensorId,
    /// Whether that tensor leaves the group.
    pub(super) leaves: bool,
}

/// The readers of each tensor of a program, and whether it is an output.
#[derive(Clone, Debug)]
pub struct Uses {
    readers: Arena<TensorId, Vec<StatementId>>,
    is_output: Arena<TensorId, bool>,
}

impl Uses {
    /// Collects the uses.
    pub fn new(program: &TensorProgram) -> Self {
        let mut readers: Arena<TensorId, Vec<StatementId>> = program.tensors.values().map(|_| Vec::new()).collect();
        let mut is_output: Arena<TensorId, bool> = program.tensors.values().map(|_| false).collect();
        for (id, statement) in program.statements.iter() {
            for &operand in &statement.operands {
                readers[operand].push(id);
            }
        }
        for &output in &program.outputs {
            is_output[output] = true;
        }
        Self { readers, is_output }
    }

    /// The statements that read a tensor.
    pub fn readers(&self, tensor: TensorId) -> &[StatementId] {
        &self.readers[tensor]
    }

    /// Whether something outside `members`, ascending, needs the tensor.
    pub(super) fn leaves_slice(&self, tensor: TensorId, members: &[StatementId]) -> bool {
        let inside = |reader: &StatementId| members.binary_search(reader).is_ok();
        self.is_output[tensor] || !self.readers[tensor].iter().all(inside)
    }

    /// Whether something outside `members` needs the tensor.
    pub fn leaves(&self, tensor: TensorId, members: &BTreeSet<StatementId>) -> bool {
        self.is_output[tensor] || self.readers[tensor].iter().any(|reader| !members.contains(reader))
    }
}

/// The body of `members`, or `None` if no single kernel computes them.
pub fn build(program: &TensorProgram, uses: &Uses, members: &BTreeSet<StatementId>) -> Option<GroupBody> {
    let mut bodies = Bodies { uses, members, inlined: BTreeMap::new(), drafts: Vec::new() };
    for &member in members {
        let statement = &program.statements[member];
        let Definition::Compute(expr) = &statement.definition else { return None };
        let sources = statement.operands.iter().map(|operand| Source::Tensor(*operand)).collect();
        bodies.add(expr.clone(), sources, statement.output)?;
    }
    align::align(program, bodies.drafts)
}

struct Bodies<'a> {
    uses: &'a Uses,
    members: &'a BTreeSet<StatementId>,
    inlined: BTreeMap<TensorId, (TensorExpr, Vec<Source>)>,
    drafts: Vec<Draft>,
}

impl Bodies<'_> {
    fn add(&mut self, expr: TensorExpr, sources: Vec<Source>, tensor: TensorId) -> Option<()> {
        let (expr, sources) = self.resolve(expr, sources)?;
        let leaves = self.uses.leaves(tensor, self.members);
        if expr.reducer.is_some() {
            self.drafts.push(Draft { expr, sources, tensor, leaves });
            return Some(());
        }
        if let Some((position, mut draft)) = self.append(&expr, &sources) {
            draft.tensor = tensor;
            draft.leaves = leaves;
            self.drafts[position] = draft;
            return Some(());
        }
        if leaves {
            self.drafts.push(Draft { expr: expr.clone(), sources: sources.clone(), tensor, leaves });
        }
        self.inlined.insert(tensor, (expr, sources));
        Some(())
    }

    /// `expr` with inlined operands composed in and reductions named.
    fn resolve(&self, mut expr: TensorExpr, mut sources: Vec<Source>) -> Option<(TensorExpr, Vec<Source>)> {
        let known = |source: &Source| match source {
            Source::Tensor(tensor) => self.inlined.get(tensor),
            Source::Draft(_) => None,
        };
        while let Some(position) = sources.iter().position(|source| known(source).is_some()) {
            let (producer, operands) = known(&sources[position]).expect("the position was found by this test");
            let composed = substitute::inline(&expr, position, producer)?;
            sources.remove(position);
            sources.extend(operands.iter().copied());
            (expr, sources) = merge_operands(&composed, &sources);
        }
        for source in &mut sources {
            let draft = self.drafts.iter().position(|draft| *source == Source::Tensor(draft.tensor));
            *source = draft.map_or(*source, Source::Draft);
        }
        Some((expr, sources))
    }

    /// The one reduction that `expr` reads with `expr` as its epilogue, if nothing else reads that reduction.
    fn append(&self, expr: &TensorExpr, sources: &[Source]) -> Option<(usize, Draft)> {
        let mut read = sources.iter().enumerate().filter_map(|(position, source)| match source {
            Source::Draft(draft) => Some((position, *draft)),
            Source::Tensor(_) => None,
        });
        let (position, draft) = read.next()?;
        let producer = &self.drafts[draft];
        let alone = read.next().is_none() && !producer.leaves && self.uses.readers(producer.tensor).len() == 1;
        if !alone {
            return None;
        }
        let appended = substitute::append(&producer.expr, expr, position)?;
        let others = sources.iter().enumerate().filter(|(at, _)| *at != position).map(|(_, source)| *source);
        let operands: Vec<Source> = producer.sources.iter().copied().chain(others).collect();
        let (expr, sources) = merge_operands(&appended, &operands);
        Some((draft, Draft { expr, sources, ..producer.clone() }))
    }
}
