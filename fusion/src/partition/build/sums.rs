//! A sum that is added to another sum over the same axes is one sum. So the two products of a recurrent cell become one
//! over the concatenation of input and state.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisKind, BinaryOp, Index, Read, ReadId, Reducer, Scalar, TensorExpr};
use warpweave_graph::types::ElementType;
use warpweave_graph::views::merge_operands;

use crate::partition::build::{DraftStage, Source};

/// The drafts with every sum that one later sum adds to itself, and that nothing else reads, merged into that one.
pub(crate) fn merged_sums(mut drafts: Vec<DraftStage>) -> Vec<DraftStage> {
    while let Some((earlier, merged)) = (0..drafts.len()).find_map(|later| mergeable(&drafts, later)) {
        let (later, draft) = merged;
        drafts[later] = draft;
        drafts.remove(earlier);
        let sources = drafts.iter_mut().flat_map(|draft| &mut draft.sources);
        for source in sources {
            if let Source::Draft(number) = source
                && *number > earlier
            {
                *number -= 1;
            }
        }
    }
    drafts
}

/// An earlier draft that merges into the draft at `later`, and what that becomes.
fn mergeable(drafts: &[DraftStage], later: usize) -> Option<(usize, (usize, DraftStage))> {
    let draft = &drafts[later];
    draft.expr.reads.iter().find_map(|(id, read)| {
        let Source::Draft(earlier) = draft.sources[read.operand] else { return None };
        let alone = !drafts[earlier].leaves && readings(drafts, earlier) == 1;
        let merged = if alone && is_own_point(&draft.expr, read) { merge(draft, id, &drafts[earlier]) } else { None };
        Some((earlier, (later, merged?)))
    })
}

fn readings(drafts: &[DraftStage], number: usize) -> usize {
    let of_draft = |draft: &DraftStage| {
        draft.expr.reads.values().filter(|read| draft.sources[read.operand] == Source::Draft(number)).count()
    };
    drafts.iter().map(of_draft).sum()
}

fn is_own_point(expr: &TensorExpr, read: &Read) -> bool {
    read.guard.is_always() && read.index.iter().cloned().eq(expr.parallel().map(Index::axis))
}

/// `later`, which adds `earlier` through `read`, as one sum.
fn merge(later: &DraftStage, read: ReadId, earlier: &DraftStage) -> Option<DraftStage> {
    let is_sum = |expr: &TensorExpr| {
        expr.reducer == Some(Reducer::Sum) && expr.element == ElementType::F32 && expr.body_element() == expr.element
    };
    let alike = later.expr.axes == earlier.expr.axes && is_sum(&later.expr) && is_sum(&earlier.expr);
    let parallel_first = later.expr.axes.values().is_sorted_by_key(|axis| axis.kind == AxisKind::Reduced);
    let epilogue = later.expr.epilogue.as_ref()?;
    if !alike || !parallel_first || !adds_reduced(epilogue) {
        return None;
    }
    let rest = remove(epilogue, &|scalar| *scalar == Scalar::Read(read))?;
    let own = earlier.expr.epilogue.clone().unwrap_or(Scalar::Reduced);
    let added = if adds_reduced(&own) { remove(&own, &|scalar| *scalar == Scalar::Reduced)? } else { return None };

    let mut expr = later.expr.clone();
    let (first_operand, first_read) = (expr.operands.len(), expr.reads.len());
    expr.operands.extend(earlier.expr.operands.iter().cloned());
    for read in earlier.expr.reads.values() {
        expr.reads.push(Read { operand: first_operand + read.operand, ..read.clone() });
    }
    if !later.expr.reads.values().chain(earlier.expr.reads.values()).all(is_plain) {
        return None;
    }
    let moved = |scalar: &Scalar| {
        scalar.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(read) => Scalar::Read(ReadId::from_index(first_read + read.index())),
            other => other.clone(),
        })
    };
    expr.body = expr.body.binary(BinaryOp::Add, moved(&earlier.expr.body));
    let terms = rest.into_iter().chain(added.as_ref().map(moved));
    expr.epilogue = terms.reduce(|sum, term| sum.binary(BinaryOp::Add, term)).filter(|sum| *sum != Scalar::Reduced);
    let sources: Vec<Source> = later.sources.iter().chain(&earlier.sources).copied().collect();
    let (expr, sources) = merge_operands(&without_read(expr, read), &sources);
    Some(DraftStage { expr, sources, ..later.clone() })
}

/// Whether a read names no other.
fn is_plain(read: &Read) -> bool {
    read.guard.is_always() && read.index.iter().all(Index::is_free_of_reads)
}

/// The expression without a read that nothing in it uses.
fn without_read(mut expr: TensorExpr, unused: ReadId) -> TensorExpr {
    let kept = expr.reads.iter().filter(|(id, _)| *id != unused).map(|(_, read)| read.clone());
    expr.reads = kept.collect();
    let renamed = |scalar: &Scalar| {
        scalar.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(read) if *read > unused => Scalar::Read(ReadId::from_index(read.index() - 1)),
            other => other.clone(),
        })
    };
    (expr.body, expr.epilogue) = (renamed(&expr.body), expr.epilogue.as_ref().map(renamed));
    expr
}

/// Whether a scalar is the reduced value plus terms without it.
fn adds_reduced(scalar: &Scalar) -> bool {
    let mut occurrences = 0;
    scalar.visit(&mut |scalar| occurrences += usize::from(*scalar == Scalar::Reduced));
    occurrences == 1 && remove(scalar, &|scalar| *scalar == Scalar::Reduced).is_some()
}

/// A sum of terms without one of them: `Some(None)` if it was the only one, `None` if it is no term.
fn remove(sum: &Scalar, term: &impl Fn(&Scalar) -> bool) -> Option<Option<Scalar>> {
    if term(sum) {
        return Some(None);
    }
    let Scalar::Binary(BinaryOp::Add, left, right) = sum else { return None };
    let joined = |rest: Option<Scalar>, other: &Scalar| match rest {
        Some(rest) => rest.binary(BinaryOp::Add, other.clone()),
        None => other.clone(),
    };
    if let Some(rest) = remove(left, term) {
        return Some(Some(joined(rest, right)));
    }
    remove(right, term).map(|rest| Some(joined(rest, left)))
}
