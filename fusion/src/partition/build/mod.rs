//! The body of a set of statements, if one kernel can compute them.
//!
//! Fusion at register level: a statement without reduction is composed into its readers; one that reads a reduction's
//! result point by point becomes the reduction's epilogue. A chain of reductions over the same rows (softmax, the
//! normalisations) is one group whose intermediate values stay on chip.
//!
//! Fusion at shared-memory level: reductions that do not leave the group are staged, so that later ones may read them at
//! other points than their own.

pub mod align;
pub mod merge_axes;
pub mod opaque;
pub mod sums;
pub mod translated;

use crate::partition::build::opaque::opaque_body;
use crate::tuning::SearchTuning;
use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{BinaryOp, Scalar, TensorExpr, substitute};
use warpweave_graph::program::{Definition, StatementId, TensorId, TensorProgram};
use warpweave_graph::views::merge_operands;

use crate::partition::build::sums::merged_sums;
use crate::partition::build::translated::translated;
use warpweave_plan::body::GroupBody;

/// Where an operand comes from while a body is under construction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// A tensor from outside the group.
    Tensor(TensorId),
    /// An earlier draft.
    Draft(usize),
    /// A staged value.
    Staged(usize),
}

/// A stage whose axes have not been aligned with the others'.
#[derive(Clone, Debug)]
pub(crate) struct DraftStage {
    pub(crate) expr: TensorExpr,
    pub(crate) sources: Vec<Source>,
    /// The tensor whose value this computes.
    pub(crate) tensor: TensorId,
    /// Whether that tensor leaves the group.
    pub(crate) leaves: bool,
}

/// The readers of each tensor of a program, and whether its value is wanted after a launch.
#[derive(Clone, Debug)]
pub struct Uses {
    readers: Arena<TensorId, Vec<StatementId>>,
    is_live_out: Arena<TensorId, bool>,
}

impl Uses {
    /// Collects the uses.
    pub fn new(program: &TensorProgram) -> Self {
        let mut readers: Arena<TensorId, Vec<StatementId>> = program.tensors.values().map(|_| Vec::new()).collect();
        let mut is_live_out: Arena<TensorId, bool> = program.tensors.values().map(|_| false).collect();
        for (id, statement) in program.statements.iter() {
            for &operand in &statement.operands {
                readers[operand].push(id);
            }
        }
        program.live_out().for_each(|tensor| is_live_out[tensor] = true);
        Self { readers, is_live_out }
    }

    /// The statements that read a tensor.
    pub fn readers(&self, tensor: TensorId) -> &[StatementId] {
        &self.readers[tensor]
    }

    /// Whether the tensor is wanted after a launch.
    pub(crate) fn is_live_out(&self, tensor: TensorId) -> bool {
        self.is_live_out[tensor]
    }

    /// Whether something outside `members`, ascending, needs the tensor.
    pub(crate) fn leaves_slice(&self, tensor: TensorId, members: &[StatementId]) -> bool {
        let inside = |reader: &StatementId| members.binary_search(reader).is_ok();
        self.is_live_out[tensor] || !self.readers[tensor].iter().all(inside)
    }

    /// Whether something outside `members` needs the tensor.
    pub fn leaves(&self, tensor: TensorId, members: &BTreeSet<StatementId>) -> bool {
        self.is_live_out[tensor] || self.readers[tensor].iter().any(|reader| !members.contains(reader))
    }

    /// Whether a member reads the tensor, and something else needs it too.
    fn is_needed_again(&self, tensor: TensorId, members: &BTreeSet<StatementId>) -> bool {
        let inside = self.readers[tensor].iter().filter(|reader| members.contains(reader)).count();
        inside > 1 || inside == 1 && self.leaves(tensor, members)
    }
}

/// The body of `members` at register level, or `None` if no single kernel computes them so.
pub fn build(program: &TensorProgram, uses: &Uses, members: &BTreeSet<StatementId>) -> Option<GroupBody> {
    if let Some(body) = opaque_body(program, members) {
        return Some(body);
    }
    if let Some(body) = build_points(program, uses, members) {
        return Some(body);
    }
    let drafts = translated(drafts(program, uses, members, Sharing::Registers)?);
    align::align(program, merged_sums(drafts), Vec::new())
}

/// The body of members of which none reduces, with every value that is needed more than once computed once. `None` if there is no such
/// value, or if a member reads one at another point than its own.
fn build_points(program: &TensorProgram, uses: &Uses, members: &BTreeSet<StatementId>) -> Option<GroupBody> {
    let reduces =
        |member: &StatementId| program.statements[*member].definition.expr().is_none_or(|expr| expr.reducer.is_some());
    let is_shared = |member: &StatementId| uses.is_needed_again(program.statements[*member].output, members);
    if members.iter().any(reduces) || !members.iter().any(is_shared) {
        return None;
    }
    align::align(program, drafts(program, uses, members, Sharing::Points)?, Vec::new())
}

/// The body of `members` at shared-memory level: what does not leave is staged. `None` if no single kernel computes them
/// so, or if nothing would be staged.
pub fn build_staged(program: &TensorProgram, uses: &Uses, members: &BTreeSet<StatementId>) -> Option<GroupBody> {
    // Reductions are staged, and what they read.
    if !members.iter().any(|member| reduces(program, *member)) {
        return None;
    }
    let drafts = drafts(program, uses, members, Sharing::SharedMemory)?;
    if drafts.len() > SearchTuning::DEFAULT.partition.most_staged_values + 1 || drafts.iter().all(|draft| draft.leaves)
    {
        return None;
    }
    let mut numbers: Vec<Source> = Vec::with_capacity(drafts.len());
    let (mut staged, mut main) = (Vec::new(), Vec::new());
    for mut draft in drafts {
        for source in &mut draft.sources {
            if let Source::Draft(earlier) = *source {
                *source = numbers[earlier];
            }
        }
        if draft.leaves {
            if !reduces_singles(&draft.expr) {
                return None;
            }
            numbers.push(Source::Draft(main.len()));
            main.push(draft);
        } else {
            let reads_main = draft.sources.iter().any(|source| matches!(source, Source::Draft(_)));
            let empty = draft.expr.axes.values().any(|axis| axis.extent == 0);
            if reads_main || empty || !draft.expr.element.is_single() || !reduces_singles(&draft.expr) {
                return None;
            }
            numbers.push(Source::Staged(staged.len()));
            staged.push(draft);
        }
    }
    let body = align::align(program, main, staged)?;
    let narrow = (0..body.stages.len()).all(|stage| body.extra_axes(stage).is_empty());
    (narrow && body.reductions().count() <= 1).then_some(body)
}

fn reduces(program: &TensorProgram, member: StatementId) -> bool {
    program.statements[member].definition.expr().is_some_and(|expr| expr.reducer.is_some())
}

/// Whether a reduction, if there is one, combines singles: kernels that stage values sum nothing else.
fn reduces_singles(expr: &TensorExpr) -> bool {
    expr.reducer.is_none() || expr.body_element().is_single()
}

/// Where values that several reductions of a group share are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sharing {
    /// In registers; what does not reduce is composed into every reader.
    Registers,
    /// In registers, as is what does not reduce and is needed more than once.
    Points,
    /// In shared memory too: what is costly and read often is kept there.
    SharedMemory,
}

fn drafts(
    program: &TensorProgram,
    uses: &Uses,
    members: &BTreeSet<StatementId>,
    sharing: Sharing,
) -> Option<Vec<DraftStage>> {
    let mut bodies = Bodies { program, uses, members, sharing, inlined: BTreeMap::new(), drafts: Vec::new() };
    for &member in members {
        let statement = &program.statements[member];
        let Definition::Compute(expr) = &statement.definition else { return None };
        let sources = statement.operands.iter().map(|operand| Source::Tensor(*operand)).collect();
        bodies.add(expr.clone(), sources, statement.output)?;
    }
    Some(bodies.drafts)
}

struct Bodies<'a> {
    program: &'a TensorProgram,
    uses: &'a Uses,
    members: &'a BTreeSet<StatementId>,
    sharing: Sharing,
    inlined: BTreeMap<TensorId, (TensorExpr, Vec<Source>)>,
    drafts: Vec<DraftStage>,
}

impl Bodies<'_> {
    fn add(&mut self, expr: TensorExpr, sources: Vec<Source>, tensor: TensorId) -> Option<()> {
        let (expr, sources) = self.resolve(expr, sources)?;
        let leaves = self.uses.leaves(tensor, self.members);
        if expr.reducer.is_some() {
            self.drafts.push(DraftStage { expr, sources, tensor, leaves });
            return Some(());
        }
        if let Some((position, mut draft)) = self.append(&expr, &sources, tensor) {
            draft.tensor = tensor;
            draft.leaves = leaves;
            self.drafts[position] = draft;
            return Some(());
        }
        let kept = !leaves && self.sharing == Sharing::SharedMemory && self.is_worth_holding(&expr, tensor);
        let shared = self.sharing == Sharing::Points && self.uses.is_needed_again(tensor, self.members);
        if leaves || kept || shared {
            self.drafts.push(DraftStage { expr: expr.clone(), sources: sources.clone(), tensor, leaves });
        }
        if !kept && !shared {
            self.inlined.insert(tensor, (expr, sources));
        }
        Some(())
    }

    /// Whether a value that does not reduce costs more to compute than to fetch, and a reduction in the group reads its
    /// elements again and again.
    fn is_worth_holding(&self, expr: &TensorExpr, tensor: TensorId) -> bool {
        let mut costly = false;
        expr.body.visit(&mut |scalar| {
            costly |= match scalar {
                Scalar::Unary(op, _) => op.is_function(),
                Scalar::Binary(op, ..) => matches!(op, BinaryOp::Divide | BinaryOp::Remainder | BinaryOp::Power),
                _ => false,
            }
        });
        costly
            && self.uses.readers(tensor).iter().any(|&reader| {
                let statement = &self.program.statements[reader];
                let Definition::Compute(expr) = &statement.definition else { return false };
                expr.reducer.is_some()
                    && expr.reads.values().filter(|read| statement.operands[read.operand] == tensor).any(|read| {
                        let read_along = expr.index_axes(&read.index);
                        expr.parallel().any(|axis| expr.axes[axis].extent > 1 && !read_along.contains(&axis))
                    })
            })
    }

    /// `expr` with inlined operands composed in and reductions named.
    fn resolve(&self, mut expr: TensorExpr, mut sources: Vec<Source>) -> Option<(TensorExpr, Vec<Source>)> {
        let known = |source: &Source| match source {
            Source::Tensor(tensor) => self.inlined.get(tensor),
            Source::Draft(_) | Source::Staged(_) => None,
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

    /// The last reduction that `expr`, the value of `tensor`, reads with `expr` as its epilogue, if nothing else reads that
    /// reduction. Only registers hold the other reductions that it reads at the same point.
    fn append(&self, expr: &TensorExpr, sources: &[Source], tensor: TensorId) -> Option<(usize, DraftStage)> {
        let read = sources.iter().enumerate().filter_map(|(position, source)| match source {
            Source::Draft(draft) => Some((*draft, position)),
            Source::Tensor(_) | Source::Staged(_) => None,
        });
        let read: Vec<(usize, usize)> = read.collect();
        let alone = |draft: &DraftStage| !draft.leaves && self.uses.readers(draft.tensor).len() == 1;
        let &(draft, position) = read.iter().max()?;
        let together = read.len() == 1 || self.sharing != Sharing::SharedMemory;
        let producer = &self.drafts[draft];
        let reduces = |draft: &DraftStage| draft.expr.reducer.is_some();
        let fits = read.iter().all(|(draft, _)| alone(&self.drafts[*draft]) && reduces(&self.drafts[*draft]));
        if !together || !fits || !self.is_only_for(producer.tensor, tensor) {
            return None;
        }
        let appended = substitute::append(&producer.expr, expr, position)?;
        let others = sources.iter().enumerate().filter(|(at, _)| *at != position).map(|(_, source)| *source);
        let operands: Vec<Source> = producer.sources.iter().copied().chain(others).collect();
        let (expr, sources) = merge_operands(&appended, &operands);
        Some((draft, DraftStage { expr, sources, ..producer.clone() }))
    }

    /// Whether nothing reads `tensor` but `reader`, be it through values that are composed into their readers.
    fn is_only_for(&self, mut tensor: TensorId, reader: TensorId) -> bool {
        while tensor != reader {
            let [statement] = self.uses.readers(tensor) else { return false };
            tensor = self.program.statements[*statement].output;
            if tensor != reader && self.uses.leaves(tensor, self.members) {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use warpweave_graph::program::text::parse;
    use warpweave_graph::text::Tensors;

    #[test]
    fn what_does_not_reduce_is_not_composed_to_be_staged() {
        let square = |at: usize| format!("e{at} (t{at}) -> t{}: f32[4] = [a0<4] mul(x0[a0], x0[a0])\n", at + 1);
        let squares: String = (0..60).map(square).collect();
        let text = format!("program\nt0: f32[4] = input 0\n{squares}output t60\n");
        let program = parse(&text, &Tensors::new()).expect("a program");
        let members: BTreeSet<StatementId> = program.statements.ids().collect();
        // Composed, they would have 2^60 factors.
        assert!(build_staged(&program, &Uses::new(&program), &members).is_none());
    }
}
