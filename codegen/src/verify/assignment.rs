//! Every variable is assigned before it is read, on every path.

use warpweave_graph::arena::Id;

use crate::kernel_ir::effects::Control;
use crate::kernel_ir::{Block, Expression, Function, Place, Statement};

use super::problem::{Problem, Report};

pub(super) fn check(kernel: &Function, report: &mut Report<'_>) {
    let mut flow = Flow { path: Vec::new(), breaks: Vec::new(), report };
    flow.block(&kernel.body, Some(vec![false; kernel.locals.len()]));
}

/// The variables that are assigned; `None` where control does not arrive.
type State = Option<Vec<bool>>;

struct Flow<'a, 'r> {
    path: Vec<u32>,
    /// Per enclosing loop, what is assigned at all of its breaks so far.
    breaks: Vec<State>,
    report: &'a mut Report<'r>,
}

impl Flow<'_, '_> {
    fn block(&mut self, block: &Block, mut state: State) -> State {
        for (index, statement) in block.iter().enumerate() {
            self.path.push(index as u32);
            state = self.statement(statement, state);
            self.path.pop();
        }
        state
    }

    fn inner(&mut self, number: usize, block: &Block, state: State) -> State {
        self.path.push(number as u32);
        let after = self.block(block, state);
        self.path.pop();
        after
    }

    fn statement(&mut self, statement: &Statement, state: State) -> State {
        let mut state = state?;
        let parts = statement.parts();
        for read in &parts.reads {
            self.reads(read.expression, &state);
        }
        match parts.place.map(|written| written.place) {
            Some(Place::Element(_, index)) => self.reads(index, &state),
            Some(Place::Local(local)) => state[local.index()] = true,
            None => {}
        }
        let blocks = parts.blocks.into_iter().enumerate();
        match statement.effects().control {
            Control::Next | Control::Call { .. } | Control::Dispatch => Some(state),
            Control::Branch => blocks.fold(None, |after, (number, block)| {
                let arm = self.inner(number, block, Some(state.clone()));
                meet(after, arm)
            }),
            Control::Count { variable, extent, .. } => {
                let mut first = state.clone();
                first[variable.index()] = true;
                let mut after = None;
                for (number, block) in blocks {
                    after = self.inner(number, block, Some(first.clone()));
                }
                let runs = extent.is_some_and(|extent| extent > 0);
                let mut after = if runs { after } else { meet(after, Some(state)) };
                if let Some(after) = &mut after {
                    after[variable.index()] = false;
                }
                after
            }
            Control::Repeat => {
                self.breaks.push(None);
                for (number, block) in blocks {
                    self.inner(number, block, Some(state.clone()));
                }
                self.breaks.pop().flatten()
            }
            Control::Leave => {
                if let Some(at_breaks) = self.breaks.last_mut() {
                    *at_breaks = meet(at_breaks.take(), Some(state));
                }
                None
            }
            Control::Select => {
                for (number, block) in blocks {
                    self.inner(number, block, Some(state.clone()));
                }
                Some(state)
            }
        }
    }

    fn reads(&mut self, expression: &Expression, state: &[bool]) {
        if let Expression::Local(local) = expression
            && !state[local.index()]
        {
            self.report.add(&self.path, Problem::Unassigned(*local));
        }
        for child in expression.children() {
            self.reads(child, state);
        }
    }
}

fn meet(left: State, right: State) -> State {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.iter().zip(right).map(|(&left, right)| left && right).collect()),
        (Some(state), None) | (None, Some(state)) => Some(state),
        (None, None) => None,
    }
}
