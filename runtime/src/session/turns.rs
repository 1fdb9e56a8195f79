//! Launches that take turns.

use warpweave_plan::plan::ExecutionPlan;

use crate::bundle::TargetPlan;

/// The plan of a session, and that of every other launch where states and what they become change places between launches.
pub(crate) struct Turns {
    /// In turn, from that of the first launch on.
    plans: Vec<TargetPlan>,
    turn: usize,
}

impl Turns {
    /// Those of a plan, which is that of the first launch.
    pub(crate) fn new(plan: TargetPlan) -> Self {
        let exchanged = plan.exchanged();
        Self { plans: [plan].into_iter().chain(exchanged).collect(), turn: 0 }
    }

    /// Every plan, in turn.
    pub(crate) fn all(&self) -> &[TargetPlan] {
        &self.plans
    }

    /// Which of them the next launch follows.
    pub(crate) fn turn(&self) -> usize {
        self.turn
    }

    /// The one that the next launch follows.
    pub(crate) fn target_plan(&self) -> &TargetPlan {
        &self.plans[self.turn]
    }

    /// The same, without its operands.
    pub(crate) fn plan(&self) -> &ExecutionPlan {
        self.target_plan().plan.plan()
    }

    /// Makes what the last launch has left of the exchanged states what the next one finds.
    pub(crate) fn advance(&mut self) {
        self.turn = (self.turn + 1) % self.plans.len();
    }
}
