//! What kernels hold and compute of each element type, and what of a statement they do not, in whatever group it is.

use warpweave_graph::ElementType;
use warpweave_graph::expr::{self, Scalar, TensorExpr};
use warpweave_graph::procedure::Procedure;
use warpweave_graph::program::Definition;
use warpweave_graph::text::reader::Word;

use crate::kernel_ir::expression::{BinaryOp, ScalarType, UnaryOp};
use crate::kernel_ir::memory::MemoryType;
use crate::kernel_ir::typing::{binary_result, unary_result};

/// An element type or a function that kernels do not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsupported {
    /// Kernels do not hold elements of this type.
    #[error("kernels do not support {0} elements")]
    Element(ElementType),
    /// A function is not defined for the type it is applied to.
    #[error("kernels do not compute {function} of {element} elements")]
    Function { function: &'static str, element: ElementType },
    /// Kernels do not sort elements of this type.
    #[error("kernels do not sort {0} elements")]
    Sort(ElementType),
}

impl Unsupported {
    pub fn element(self) -> ElementType {
        match self {
            Self::Element(element) | Self::Function { element, .. } | Self::Sort(element) => element,
        }
    }
}

/// Why no kernel computes a statement, whichever group it is in: `None` where a kernel may. Extents are not judged; a tensor
/// may still turn out to be too large.
pub fn unsupported(definition: &Definition) -> Option<Unsupported> {
    match definition {
        Definition::Compute(expr) => of_expression(expr).err(),
        Definition::Opaque(opaque) => {
            of_expression(&opaque.access).and_then(|()| of_procedure(opaque.procedure, &opaque.access)).err()
        }
        // The parts are statements of their own.
        Definition::Concat { .. } => None,
    }
}

/// How elements of this type lie in memory.
pub(crate) fn memory_type(element: ElementType) -> Result<MemoryType, Unsupported> {
    match element {
        ElementType::Bool => Ok(MemoryType::Bool),
        ElementType::I8 | ElementType::I4 | ElementType::I2 => Ok(MemoryType::I8),
        ElementType::U8 | ElementType::U4 | ElementType::U2 => Ok(MemoryType::U8),
        // A register holds the code.
        ElementType::F8E4M3FN
        | ElementType::F8E4M3FNUZ
        | ElementType::F8E5M2
        | ElementType::F8E5M2FNUZ
        | ElementType::F8E8M0
        | ElementType::F4E2M1 => Ok(MemoryType::U8),
        ElementType::I16 => Ok(MemoryType::I16),
        ElementType::U16 => Ok(MemoryType::U16),
        ElementType::I32 => Ok(MemoryType::I32),
        ElementType::U32 => Ok(MemoryType::U32),
        ElementType::I64 => Ok(MemoryType::I64),
        ElementType::F32 => Ok(MemoryType::F32),
        ElementType::F16 => Ok(MemoryType::F16),
        ElementType::BF16 => Ok(MemoryType::BF16),
        ElementType::U64 | ElementType::F64 => Err(Unsupported::Element(element)),
    }
}

/// The type of the registers that hold elements of a type.
pub(crate) fn register_type(element: ElementType) -> Result<ScalarType, Unsupported> {
    memory_type(element).map(|memory| memory.scalar_type())
}

/// Whether kernels sort elements of a type.
pub(crate) fn check_sorted(element: ElementType) -> Result<ScalarType, Unsupported> {
    match register_type(element)? {
        scalar @ (ScalarType::F32 | ScalarType::Bool | ScalarType::I32) => Ok(scalar),
        ScalarType::I64 => Err(Unsupported::Sort(element)),
    }
}

/// Whether kernels apply a function to elements of a type.
pub(crate) fn check_function(
    function: &'static str,
    element: ElementType,
    result: impl FnOnce(ScalarType) -> Option<ScalarType>,
) -> Result<(), Unsupported> {
    let result = result(register_type(element)?);
    result.map(drop).ok_or(Unsupported::Function { function, element })
}

fn of_procedure(procedure: Procedure, access: &TensorExpr) -> Result<(), Unsupported> {
    match procedure {
        Procedure::Sort(_) => check_sorted(access.body_element()).map(drop),
        Procedure::Suppress { .. } => Ok(()),
    }
}

fn of_expression(expr: &TensorExpr) -> Result<(), Unsupported> {
    // No rTask computes an empty tensor.
    if expr.output().shape.elements() == 0 {
        return Ok(());
    }
    memory_type(expr.element)?;
    for scalar in std::iter::once(&expr.body).chain(&expr.epilogue) {
        for read in expr.reads_of(scalar) {
            memory_type(expr.operands[expr.reads[read].operand].element)?;
        }
        of_scalar(expr, scalar)?;
    }
    Ok(())
}

/// The element type of a scalar, if kernels compute it and all its parts.
fn of_scalar(expr: &TensorExpr, scalar: &Scalar) -> Result<ElementType, Unsupported> {
    let element = match scalar {
        Scalar::Literal(literal) => literal.element(),
        Scalar::Read(_) | Scalar::Reduced | Scalar::Holds(_) => expr.element_of(scalar),
        Scalar::Index(_, element) => *element,
        Scalar::Cast(element, operand) => {
            of_scalar(expr, operand)?;
            *element
        }
        Scalar::Unary(op, operand) => {
            let element = of_scalar(expr, operand)?;
            check_function(op.word(), element, |scalar| unary_result(unary(*op), scalar))?;
            element
        }
        Scalar::Binary(op, left, right) => {
            let element = of_scalar(expr, left)?;
            of_scalar(expr, right)?;
            check_function(op.word(), element, |scalar| binary_result(binary(*op), scalar))?;
            if op.is_comparison() { ElementType::Bool } else { element }
        }
        Scalar::Select(condition, then, otherwise) => {
            of_scalar(expr, condition)?;
            of_scalar(expr, otherwise)?;
            of_scalar(expr, then)?
        }
    };
    register_type(element).map(|_| element)
}

pub(crate) fn unary(op: expr::UnaryOp) -> UnaryOp {
    match op {
        expr::UnaryOp::Negate => UnaryOp::Negate,
        expr::UnaryOp::Absolute => UnaryOp::Absolute,
        expr::UnaryOp::Not => UnaryOp::Not,
        expr::UnaryOp::Exp => UnaryOp::Exp,
        expr::UnaryOp::Log => UnaryOp::Log,
        expr::UnaryOp::Sqrt => UnaryOp::Sqrt,
        expr::UnaryOp::Tanh => UnaryOp::Tanh,
        expr::UnaryOp::Erf => UnaryOp::Erf,
        expr::UnaryOp::Sin => UnaryOp::Sin,
        expr::UnaryOp::Cos => UnaryOp::Cos,
        expr::UnaryOp::Atan => UnaryOp::Atan,
        expr::UnaryOp::Floor => UnaryOp::Floor,
        expr::UnaryOp::Ceil => UnaryOp::Ceil,
        expr::UnaryOp::RoundEven => UnaryOp::RoundEven,
    }
}

pub(crate) fn binary(op: expr::BinaryOp) -> BinaryOp {
    match op {
        expr::BinaryOp::Add => BinaryOp::Add,
        expr::BinaryOp::Subtract => BinaryOp::Subtract,
        expr::BinaryOp::Multiply => BinaryOp::Multiply,
        expr::BinaryOp::Divide => BinaryOp::Divide,
        expr::BinaryOp::Remainder => BinaryOp::Remainder,
        expr::BinaryOp::Minimum => BinaryOp::Minimum,
        expr::BinaryOp::Maximum => BinaryOp::Maximum,
        expr::BinaryOp::Power => BinaryOp::Power,
        expr::BinaryOp::Less => BinaryOp::Less,
        expr::BinaryOp::LessEqual => BinaryOp::LessEqual,
        expr::BinaryOp::Equal => BinaryOp::Equal,
        expr::BinaryOp::And => BinaryOp::And,
        expr::BinaryOp::Or => BinaryOp::Or,
        expr::BinaryOp::BitAnd => BinaryOp::BitAnd,
        expr::BinaryOp::BitOr => BinaryOp::BitOr,
        expr::BinaryOp::BitXor => BinaryOp::BitXor,
        expr::BinaryOp::ShiftLeft => BinaryOp::ShiftLeft,
        expr::BinaryOp::ShiftRight => BinaryOp::ShiftRight,
    }
}
