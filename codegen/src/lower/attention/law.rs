//! The law of online softmax as text of a kernel.

use warpweave_graph::online_softmax::Arithmetic;

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType, UnaryOp};
use crate::lower::emitter::{Emitter, binary};

/// Binds what it computes to locals of the kernel.
pub(crate) struct Text<'e, 'o>(pub(super) &'e mut Emitter<'o>);

impl Text<'_, '_> {
    fn bind(&mut self, value: Expression) -> Expression {
        self.0.bind(ScalarType::F32, value).into()
    }

    fn binary(&mut self, op: BinaryOp, left: &Expression, right: &Expression) -> Expression {
        self.bind(binary(op, left.clone(), right.clone()))
    }
}

impl Arithmetic for Text<'_, '_> {
    type Value = Expression;

    fn number(&mut self, value: f32) -> Expression {
        Expression::f32(value)
    }

    fn maximum(&mut self, left: &Expression, right: &Expression) -> Expression {
        self.binary(BinaryOp::Maximum, left, right)
    }

    fn sum(&mut self, left: &Expression, right: &Expression) -> Expression {
        self.binary(BinaryOp::Add, left, right)
    }

    fn difference(&mut self, left: &Expression, right: &Expression) -> Expression {
        self.binary(BinaryOp::Subtract, left, right)
    }

    fn product(&mut self, left: &Expression, right: &Expression) -> Expression {
        self.binary(BinaryOp::Multiply, left, right)
    }

    fn exponential(&mut self, of: &Expression) -> Expression {
        self.bind(Expression::Unary(UnaryOp::Exp, Box::new(of.clone())))
    }

    fn replace(&mut self, of: &Expression, [left, right]: [&Expression; 2], then: &Expression) -> Expression {
        let equal = binary(BinaryOp::Equal, left.clone(), right.clone());
        self.bind(Expression::Select(Box::new(equal), Box::new(then.clone()), Box::new(of.clone())))
    }
}
