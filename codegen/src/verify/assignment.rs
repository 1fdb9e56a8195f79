//! Every variable is assigned before it is read, on every path.

use warpweave_graph::arena::Id;

use crate::kernel_ir::{Block, Body, Constant, Expression, Kernel, LocalId, Location, Place, Statement};

use super::{Problem, Violation};

pub(super) fn check(body: Body, kernel: &Kernel, violations: &mut Vec<Violation>) {
    let mut flow = Flow { body, path: Vec::new(), breaks: Vec::new(), violations };
    flow.block(&kernel.body, Some(vec![false; kernel.locals.len()]));
}

/// The variables that are assigned; `None` where control does not arrive.
type State = Option<Vec<bool>>;

struct Flow<'a> {
    body: Body,
    path: Vec<u32>,
    /// Per enclosing loop, what is assigned at all of its breaks so far.
    breaks: Vec<State>,
    violations: &'a mut Vec<Violation>,
}

impl Flow<'_> {
    fn block(&mut self, block: &Block, mut state: State) -> State {
        for (index, statement) in block.iter().enumerate() {
            self.path.push(index as u32);
            state = self.statement(statement, state);
            self.path.pop();
        }
        state
    }

    fn inner(&mut self, number: u32, block: &Block, state: State) -> State {
        self.path.push(number);
        let after = self.block(block, state);
        self.path.pop();
        after
    }

    fn statement(&mut self, statement: &Statement, state: State) -> State {
        let mut state = state?;
        for expression in statement.expressions() {
            self.reads(expression, &state);
        }
        if let Some(Place::Element(_, index)) = statement.place() {
            self.reads(index, &state);
        }
        match statement {
            Statement::If { then, otherwise, .. } => {
                let held = self.inner(0, then, Some(state.clone()));
                let other = self.inner(1, otherwise, Some(state));
                meet(held, other)
            }
            Statement::For { variable, extent, body, .. } => {
                let mut first = state.clone();
                first[variable.index()] = true;
                let after = self.inner(0, body, Some(first));
                let runs = matches!(extent, Expression::Constant(Constant::I32(1..)));
                let mut after = if runs { after } else { meet(after, Some(state)) };
                if let Some(after) = &mut after {
                    after[variable.index()] = false;
                }
                after
            }
            Statement::Loop { body } => {
                self.breaks.push(None);
                self.inner(0, body, Some(state));
                self.breaks.pop().flatten()
            }
            Statement::Break => {
                if let Some(at_breaks) = self.breaks.last_mut() {
                    *at_breaks = meet(at_breaks.take(), Some(state));
                }
                None
            }
            Statement::Switch { cases, .. } => {
                for (number, case) in cases.iter().enumerate() {
                    self.inner(number as u32, case, Some(state.clone()));
                }
                Some(state)
            }
            Statement::Assign { .. }
            | Statement::LoadGlobal { .. }
            | Statement::StoreGlobal { .. }
            | Statement::LoadSentinel { .. }
            | Statement::StoreSentinel { .. }
            | Statement::CheckIndex { .. }
            | Statement::LoadShared { .. }
            | Statement::StoreShared { .. }
            | Statement::AsyncCopy { .. }
            | Statement::AsyncCommit
            | Statement::AsyncWait { .. }
            | Statement::Shuffle { .. }
            | Statement::Call { .. }
            | Statement::Await { .. }
            | Statement::BlockBarrier
            | Statement::BlockBarrierOr { .. }
            | Statement::WarpBarrier
            | Statement::LoadTable { .. }
            | Statement::LoadControl { .. }
            | Statement::ReadSpecial { .. }
            | Statement::StoreControl { .. }
            | Statement::AddControl { .. }
            | Statement::Wait { .. }
            | Statement::Signal { .. }
            | Statement::DependencyWait
            | Statement::DependentLaunch => {
                if let Some(Place::Local(local)) = statement.place() {
                    state[local.index()] = true;
                }
                Some(state)
            }
        }
    }

    fn reads(&mut self, expression: &Expression, state: &[bool]) {
        if let Expression::Local(local) = expression
            && !state[local.index()]
        {
            self.report(*local);
        }
        for child in expression.children() {
            self.reads(child, state);
        }
    }

    fn report(&mut self, local: LocalId) {
        let location = Location { body: self.body, path: self.path.clone() };
        self.violations.push(Violation { location, problem: Problem::Unassigned(local) });
    }
}

fn meet(left: State, right: State) -> State {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.iter().zip(right).map(|(&left, right)| left && right).collect()),
        (Some(state), None) | (None, Some(state)) => Some(state),
        (None, None) => None,
    }
}
