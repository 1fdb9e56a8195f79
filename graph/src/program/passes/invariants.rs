//! What is the same along some axes is computed once along them.
//!
//! A batch normalisation divides by the same deviation at all points of a channel, forward and backward. Such a scalar becomes a
//! statement of its own, which all expressions that hold it read.

use std::collections::HashMap;

use super::rewriting::rebuild::Rebuild;
use super::rewriting::rewritten::Rewritten;
use crate::expr::{AxisId, BinaryOp, Read, Scalar, TensorExpr};
use crate::program::{Statement, TensorId, TensorProgram};
use crate::types::ElementType;

/// Points at which a scalar is computed for each at which it differs, from which a tensor for it pays.
const FEWEST_POINTS: usize = 16;

/// The program in which scalars that hold a division or a function, and differ along few of an expression's axes, are tensors.
/// Values are unchanged but for the rounding of what is stored between.
pub fn hoist_invariants(program: &TensorProgram) -> TensorProgram {
    let mut hoisting = Hoisting { builder: Rebuild::new(program), known: HashMap::new() };
    for statement in program.statements.values() {
        match statement.definition.expr().filter(|expr| expr.indirect_indices().is_empty()) {
            Some(expr) => hoisting.rewrite(statement, expr),
            None => _ = hoisting.builder.keep(statement),
        }
    }
    hoisting.builder.finish(program)
}

struct Hoisting {
    builder: Rebuild,
    /// The tensors of scalars, by their expressions over tensors of the new program.
    known: HashMap<(TensorExpr, Vec<TensorId>), TensorId>,
}

impl Hoisting {
    fn rewrite(&mut self, statement: &Statement, expr: &TensorExpr) {
        let mut own = Rewritten::new(&self.builder, statement, expr);
        let points = |axes: &mut dyn Iterator<Item = AxisId>| axes.map(|axis| expr.axes[axis].extent).product();
        let body = self.hoisted(&mut own, &expr.body, points(&mut expr.axes.ids()));
        let epilogue =
            expr.epilogue.as_ref().map(|epilogue| self.hoisted(&mut own, epilogue, points(&mut expr.parallel())));
        own.define(&mut self.builder, body, epilogue);
    }

    /// The scalar, which is computed at so many points, with reads in place of what differs at few of them.
    fn hoisted(&mut self, own: &mut Rewritten, scalar: &Scalar, points: usize) -> Scalar {
        if let Some(axes) = invariant_axes(&own.expr, scalar) {
            let differs: usize = axes.iter().map(|axis| own.expr.axes[*axis].extent).product();
            if differs.saturating_mul(FEWEST_POINTS) <= points {
                return self.read(own, scalar, &axes);
            }
        }
        scalar.map_parts(&mut |part| self.hoisted(own, part, points))
    }

    /// A read of the tensor of a scalar that differs along these axes.
    fn read(&mut self, own: &mut Rewritten, scalar: &Scalar, axes: &[AxisId]) -> Scalar {
        let key = own.alone(scalar, axes, &own.operands);
        let tensor = match self.known.get(&key) {
            Some(known) => *known,
            None => {
                let tensor = self.builder.compute(own.statement.origins.clone(), key.0.clone(), &key.1);
                self.known.insert(key, tensor);
                tensor
            }
        };
        own.read(tensor, self.builder.ty(tensor).clone(), axes)
    }
}

/// The axes along which a scalar differs, if it holds a division or a function and reads singles, each where plain axes say.
fn invariant_axes(expr: &TensorExpr, scalar: &Scalar) -> Option<Vec<AxisId>> {
    let (mut is_dear, mut is_plain) = (false, true);
    scalar.visit(&mut |part| match part {
        Scalar::Unary(op, _) => is_dear |= op.is_function(),
        Scalar::Binary(op, ..) => is_dear |= matches!(op, BinaryOp::Divide | BinaryOp::Power),
        Scalar::Index(..) | Scalar::Holds(_) | Scalar::Reduced => is_plain = false,
        Scalar::Literal(_) | Scalar::Read(_) | Scalar::Select(..) | Scalar::Cast(..) => {}
    });
    let reads = expr.reads_of(scalar);
    if !is_dear || !is_plain || reads.is_empty() || expr.element_of(scalar) != ElementType::F32 {
        return None;
    }
    let mut axes: Vec<AxisId> = Vec::new();
    for read in reads {
        let Read { operand, index, guard, .. } = &expr.reads[read];
        if !guard.is_always() || expr.operands[*operand].element != ElementType::F32 {
            return None;
        }
        for index in index.iter().filter(|index| index.as_constant().is_none()) {
            axes.push(index.as_axis()?);
        }
    }
    axes.sort_unstable();
    axes.dedup();
    Some(axes)
}
