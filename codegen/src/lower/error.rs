//! Why a group has no kernel.

use warpweave_graph::program::TensorId;
use warpweave_plan::plan::OperatorId;

use crate::lower::unsupported::Unsupported;

/// Why a group has no kernel.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LowerError {
    /// Kernels do not compute it.
    #[error("{what}")]
    Unsupported {
        operator: OperatorId,
        /// What they do not compute.
        what: Unsupported,
    },
    /// An offset or extent does not fit 31 bits.
    #[error("{tensor} is too large: kernels address 2^31 elements")]
    TooLarge { operator: OperatorId, tensor: TensorId },
}

impl LowerError {
    /// The rOperator.
    pub fn operator(&self) -> OperatorId {
        match self {
            Self::Unsupported { operator, .. } | Self::TooLarge { operator, .. } => *operator,
        }
    }
}
