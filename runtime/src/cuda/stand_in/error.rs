//! How calls fail.

use super::super::error::CudaError;

/// A call that fails so that the process can use the device no more.
pub(super) fn failure(call: &'static str, reason: impl Into<String>) -> CudaError {
    CudaError::Driver { call, reason: reason.into(), is_fault: true }
}

/// A call that is refused.
pub(super) fn refusal(call: &'static str, reason: impl Into<String>) -> CudaError {
    CudaError::Driver { call, reason: reason.into(), is_fault: false }
}
