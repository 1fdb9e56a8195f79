//! Programs of singles as programs of doubles, so that differences of their values are exact enough to be derivatives.

use warpweave::graph::expr::{Literal, Scalar, TensorExpr};
use warpweave::graph::procedure::Opaque;
use warpweave::graph::program::Differentiable;
use warpweave::graph::program::{Definition, Source, State};
use warpweave::graph::{ElementType, Tensor, TensorType};

/// The same program with doubles in the place of singles, and without names; `None` if it is none.
pub fn in_doubles(forward: &Differentiable) -> Option<Differentiable> {
    let mut wide = forward.clone();
    wide.program.names = Default::default();
    for tensor in wide.program.tensors.values_mut() {
        tensor.ty.element = element(tensor.ty.element);
        match &mut tensor.source {
            Source::Constant(value) | Source::State(State { initial: value, .. }) => {
                *value = widened(value, &tensor.ty)
            }
            Source::Input(_) | Source::Statement(_) => {}
        }
    }
    let statements = forward.program.statements.values().cloned().map(|mut statement| {
        statement.origins.clear();
        match &mut statement.definition {
            Definition::Compute(expr) | Definition::Opaque(Opaque { access: expr, .. }) => widen(expr),
            Definition::Concat { .. } => {}
        }
        statement
    });
    wide.program.statements = statements.collect();
    wide.program.verify().ok()?;
    Some(wide)
}

fn element(element: ElementType) -> ElementType {
    if element == ElementType::F32 { ElementType::F64 } else { element }
}

fn widened(value: &Tensor, ty: &TensorType) -> Tensor {
    if value.ty() == ty { value.clone() } else { Tensor::from_f64(ty.clone(), &value.to_f64()) }
}

fn widen(expr: &mut TensorExpr) {
    expr.element = element(expr.element);
    expr.operands.iter_mut().for_each(|operand| operand.element = element(operand.element));
    expr.reads.values_mut().for_each(|read| read.fill = literal(read.fill));
    expr.body = scalar(&expr.body);
    expr.epilogue = expr.epilogue.as_ref().map(scalar);
}

fn literal(literal: Literal) -> Literal {
    match literal {
        Literal::Float(kind, bits) => Literal::Float(element(kind), bits),
        other => other,
    }
}

fn scalar(of: &Scalar) -> Scalar {
    match of {
        Scalar::Literal(value) => Scalar::Literal(literal(*value)),
        Scalar::Index(index, kind) => Scalar::Index(index.clone(), element(*kind)),
        Scalar::Read(_) | Scalar::Holds(_) | Scalar::Reduced => of.clone(),
        Scalar::Cast(kind, operand) => Scalar::Cast(element(*kind), Box::new(scalar(operand))),
        Scalar::Unary(op, operand) => scalar(operand).unary(*op),
        Scalar::Binary(op, left, right) => scalar(left).binary(*op, scalar(right)),
        Scalar::Select(condition, then, otherwise) => scalar(condition).select(scalar(then), scalar(otherwise)),
    }
}
