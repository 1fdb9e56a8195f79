//! Loaded code: kernels for the emulator, and what its cubin says of registers.

use std::sync::Arc;

use warpweave_codegen::kernel_ir::Program;

use super::super::calls::{CodeImage, FunctionHandle, ModuleHandle};
use super::super::error::CudaError;
use super::error::{failure, refusal};
use super::handle::{pointer, slot};
use crate::bundle::kernel_ir;
use crate::cubin::CubinInfo;
use crate::gates::REGISTERS_PER_MULTIPROCESSOR;

/// Shared-memory bytes that a block may ask for, that it may have without asking, and of a multiprocessor.
pub(super) const SHARED_BYTES_PER_BLOCK: u32 = 232_448;
const SHARED_BYTES_UNASKED: u32 = 49_152;
const SHARED_BYTES: u32 = 233_472;
/// Shared-memory bytes that every block takes beside its own.
const RESERVED_SHARED_BYTES: u32 = 1_024;
/// Threads and blocks of a multiprocessor.
const THREADS: u32 = 2_048;
const BLOCKS: u32 = 32;

#[derive(Default)]
pub(super) struct Modules {
    modules: Vec<Option<Module>>,
    functions: Vec<Function>,
}

struct Module {
    /// `None` for code of probes.
    program: Option<Arc<Program>>,
    cubin: CubinInfo,
}

/// An entry of loaded code.
#[derive(Clone)]
pub(super) struct Function {
    pub(super) module: usize,
    pub(super) name: String,
    registers: u32,
    allowed_shared_bytes: u32,
}

impl Modules {
    pub(super) fn load(&mut self, image: CodeImage<'_>) -> Result<ModuleHandle, CudaError> {
        const CALL: &str = "cuModuleLoadData";
        let decode = |(target, bytes)| kernel_ir::decode(target, bytes).map(Arc::new);
        let program = image.kernel_ir.map(decode).transpose().map_err(|error| refusal(CALL, error.to_string()))?;
        let cubin = CubinInfo::read(image.cubin).map_err(|error| refusal(CALL, error.to_string()))?;
        self.modules.push(Some(Module { program, cubin }));
        Ok(ModuleHandle(pointer(self.modules.len() - 1)))
    }

    pub(super) fn unload(&mut self, module: ModuleHandle) {
        if let Some(module) = self.modules.get_mut(slot(module.0)) {
            *module = None;
        }
    }

    pub(super) fn function(&mut self, module: ModuleHandle, name: &str) -> Result<FunctionHandle, CudaError> {
        let module = slot(module.0);
        let loaded = self.modules.get(module).and_then(Option::as_ref);
        let entry = loaded.and_then(|loaded| loaded.cubin.entry(name));
        let entry = entry.ok_or_else(|| refusal("cuModuleGetFunction", format!("CUDA_ERROR_NOT_FOUND: {name}")))?;
        let known = |function: &Function| function.module == module && function.name == name;
        let place = self.functions.iter().position(known).unwrap_or_else(|| {
            let (name, registers) = (name.to_owned(), entry.registers);
            self.functions.push(Function { module, name, registers, allowed_shared_bytes: SHARED_BYTES_UNASKED });
            self.functions.len() - 1
        });
        Ok(FunctionHandle(pointer(place)))
    }

    pub(super) fn get(&self, function: FunctionHandle) -> Result<&Function, CudaError> {
        let found = self.functions.get(slot(function.0));
        found.ok_or_else(|| failure("a launch", "CUDA_ERROR_INVALID_HANDLE: no such function"))
    }

    /// The kernels of a module; `None` for code of probes.
    pub(super) fn program(&self, module: usize) -> Option<Arc<Program>> {
        self.modules.get(module)?.as_ref()?.program.clone()
    }

    pub(super) fn allow_shared_bytes(&mut self, function: FunctionHandle, bytes: u32) -> Result<(), CudaError> {
        if bytes > SHARED_BYTES_PER_BLOCK {
            return Err(refusal("cuFuncSetAttribute", "CUDA_ERROR_INVALID_VALUE"));
        }
        if let Some(function) = self.functions.get_mut(slot(function.0)) {
            function.allowed_shared_bytes = bytes;
        }
        Ok(())
    }

    pub(super) fn resident_blocks(&self, function: FunctionHandle, threads: u32, bytes: u32) -> u32 {
        let registers = self.get(function).map_or(0, |function| function.registers).max(1);
        let by_registers = REGISTERS_PER_MULTIPROCESSOR / registers.next_multiple_of(8).saturating_mul(threads).max(1);
        let by_shared = SHARED_BYTES / (bytes + RESERVED_SHARED_BYTES);
        by_registers.min(by_shared).min(THREADS / threads.max(1)).min(BLOCKS)
    }

    /// Refuses a launch that asks for more shared memory than its function may.
    pub(super) fn check_shared_bytes(&self, function: FunctionHandle, bytes: u32) -> Result<(), CudaError> {
        let allowed = self.get(function)?.allowed_shared_bytes.max(SHARED_BYTES_UNASKED);
        if bytes <= allowed { Ok(()) } else { Err(refusal("a launch", "CUDA_ERROR_INVALID_VALUE: shared memory")) }
    }
}
