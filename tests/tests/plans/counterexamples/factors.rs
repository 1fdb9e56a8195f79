//! Plans in which contractions poll their factors, each wrong in one way.

use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::ElementType;
use warpweave::graph::expr::{BinaryOp, Scalar};
use warpweave::plan::plan::{ExecutionPlan, ROperator, Segment};
use warpweave::plan::template::contraction::operand_staging::{stages_operands, without_staged_operands};
use warpweave::plan::verify::verify;
use warpweave_tests::pipeline::{self, plan_under};
use warpweave_tests::samples;

/// Units under which the sample's factors are worth polling.
pub const UNITS: usize = 132;

/// The counter-examples; the unchanged plan is right.
pub fn cases() -> Vec<(&'static str, ExecutionPlan)> {
    let (_, planned) = plan_under(&samples::windows(), FusionLevel::Register, &pipeline::options(UNITS));
    let right = planned.plan;
    verify(right.clone()).unwrap_or_else(|violations| panic!("the plan is right: {violations:?}"));
    let changed = |change: &dyn Fn(&mut ROperator)| {
        let mut plan = right.clone();
        let [Segment::Persistent(segment)] = plan.segments.as_mut_slice() else {
            unreachable!("the plan has one persistent segment")
        };
        let mut polling = segment.operators.values_mut().filter(|operator| stages_operands(&operator.kernel));
        change(polling.next().expect("a factor is polled"));
        plan
    };
    let directly = |operator: &mut ROperator| operator.kernel = without_staged_operands(&operator.kernel);
    let computed = |operator: &mut ROperator| {
        let copy = &mut operator.kernel.body_mut().staged[0].expr;
        copy.body = copy.body.clone().binary(BinaryOp::Add, Scalar::literal(ElementType::F32, 1.0));
    };
    vec![
        // A poll in every step of a reduction.
        ("CannotExchange", changed(&directly)),
        // A box is filled with what is read, and with nothing else.
        ("Tile", changed(&computed)),
    ]
}
