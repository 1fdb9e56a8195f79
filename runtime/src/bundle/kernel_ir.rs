//! The kernel IR of a bundle: bytes to a runtime without a compiler, kernels to one with it.

use warpweave_codegen::kernel_ir::Program;
use warpweave_codegen::verify;

use super::decode;
use super::error::BundleError;
use super::name::EntryName;
use crate::target::Target;

/// The bytes of a target's kernels.
pub fn encode(target: Target, program: &Program) -> Result<Vec<u8>, BundleError> {
    decode::encode(EntryName::KernelIr(target), program)
}

/// The kernels that `bytes` hold, checked for structure.
pub fn decode(target: Target, bytes: &[u8]) -> Result<Program, BundleError> {
    let entry = EntryName::KernelIr(target);
    let program: Program = decode::decode(entry, bytes)?;
    match verify::structure(&program).first() {
        None => Ok(program),
        Some(violation) => Err(BundleError::Damaged { entry, reason: violation.to_string() }),
    }
}
