//! What is the same along some axes is computed once along them.
//!
//! A batch normalisation divides by the same deviation at all points of a channel, forward and backward. Such a scalar becomes a
//! statement of its own, which all expressions that hold it read.

use std::collections::{BTreeMap, HashMap};

use super::rebuild::Rebuild;
use crate::arena::{Arena, Id};
use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Read, ReadId, Scalar, TensorExpr, merge_operands};
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

/// An expression that is rewritten, over tensors of the new program.
struct Rewritten<'s> {
    statement: &'s Statement,
    expr: TensorExpr,
    operands: Vec<TensorId>,
}

impl Hoisting {
    fn rewrite(&mut self, statement: &Statement, expr: &TensorExpr) {
        let operands = statement.operands.iter().map(|&operand| self.builder.map(operand)).collect();
        let mut own = Rewritten { statement, expr: expr.clone(), operands };
        let points = |axes: &mut dyn Iterator<Item = AxisId>| axes.map(|axis| expr.axes[axis].extent).product();
        let body = self.hoisted(&mut own, &expr.body, points(&mut expr.axes.ids()));
        let epilogue =
            expr.epilogue.as_ref().map(|epilogue| self.hoisted(&mut own, epilogue, points(&mut expr.parallel())));
        if body == expr.body && epilogue == expr.epilogue {
            self.builder.keep(statement);
            return;
        }
        (own.expr.body, own.expr.epilogue) = (body, epilogue);
        let (expr, operands) = merge_operands(&without_unused_reads(&own.expr), &own.operands);
        self.builder.define(statement, statement.origins.clone(), expr, &operands);
    }

    /// The scalar, which is computed at so many points, with reads in place of what differs at few of them.
    fn hoisted(&mut self, own: &mut Rewritten, scalar: &Scalar, points: usize) -> Scalar {
        if let Some(axes) = invariant_axes(&own.expr, scalar) {
            let differs: usize = axes.iter().map(|axis| own.expr.axes[*axis].extent).product();
            if differs.saturating_mul(FEWEST_POINTS) <= points {
                return self.read(own, scalar, &axes);
            }
        }
        let mut hoisted = |part: &Scalar| self.hoisted(own, part, points);
        match scalar {
            Scalar::Unary(op, part) => hoisted(part).unary(*op),
            Scalar::Binary(op, left, right) => hoisted(left).binary(*op, hoisted(right)),
            Scalar::Select(condition, then, otherwise) => hoisted(condition).select(hoisted(then), hoisted(otherwise)),
            Scalar::Cast(element, part) => Scalar::Cast(*element, Box::new(hoisted(part))),
            Scalar::Literal(_) | Scalar::Read(_) | Scalar::Index(..) | Scalar::Holds(_) | Scalar::Reduced => {
                scalar.clone()
            }
        }
    }

    /// A read of the tensor of a scalar that differs along these axes.
    fn read(&mut self, own: &mut Rewritten, scalar: &Scalar, axes: &[AxisId]) -> Scalar {
        let (expr, operands) = alone(own, scalar, axes);
        let tensor = match self.known.get(&(expr.clone(), operands.clone())) {
            Some(known) => *known,
            None => {
                let tensor = self.builder.compute(own.statement.origins.clone(), expr.clone(), &operands);
                self.known.insert((expr, operands), tensor);
                tensor
            }
        };
        let ty = self.builder.ty(tensor).clone();
        let like = own.expr.reads_of(scalar).into_iter().next().expect("an invariant reads something");
        let read = Read {
            operand: own.operands.len(),
            index: axes.iter().map(|axis| Index::axis(*axis)).collect(),
            ..own.expr.reads[like].clone()
        };
        own.operands.push(tensor);
        own.expr.operands.push(ty);
        Scalar::Read(own.expr.reads.push(read))
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

/// A scalar that differs along these axes, as an expression over them.
fn alone(own: &Rewritten, scalar: &Scalar, axes: &[AxisId]) -> (TensorExpr, Vec<TensorId>) {
    let mut expr = ExprBuilder::new();
    let extents: Vec<usize> = axes.iter().map(|axis| own.expr.axes[*axis].extent).collect();
    let moved = expr.parallels(&extents);
    let (mut operands, mut reads) = (Vec::new(), BTreeMap::new());
    for id in own.expr.reads_of(scalar) {
        let read = &own.expr.reads[id];
        let place = |axis: AxisId| axes.iter().position(|other| *other == axis).expect("an axis of the scalar");
        let index = read.index.iter().map(|index| match index.as_axis() {
            Some(axis) => Index::axis(moved[place(axis)]),
            None => index.clone(),
        });
        let operand = expr.operand(&own.expr.operands[read.operand]);
        operands.push(own.operands[read.operand]);
        reads.insert(id, expr.read(operand, index.collect()));
    }
    let body = scalar.map_leaves(&mut |leaf| match leaf {
        Scalar::Read(id) => reads[id].clone(),
        other => other.clone(),
    });
    merge_operands(&expr.map(ElementType::F32, body), &operands)
}

/// The expression, none of whose indices reads, without the reads that its scalars no longer hold.
pub(super) fn without_unused_reads(expr: &TensorExpr) -> TensorExpr {
    let mut used = expr.reads_of(&expr.body);
    used.extend(expr.epilogue.iter().flat_map(|epilogue| expr.reads_of(epilogue)));
    let reads: Arena<ReadId, Read> = used.iter().map(|read| expr.reads[*read].clone()).collect();
    let place = |read: &ReadId| used.iter().position(|other| other == read).expect("a read that is used");
    let renamed = |scalar: &Scalar| {
        scalar.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(read) => Scalar::Read(ReadId::from_index(place(read))),
            other => other.clone(),
        })
    };
    TensorExpr { body: renamed(&expr.body), epilogue: expr.epilogue.as_ref().map(renamed), reads, ..expr.clone() }
}
