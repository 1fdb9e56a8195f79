//! Reductions that are read at translates of the reader's own point: each translate becomes a reduction of its own.
//!
//! The gates of a recurrent cell are the case in point. They are one product of a matrix with four rows a hidden unit,
//! of which the cell reads the unit's own four. Over the reader's axes these are four reductions side by side, so that
//! a tile of hidden units needs no rows but its own.

use crate::tuning::SearchTuning;
use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::expr::{Atom, Axis, AxisId, AxisKind, Index, Read, TensorExpr, substitute};
use warpweave_graph::types::TensorType;
use warpweave_graph::views::merge_operands;

use crate::partition::build::{DraftStage, Source};

/// The drafts with every reduction that stays in the group and is read at translates computed once a translate, over
/// its reader's axes. The drafts stay as they were where that would compute an element twice.
pub(crate) fn translated(drafts: Vec<DraftStage>) -> Vec<DraftStage> {
    let mut wanted: Vec<Wanted> = vec![Wanted::default(); drafts.len()];
    let mut versions: Vec<Vec<DraftStage>> = vec![Vec::new(); drafts.len()];
    for (number, draft) in drafts.iter().enumerate().rev() {
        let moved = match wanted[number].translates(draft) {
            Some(places) => places.iter().map(|place| place.computed(draft)).collect(),
            None => vec![draft.clone()],
        };
        for version in &moved {
            note(version, &drafts, &mut wanted);
        }
        versions[number] = moved;
    }
    if versions.iter().all(|versions| versions.len() == 1) {
        return drafts;
    }
    renumber(&drafts, &wanted, versions)
}

/// The parallel axes of an expression along which there is more than one point.
fn long_axes(expr: &TensorExpr) -> Vec<AxisId> {
    expr.parallel().filter(|axis| expr.axes[*axis].extent != 1).collect()
}

/// A point of an earlier draft as a function of its reader's [`long_axes`], which are numbered from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Translate {
    extents: Vec<usize>,
    index: Vec<Index>,
}

impl Translate {
    /// Where a draft's expression reads, if that is at a translate of its own point.
    fn of(expr: &TensorExpr, read: &Read) -> Option<Self> {
        let axes = long_axes(expr);
        let mut seen: Vec<AxisId> = Vec::new();
        let mut translate = |index: &Index| match index.terms() {
            [] => Some(index.clone()),
            [(Atom::Axis(axis), 1)] if expr.axes[*axis].kind == AxisKind::Parallel && !seen.contains(axis) => {
                seen.push(*axis);
                let number = axes.iter().position(|other| other == axis).map(AxisId::from_index);
                Some(number.map_or(Index::constant(0), Index::axis).plus(index.offset()))
            }
            _ => None,
        };
        let index: Option<Vec<Index>> = read.index.iter().map(&mut translate).collect();
        let extents = axes.iter().map(|axis| expr.axes[*axis].extent).collect();
        index.filter(|_| read.guard.is_always()).map(|index| Self { extents, index })
    }

    /// Whether the whole draft is read, each point by one of the reader's.
    fn is_whole(&self, draft: &DraftStage) -> bool {
        let extents = draft.expr.parallel().map(|axis| draft.expr.axes[axis].extent);
        self.index.iter().zip(extents).all(|(index, extent)| match index.as_axis() {
            Some(axis) => self.extents[axis.index()] == extent,
            None => extent == 1 && index.as_constant() == Some(0),
        })
    }

    fn points(&self) -> usize {
        self.extents.iter().product()
    }

    /// The reduction at this place, over the reader's axes.
    fn computed(&self, draft: &DraftStage) -> DraftStage {
        let parallel = self.extents.iter().map(|&extent| Axis { extent, kind: AxisKind::Parallel });
        let mut axes: Arena<AxisId, Axis> = parallel.collect();
        let mut places = self.index.iter().cloned();
        let mut replacement: Vec<Index> = Vec::with_capacity(draft.expr.axes.len());
        for axis in draft.expr.axes.values() {
            replacement.push(match axis.kind {
                AxisKind::Parallel => places.next().expect("a read has one index a dimension"),
                AxisKind::Reduced => Index::axis(axes.push(*axis)),
            });
        }
        DraftStage { expr: substitute::replace_axes(&draft.expr, &axes, &replacement), ..draft.clone() }
    }
}

/// How a draft is read by later ones.
#[derive(Clone, Default, Debug)]
struct Wanted {
    /// The places, each once.
    places: Vec<Translate>,
    /// Whether it is read in another way too.
    otherwise: bool,
}

impl Wanted {
    /// The places at which the draft is to be computed, if it is not to be computed as it is.
    fn translates(&self, draft: &DraftStage) -> Option<&[Translate]> {
        let own: usize = draft.expr.parallel().map(|axis| draft.expr.axes[axis].extent).product();
        let computed: usize = self.places.iter().map(Translate::points).sum();
        let possible = draft.expr.reducer.is_some() && !draft.leaves && !self.otherwise;
        let useful = !self.places.iter().all(|place| place.is_whole(draft));
        (possible && useful && self.places.len() <= SearchTuning::DEFAULT.partition.most_translates && computed <= own)
            .then_some(&self.places)
    }
}

fn note(draft: &DraftStage, drafts: &[DraftStage], wanted: &mut [Wanted]) {
    for read in draft.expr.reads.values() {
        let Source::Draft(earlier) = draft.sources[read.operand] else { continue };
        match Translate::of(&draft.expr, read).filter(|_| drafts[earlier].expr.reducer.is_some()) {
            Some(place) if wanted[earlier].places.contains(&place) => {}
            Some(place) => wanted[earlier].places.push(place),
            None => wanted[earlier].otherwise = true,
        }
    }
}

/// The versions of all drafts in order, every read at the version that it means.
fn renumber(drafts: &[DraftStage], wanted: &[Wanted], versions: Vec<Vec<DraftStage>>) -> Vec<DraftStage> {
    let mut first: Vec<usize> = Vec::with_capacity(versions.len());
    let mut found: Vec<DraftStage> = Vec::new();
    for own in versions {
        let start = found.len();
        found.extend(own.into_iter().map(|version| redirect(version, drafts, wanted, &first)));
        first.push(start);
    }
    found
}

/// A version with its reads of earlier drafts at their versions; `first` holds the number of each draft's first version.
fn redirect(mut version: DraftStage, drafts: &[DraftStage], wanted: &[Wanted], first: &[usize]) -> DraftStage {
    let named = version.sources.clone();
    for source in &mut version.sources {
        if let Source::Draft(earlier) = source {
            *earlier = first[*earlier];
        }
    }
    let own: Vec<Index> = long_axes(&version.expr).into_iter().map(Index::axis).collect();
    for read in version.expr.reads.ids() {
        let Source::Draft(earlier) = named[version.expr.reads[read].operand] else { continue };
        let Some(places) = wanted[earlier].translates(&drafts[earlier]) else { continue };
        let place = Translate::of(&version.expr, &version.expr.reads[read]).expect("every read is at a translate");
        let position = places.iter().position(|other| *other == place).expect("every place was noted");
        version.sources.push(Source::Draft(first[earlier] + position));
        version.expr.operands.push(TensorType::new(drafts[earlier].expr.element, place.extents));
        version.expr.reads[read].operand = version.sources.len() - 1;
        version.expr.reads[read].index.clone_from(&own);
    }
    let (expr, sources) = merge_operands(&version.expr, &version.sources);
    DraftStage { expr, sources, ..version }
}
