//! Operands out of loops: each is loaded once before the loop that uses it, instead of at every trip. Operands that are
//! used between a kernel's own waits and its first loop are loaded before the waits.
//!
//! A compiler of device text does not do this by itself: most uses stand under conditions, and a load may not be moved
//! before its condition.

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel_ir::expression::{Expression, ScalarType};
use crate::kernel_ir::ids::LocalId;
use crate::kernel_ir::program::Function;
use crate::kernel_ir::rewrite::rewrite_expressions;
use crate::kernel_ir::statement::{Block, Place, Statement};

/// Most operands that are kept in registers through a loop; a loop that uses more keeps those of its inner loops.
const MOST_RESIDENT: usize = 24;

/// The kernel with the operands of its loops loaded before them, and those that it uses right after its waits before these.
pub(crate) fn hoist_operands(mut kernel: Function) -> Function {
    let mut body = std::mem::take(&mut kernel.body);
    hoist(&mut body, &mut kernel);
    hoist_before_waits(&mut body, &mut kernel);
    kernel.body = body;
    kernel
}

fn hoist_before_waits(body: &mut Block, kernel: &mut Function) {
    let Some(waits) = body.iter().position(|statement| matches!(statement, Statement::Await { .. })) else { return };
    let is_loop = |statement: &Statement| matches!(statement, Statement::For { unroll: false, .. });
    let after = body.split_off(waits + 1);
    let end = after.iter().position(is_loop).unwrap_or(after.len());
    let mut first = after;
    let rest = first.split_off(end);
    let used = operands(&mut first);
    if used.len() <= MOST_RESIDENT {
        let loads = keep(used, &mut first, kernel);
        body.splice(waits..waits, loads);
    }
    body.append(&mut first);
    body.extend(rest);
}

/// Lets a block use variables in the place of operands; what loads them.
fn keep(used: BTreeSet<u32>, block: &mut Block, kernel: &mut Function) -> Block {
    let kept: BTreeMap<u32, LocalId> =
        used.into_iter().map(|operand| (operand, kernel.locals.push(ScalarType::I32))).collect();
    rewrite_expressions(block, &mut |expression| {
        if let Expression::Operand(operand) = expression {
            *expression = Expression::Local(kept[operand]);
        }
    });
    let load = |(&operand, &local): (&u32, &LocalId)| Statement::Assign {
        place: Place::Local(local),
        value: Expression::Operand(operand),
    };
    kept.iter().map(load).collect()
}

fn hoist(block: &mut Block, kernel: &mut Function) {
    let mut found = Block::with_capacity(block.len());
    for mut statement in std::mem::take(block) {
        match &mut statement {
            Statement::For { unroll: false, body, .. } => {
                let used = operands(body);
                if used.len() <= MOST_RESIDENT {
                    found.extend(keep(used, body, kernel));
                } else {
                    hoist(body, kernel);
                }
            }
            Statement::Steps { body, .. } => hoist_steps(body, kernel),
            other => other.blocks_mut().into_iter().for_each(|inner| hoist(inner, kernel)),
        }
        found.push(statement);
    }
    *block = found;
}

/// The operands of a step are loaded at its beginning.
fn hoist_steps(body: &mut Block, kernel: &mut Function) {
    let used = operands(body);
    if used.len() > MOST_RESIDENT {
        return hoist(body, kernel);
    }
    let loads = keep(used, body, kernel);
    body.splice(0..0, loads);
}

/// Whether the steps of a kernel load all of their operands at their beginning: others are those of the call.
pub(crate) fn loads_step_operands(kernel: &Function) -> bool {
    kernel.body.iter().all(|statement| {
        let Statement::Steps { body, .. } = statement else { return true };
        let is_load =
            |statement: &&Statement| matches!(statement, Statement::Assign { value: Expression::Operand(_), .. });
        let mut rest: Block = body.iter().skip_while(is_load).cloned().collect();
        let mut found = false;
        rewrite_expressions(&mut rest, &mut |expression| {
            found |= matches!(expression, Expression::Operand(_) | Expression::FastDivide(..));
        });
        !found
    })
}

/// The operands that a block's expressions name.
fn operands(block: &mut Block) -> BTreeSet<u32> {
    let mut used = BTreeSet::new();
    rewrite_expressions(block, &mut |expression| {
        if let Expression::Operand(operand) = expression {
            used.insert(*operand);
        }
    });
    used
}
