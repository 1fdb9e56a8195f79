//! Factors that a sum has in common, taken out of it.

use crate::expr::{AxisKind, BinaryOp, Scalar, TensorExpr, UnaryOp};
use crate::types::ElementType;

/// A scalar as a product.
struct Product {
    /// What is the same at all points that are summed.
    common: Option<Scalar>,
    own: Option<Scalar>,
}

/// Moves the factors and divisors of the summed scalar that no reduced axis decides into the epilogue. There they are
/// computed once an element, and what is left is more often a plain product.
pub(super) fn with_common_factors_outside(mut expr: TensorExpr) -> TensorExpr {
    if !matches!(expr.body_element(), ElementType::F32 | ElementType::F64) || expr.element != expr.body_element() {
        return expr;
    }
    let Product { common: Some(common), own: Some(own) } = split(&expr, &expr.body) else { return expr };
    let sum = Scalar::Reduced.binary(BinaryOp::Multiply, common);
    expr.epilogue = Some(match expr.epilogue.take() {
        None => sum,
        Some(epilogue) => epilogue.map_leaves(&mut |leaf| match leaf {
            Scalar::Reduced => sum.clone(),
            other => other.clone(),
        }),
    });
    expr.body = own;
    expr
}

fn split(expr: &TensorExpr, scalar: &Scalar) -> Product {
    if is_common(expr, scalar) {
        return Product { common: Some(scalar.clone()), own: None };
    }
    let one = |element| Scalar::literal(element, 1.0);
    match scalar {
        Scalar::Binary(BinaryOp::Multiply, left, right) => {
            let (left, right) = (split(expr, left), split(expr, right));
            Product { common: product(left.common, right.common), own: product(left.own, right.own) }
        }
        Scalar::Binary(BinaryOp::Divide, above, below) => {
            let (above, below) = (split(expr, above), split(expr, below));
            let over = |above: Option<Scalar>, below: Option<Scalar>| match (above, below) {
                (above, None) => above,
                (above, Some(below)) => {
                    Some(above.unwrap_or_else(|| one(expr.element)).binary(BinaryOp::Divide, below))
                }
            };
            Product { common: over(above.common, below.common), own: over(above.own, below.own) }
        }
        Scalar::Unary(UnaryOp::Negate, inner) => {
            let Product { common, own } = split(expr, inner);
            match common {
                Some(common) => Product { common: Some(common.unary(UnaryOp::Negate)), own },
                None => Product { common: None, own: Some(scalar.clone()) },
            }
        }
        other => Product { common: None, own: Some(other.clone()) },
    }
}

fn product(left: Option<Scalar>, right: Option<Scalar>) -> Option<Scalar> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.binary(BinaryOp::Multiply, right)),
        (left, right) => left.or(right),
    }
}

/// Whether a scalar is the same at all points that an element is the sum of. Literals alone are not worth moving.
fn is_common(expr: &TensorExpr, scalar: &Scalar) -> bool {
    let mut common = true;
    let mut named = Vec::new();
    scalar.visit(&mut |part| match part {
        Scalar::Index(index, _) => index.visit(&mut |axis| named.push(axis), &mut |_| {}),
        Scalar::Holds(guard) => {
            guard.conditions().iter().for_each(|condition| {
                condition.index.visit(&mut |axis| named.push(axis), &mut |_| {});
            });
        }
        Scalar::Reduced => common = false,
        _ => {}
    });
    let reads = expr.reads_of(scalar);
    for &read in &reads {
        let read = &expr.reads[read];
        let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
        read.index.iter().chain(conditions).for_each(|index| index.visit(&mut |axis| named.push(axis), &mut |_| {}));
    }
    common && !reads.is_empty() && named.into_iter().all(|axis| expr.axes[axis].kind == AxisKind::Parallel)
}
