//! Programs whose singles are stored in 16 bits, and computed and accumulated in singles as before.

use warpweave::graph::ElementType;
use warpweave::graph::Tensor;
use warpweave::graph::expr::{Literal, Read, ReadId, Scalar, TensorExpr};
use warpweave::graph::program::{Source, State, TensorDefinition, TensorProgram};
use warpweave::graph::types::TensorType;

/// The program with every tensor of singles stored as `storage`. Tensors and statements keep their ids.
pub fn stored_as(program: &TensorProgram, storage: ElementType) -> TensorProgram {
    let mut narrow = program.clone();
    for tensor in narrow.tensors.values_mut() {
        *tensor = definition(tensor, storage);
    }
    for statement in narrow.statements.values_mut() {
        if let Some(expr) = statement.definition.expr() {
            statement.definition = statement.definition.with_expr(expression(expr, storage));
        }
    }
    narrow
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

/// The expression with conversions where singles are read and written.
fn expression(expr: &TensorExpr, storage: ElementType) -> TensorExpr {
    let mut narrow = expr.clone();
    narrow.operands.iter_mut().for_each(|operand| *operand = stored(operand, storage));
    let fill = |fill: Literal| match fill.element() {
        ElementType::F32 => Literal::new(storage, fill.to_f64()),
        _ => fill,
    };
    narrow.reads.values_mut().for_each(|read| *read = Read { fill: fill(read.fill), ..read.clone() });
    let of = |expr: &TensorExpr, read: ReadId| expr.operands[expr.reads[read].operand].element;
    let widened = |scalar: &Scalar| {
        scalar.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(read) => Scalar::Read(*read).cast(of(&narrow, *read), of(expr, *read)),
            other => other.clone(),
        })
    };
    let (mut body, mut epilogue) = (widened(&expr.body), expr.epilogue.as_ref().map(widened));
    if expr.element == ElementType::F32 {
        match expr.reducer {
            Some(_) => epilogue = Some(Scalar::Cast(storage, Box::new(epilogue.unwrap_or(Scalar::Reduced)))),
            None => body = narrowed(body, storage),
        }
    }
    let element = stored(&expr.output(), storage).element;
    TensorExpr { body, epilogue, element, ..narrow }
}

/// A scalar converted for storage; what is only moved is not converted there and back.
fn narrowed(scalar: Scalar, storage: ElementType) -> Scalar {
    match scalar {
        Scalar::Cast(ElementType::F32, inner) if matches!(*inner, Scalar::Read(_)) => *inner,
        other => Scalar::Cast(storage, Box::new(other)),
    }
}
