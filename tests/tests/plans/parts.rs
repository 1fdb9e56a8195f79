//! Plans whose parts of sums carry their own validity and take one another's bytes, each wrong in one way.

use warpweave::fusion::partition::{FusionLevel, GroupBody};
use warpweave::fusion::schedule::plan::{EdgeKind, ExecutionPlan, MARKS, MemoryPlan, PersistentSegment, Segment};
use warpweave::fusion::schedule::{PlanOptions, verify};
use warpweave::graph::ElementType;
use warpweave::graph::expr::{BinaryOp, Scalar, UnaryOp};
use warpweave::graph::program::TensorId;
use warpweave_tests::pipeline::plan_under;
use warpweave_tests::samples;

/// The counter-examples; the unchanged plan is right.
pub fn cases() -> Vec<(&'static str, ExecutionPlan)> {
    let (_, planned) = plan_under(&samples::long_products(), FusionLevel::Register, &PlanOptions::new(5));
    let right = planned.plan;
    verify(right.clone()).unwrap_or_else(|violations| panic!("the plan is right: {violations:?}"));
    let changed = |change: &dyn Fn(&mut ExecutionPlan)| {
        let mut plan = right.clone();
        change(&mut plan);
        plan
    };
    let (earlier, later) = shared(&right.memory, EdgeKind::Sentinel);
    let (_, beside) = shared(&right.memory, EdgeKind::Counter);
    let parts = |body: &GroupBody| {
        let is_parts = |tensor: &TensorId| right.memory.tensors[*tensor].edge == EdgeKind::Sentinel;
        body.operands.iter().any(is_parts)
    };
    vec![
        // What had the bytes before would be taken for what has them now.
        ("Alias", changed(&|plan| plan.memory.tensors[later].mark = plan.memory.tensors[earlier].mark)),
        ("Alias", changed(&|plan| plan.memory.tensors[earlier].mark = plan.memory.tensors[later].mark + 1)),
        ("Sentinel", changed(&|plan| plan.memory.tensors[later].mark = MARKS)),
        // Bits that a function puts together might be those of a mark.
        (
            "Alias",
            changed(&|plan| {
                change_bodies(plan, &|body| body.outputs.contains(&beside), &|body| {
                    body.stages[0].expr.epilogue = Some(Scalar::Reduced.unary(UnaryOp::Exp));
                });
            }),
        ),
        // Nobody is sure to poll every part, so nobody knows when those that compute them have ended.
        (
            "Alias",
            changed(&|plan| {
                change_bodies(plan, &parts, &|body| {
                    let expr = &mut body.stages[0].expr;
                    let sum = expr.body.clone().binary(BinaryOp::Add, Scalar::literal(ElementType::F32, 1.0));
                    expr.body = sum;
                });
            }),
        ),
    ]
}

/// A sentinel, and a tensor of this kind that has some of its bytes later.
fn shared(memory: &MemoryPlan, kind: EdgeKind) -> (TensorId, TensorId) {
    let placed = |edge: EdgeKind| {
        let of_kind =
            memory.tensors.iter().filter(move |(id, tensor)| tensor.edge == edge && tensor.layout.root == *id);
        of_kind.filter_map(|(id, tensor)| Some((id, tensor.buffer?, tensor.mark)))
    };
    for (sentinel, own, mark) in placed(EdgeKind::Sentinel) {
        let follows = |other: u32| kind == EdgeKind::Counter || other > mark;
        let found = placed(kind).find(|(id, buffer, other)| *id != sentinel && follows(*other) && own.overlaps(buffer));
        if let Some((other, ..)) = found {
            return (sentinel, other);
        }
    }
    panic!("no tensor by {kind:?} has bytes of a sentinel");
}

fn change_bodies(plan: &mut ExecutionPlan, is_meant: &dyn Fn(&GroupBody) -> bool, change: &dyn Fn(&mut GroupBody)) {
    let [Segment::Persistent(PersistentSegment { operators, .. })] = plan.segments.as_mut_slice() else {
        unreachable!("the plan has one persistent segment")
    };
    operators.values_mut().map(|operator| &mut operator.body).filter(|body| is_meant(body)).for_each(change);
}
