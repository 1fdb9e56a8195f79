//! The types of expressions: which operations exist on which types, and what they give.

use warpweave_graph::arena::{Arena, Id};

use super::effects::Needed;
use super::expression::{BinaryOp, Expression, ScalarType, UnaryOp};
use super::ids::ArrayId;
use super::program::Function;

/// The type of `op` on a `scalar`, `None` where it is not defined.
pub fn unary_result(op: UnaryOp, scalar: ScalarType) -> Option<ScalarType> {
    use ScalarType::{Bool, F32, I32, I64};
    match op {
        UnaryOp::Negate | UnaryOp::Absolute => matches!(scalar, I32 | I64 | F32).then_some(scalar),
        UnaryOp::Not => (scalar == Bool).then_some(Bool),
        UnaryOp::Bits => (scalar == F32).then_some(I32),
        UnaryOp::OfF16 | UnaryOp::OfBits => (scalar == I32).then_some(F32),
        UnaryOp::Exp
        | UnaryOp::Log
        | UnaryOp::Sqrt
        | UnaryOp::Tanh
        | UnaryOp::Logistic
        | UnaryOp::Erf
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Atan
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::RoundEven
        | UnaryOp::ToF16
        | UnaryOp::ToBF16 => (scalar == F32).then_some(F32),
    }
}

/// The type of `op` on two values of type `scalar`, `None` where it is not defined.
pub fn binary_result(op: BinaryOp, scalar: ScalarType) -> Option<ScalarType> {
    use ScalarType::{Bool, F32, I32, I64};
    match op {
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Remainder
        | BinaryOp::Minimum
        | BinaryOp::Maximum
        | BinaryOp::Power => matches!(scalar, I32 | I64 | F32).then_some(scalar),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
            matches!(scalar, I32 | I64).then_some(scalar)
        }
        BinaryOp::Less | BinaryOp::LessEqual => matches!(scalar, I32 | I64 | F32).then_some(Bool),
        BinaryOp::Equal => Some(Bool),
        BinaryOp::And | BinaryOp::Or => (scalar == Bool).then_some(Bool),
    }
}

/// The type of a well-typed expression of `kernel`.
///
/// # Panics
/// If the expression is not well typed.
pub fn type_of(kernel: &Function, expression: &Expression) -> ScalarType {
    match expression {
        Expression::Constant(constant) => constant.scalar_type(),
        Expression::Local(local) => kernel.locals[*local],
        Expression::Element(array, _) => kernel.arrays[*array].scalar,
        Expression::Builtin(_) | Expression::Operand(_) | Expression::Tile | Expression::FastDivide(..) => {
            ScalarType::I32
        }
        Expression::Unary(op, value) => unary_result(*op, type_of(kernel, value)).expect(WELL_TYPED),
        Expression::Binary(op, left, _) => binary_result(*op, type_of(kernel, left)).expect(WELL_TYPED),
        Expression::FusedMultiplyAdd(..) => ScalarType::F32,
        Expression::Select(_, then, _) => type_of(kernel, then),
        Expression::Cast(target, _) => *target,
    }
}

const WELL_TYPED: &str = "the expression is well typed";

/// What is wrong with the types of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeError {
    /// An id that the body does not declare.
    UnknownId(String),
    /// A value of another type than the one needed.
    Mismatch {
        /// The type needed.
        expected: ScalarType,
        found: ScalarType,
    },
    /// An operation that its operands' type does not have.
    Undefined {
        operation: String,
        /// The type of the operands.
        scalar: ScalarType,
    },
}

/// Checks the expressions of a body; what is wrong goes to `report`.
pub struct Checker<'k, R> {
    pub kernel: &'k Function,
    /// Takes each error.
    pub report: R,
}

impl<R: FnMut(TypeError)> Checker<'_, R> {
    /// The type of an expression, `None` once a problem in it has been reported.
    pub fn expression(&mut self, expression: &Expression) -> Option<ScalarType> {
        let operands: Vec<_> = expression.children().into_iter().map(|child| self.expression(child)).collect();
        match expression {
            Expression::Constant(constant) => Some(constant.scalar_type()),
            Expression::Local(local) => self.declared(&self.kernel.locals, *local).copied(),
            Expression::Element(array, _) => self.element_at(*array, operands[0]),
            Expression::Builtin(_) | Expression::Operand(_) | Expression::Tile => Some(ScalarType::I32),
            Expression::Unary(op, _) => {
                let scalar = operands[0]?;
                let result = unary_result(*op, scalar);
                self.defined(|| format!("{op:?}"), scalar, result)
            }
            Expression::Binary(op, ..) => {
                self.same(operands[0], operands[1]);
                let (left, right) = (operands[0]?, operands[1]?);
                let result = binary_result(*op, left);
                if left == right { self.defined(|| format!("{op:?}"), left, result) } else { None }
            }
            Expression::FusedMultiplyAdd(..) => {
                operands.into_iter().for_each(|operand| self.same(Some(ScalarType::F32), operand));
                Some(ScalarType::F32)
            }
            Expression::Select(..) => {
                self.same(Some(ScalarType::Bool), operands[0]);
                self.same(operands[1], operands[2]);
                operands[1]
            }
            Expression::Cast(target, _) => operands[0].map(|_| *target),
            Expression::FastDivide(..) => {
                self.same(Some(ScalarType::I32), operands[0]);
                Some(ScalarType::I32)
            }
        }
    }

    /// The type of an element of a register array, `None` once a problem in it has been reported.
    pub fn element(&mut self, array: ArrayId, index: &Expression) -> Option<ScalarType> {
        let index = self.expression(index);
        self.element_at(array, index)
    }

    fn element_at(&mut self, array: ArrayId, index: Option<ScalarType>) -> Option<ScalarType> {
        self.same(Some(ScalarType::I32), index);
        self.declared(&self.kernel.arrays, array).map(|array| array.scalar)
    }

    /// Reports two types that are known and differ.
    pub fn same(&mut self, expected: Option<ScalarType>, found: Option<ScalarType>) {
        if let (Some(expected), Some(found)) = (expected, found)
            && expected != found
        {
            (self.report)(TypeError::Mismatch { expected, found });
        }
    }

    /// Reports an expression of another type than the one needed, in a statement that writes a place of type `place`.
    pub fn needs(&mut self, needed: Needed, place: Option<ScalarType>, found: Option<ScalarType>) {
        let expected = match (needed, found) {
            (Needed::Integer, Some(ScalarType::Bool | ScalarType::F32)) => Some(ScalarType::I64),
            (Needed::Place, _) => place,
            (Needed::Scalar(_) | Needed::Element(_) | Needed::Integer, _) => self.given(needed),
        };
        self.same(expected, found);
    }

    /// Reports a place of another type than that of what is written there.
    pub fn takes(&mut self, place: Option<ScalarType>, written: Needed) {
        let given = self.given(written);
        self.same(place, given);
    }

    fn given(&self, needed: Needed) -> Option<ScalarType> {
        match needed {
            Needed::Scalar(scalar) => Some(scalar),
            Needed::Element(array) => self.kernel.shared.get(array).map(|array| array.memory.scalar_type()),
            Needed::Integer | Needed::Place => None,
        }
    }

    /// What an arena holds of this id, if it does.
    pub fn declared<'b, I: Id, T>(&mut self, arena: &'b Arena<I, T>, id: I) -> Option<&'b T> {
        let found = arena.get(id);
        if found.is_none() {
            (self.report)(TypeError::UnknownId(format!("{id:?}")));
        }
        found
    }

    fn defined(
        &mut self,
        operation: impl FnOnce() -> String,
        scalar: ScalarType,
        result: Option<ScalarType>,
    ) -> Option<ScalarType> {
        if result.is_none() {
            (self.report)(TypeError::Undefined { operation: operation(), scalar });
        }
        result
    }
}
