//! Barriers and other operations of a whole block or warp stand where all of it arrives.

use warpweave_graph::arena::Id;

use crate::kernel_ir::{
    BinaryOp, Block, Body, Builtin, Constant, Expression, Kernel, Location, Place, ShuffleMode, Statement, WARP_SIZE,
};

use super::{Problem, Scope, Violation};

pub(super) fn check(body: Body, kernel: &Kernel, violations: &mut Vec<Violation>) {
    let mut flow = Flow {
        body,
        locals: vec![Level::Block; kernel.locals.len()],
        arrays: vec![Level::Block; kernel.arrays.len()],
        path: Vec::new(),
        changed: true,
        violations: None,
    };
    while flow.changed {
        flow.changed = false;
        flow.block(&kernel.body, Level::Block);
    }
    flow.violations = Some(violations);
    flow.block(&kernel.body, Level::Block);
}

/// Over which threads a value is the same, or control flow arrives together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Level {
    Block,
    Warp,
    Thread,
}

/// One level for each variable in the whole body, raised until nothing changes; then the checks.
struct Flow<'a> {
    body: Body,
    locals: Vec<Level>,
    arrays: Vec<Level>,
    path: Vec<u32>,
    changed: bool,
    violations: Option<&'a mut Vec<Violation>>,
}

impl Flow<'_> {
    fn block(&mut self, block: &Block, context: Level) {
        for (index, statement) in block.iter().enumerate() {
            self.path.push(index as u32);
            self.statement(statement, context);
            self.path.pop();
        }
    }

    fn inner(&mut self, number: usize, block: &Block, context: Level) {
        self.path.push(number as u32);
        self.block(block, context);
        self.path.pop();
    }

    fn statement(&mut self, statement: &Statement, context: Level) {
        match statement {
            Statement::Assign { place, value } => {
                let level = self.level(value);
                self.write(place, level.max(context));
            }
            // What other threads may change is taken as different in each thread.
            Statement::LoadGlobal { place, .. }
            | Statement::LoadSentinel { place, .. }
            | Statement::CheckIndex { place, .. }
            | Statement::LoadShared { place, .. }
            | Statement::LoadControl { place, .. }
            | Statement::ReadSpecial { place, .. }
            | Statement::AddControl { place, .. }
            | Statement::Wait { place, .. } => self.write(place, Level::Thread),
            Statement::StoreGlobal { .. }
            | Statement::StoreSentinel { .. }
            | Statement::StoreShared { .. }
            | Statement::AsyncCopy { .. }
            | Statement::AsyncCommit
            | Statement::AsyncWait { .. }
            | Statement::StoreControl { .. }
            | Statement::Signal { .. }
            | Statement::DependencyWait
            | Statement::DependentLaunch => {}
            Statement::Shuffle { place, value, mode } => {
                self.need(context, Scope::Warp, "a shuffle's control flow");
                let level = match mode {
                    ShuffleMode::Xor(_) => self.level(value),
                    ShuffleMode::Broadcast(_) => self.level(value).min(Level::Warp),
                };
                self.write(place, level.max(context));
            }
            Statement::For { variable, extent, body, .. } => {
                let context = context.max(self.level(extent));
                self.write(&Place::Local(*variable), context);
                self.inner(0, body, context);
            }
            Statement::If { condition, then, otherwise } => {
                let context = context.max(self.level(condition));
                self.inner(0, then, context);
                self.inner(1, otherwise, context);
            }
            Statement::Loop { body } => {
                self.need(context, Scope::Block, "a loop's control flow");
                self.inner(0, body, context);
            }
            Statement::Break => self.need(context, Scope::Block, "a break's control flow"),
            Statement::Switch { selector, cases } => {
                self.need(context.max(self.level(selector)), Scope::Block, "a switch");
                for (number, case) in cases.iter().enumerate() {
                    self.inner(number, case, context);
                }
            }
            Statement::Call { waits, .. } => {
                let level = statement.expressions().into_iter().map(|value| self.level(value)).max();
                self.need(level.unwrap_or(Level::Block).max(context), Scope::Block, "a call");
                if let Some(waits) = waits {
                    self.write(&waits.stopped, context);
                }
            }
            Statement::Await { .. } => self.need(context, Scope::Block, "an await's control flow"),
            Statement::BlockBarrier => self.need(context, Scope::Block, "a barrier's control flow"),
            Statement::BlockBarrierOr { place, .. } => {
                self.need(context, Scope::Block, "a barrier's control flow");
                self.write(place, context);
            }
            Statement::WarpBarrier => self.need(context, Scope::Warp, "a warp barrier's control flow"),
            Statement::LoadTable { place, index, .. } => {
                let level = self.level(index);
                self.need(level, Scope::Block, "the index of a table");
                self.write(place, level.max(context));
            }
        }
    }

    fn level(&self, expression: &Expression) -> Level {
        match expression {
            Expression::Local(local) => self.locals[local.index()],
            Expression::Element(array, index) => self.arrays[array.index()].max(self.level(index)),
            Expression::Builtin(Builtin::Thread) => Level::Thread,
            Expression::Binary(op, x, y) if self.is_thread(x) => match (op, &**y) {
                (BinaryOp::ShiftRight, Expression::Constant(Constant::I32(5..32))) => Level::Warp,
                (BinaryOp::Divide | BinaryOp::Less, Expression::Constant(Constant::I32(width)))
                    if width % WARP_SIZE as i32 == 0 =>
                {
                    Level::Warp
                }
                _ => Level::Thread,
            },
            Expression::Constant(_)
            | Expression::Builtin(Builtin::Block | Builtin::Grid | Builtin::FirstOperand)
            | Expression::Operand(_)
            | Expression::Tile
            | Expression::Unary(..)
            | Expression::Binary(..)
            | Expression::FusedMultiplyAdd(..)
            | Expression::Select(..)
            | Expression::Cast(..)
            | Expression::FastDivide(..) => {
                expression.children().into_iter().map(|child| self.level(child)).max().unwrap_or(Level::Block)
            }
        }
    }

    fn is_thread(&self, expression: &Expression) -> bool {
        matches!(expression, Expression::Builtin(Builtin::Thread))
    }

    fn write(&mut self, place: &Place, level: Level) {
        let known = match place {
            Place::Local(local) => &mut self.locals[local.index()],
            Place::Element(array, _) => &mut self.arrays[array.index()],
        };
        if level > *known {
            *known = level;
            self.changed = true;
        }
    }

    fn need(&mut self, level: Level, scope: Scope, what: &'static str) {
        let allowed = match scope {
            Scope::Warp => Level::Warp,
            Scope::Block => Level::Block,
        };
        if level > allowed
            && let Some(violations) = &mut self.violations
        {
            let location = Location { body: self.body, path: self.path.clone() };
            violations.push(Violation { location, problem: Problem::Divergent { what, scope } });
        }
    }
}
