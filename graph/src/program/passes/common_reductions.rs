//! Reductions that are taken twice, as the gradient of a sum of two biases is.

use std::collections::HashMap;

use super::rewriting::rebuild::Rebuild;
use super::rewriting::uses::Uses;
use crate::expr::TensorExpr;
use crate::program::{Definition, Statement, TensorId, TensorProgram};

/// Takes equal reductions of equal operands once, and lets all readers read that one. Expressions without a reduction stay, since
/// computing them again is cheap. Outputs and the next values of states stay, too.
pub fn share_reductions(program: &TensorProgram) -> TensorProgram {
    let uses = Uses::of(program);
    let mut builder = Rebuild::new(program);
    let mut known: HashMap<(&TensorExpr, Vec<TensorId>), TensorId> = HashMap::new();
    for statement in program.statements.values() {
        let Some(expr) = reduction(statement).filter(|_| !uses.is_live_out(statement.output)) else {
            builder.keep(statement);
            continue;
        };
        let operands: Vec<TensorId> = statement.operands.iter().map(|&operand| builder.map(operand)).collect();
        match known.get(&(expr, operands.clone())) {
            Some(&equal) => builder.replace(statement.output, equal),
            None => _ = known.insert((expr, operands), builder.keep(statement)),
        }
    }
    builder.finish(program)
}

fn reduction(statement: &Statement) -> Option<&TensorExpr> {
    match &statement.definition {
        Definition::Compute(expr) => Some(expr).filter(|expr| expr.reducer.is_some()),
        Definition::Opaque(_) | Definition::Concat { .. } => None,
    }
}
