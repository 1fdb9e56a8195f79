//! The distinct operations of a scalar.

use rustc_hash::FxHashMap;
use warpweave_graph::expr::{BinaryOp, Scalar, TensorExpr, UnaryOp};
use warpweave_graph::types::ElementType;

/// A scalar whose operands are numbers of scalars.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Value<'s> {
    Leaf(&'s Scalar),
    Unary(UnaryOp, usize),
    Binary(BinaryOp, [usize; 2]),
    Select([usize; 3]),
    Cast(ElementType, usize),
}

/// Distinct scalars, numbered from 0.
struct Distinct<'s> {
    expr: &'s TensorExpr,
    numbers: FxHashMap<Value<'s>, usize>,
    elements: Vec<ElementType>,
    float_operations: usize,
}

/// Distinct operations on singles; equal scalars are computed once.
pub(crate) fn float_operations(expr: &TensorExpr, scalar: &Scalar) -> usize {
    let mut distinct = Distinct { expr, numbers: FxHashMap::default(), elements: Vec::new(), float_operations: 0 };
    distinct.number(scalar);
    distinct.float_operations
}

impl<'s> Distinct<'s> {
    fn number(&mut self, scalar: &'s Scalar) -> usize {
        match scalar {
            Scalar::Unary(op, x) => {
                let x = self.number(x);
                self.take(Value::Unary(*op, x), self.elements[x], self.elements[x].is_single())
            }
            Scalar::Binary(op, x, y) => {
                let [x, y] = [self.number(x), self.number(y)];
                let element = if op.is_comparison() { ElementType::Bool } else { self.elements[x] };
                self.take(Value::Binary(*op, [x, y]), element, self.elements[x].is_single())
            }
            Scalar::Select(condition, then, otherwise) => {
                let of = [self.number(condition), self.number(then), self.number(otherwise)];
                self.take(Value::Select(of), self.elements[of[1]], false)
            }
            Scalar::Cast(element, x) => {
                let x = self.number(x);
                self.take(Value::Cast(*element, x), *element, false)
            }
            Scalar::Literal(_) | Scalar::Reduced | Scalar::Read(_) | Scalar::Index(..) | Scalar::Holds(_) => {
                self.take(Value::Leaf(scalar), self.expr.element_of(scalar), false)
            }
        }
    }

    fn take(&mut self, value: Value<'s>, element: ElementType, is_float_operation: bool) -> usize {
        let next = self.elements.len();
        let number = *self.numbers.entry(value).or_insert(next);
        if number == next {
            self.elements.push(element);
            self.float_operations += usize::from(is_float_operation);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::float_operations;
    use warpweave_graph::expr::{BinaryOp, ExprBuilder, Index, UnaryOp};
    use warpweave_graph::types::{ElementType, TensorType};

    #[test]
    fn equal_operations_count_once() {
        let mut expr = ExprBuilder::new();
        let axis = expr.parallel(4);
        let operand = expr.operand(&TensorType::new(ElementType::F32, [4]));
        let read = expr.read(operand, vec![Index::axis(axis)]);
        let mut chain = read.clone();
        for _ in 0..500 {
            chain = chain.unary(UnaryOp::Sin);
        }
        let twice = chain.clone().binary(BinaryOp::Add, chain);
        let less = twice.clone().binary(BinaryOp::Less, read).cast(ElementType::Bool, ElementType::F32);
        let body = less.binary(
            BinaryOp::Multiply,
            twice.cast(ElementType::F32, ElementType::I32).cast(ElementType::I32, ElementType::F32),
        );
        let expr = expr.map(ElementType::F32, body);
        assert_eq!(float_operations(&expr, &expr.body), 500 + 3);
    }
}
