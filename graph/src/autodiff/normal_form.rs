//! Programs in the form that is differentiated.

use super::points::Points;
use crate::arena::{Arena, Id};
use crate::expr::parts::with_used_reads;
use crate::expr::{Reducer, TensorExpr, merge_operands};
use crate::program::{Definition, Differentiable, Source, Statement, StatementId, TensorDefinition, Ties};

impl Differentiable {
    /// The same values with a statement of its own for each reduced value that a gradient depends on. Tensors keep their ids.
    pub fn with_reduced_values(&self) -> Self {
        let mut separated = Self { program: self.program.clone(), ties: Arena::new() };
        separated.program.statements = Arena::new();
        for (id, statement) in self.program.statements.iter() {
            let ties = self.ties[id];
            match &statement.definition {
                Definition::Compute(expr) if needs_reduced_value(expr, ties) => {
                    separated.separate(statement, expr, ties)
                }
                _ => separated.push(statement.clone(), ties),
            }
        }
        separated
    }

    fn push(&mut self, statement: Statement, ties: Ties) {
        let output = statement.output;
        let id = self.program.statements.push(statement);
        self.program.tensors[output].source = Source::Statement(id);
        self.ties.push(ties);
    }

    fn separate(&mut self, statement: &Statement, expr: &TensorExpr, ties: Ties) {
        let Some(epilogue) = &expr.epilogue else { return self.push(statement.clone(), ties) };
        let reduction = TensorExpr { epilogue: None, element: expr.body_element(), ..expr.clone() };
        let source = Source::Statement(StatementId::from_index(self.program.statements.len()));
        let reduced = self.program.tensors.push(TensorDefinition { ty: reduction.output(), source });
        let (reduction, operands) = merge_operands(&with_used_reads(&reduction), &statement.operands);
        let definition = Definition::Compute(reduction);
        self.push(Statement { definition, operands, output: reduced, ..statement.clone() }, ties);
        let points = Points::of_epilogue(expr, epilogue, ties);
        let operands = [&statement.operands[..], &[reduced]].concat();
        let (result, operands) = merge_operands(&points.expr, &operands);
        self.push(Statement { definition: Definition::Compute(result), operands, ..statement.clone() }, ties);
    }
}

/// Whether a gradient of the expression depends on the reduced value beside its epilogue.
fn needs_reduced_value(expr: &TensorExpr, ties: Ties) -> bool {
    let (Some(reducer), Some(epilogue)) = (expr.reducer, &expr.epilogue) else { return false };
    let points = Points::of_epilogue(expr, epilogue, ties);
    let output = expr.output();
    let reads_reduced = |gradient: TensorExpr| {
        let reduced = expr.operands.len();
        gradient.reads.values().any(|read| read.operand == reduced)
    };
    reducer != Reducer::Sum
        || points
            .variables()
            .into_iter()
            .any(|(read, _)| points.gradient([read; 2], &output, 1.0, None).is_some_and(reads_reduced))
}
