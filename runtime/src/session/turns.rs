//! Launches that take turns.

use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::tables::Tables;

use crate::bundle::TargetPlan;

/// The plan of a session, and that of every other launch where states and what they become change places between launches.
pub(crate) struct Turns {
    /// From that of the first launch on.
    turns: Vec<Turn>,
    current: usize,
}

/// What some of the launches follow.
pub(crate) struct Turn {
    pub(crate) plan: TargetPlan,
    pub(crate) tables: Tables,
}

impl Turns {
    /// Those of a plan, which is that of the first launch.
    pub(crate) fn new(plan: TargetPlan) -> Self {
        let exchanged = plan.exchanged();
        let turn = |plan: TargetPlan| Turn { tables: plan.tables(), plan };
        Self { turns: [plan].into_iter().chain(exchanged).map(turn).collect(), current: 0 }
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Turn] {
        &self.turns
    }

    /// The number of the one that the next launch follows.
    pub(crate) fn number(&self) -> usize {
        self.current
    }

    /// What the next launch follows.
    pub(crate) fn turn(&self) -> &Turn {
        &self.turns[self.current]
    }

    /// The plan that the next launch follows.
    pub(crate) fn plan(&self) -> &ExecutionPlan {
        self.turn().plan.plan.plan()
    }

    /// Makes what the last launch has left of the exchanged states what the next one finds.
    pub(crate) fn advance(&mut self) {
        self.current = (self.current + 1) % self.turns.len();
    }
}
