//! Plans whose parts of sums carry their own validity and take one another's bytes, each wrong in one way.

use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::ElementType;
use warpweave::graph::expr::{BinaryOp, Scalar, UnaryOp};
use warpweave::graph::program::TensorId;
use warpweave::plan::body::GroupBody;
use warpweave::plan::plan::{
    BUFFER_ALIGNMENT, Buffer, EdgeKind, ExecutionPlan, MemoryPlan, PersistentSegment, Segment, TAGS,
};
use warpweave::plan::verify::verify;
use warpweave_tests::pipeline::{self, plan_under};
use warpweave_tests::samples;

/// The counter-examples; the unchanged plan is right.
pub fn cases() -> Vec<(&'static str, ExecutionPlan)> {
    let (_, planned) = plan_under(&samples::products_in_turn(6), FusionLevel::Register, &pipeline::options(40));
    let right = planned.plan;
    verify(right.clone()).unwrap_or_else(|violations| panic!("the plan is right: {violations:?}"));
    let changed = |change: &dyn Fn(&mut ExecutionPlan)| {
        let mut plan = right.clone();
        change(&mut plan);
        plan
    };
    let (earlier, later) = shared(&right.memory);
    let (first, last) = first_sum_and_last_parts(&right);
    let beside = |plan: &mut ExecutionPlan| share_a_place(&mut plan.memory, first, last);
    verify(changed(&beside)).unwrap_or_else(|violations| panic!("sums are never taken for tags: {violations:?}"));
    let parts = |body: &GroupBody| {
        let is_parts = |tensor: &TensorId| right.memory.tensors[*tensor].edge == EdgeKind::Tagged;
        body.staged.is_empty() && body.operands.iter().any(is_parts)
    };
    vec![
        // What had the bytes before would be taken for what has them now.
        ("Alias", changed(&|plan| plan.memory.tensors[later].tag = plan.memory.tensors[earlier].tag)),
        ("Alias", changed(&|plan| plan.memory.tensors[earlier].tag = plan.memory.tensors[later].tag + 1)),
        ("Tagged", changed(&|plan| plan.memory.tensors[later].tag = TAGS)),
        // Bits that a function puts together might be those of a tag.
        (
            "Alias",
            changed(&|plan| {
                beside(plan);
                change_bodies(plan, &|body| body.outputs.contains(&first), &|body| {
                    body.stages[0].expr.epilogue = Some(Scalar::Reduced.unary(UnaryOp::Exp));
                });
            }),
        ),
        // No reader is sure to poll every part, so the completion of their writers is not implied.
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

/// A tagged value, and another that has some of its bytes later.
fn shared(memory: &MemoryPlan) -> (TensorId, TensorId) {
    let tagged = || {
        let tagged_values = memory.tensors.iter().filter(|(_, tensor)| tensor.edge == EdgeKind::Tagged);
        tagged_values.filter_map(|(id, tensor)| Some((id, tensor.buffer?, tensor.tag)))
    };
    let after = |(earlier, own, tag): (TensorId, Buffer, u32)| {
        let mut later = tagged().filter(|(_, buffer, other)| *other > tag && own.overlaps(buffer));
        later.next().map(|(later, ..)| (earlier, later))
    };
    tagged().find_map(after).expect("bytes of parts are used again")
}

/// What the first sum of parts writes that is not polled itself, and the parts of the last.
fn first_sum_and_last_parts(plan: &ExecutionPlan) -> (TensorId, TensorId) {
    let carries_tag = |tensor: &&TensorId| plan.memory.tensors[**tensor].edge == EdgeKind::Tagged;
    let mut operators = plan.persistent().operators.values();
    let sum = operators.find(|operator| {
        let [operands, outputs] = [&operator.kernel.body().operands, &operator.kernel.body().outputs];
        operands.iter().any(|operand| carries_tag(&operand)) && !outputs.iter().any(|output| carries_tag(&output))
    });
    let parts = plan.memory.tensors.ids().rfind(|id| carries_tag(&id));
    (sum.expect("there is a sum").kernel.body().outputs[0], parts.expect("there are parts"))
}

/// Moves two tensors to the same new bytes.
fn share_a_place(memory: &mut MemoryPlan, one: TensorId, other: TensorId) {
    let offset = memory.arena_bytes.next_multiple_of(BUFFER_ALIGNMENT);
    for tensor in [one, other] {
        let buffer = memory.tensors[tensor].buffer.as_mut().expect("it has one");
        buffer.offset = offset;
        memory.arena_bytes = memory.arena_bytes.max(offset + buffer.bytes);
    }
}

fn change_bodies(plan: &mut ExecutionPlan, is_meant: &dyn Fn(&GroupBody) -> bool, change: &dyn Fn(&mut GroupBody)) {
    let [Segment::Persistent(PersistentSegment { operators, .. })] = plan.segments.as_mut_slice() else {
        unreachable!("the plan has one persistent segment")
    };
    let kernels = operators.values_mut().map(|operator| &mut operator.kernel);
    kernels.filter(|kernel| is_meant(kernel.body())).for_each(|kernel| change(kernel.body_mut()));
}
