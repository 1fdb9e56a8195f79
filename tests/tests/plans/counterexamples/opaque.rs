//! Plans whose procedures are changed.

use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::arena::Id;
use warpweave::graph::expr::{AxisId, Index, Reducer};
use warpweave::graph::procedure::Procedure;
use warpweave::graph::procedure::sort::Direction;
use warpweave::plan::kernel::ScheduleParams;
use warpweave::plan::plan::{ExecutionPlan, ROperator, Segment};
use warpweave::plan::template::Template;
use warpweave::plan::template::pointwise::Pointwise;
use warpweave::plan::template::row::RowThreads;
use warpweave::plan::verify::verify;
use warpweave_tests::pipeline::{self, plan_under};
use warpweave_tests::samples;

/// Counter-examples for what the verifier says of procedures.
pub fn cases() -> Vec<(&'static str, ExecutionPlan)> {
    let plan = || plan_under(&samples::procedures(), FusionLevel::Register, &pipeline::options(4)).1.plan;
    verify(plan()).unwrap_or_else(|violations| panic!("the plan is right: {violations:?}"));
    let changed = |of: fn(&ROperator) -> bool, change: fn(&mut ROperator)| {
        let mut plan = plan();
        let Some(Segment::Persistent(segment)) = plan.segments.first_mut() else { unreachable!("one segment") };
        let operators = &mut segment.operators;
        let id = operators.iter().find(|(_, operator)| of(operator)).map(|(id, _)| id).expect("there is one");
        change(&mut operators[id]);
        plan
    };
    let is_sort: fn(&ROperator) -> bool =
        |operator| matches!(operator.kernel.body().procedure(), Some(Procedure::Sort(_)));
    let is_plain: fn(&ROperator) -> bool = |operator| operator.kernel.body().procedure().is_none();
    vec![
        ("Malformed", changed(is_sort, |operator| with_template(operator, Template::Pointwise(Pointwise::strided(1))))),
        ("Malformed", changed(is_sort, |operator| with_template(operator, Template::Row(RowThreads::Block)))),
        (
            "Malformed",
            changed(is_plain, |operator| {
                let tile = vec![1; operator.kernel.tile().len()];
                operator.kernel = operator.kernel.with_params(ScheduleParams { template: Template::Opaque, tile });
            }),
        ),
        ("Malformed", changed(is_sort, |operator| stage(operator).procedure = None)),
        (
            "Malformed",
            changed(is_sort, |operator| {
                stage(operator).procedure = Some(Procedure::Suppress { most: 1 });
            }),
        ),
        ("Malformed", changed(is_sort, |operator| stage(operator).expr.reducer = Some(Reducer::Sum))),
        (
            "Malformed",
            changed(is_sort, |operator| {
                let reads = &mut stage(operator).expr.reads;
                let read = reads.values_mut().next().expect("a key is read");
                read.index[1] = Index::axis(AxisId::from_index(1));
            }),
        ),
        (
            "Malformed",
            changed(is_sort, |operator| {
                let each = AxisId::from_index(2);
                stage(operator).expr.axes[each].extent -= 1;
            }),
        ),
        (
            "Malformed",
            changed(is_plain, |operator| {
                stage(operator).procedure = Some(Procedure::Sort(Direction::Ascending));
            }),
        ),
        (
            "Tile",
            changed(is_sort, |operator| {
                let mut params = operator.kernel.params().clone();
                params.tile[0] = 2;
                operator.kernel = operator.kernel.with_params(params);
            }),
        ),
    ]
}

fn with_template(operator: &mut ROperator, template: Template) {
    operator.kernel = operator.kernel.with_template(template);
}

fn stage(operator: &mut ROperator) -> &mut warpweave::plan::body::Stage {
    &mut operator.kernel.body_mut().stages[0]
}
