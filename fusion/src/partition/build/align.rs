//! Brings the stages of a group over common tile axes.

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::expr::{Axis, AxisId, AxisKind, Index, IndirectIndex, substitute};
use warpweave_graph::program::{TensorId, TensorProgram};

use crate::partition::build::{DraftStage, Source};
use warpweave_plan::body::{GroupBody, Stage, StageOutput, StageSource};

/// The body of these drafts after these staged ones, or `None` if the drafts share no tile axes.
pub(crate) fn align(program: &TensorProgram, drafts: Vec<DraftStage>, staged: Vec<DraftStage>) -> Option<GroupBody> {
    let lead = drafts.iter().position(|draft| draft.expr.reducer.is_some()).unwrap_or(0);
    let drafts: Vec<Slim> = drafts.into_iter().map(Slim::new).collect();
    let tile: Vec<AxisId> = drafts.get(lead)?.draft.expr.parallel().collect();
    let extents: Vec<usize> = tile.iter().map(|&axis| drafts[lead].draft.expr.axes[axis].extent).collect();
    let mut maps: Vec<Vec<AxisId>> = Vec::with_capacity(drafts.len());
    for (position, slim) in drafts.iter().enumerate() {
        let map = if position == lead { tile.clone() } else { tile_axes(slim, &drafts, &maps, &extents)? };
        let spare = slim.draft.expr.parallel().count() - map.len();
        let whole = slim.draft.expr.reducer.is_some() || drafts.iter().all(|other| other.draft.expr.reducer.is_none());
        if spare > 0 && whole {
            return None;
        }
        maps.push(map);
    }
    let mut body = GroupBody {
        staged: Vec::new(),
        stages: Vec::new(),
        tile_rank: extents.len(),
        operands: Vec::new(),
        outputs: Vec::new(),
    };
    for draft in staged {
        let sources = draft.sources.iter().map(|source| stage_source(*source, &mut body.operands)).collect();
        body.staged.push(Stage { expr: draft.expr, sources, output: None, procedure: None });
    }
    for (slim, map) in drafts.iter().zip(&maps) {
        let stage = stage(program, slim, map, &mut body)?;
        body.stages.push(stage);
    }
    (indices_are_in_memory(&body) && stage_reads_are_pointwise(&body, &drafts, &maps)).then_some(body)
}

/// A draft without axes of extent 1.
struct Slim {
    draft: DraftStage,
    /// Per dimension of the draft's tensor, the axis that remains for it.
    dimensions: Vec<Option<AxisId>>,
}

impl Slim {
    fn new(mut draft: DraftStage) -> Self {
        let mut axes: Arena<AxisId, Axis> = Arena::new();
        let keep = |axis: &Axis| (axis.extent != 1).then(|| axes.push(*axis));
        let kept: Vec<Option<AxisId>> = draft.expr.axes.values().map(keep).collect();
        let parallel: Vec<AxisId> = draft.expr.parallel().collect();
        let dimensions = parallel.iter().map(|axis| kept[axis.index()]).collect();
        let reduces = axes.values().any(|axis| axis.kind == AxisKind::Reduced);
        let replacement: Vec<Index> = kept.iter().map(|axis| axis.map_or(Index::constant(0), Index::axis)).collect();
        if draft.expr.reducer.is_some() && !reduces {
            // A reduction over nothing but axes of extent 1 keeps one, so that it stays a reduction.
            axes.push(Axis { extent: 1, kind: AxisKind::Reduced });
        }
        draft.expr = substitute::replace_axes(&draft.expr, &axes, &replacement);
        Self { draft, dimensions }
    }
}

/// The draft's axis for each tile axis: as its reads of earlier drafts say, else its leading axes.
fn tile_axes(slim: &Slim, drafts: &[Slim], maps: &[Vec<AxisId>], extents: &[usize]) -> Option<Vec<AxisId>> {
    let expr = &slim.draft.expr;
    let read = expr.reads.values().find_map(|read| match slim.draft.sources[read.operand] {
        Source::Draft(draft) => Some((draft, read)),
        Source::Tensor(_) | Source::Staged(_) => None,
    });
    let map: Vec<AxisId> = match read {
        None => expr.parallel().take(extents.len()).collect(),
        Some((draft, read)) => {
            let dimension = |axis: &AxisId| drafts[draft].dimensions.iter().position(|other| *other == Some(*axis));
            let index = |axis: &AxisId| read.index[dimension(axis)?].as_axis();
            maps.get(draft)?.iter().map(index).collect::<Option<_>>()?
        }
    };
    let fits = map.len() == extents.len()
        && map
            .iter()
            .zip(extents)
            .all(|(&axis, &extent)| expr.axes[axis].extent == extent && expr.axes[axis].kind == AxisKind::Parallel);
    let distinct = map.iter().enumerate().all(|(at, axis)| !map[..at].contains(axis));
    (fits && distinct).then_some(map)
}

/// The stage with its tile axes in front.
fn stage(program: &TensorProgram, slim: &Slim, map: &[AxisId], body: &mut GroupBody) -> Option<Stage> {
    let expr = &slim.draft.expr;
    let rest = expr.axes.ids().filter(|axis| !map.contains(axis));
    let order: Vec<AxisId> = map.iter().copied().chain(rest).collect();
    let axes: Arena<AxisId, Axis> = order.iter().map(|&axis| expr.axes[axis]).collect();
    let position = |axis: AxisId| order.iter().position(|other| *other == axis).map(AxisId::from_index);
    let replacement: Vec<Index> = expr.axes.ids().map(|axis| position(axis).map(Index::axis)).collect::<Option<_>>()?;
    let expr = substitute::replace_axes(expr, &axes, &replacement);
    let sources = slim.draft.sources.iter().map(|source| stage_source(*source, &mut body.operands)).collect();
    let output = slim.draft.leaves.then(|| {
        let axis = |axis: &Option<AxisId>| axis.map_or(Index::constant(0), |axis| replacement[axis.index()].clone());
        body.outputs.push(slim.draft.tensor);
        StageOutput { position: body.outputs.len() - 1, index: slim.dimensions.iter().map(axis).collect() }
    });
    let rank = program.tensors[slim.draft.tensor].ty.shape.len();
    debug_assert!(!slim.draft.leaves || rank == slim.dimensions.len());
    Some(Stage { expr, sources, output, procedure: None })
}

fn stage_source(source: Source, operands: &mut Vec<TensorId>) -> StageSource {
    match source {
        Source::Draft(draft) => StageSource::Stage(draft),
        Source::Staged(staged) => StageSource::Staged(staged),
        Source::Tensor(tensor) => StageSource::Operand(intern(operands, tensor)),
    }
}

fn intern(operands: &mut Vec<TensorId>, tensor: TensorId) -> usize {
    operands.iter().position(|other| *other == tensor).unwrap_or_else(|| {
        operands.push(tensor);
        operands.len() - 1
    })
}

/// Whether every index is read from a tensor, so that a report of a faulty one can name the tensor.
fn indices_are_in_memory(body: &GroupBody) -> bool {
    body.staged.iter().chain(&body.stages).all(|stage| {
        let sources = |index: IndirectIndex| stage.sources[stage.expr.reads[index.read].operand];
        stage.expr.indirect_indices().into_iter().map(sources).all(|source| matches!(source, StageSource::Operand(_)))
    })
}

/// Whether every read of an earlier stage stays at the reader's own point of the tile axes. Where one reduces, only reductions
/// are read so.
fn stage_reads_are_pointwise(body: &GroupBody, drafts: &[Slim], maps: &[Vec<AxisId>]) -> bool {
    let tile_axis = |earlier: usize, axis: AxisId| maps[earlier].iter().position(|other| *other == axis);
    let reduces = |draft: &Slim| draft.draft.expr.reducer.is_some();
    let none_reduces = !drafts.iter().any(reduces);
    body.stages.iter().all(|stage| {
        stage.expr.reads.values().all(|read| {
            let StageSource::Stage(earlier) = stage.sources[read.operand] else { return true };
            let same = drafts[earlier].dimensions.iter().zip(&read.index).all(|(dimension, index)| match dimension {
                None => index.as_constant() == Some(0),
                Some(axis) => index.as_axis().map(Id::index) == tile_axis(earlier, *axis),
            });
            same && read.guard.is_always() && (none_reduces || reduces(&drafts[earlier]))
        })
    })
}
