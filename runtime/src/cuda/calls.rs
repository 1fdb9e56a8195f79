//! The calls of the CUDA driver that everything else here is made of.
//!
//! Sessions, graphs and probes run unchanged on every implementation: the driver's library, and the stand-in that tests and
//! dry runs use.

#![expect(unsafe_code, reason = "declares the calls, whose contracts the compiler does not check")]

use std::ffi::c_void;

use super::device::DeviceInfo;
use super::error::CudaError;
use super::launches::{NodeArguments, StampArguments, StreamArguments};
use crate::target::Target;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(super) struct $name(pub(super) *mut c_void);

        #[expect(unsafe_code, reason = "a handle names what belongs to no thread")]
        // SAFETY: nothing is reached through a handle but by calls of the driver, which takes one on every thread on which its
        // context is current.
        unsafe impl Send for $name {}
    )*};
}

handles!(
    /// Loaded code.
    ModuleHandle,
    /// An entry of loaded code.
    FunctionHandle,
    /// An order of work.
    StreamHandle,
    /// A point in a stream, with its time.
    EventHandle,
    /// A graph to which nodes are added.
    GraphHandle,
    /// A node of such a graph.
    NodeHandle,
    /// An instantiated graph.
    ExecutableHandle
);

/// Device code as it is loaded.
#[derive(Clone, Copy)]
pub(super) struct CodeImage<'a> {
    /// The ELF file, whose headers have been checked to lie inside of it.
    pub(super) cubin: &'a [u8],
    /// The encoded kernels that it was compiled from, for drivers that run these instead; `None` for code of probes.
    #[cfg_attr(not(feature = "compile"), expect(dead_code, reason = "the stand-in driver alone reads it"))]
    pub(super) kernel_ir: Option<(Target, &'a [u8])>,
}

/// A launch of an entry.
#[derive(Clone, Copy)]
pub(super) struct KernelLaunch<'a> {
    pub(super) function: FunctionHandle,
    pub(super) blocks: u32,
    /// Threads of a block.
    pub(super) threads: u32,
    /// Dynamic shared-memory bytes of a block.
    pub(super) shared_bytes: u32,
    pub(super) residency: Residency,
    pub(super) arguments: KernelArguments<'a>,
}

/// Whether all blocks of a launch must be resident at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Residency {
    /// They must, or the launch fails: a cooperative launch.
    AllAtOnce,
    /// They run as there is room.
    AsRoomAllows,
}

/// What an entry is given, by value.
#[derive(Clone, Copy)]
pub(super) enum KernelArguments<'a> {
    /// Of the entry that walks streams.
    Streams(&'a StreamArguments),
    /// Of a node's entry.
    Node(&'a NodeArguments),
    /// Of a probe, four parameters.
    Stamps(&'a StampArguments),
}

/// How a node waits for an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dependency {
    /// It starts when that has ended.
    Full,
    /// Its blocks may be resident before and wait themselves.
    Programmatic,
}

/// The calls of a driver.
///
/// # Safety
///
/// The unsafe functions share one contract. A handle was made by the same driver and has not been destroyed. A range of
/// addresses lies in memory that the driver has allocated and not freed, and no launch that runs meanwhile touches it
/// unless that is the purpose. The arguments of a launch are those that its function takes, and their addresses are of
/// live allocations of the sizes that the function's plan or probe asks for. A context is current on this thread.
pub(super) trait DriverCalls: Sync {
    /// Initialises the driver. The version of CUDA that it supports, and its number of devices.
    fn initialise(&self) -> Result<((u32, u32), u32), CudaError>;
    /// What a device is.
    fn device(&self, ordinal: u32) -> Result<DeviceInfo, CudaError>;
    /// The highest clock of a device's multiprocessors in megahertz, where the driver tells it.
    fn clock_mhz(&self, ordinal: u32) -> Result<Option<u32>, CudaError>;
    /// A device's identity.
    #[cfg_attr(not(feature = "clocks"), expect(dead_code, reason = "it names the device for its clocks"))]
    fn identity(&self, ordinal: u32) -> Result<[u8; 16], CudaError>;
    /// Makes a device's primary context current on this thread, and keeps it until it is released as often.
    fn retain_context(&self, ordinal: u32) -> Result<(), CudaError>;
    /// Makes a device's primary context, which is kept, current on this thread.
    fn enter_context(&self, ordinal: u32) -> Result<(), CudaError>;
    /// Releases a context once.
    fn release_context(&self, ordinal: u32);
    /// Bytes of device memory that are free.
    fn free_bytes(&self) -> Result<u64, CudaError>;

    fn load_module(&self, image: CodeImage<'_>) -> Result<ModuleHandle, CudaError>;
    unsafe fn unload_module(&self, module: ModuleHandle);
    /// The entry of this name.
    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle, CudaError>;
    /// Lets launches of a function ask for this much dynamic shared memory.
    unsafe fn allow_shared_bytes(&self, function: FunctionHandle, bytes: u32) -> Result<(), CudaError>;
    /// How many blocks of these threads and shared bytes a multiprocessor holds at once.
    unsafe fn resident_blocks(&self, function: FunctionHandle, threads: u32, bytes: u32) -> Result<u32, CudaError>;

    /// Allocates device memory of at least one byte.
    fn allocate(&self, bytes: usize) -> Result<u64, CudaError>;
    unsafe fn free(&self, address: u64);
    /// Sets bytes, in the order of the legacy default stream.
    unsafe fn fill(&self, address: u64, byte: u8, bytes: usize) -> Result<(), CudaError>;
    /// Copies bytes on the device, in the order of the legacy default stream.
    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), CudaError>;
    /// Copies bytes to the device; returns after `data` was read.
    unsafe fn write(&self, address: u64, data: &[u8]) -> Result<(), CudaError>;
    /// Copies bytes from the device.
    unsafe fn read(&self, address: u64, out: &mut [u8]) -> Result<(), CudaError>;

    /// A stream that keeps the order of the legacy default stream.
    fn create_stream(&self) -> Result<StreamHandle, CudaError>;
    unsafe fn destroy_stream(&self, stream: StreamHandle);
    /// An event that records its time.
    fn create_event(&self) -> Result<EventHandle, CudaError>;
    unsafe fn destroy_event(&self, event: EventHandle);
    /// Records an event behind everything in a stream.
    unsafe fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<(), CudaError>;
    /// Whether everything before an event has ended.
    unsafe fn has_passed(&self, event: EventHandle) -> Result<bool, CudaError>;
    /// Milliseconds from one event that has passed to another.
    unsafe fn milliseconds(&self, begin: EventHandle, end: EventHandle) -> Result<f32, CudaError>;

    /// Puts a launch into a stream.
    unsafe fn launch(&self, launch: &KernelLaunch<'_>, stream: StreamHandle) -> Result<(), CudaError>;

    /// An empty graph.
    fn create_graph(&self) -> Result<GraphHandle, CudaError>;
    /// Destroys a graph; what was instantiated of it lives on.
    unsafe fn destroy_graph(&self, graph: GraphHandle);
    /// Adds a launch, whose arguments are copied.
    unsafe fn add_launch(&self, graph: GraphHandle, launch: &KernelLaunch<'_>) -> Result<NodeHandle, CudaError>;
    /// Adds the recording of an event, which must outlive what is instantiated.
    unsafe fn add_record(&self, graph: GraphHandle, event: EventHandle) -> Result<NodeHandle, CudaError>;
    /// Lets `later` run after `earlier`.
    unsafe fn add_dependency(
        &self,
        graph: GraphHandle,
        earlier: NodeHandle,
        later: NodeHandle,
        dependency: Dependency,
    ) -> Result<(), CudaError>;
    /// Makes a graph ready for launches.
    unsafe fn instantiate(&self, graph: GraphHandle) -> Result<ExecutableHandle, CudaError>;
    /// Destroys an instantiated graph.
    unsafe fn destroy_executable(&self, graph: ExecutableHandle);
    /// Puts all nodes of a graph into a stream.
    unsafe fn launch_graph(&self, graph: ExecutableHandle, stream: StreamHandle) -> Result<(), CudaError>;
}
