//! Splitting a contraction's reduction: parts of the sum side by side, then their sum in a fixed order.
//!
//! A group whose shape says so is one group for the search, and two rOperators in a plan:
//! - the contraction with one more parallel axis, which counts the parts, into a temporary tensor;
//! - a reduction over the parts with the group's epilogue and other stages.

use crate::tuning::SearchTuning;
use std::collections::BTreeSet;
use std::sync::Arc;
use warpweave_plan::kernel::{Kernel, ScheduleParams};
use warpweave_plan::template::pointwise::Pointwise;
use warpweave_plan::template::pointwise::rules::takes_runs;

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::expr::{
    Axis, AxisId, AxisKind, Guard, Index, Literal, Read, Reducer, Scalar, TensorExpr, substitute,
};
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_graph::types::{ElementType, TensorType};
use warpweave_graph::views::{Layout, merge_operands};

use crate::partition::search::{FusionGroup, Partition};
use warpweave_plan::body::alone::{is_free_of_data, without_unused};
use warpweave_plan::body::{GroupBody, Stage, StageOutput, StageSource};
use warpweave_plan::plan::EdgeKind;
use warpweave_plan::template::Template;
use warpweave_plan::template::block::fill;
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::rules::Rules;

/// The two bodies of a split group, and the type of the tensor between them.
#[derive(Clone, PartialEq, Debug)]
pub struct SplitBodies {
    /// The parts of the sum, `[part, tile axes…]`.
    pub parts: Arc<GroupBody>,
    /// Their sum, and what follows it.
    pub sum: Arc<GroupBody>,
    /// The parts' tensor.
    pub ty: TensorType,
}

/// The bodies of a contraction in `count` parts with `parts` between them. `None` where no reduced axis divides, where
/// an index depends on data, or where the products are no singles.
pub fn split(body: &GroupBody, count: usize, parts: TensorId) -> Option<SplitBodies> {
    let lead = &body.stages[0].expr;
    let free = is_free_of_data(lead);
    let accumulate = lead.numerics().accumulate;
    let axis = lead.reduced().find(|axis| lead.axes[*axis].extent.is_multiple_of(count))?;
    let ty = TensorType::new(accumulate, [&[count], &body.tile_extents()[..]].concat());
    (free && accumulate == ElementType::F32 && count > 1).then(|| SplitBodies {
        parts: parts_of(body, axis, count, parts).into(),
        sum: sum_of(body, &ty, parts).into(),
        ty,
    })
}

fn parts_of(body: &GroupBody, split: AxisId, count: usize, parts: TensorId) -> GroupBody {
    let (expr, sources) = (&body.stages[0].expr.in_singles(), &body.stages[0].sources);
    let length = expr.axes[split].extent / count;
    let mut axes: Arena<AxisId, Axis> = Arena::new();
    let part = axes.push(Axis { extent: count, kind: AxisKind::Parallel });
    let mut replacement = Vec::with_capacity(expr.axes.len());
    for (id, axis) in expr.axes.iter() {
        let extent = if id == split { length } else { axis.extent };
        let moved = Index::axis(axes.push(Axis { extent, ..*axis }));
        let first = Index::axis(part).times(length as i64);
        replacement.push(if id == split { moved.add(&first) } else { moved });
    }
    let alone = without_unused(&TensorExpr { epilogue: None, element: expr.numerics().accumulate, ..expr.clone() });
    let (expr, sources) = merge_operands(&substitute::replace_axes(&alone, &axes, &replacement), sources);
    let index = expr.parallel().map(Index::axis).collect();
    let output = Some(StageOutput { position: 0, index });
    body.with_operands(vec![Stage { expr, sources, output, procedure: None }], body.tile_rank + 1, vec![parts], None)
}

fn sum_of(body: &GroupBody, ty: &TensorType, parts: TensorId) -> GroupBody {
    let lead = &body.stages[0];
    let mut expr =
        without_unused(&TensorExpr { body: Scalar::Literal(Literal::new(ty.element, 0.0)), ..lead.expr.in_singles() });
    let parallel: Vec<Axis> = expr.parallel().map(|axis| expr.axes[axis]).collect();
    expr.axes = parallel.into_iter().collect();
    let tile: Vec<Index> = expr.axes.ids().map(Index::axis).collect();
    let part = expr.axes.push(Axis { extent: ty.shape[0], kind: AxisKind::Reduced });
    expr.operands.push(ty.clone());
    let read = expr.reads.push(Read {
        operand: expr.operands.len() - 1,
        index: [vec![Index::axis(part)], tile].concat(),
        guard: Guard::always(),
        fill: Literal::new(ty.element, 0.0),
    });
    expr.body = Scalar::Read(read);
    expr.reducer = Some(Reducer::Sum);
    let sources: Vec<StageSource> =
        lead.sources.iter().copied().chain([StageSource::Operand(body.operands.len())]).collect();
    let (expr, sources) = merge_operands(&expr, &sources);
    let first = Stage { expr, sources, output: lead.output.clone(), procedure: None };
    let stages = std::iter::once(first).chain(body.stages[1..].iter().cloned()).collect();
    body.with_operands(stages, body.tile_rank, body.outputs.clone(), Some(parts))
}

/// The two kernels of a split group.
#[derive(Clone, PartialEq, Debug)]
pub struct SplitKernels {
    /// What they compute.
    pub bodies: SplitBodies,
    /// Computes the parts of the sum.
    pub parts: Kernel,
    /// Adds them up.
    pub sum: Kernel,
}

impl SplitBodies {
    /// The kernels under the parameters of the whole; `None` unless it is a contraction.
    pub fn kernels(self, whole: &Kernel) -> Option<SplitKernels> {
        let Template::Contraction(shape) = *whole.template() else { return None };
        let template = Template::Contraction(ContractionShape { split_k: 1, ..shape });
        let params = ScheduleParams { template, tile: [&[1], whole.tile()].concat() };
        let parts = Kernel::unchecked(Arc::clone(&self.parts), params);
        let sum = Kernel::unchecked(Arc::clone(&self.sum), sum_params(&self.sum));
        Some(SplitKernels { bodies: self, parts, sum })
    }
}

/// The parameters of a sum of parts: a thread adds neighbours that are fetched and stored at once, where rows divide so. Parts
/// that carry tags are polled one value at a time.
fn sum_params(sum: &GroupBody) -> ScheduleParams {
    let run = sum.stages[0].expr.numerics().access_elements();
    let divides = sum.tile_extents().last().is_some_and(|innermost| innermost.is_multiple_of(run));
    pointwise(sum, if divides && takes_runs(sum) { Pointwise::run(run) } else { Pointwise::strided(1) })
}

fn pointwise(sum: &GroupBody, template: Pointwise) -> ScheduleParams {
    let extents = sum.tile_extents();
    let axes: Vec<usize> = (0..extents.len()).collect();
    let tile = fill(&extents, &axes, template.block_size().threads() * template.per_thread);
    ScheduleParams { template: Template::Pointwise(template), tile }
}

/// A partition with every split group as two groups, and the program and layouts with their temporary tensors.
#[derive(Clone, Debug)]
pub struct Expanded {
    /// The program, its statements left out: groups hold what is computed.
    pub program: TensorProgram,
    /// Where its tensors live.
    pub layouts: Arena<TensorId, Layout>,
    /// The groups, each a kernel.
    pub partition: Partition,
    /// Per kernel, the position of its group before.
    pub origins: Vec<usize>,
    /// The temporary tensors: parts of sums.
    pub parts: BTreeSet<TensorId>,
}

/// Both kernels of a contraction in parts, `parts` between them; `None` in one part.
pub fn split_kernel(kernel: &Kernel, parts: TensorId) -> Option<SplitKernels> {
    let count = kernel.parts();
    if count > 1 { split(kernel.body(), count, parts)?.kernels(kernel) } else { None }
}

/// A contraction's kernel in twice as many parts, `parts` between its bodies. `None` where it has as many
/// as there may be, or no reduced axis divides into parts of a worthwhile length.
pub fn in_twice_the_parts(kernel: &Kernel, parts: TensorId) -> Option<Kernel> {
    let Template::Contraction(shape) = *kernel.template() else { return None };
    let count = SearchTuning::DEFAULT.partition.splits.into_iter().find(|count| *count == 2 * shape.split_k)?;
    let template = Template::Contraction(ContractionShape { split_k: count, ..shape });
    let is_long = reduced_points(kernel.body()) >= SearchTuning::DEFAULT.partition.shortest_part * count;
    (is_long && split(kernel.body(), count, parts).is_some()).then(|| kernel.with_template(template))
}

/// Makes two groups of every split group, which exchange parts in this way.
pub fn expand(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    edge: EdgeKind,
) -> Expanded {
    let mut layouts = layouts.clone();
    let mut program = TensorProgram {
        tensors: program.tensors.clone(),
        statements: Arena::new(),
        inputs: program.inputs.clone(),
        outputs: program.outputs.clone(),
        names: program.names.clone(),
    };
    let mut groups = Vec::with_capacity(partition.groups.len());
    let mut origins = Vec::with_capacity(partition.groups.len());
    let mut temporary = BTreeSet::new();
    for (position, group) in partition.groups.iter().enumerate() {
        origins.push(position);
        let tensor = TensorId::from_index(program.tensors.len());
        let Some(SplitKernels { bodies, parts, sum }) = split_kernel(&group.kernel, tensor) else {
            groups.push(FusionGroup { kernel: group.kernel.in_one_part(), ..group.clone() });
            continue;
        };
        let of_output = program.tensors[group.kernel.body().outputs[0]].source.clone();
        let strides = bodies.ty.shape.strides().to_vec();
        program.tensors.push(warpweave_graph::program::TensorDefinition { ty: bodies.ty, source: of_output });
        layouts.push(Layout { root: tensor, offset: 0, strides });
        temporary.insert(tensor);
        origins.push(position);
        groups.push(FusionGroup { kernel: parts, ..group.clone() });
        let sum = match edge {
            EdgeKind::Counter => sum,
            EdgeKind::Tagged => sum.with_params(pointwise(&bodies.sum, Pointwise::strided(1))),
        };
        groups.push(FusionGroup { kernel: sum, ..group.clone() });
    }
    Expanded { program, layouts, partition: Partition { groups }, origins, parts: temporary }
}

/// Whether a reduction is worth splitting into `count` parts: the whole leaves most of the device idle, and no part is short.
pub(crate) fn may_split(body: &GroupBody, tiles: usize, count: usize, units: usize) -> bool {
    tiles * count <= 2 * units && reduced_points(body) >= SearchTuning::DEFAULT.partition.shortest_part * count
}

/// Points of a body's first reduction.
pub(crate) fn reduced_points(body: &GroupBody) -> usize {
    let lead = &body.stages[0].expr;
    lead.reduced().map(|axis| lead.axes[axis].extent).product()
}
