//! Products whose reduced axes are two axes each where a factor divides them.
//!
//! Where heads lie behind one another in the reduction, as in the projection behind an attention, the factor is read at a quotient
//! and a remainder of the reduced axis. With an axis for each, every factor is read at sums of axes, and what lies together is
//! loaded together.

use super::rewriting::rebuild::Rebuild;
use crate::arena::Arena;
use crate::expr::{Atom, Axis, AxisId, BinaryOp, Index, Reducer, Scalar, TensorExpr, substitute};
use crate::program::{Definition, TensorId, TensorProgram};

/// Most axes of a product that is made.
const MOST_AXES: usize = 8;

/// The program with the reduced axes of its sums of products split where reads divide them. Values are unchanged bit for bit.
pub fn split_divided_axes(program: &TensorProgram) -> TensorProgram {
    let mut builder = Rebuild::new(program);
    for statement in program.statements.values() {
        match (&statement.definition, statement.definition.expr().and_then(split_all)) {
            (Definition::Compute(_), Some(expr)) => {
                let operands: Vec<TensorId> = statement.operands.iter().map(|&operand| builder.map(operand)).collect();
                builder.define(statement, statement.origins.clone(), expr, &operands);
            }
            _ => _ = builder.keep(statement),
        }
    }
    builder.finish(program)
}

/// The product with all of its divided axes split; none if there are no such axes.
fn split_all(expr: &TensorExpr) -> Option<TensorExpr> {
    let is_product = matches!(expr.body, Scalar::Binary(BinaryOp::Multiply, ..)) && expr.reducer == Some(Reducer::Sum);
    let first = is_product.then(|| split_one(expr)).flatten()?;
    Some(std::iter::successors(Some(first), split_one).last().expect("the first is there"))
}

fn split_one(expr: &TensorExpr) -> Option<TensorExpr> {
    let (axis, divisor) = divided(expr).filter(|_| expr.axes.len() < MOST_AXES)?;
    let mut axes: Arena<AxisId, Axis> = Arena::new();
    let mut replacement = Vec::new();
    for (id, own) in expr.axes.iter() {
        let mut push = |extent: usize| Index::axis(axes.push(Axis { extent, ..*own }));
        replacement.push(match id == axis {
            true => push(own.extent / divisor).times(divisor as i64).add(&push(divisor)),
            false => push(own.extent),
        });
    }
    Some(substitute::replace_axes(expr, &axes, &replacement))
}

/// A reduced axis that a read divides, and the largest divisor that leaves no rest.
fn divided(expr: &TensorExpr) -> Option<(AxisId, usize)> {
    let indices = expr
        .reads
        .values()
        .flat_map(|read| read.index.iter().chain(read.guard.conditions().iter().map(|condition| &condition.index)));
    let divisions = indices.flat_map(Index::terms).filter_map(|(atom, _)| match atom {
        Atom::FloorDiv(inner, divisor) | Atom::Mod(inner, divisor) => Some((inner.as_axis()?, *divisor as usize)),
        Atom::Axis(_) | Atom::Clamp(..) | Atom::Indirect(_) => None,
    });
    let reduced: Vec<AxisId> = expr.reduced().collect();
    let splits = |(axis, divisor): &(AxisId, usize)| {
        let extent = expr.axes[*axis].extent;
        reduced.contains(axis) && *divisor < extent && extent.is_multiple_of(*divisor)
    };
    divisions.filter(splits).max_by_key(|(_, divisor)| *divisor)
}
