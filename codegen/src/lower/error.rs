//! Why a group has no kernel.

use warpweave_graph::ElementType;
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::OperatorId;

/// Why a group has no kernel.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LowerError {
    /// Kernels do not hold elements of this type.
    #[error("kernels do not support {element} elements")]
    Element {
        /// The rOperator.
        operator: OperatorId,
        /// The type.
        element: ElementType,
    },
    /// A function is not defined for the type it is applied to.
    #[error("kernels do not compute {function} of {element} elements")]
    Function {
        /// The rOperator.
        operator: OperatorId,
        /// The function's name.
        function: &'static str,
        /// The type.
        element: ElementType,
    },
    /// An offset or extent does not fit 31 bits.
    #[error("{tensor} is too large: kernels address 2^31 elements")]
    TooLarge {
        /// The rOperator.
        operator: OperatorId,
        /// The tensor.
        tensor: TensorId,
    },
}

impl LowerError {
    /// The rOperator.
    pub fn operator(&self) -> OperatorId {
        match self {
            Self::Element { operator, .. } | Self::Function { operator, .. } | Self::TooLarge { operator, .. } => {
                *operator
            }
        }
    }
}
