//! Barriers and other operations of a whole block or warp stand where all of it arrives.

use warpweave_graph::arena::Id;

use crate::kernel_ir::effects::{Control, Outcome, Scope, Uniform, UniformPart};
use crate::kernel_ir::{BinaryOp, Block, Builtin, Constant, Expression, Function, Place, Statement, WARP_SIZE};

use super::problem::{Problem, Report};

pub(super) fn check(kernel: &Function, report: &mut Report<'_>) {
    let mut flow = Flow {
        locals: vec![Level::Block; kernel.locals.len()],
        arrays: vec![Level::Block; kernel.arrays.len()],
        path: Vec::new(),
        changed: true,
        report: None,
    };
    while flow.changed {
        flow.changed = false;
        flow.block(&kernel.body, Level::Block);
    }
    flow.report = Some(report);
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
struct Flow<'a, 'r> {
    locals: Vec<Level>,
    arrays: Vec<Level>,
    path: Vec<u32>,
    changed: bool,
    report: Option<&'a mut Report<'r>>,
}

impl Flow<'_, '_> {
    fn block(&mut self, block: &Block, context: Level) {
        for (index, statement) in block.iter().enumerate() {
            self.path.push(index as u32);
            self.statement(statement, context);
            self.path.pop();
        }
    }

    fn statement(&mut self, statement: &Statement, context: Level) {
        let (parts, effects) = (statement.parts(), statement.effects());
        let reads = parts.reads.iter().map(|read| self.level(read.expression)).max().unwrap_or(Level::Block);
        if let Some(Uniform { scope, part, what }) = effects.uniform {
            let level = match part {
                UniformPart::ControlFlow => context,
                UniformPart::Reads => reads,
                UniformPart::All => reads.max(context),
            };
            self.need(level, scope, what);
        }
        if let Some(written) = parts.place {
            let level = match effects.outcome {
                // Without a race, all threads that come to the statement read the same of one element.
                Outcome::Values | Outcome::OfShared => reads.max(context),
                Outcome::OfOneLane => reads.min(Level::Warp).max(context),
                // What other threads may change is taken as different in each thread.
                Outcome::OfThread => Level::Thread,
                Outcome::Common => context,
            };
            self.write(written.place, level);
        }
        let inside = match effects.control {
            Control::Branch => context.max(reads),
            Control::Count { variable, .. } => {
                self.write(&Place::Local(variable), context.max(reads));
                context.max(reads)
            }
            Control::Next
            | Control::Repeat
            | Control::Leave
            | Control::Select
            | Control::Call { .. }
            | Control::Dispatch => context,
        };
        for (number, block) in parts.blocks.into_iter().enumerate() {
            self.path.push(number as u32);
            self.block(block, inside);
            self.path.pop();
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
            && let Some(report) = &mut self.report
        {
            report.add(&self.path, Problem::Divergent { what, scope });
        }
    }
}
