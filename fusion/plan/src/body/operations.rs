//! What a group computes, as a number of scalar operations.

use warpweave_graph::expr::{AxisKind, BinaryOp, Reducer, Scalar, TensorExpr};

use crate::body::{GroupBody, Stage};
use crate::template::opaque;

impl GroupBody {
    /// Scalar operations of the whole group: multiplications, additions, functions and combinations.
    pub fn operations(&self) -> u64 {
        let operations = |stage: &Stage| match stage.procedure {
            Some(procedure) => opaque::operations(procedure, stage),
            None => expr_operations(&stage.expr),
        };
        self.staged.iter().chain(&self.stages).map(operations).sum()
    }

    /// Multiply-adds of the sums of products of the whole group.
    pub fn multiply_adds(&self) -> u64 {
        self.staged.iter().chain(&self.stages).map(Stage::multiply_adds).sum()
    }
}

impl Stage {
    /// Multiply-adds of its sum of products; 0 if it is none.
    pub fn multiply_adds(&self) -> u64 {
        match (self.expr.reducer, &self.expr.body) {
            (Some(Reducer::Sum), Scalar::Binary(BinaryOp::Multiply, ..)) => {
                self.expr.axes.values().map(|axis| axis.extent as u64).product()
            }
            _ => 0,
        }
    }
}

fn expr_operations(expr: &TensorExpr) -> u64 {
    let points = |kind: Option<AxisKind>| {
        let of_kind = expr.axes.values().filter(|axis| kind.is_none_or(|kind| axis.kind == kind));
        of_kind.map(|axis| axis.extent as u64).product::<u64>()
    };
    let body = expr.body.operations() as u64 + u64::from(expr.reducer.is_some());
    let epilogue = expr.epilogue.as_ref().map_or(0, |epilogue| epilogue.operations() as u64);
    points(None) * body + points(Some(AxisKind::Parallel)) * epilogue
}
