//! A driver without a GPU, for tests and for dry runs of everything that a GPU is used for.
//!
//! It answers the calls of the CUDA driver for one made-up device, and runs the kernels that loaded code was compiled
//! from on the emulator. So sessions, graphs and occupancy are exercised as they stand; machine code is not. Times are
//! made up from the instructions that the emulator has executed, and probes without kernels are given made-up stamps. A
//! [`Fault`] is injected where one is asked for.

#![expect(unsafe_code, reason = "implements the calls of a driver, some of which are unsafe")]

mod error;
mod fault;
mod graph;
mod handle;
mod launch;
mod memory;
mod module;
mod state;

pub use fault::Fault;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::calls::{
    CodeImage, Dependency, DriverCalls, EventHandle, ExecutableHandle, FunctionHandle, GraphHandle, KernelLaunch,
    ModuleHandle, NodeHandle, StreamHandle,
};
use super::device::DeviceInfo;
use super::driver::Calls;
use super::error::CudaError;
use error::{failure, refusal};
use launch::OwnedLaunch;
use state::State;

/// The word for it in the variable that chooses a driver.
const WORD: &str = "stand-in";
/// Names a file in which launches of all processes are counted.
const STATE_VARIABLE: &str = "WARPWEAVE_STAND_IN_STATE";
/// The CUDA version of the driver.
const VERSION: (u32, u32) = (13, 0);
/// Bytes of its memory, all of them free.
const MEMORY_BYTES: u64 = 8 << 30;

/// The driver.
pub(super) struct StandIn {
    fault: Option<Fault>,
    state: Mutex<State>,
}

/// The stand-in that `text` asks for, such as `stand-in` or `stand-in:hang`; `None` if it names another driver or an unknown
/// fault. It lives as long as the process.
pub(super) fn named(text: &OsString) -> Option<Calls> {
    let text = text.to_str()?;
    let fault = match text.split_once(':') {
        None if text == WORD => None,
        Some((WORD, fault)) => Some(Fault::ALL.into_iter().find(|known| known.name() == fault)?),
        None | Some(_) => return None,
    };
    Some(Box::leak(Box::new(StandIn::new(fault, std::env::var_os(STATE_VARIABLE).map(PathBuf::from)))))
}

/// Every text that [`named`] knows.
pub(super) fn known() -> String {
    let faults = Fault::ALL.into_iter().map(|fault| format!(", {WORD}:{}", fault.name()));
    std::iter::once(WORD.to_owned()).chain(faults).collect()
}

impl StandIn {
    /// With a fault, and the file in which launches are counted across processes.
    pub(super) fn new(fault: Option<Fault>, launches: Option<PathBuf>) -> Self {
        Self { fault, state: Mutex::new(State::new(fault, launches)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless the device is lost.
    fn working(&self, call: &'static str) -> Result<MutexGuard<'_, State>, CudaError> {
        let state = self.state();
        if state.is_lost() { Err(failure(call, "CUDA_ERROR_LAUNCH_FAILED: the device is lost")) } else { Ok(state) }
    }
}

impl DriverCalls for StandIn {
    fn initialise(&self) -> Result<((u32, u32), u32), CudaError> {
        Ok((VERSION, u32::from(!self.state().is_lost())))
    }

    fn device(&self, ordinal: u32) -> Result<DeviceInfo, CudaError> {
        Ok(DeviceInfo {
            ordinal,
            name: "stand-in for NVIDIA H200".to_owned(),
            capability: (9, 0),
            multiprocessors: fault::multiprocessors(self.fault),
            memory_bytes: MEMORY_BYTES,
            shared_bytes: module::SHARED_BYTES_PER_BLOCK,
            cooperative: true,
        })
    }

    fn clock_mhz(&self, _: u32) -> Result<Option<u32>, CudaError> {
        Ok(Some(launch::CYCLES_PER_MICROSECOND as u32))
    }

    fn identity(&self, _: u32) -> Result<[u8; 16], CudaError> {
        Ok([0; 16])
    }

    fn retain_context(&self, _: u32) -> Result<(), CudaError> {
        self.working("cuDevicePrimaryCtxRetain").map(drop)
    }

    fn enter_context(&self, _: u32) -> Result<(), CudaError> {
        Ok(())
    }

    fn release_context(&self, _: u32) {}

    fn free_bytes(&self) -> Result<u64, CudaError> {
        let state = self.working("cuMemGetInfo")?;
        Ok(MEMORY_BYTES.saturating_sub(state.memory.allocated_bytes()))
    }

    fn load_module(&self, image: CodeImage<'_>) -> Result<ModuleHandle, CudaError> {
        self.working("cuModuleLoadData")?.modules.load(image)
    }

    unsafe fn unload_module(&self, module: ModuleHandle) {
        self.state().modules.unload(module);
    }

    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle, CudaError> {
        self.working("cuModuleGetFunction")?.modules.function(module, name)
    }

    unsafe fn allow_shared_bytes(&self, function: FunctionHandle, bytes: u32) -> Result<(), CudaError> {
        self.working("cuFuncSetAttribute")?.modules.allow_shared_bytes(function, bytes)
    }

    unsafe fn resident_blocks(&self, function: FunctionHandle, threads: u32, bytes: u32) -> Result<u32, CudaError> {
        Ok(self
            .working("cuOccupancyMaxActiveBlocksPerMultiprocessor")?
            .modules
            .resident_blocks(function, threads, bytes))
    }

    fn allocate(&self, bytes: usize) -> Result<u64, CudaError> {
        let mut state = self.working("cuMemAlloc")?;
        let most = if self.fault == Some(Fault::RefusedAllocation) { fault::MOST_BYTES } else { MEMORY_BYTES };
        if bytes as u64 > most {
            return Err(refusal("cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY"));
        }
        Ok(state.memory.allocate(bytes))
    }

    unsafe fn free(&self, address: u64) {
        self.state().memory.free(address);
    }

    unsafe fn fill(&self, address: u64, byte: u8, bytes: usize) -> Result<(), CudaError> {
        self.working("cuMemsetD8")?.memory.write(address, &vec![byte; bytes])
    }

    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), CudaError> {
        let mut state = self.working("cuMemcpyDtoD")?;
        let mut copied = vec![0; bytes];
        state.memory.read(from, &mut copied)?;
        state.memory.write(to, &copied)
    }

    unsafe fn write(&self, address: u64, data: &[u8]) -> Result<(), CudaError> {
        self.working("cuMemcpyHtoD")?.memory.write(address, data)
    }

    unsafe fn read(&self, address: u64, out: &mut [u8]) -> Result<(), CudaError> {
        self.working("cuMemcpyDtoH")?.memory.read(address, out)
    }

    fn create_stream(&self) -> Result<StreamHandle, CudaError> {
        self.working("cuStreamCreate").map(|_| StreamHandle(handle::pointer(0)))
    }

    unsafe fn destroy_stream(&self, _: StreamHandle) {}

    fn create_event(&self) -> Result<EventHandle, CudaError> {
        Ok(self.working("cuEventCreate")?.create_event())
    }

    unsafe fn destroy_event(&self, event: EventHandle) {
        self.state().destroy_event(event);
    }

    unsafe fn record(&self, event: EventHandle, _: StreamHandle) -> Result<(), CudaError> {
        self.working("cuEventRecord")?.record(event)
    }

    unsafe fn has_passed(&self, event: EventHandle) -> Result<bool, CudaError> {
        self.working("cuEventQuery")?.has_passed(event)
    }

    unsafe fn milliseconds(&self, begin: EventHandle, end: EventHandle) -> Result<f32, CudaError> {
        self.working("cuEventElapsedTime")?.milliseconds(begin, end)
    }

    unsafe fn launch(&self, launch: &KernelLaunch<'_>, _: StreamHandle) -> Result<(), CudaError> {
        let launches = [OwnedLaunch::from(launch)];
        self.working("cuLaunchKernel")?.run("cuLaunchKernel", &launches, &mut None)
    }

    fn create_graph(&self) -> Result<GraphHandle, CudaError> {
        Ok(self.working("cuGraphCreate")?.graphs.create())
    }

    unsafe fn destroy_graph(&self, graph: GraphHandle) {
        self.state().graphs.destroy(graph);
    }

    unsafe fn add_launch(&self, graph: GraphHandle, launch: &KernelLaunch<'_>) -> Result<NodeHandle, CudaError> {
        self.working("cuGraphAddKernelNode")?.graphs.add(graph, graph::Node::Launch(OwnedLaunch::from(launch)))
    }

    unsafe fn add_record(&self, graph: GraphHandle, event: EventHandle) -> Result<NodeHandle, CudaError> {
        self.working("cuGraphAddEventRecordNode")?.graphs.add(graph, graph::Node::Record(event))
    }

    unsafe fn add_dependency(
        &self,
        graph: GraphHandle,
        earlier: NodeHandle,
        later: NodeHandle,
        dependency: Dependency,
    ) -> Result<(), CudaError> {
        self.working("cuGraphAddDependencies")?.graphs.add_dependency(graph, earlier, later, dependency)
    }

    unsafe fn instantiate(&self, graph: GraphHandle) -> Result<ExecutableHandle, CudaError> {
        self.working("cuGraphInstantiate")?.graphs.instantiate(graph)
    }

    unsafe fn destroy_executable(&self, graph: ExecutableHandle) {
        self.state().graphs.destroy_executable(graph);
    }

    unsafe fn launch_graph(&self, graph: ExecutableHandle, _: StreamHandle) -> Result<(), CudaError> {
        self.working("cuGraphLaunch")?.run_graph(graph)
    }
}
