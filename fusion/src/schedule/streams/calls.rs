//! Calls that run several rTasks one after another. What a call takes once is spread over as many rTasks as its stream gives it.

use rustc_hash::FxHashMap;
use warpweave_graph::arena::Arena;
use warpweave_graph::program::TensorId;
use warpweave_plan::kernel::ScheduleParams;
use warpweave_plan::plan::{EdgeKind, Instruction, MemoryPlan, OperatorId, ROperator, RTask};
use warpweave_plan::template::weight_stationary::reads::resident_reads;

use crate::cost::KernelCost;
use crate::template::pricing::CALL_STEPS;

/// What rOperators have calls that may run several rTasks.
pub(crate) struct Calls(Arena<OperatorId, Option<Call>>);

#[derive(Clone, Copy)]
struct Call {
    /// Those of one kind may follow one another in a call: the same constants stay on chip under the same parameters, and
    /// the same of their values carry marks. Steps of a recurrence differ in places that are operands of one kernel.
    kind: usize,
    /// Microseconds that a call takes once.
    microseconds: f64,
}

impl Calls {
    /// The calls of rOperators that exchange values through `memory`, under a cost model.
    pub(crate) fn of(operators: &Arena<OperatorId, ROperator>, memory: &MemoryPlan, cost: &dyn KernelCost) -> Self {
        let mut kinds: FxHashMap<(&ScheduleParams, Vec<TensorId>, Vec<bool>), Call> = FxHashMap::default();
        let call = |operator| {
            let ROperator { kernel, .. }: &ROperator = operator;
            let body = kernel.body();
            if !kernel.rules().holds_residents() {
                return None;
            }
            let kept = resident_reads(body).iter().map(|read| body.operands[read.operand]).collect();
            let kind = kinds.len();
            let new = || Call { kind, microseconds: cost.call_microseconds(kernel) };
            let marked = body
                .operands
                .iter()
                .chain(&body.outputs)
                .map(|tensor| memory.tensors[*tensor].edge == EdgeKind::Tagged);
            Some(*kinds.entry((kernel.params(), kept, marked.collect())).or_insert_with(new))
        };
        Self(operators.values().map(call).collect())
    }

    /// Adds to rOperators' times what the beginnings of their calls in these streams take beyond what estimates assume.
    pub(crate) fn add_beginnings(&self, operators: &mut Arena<OperatorId, ROperator>, streams: &[Vec<Instruction>]) {
        let mut shares: Arena<OperatorId, f64> = operators.ids().map(|_| 0.0).collect();
        for stream in streams {
            for call in self.calls(stream) {
                call.iter().for_each(|task| shares[task.operator] += 1.0 / call.len() as f64);
            }
        }
        for (operator, (call, calls)) in operators.values_mut().zip(self.0.values().zip(shares.values())) {
            if let Some(Call { microseconds, .. }) = call {
                let share = calls / f64::from(operator.tasks());
                operator.task_microseconds += microseconds * (share - 1.0 / CALL_STEPS);
            }
        }
    }

    /// The rTasks of a stream that have calls, call by call: nothing but signals stands between those of one.
    fn calls(&self, stream: &[Instruction]) -> Vec<Vec<RTask>> {
        let mut found: Vec<Vec<RTask>> = Vec::new();
        let mut open = None;
        for instruction in stream {
            match instruction {
                Instruction::Run(task) => {
                    let kind = self.0[task.operator].map(|call| (call.kind, task.tile));
                    match found.last_mut() {
                        Some(call) if kind.is_some() && kind == open => call.push(*task),
                        _ if kind.is_some() => found.push(vec![*task]),
                        _ => {}
                    }
                    open = kind;
                }
                Instruction::Signal(_) => {}
                Instruction::Hold(_) | Instruction::Prefetch(_) | Instruction::Wait { .. } => open = None,
            }
        }
        found
    }
}
