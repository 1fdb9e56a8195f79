//! Expressions in halves as expressions in singles.

use super::{Literal, ReadId, Scalar, TensorExpr};
use crate::types::ElementType;

impl TensorExpr {
    /// The expression with conversions where halves are read and where the value becomes one, and singles between: the same values,
    /// since halves are computed as singles.
    pub fn in_singles(&self) -> Self {
        let widened = Widened { expr: self, reduced: self.body_element() };
        let body = widened.scalar(&self.body);
        let converted = |value: Scalar| value.cast(self.element.compute(), self.element);
        match (&self.reducer, &self.epilogue) {
            (Some(_), epilogue) => {
                let epilogue = epilogue.as_ref().map_or(Scalar::Reduced, |epilogue| widened.scalar(epilogue));
                let epilogue = converted(epilogue);
                let epilogue = (epilogue != Scalar::Reduced).then_some(epilogue);
                Self { body, epilogue, ..self.clone() }
            }
            (None, _) => Self { body: converted(body), ..self.clone() },
        }
    }
}

struct Widened<'e> {
    expr: &'e TensorExpr,
    /// The type of what is reduced, in the expression as it is.
    reduced: ElementType,
}

impl Widened<'_> {
    /// A scalar of the type that the given one is computed in.
    fn scalar(&self, scalar: &Scalar) -> Scalar {
        let inner = |scalar: &Scalar| Box::new(self.scalar(scalar));
        let element = self.element(scalar);
        let stored = match scalar {
            Scalar::Literal(value) if value.element().is_half() => {
                return Scalar::Literal(Literal::new(ElementType::F32, value.to_f64()));
            }
            Scalar::Reduced => return Scalar::Reduced,
            Scalar::Unary(op, operand) => return Scalar::Unary(*op, inner(operand)),
            Scalar::Binary(op, left, right) => return Scalar::Binary(*op, inner(left), inner(right)),
            Scalar::Select(condition, then, otherwise) => {
                return Scalar::Select(inner(condition), inner(then), inner(otherwise));
            }
            // What is widened has been by the conversion of what is inside.
            Scalar::Cast(to, operand) if *to == self.element(operand).compute() => return self.scalar(operand),
            Scalar::Cast(to, operand) => Scalar::Cast(*to, inner(operand)),
            Scalar::Literal(_) | Scalar::Read(_) | Scalar::Index(..) | Scalar::Holds(_) => scalar.clone(),
        };
        stored.cast(element, element.compute())
    }

    fn element(&self, scalar: &Scalar) -> ElementType {
        scalar.element(&|read: ReadId| self.expr.operands[self.expr.reads[read].operand].element, self.reduced)
    }
}
