//! Programs of singles in 16 bits: stored in them and computed in singles as before, or written in them throughout.

use std::collections::BTreeSet;

use warpweave::graph::ElementType;
use warpweave::graph::Tensor;
use warpweave::graph::expr::{Literal, Read, Scalar, TensorExpr};
use warpweave::graph::program::precision::stored_in;
use warpweave::graph::program::{Source, State, TensorDefinition, TensorProgram};
use warpweave::graph::types::TensorType;

/// The program with every tensor of singles stored as `storage`. Tensors and statements keep their ids.
pub fn stored_as(program: &TensorProgram, storage: ElementType) -> TensorProgram {
    stored_in(program, storage, &BTreeSet::new())
}

/// The program with every single replaced by `half`, in tensors and in expressions, as an exporter writes a model in 16 bits. Tensors
/// and statements keep their ids.
pub fn written_in(program: &TensorProgram, half: ElementType) -> TensorProgram {
    let mut narrow = program.clone();
    for tensor in narrow.tensors.values_mut() {
        *tensor = definition(tensor, half);
    }
    for statement in narrow.statements.values_mut() {
        if let Some(expr) = statement.definition.expr() {
            statement.definition = statement.definition.with_expr(rewritten(expr, half));
        }
    }
    narrow
}

fn rewritten(expr: &TensorExpr, half: ElementType) -> TensorExpr {
    let of = |element: ElementType| if element == ElementType::F32 { half } else { element };
    let mut narrow = expr.clone();
    narrow.operands.iter_mut().for_each(|operand| *operand = stored(operand, half));
    narrow.reads.values_mut().for_each(|read| *read = Read { fill: literal(read.fill, half), ..read.clone() });
    narrow.body = scalar(&expr.body, half);
    narrow.epilogue = expr.epilogue.as_ref().map(|epilogue| scalar(epilogue, half));
    narrow.element = of(expr.element);
    narrow
}

fn literal(value: Literal, half: ElementType) -> Literal {
    if value.element() == ElementType::F32 { Literal::new(half, value.to_f64()) } else { value }
}

fn scalar(value: &Scalar, half: ElementType) -> Scalar {
    let of = |element: ElementType| if element == ElementType::F32 { half } else { element };
    let inner = |value: &Scalar| Box::new(scalar(value, half));
    match value {
        Scalar::Literal(value) => Scalar::Literal(literal(*value, half)),
        Scalar::Index(index, element) => Scalar::Index(index.clone(), of(*element)),
        Scalar::Read(_) | Scalar::Reduced | Scalar::Holds(_) => value.clone(),
        Scalar::Unary(op, operand) => Scalar::Unary(*op, inner(operand)),
        Scalar::Binary(op, left, right) => Scalar::Binary(*op, inner(left), inner(right)),
        Scalar::Select(condition, then, otherwise) => Scalar::Select(inner(condition), inner(then), inner(otherwise)),
        Scalar::Cast(element, operand) => Scalar::Cast(of(*element), inner(operand)),
    }
}

fn definition(tensor: &TensorDefinition, storage: ElementType) -> TensorDefinition {
    let source = match &tensor.source {
        Source::Constant(value) => Source::Constant(constant(value, storage)),
        Source::State(state) => Source::State(State { initial: constant(&state.initial, storage), ..state.clone() }),
        other @ (Source::Input(_) | Source::Statement(_)) => other.clone(),
    };
    TensorDefinition { ty: stored(&tensor.ty, storage), source }
}

fn constant(value: &Tensor, storage: ElementType) -> Tensor {
    let ty = stored(value.ty(), storage);
    if ty == *value.ty() { value.clone() } else { Tensor::from_f64(ty, &value.to_f64()) }
}

fn stored(ty: &TensorType, storage: ElementType) -> TensorType {
    let element = if ty.element == ElementType::F32 { storage } else { ty.element };
    TensorType { element, shape: ty.shape.clone() }
}
