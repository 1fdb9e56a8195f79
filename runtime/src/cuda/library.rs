//! The driver's own library, through cudarc.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::ffi::{CString, c_void};
use std::ptr;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute, CUfunction_attribute, CUgraphDependencyType, CUresult};

use super::calls::{
    CodeImage, Dependency, DriverCalls, EventHandle, ExecutableHandle, FunctionHandle, GraphHandle, KernelArguments,
    KernelLaunch, ModuleHandle, NodeHandle, Residency, StreamHandle,
};
use super::device::DeviceInfo;
use super::error::CudaError;

/// The library that the GPU's driver installs.
pub(super) struct Library;

impl DriverCalls for Library {
    fn initialise(&self) -> Result<((u32, u32), u32), CudaError> {
        // SAFETY: opening the driver library runs its initialisers, which have no preconditions. No other function of
        // cudarc may come before: without the library they panic.
        if !unsafe { sys::is_culib_present() } {
            return Err(CudaError::NoDriver);
        }
        let mut version = 0;
        // SAFETY: the library is present, and the pointer is to a live integer.
        check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) }.result())?;
        let version = u32::try_from(version).unwrap_or(0);
        let devices = match result::init() {
            Ok(()) => check("cuDeviceGetCount", result::device::get_count())?,
            Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => 0,
            Err(error) => return Err(driver_error("cuInit", error)),
        };
        Ok(((version / 1000, version % 1000 / 10), u32::try_from(devices).unwrap_or(0)))
    }

    fn device(&self, ordinal: u32) -> Result<DeviceInfo, CudaError> {
        let device = device(ordinal)?;
        let attribute = |attribute: CUdevice_attribute| {
            // SAFETY: the handle came from the driver.
            let value = unsafe { result::device::get_attribute(device, attribute) };
            check("cuDeviceGetAttribute", value).map(|value| u32::try_from(value).unwrap_or(0))
        };
        // SAFETY: the handle came from the driver.
        let memory_bytes = check("cuDeviceTotalMem", unsafe { result::device::total_mem(device) })? as u64;
        Ok(DeviceInfo {
            ordinal,
            name: check("cuDeviceGetName", result::device::get_name(device))?,
            capability: (
                attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            memory_bytes,
            shared_bytes: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            cooperative: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0,
        })
    }

    fn clock_mhz(&self, ordinal: u32) -> Result<Option<u32>, CudaError> {
        let rate = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE;
        // SAFETY: the handle came from the driver.
        let kilohertz = unsafe { result::device::get_attribute(device(ordinal)?, rate) };
        Ok(u32::try_from(check("cuDeviceGetAttribute", kilohertz)? / 1000).ok().filter(|clock| *clock > 0))
    }

    fn identity(&self, ordinal: u32) -> Result<[u8; 16], CudaError> {
        let uuid = check("cuDeviceGetUuid", result::device::get_uuid(device(ordinal)?))?;
        Ok(uuid.bytes.map(|byte| byte as u8))
    }

    fn retain_context(&self, ordinal: u32) -> Result<(), CudaError> {
        let device = device(ordinal)?;
        // SAFETY: the handle came from `cuDeviceGet`.
        let context = check("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
        // SAFETY: the context was retained above.
        let current = check("cuCtxSetCurrent", unsafe { result::ctx::set_current(context) });
        if current.is_err() {
            self.release_context(ordinal);
        }
        current
    }

    fn enter_context(&self, ordinal: u32) -> Result<(), CudaError> {
        // Nothing else tells the handle. It is kept by who calls, so this one is not the last to release it.
        let entered = self.retain_context(ordinal);
        if entered.is_ok() {
            self.release_context(ordinal);
        }
        entered
    }

    fn release_context(&self, ordinal: u32) {
        if let Ok(device) = device(ordinal) {
            // SAFETY: callers release as often as they have retained. A failure leaves it to the end of the process.
            let _ = unsafe { result::primary_ctx::release(device) };
        }
    }

    fn free_bytes(&self) -> Result<u64, CudaError> {
        Ok(check("cuMemGetInfo", result::mem_get_info())?.0 as u64)
    }

    fn load_module(&self, image: CodeImage<'_>) -> Result<ModuleHandle, CudaError> {
        // SAFETY: the driver copies the image, whose length its own headers tell; `CodeImage` says that they lie inside the
        // slice.
        let module = unsafe { result::module::load_data(image.cubin.as_ptr().cast()) };
        check("cuModuleLoadData", module).map(|module| ModuleHandle(module.cast()))
    }

    unsafe fn unload_module(&self, module: ModuleHandle) {
        // SAFETY: by the trait's contract the module is loaded.
        let _ = unsafe { result::module::unload(module.0.cast()) };
    }

    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle, CudaError> {
        let name = CString::new(name).expect("entry names are fixed words");
        // SAFETY: by the trait's contract the module is loaded.
        let function = unsafe { result::module::get_function(module.0.cast(), name) };
        check("cuModuleGetFunction", function).map(|function| FunctionHandle(function.cast()))
    }

    unsafe fn allow_shared_bytes(&self, function: FunctionHandle, bytes: u32) -> Result<(), CudaError> {
        let shared = i32::try_from(bytes).unwrap_or(i32::MAX);
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: by the trait's contract the function is of a loaded module.
        let set = unsafe { result::function::set_function_attribute(function.0.cast(), attribute, shared) };
        check("cuFuncSetAttribute", set)
    }

    unsafe fn resident_blocks(&self, function: FunctionHandle, threads: u32, bytes: u32) -> Result<u32, CudaError> {
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        let function = function.0.cast();
        // SAFETY: by the trait's contract the function is of a loaded module.
        let blocks =
            unsafe { result::occupancy::max_active_block_per_multiprocessor(function, threads, bytes as usize) };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", blocks).map(|blocks| u32::try_from(blocks).unwrap_or(0))
    }

    fn allocate(&self, bytes: usize) -> Result<u64, CudaError> {
        // SAFETY: allocating has no precondition but a current context, without which it fails.
        check("cuMemAlloc", unsafe { result::malloc_sync(bytes) })
    }

    unsafe fn free(&self, address: u64) {
        // SAFETY: by the trait's contract the memory is allocated.
        let _ = unsafe { result::free_sync(address) };
    }

    unsafe fn fill(&self, address: u64, byte: u8, bytes: usize) -> Result<(), CudaError> {
        // SAFETY: by the trait's contract the range lies in an allocation.
        check("cuMemsetD8", unsafe { result::memset_d8_sync(address, byte, bytes) })
    }

    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), CudaError> {
        // SAFETY: by the trait's contract both ranges lie in allocations.
        check("cuMemcpyDtoD", unsafe { result::memcpy_dtod_sync(to, from, bytes) })
    }

    unsafe fn write(&self, address: u64, data: &[u8]) -> Result<(), CudaError> {
        // SAFETY: by the trait's contract the range lies in an allocation, and the call returns after `data` was read.
        check("cuMemcpyHtoD", unsafe { result::memcpy_htod_sync(address, data) })
    }

    unsafe fn read(&self, address: u64, out: &mut [u8]) -> Result<(), CudaError> {
        // SAFETY: by the trait's contract the range lies in an allocation, and any bytes are valid bytes.
        check("cuMemcpyDtoH", unsafe { result::memcpy_dtoh_sync(out, address) })
    }

    fn create_stream(&self) -> Result<StreamHandle, CudaError> {
        // Synchronous copies return while the last part is still on its way, in the order of the legacy default stream.
        // Only a stream that keeps that order starts a launch after its inputs have arrived.
        let stream = result::stream::create(result::stream::StreamKind::Default);
        check("cuStreamCreate", stream).map(|stream| StreamHandle(stream.cast()))
    }

    unsafe fn destroy_stream(&self, stream: StreamHandle) {
        // SAFETY: by the trait's contract the stream is live.
        let _ = unsafe { result::stream::destroy(stream.0.cast()) };
    }

    fn create_event(&self) -> Result<EventHandle, CudaError> {
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT);
        check("cuEventCreate", event).map(|event| EventHandle(event.cast()))
    }

    unsafe fn destroy_event(&self, event: EventHandle) {
        // SAFETY: by the trait's contract the event is live.
        let _ = unsafe { result::event::destroy(event.0.cast()) };
    }

    unsafe fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<(), CudaError> {
        // SAFETY: by the trait's contract event and stream are live.
        check("cuEventRecord", unsafe { result::event::record(event.0.cast(), stream.0.cast()) })
    }

    unsafe fn has_passed(&self, event: EventHandle) -> Result<bool, CudaError> {
        // SAFETY: by the trait's contract the event is live.
        match unsafe { result::event::query(event.0.cast()) } {
            Ok(()) => Ok(true),
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => check("cuEventQuery", Err(error)),
        }
    }

    unsafe fn milliseconds(&self, begin: EventHandle, end: EventHandle) -> Result<f32, CudaError> {
        // SAFETY: by the trait's contract both events are live.
        check("cuEventElapsedTime", unsafe { result::event::elapsed(begin.0.cast(), end.0.cast()) })
    }

    unsafe fn launch(&self, launch: &KernelLaunch<'_>, stream: StreamHandle) -> Result<(), CudaError> {
        let KernelLaunch { blocks, threads, shared_bytes, residency, .. } = *launch;
        let (function, stream) = (launch.function.0.cast(), stream.0.cast());
        let (grid, block) = ((blocks, 1, 1), (threads, 1, 1));
        let mut parameters = parameters(launch.arguments);
        match residency {
            Residency::AllAtOnce => {
                // SAFETY: by the trait's contract function and stream are live, and the function takes these arguments by
                // value; the driver copies them before it returns.
                let launched = unsafe {
                    result::launch_cooperative_kernel(function, grid, block, shared_bytes, stream, &mut parameters)
                };
                check("cuLaunchCooperativeKernel", launched)
            }
            Residency::AsRoomAllows => {
                // SAFETY: as above.
                let launched =
                    unsafe { result::launch_kernel(function, grid, block, shared_bytes, stream, &mut parameters) };
                check("cuLaunchKernel", launched)
            }
        }
    }

    fn create_graph(&self) -> Result<GraphHandle, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is to a live handle.
        check("cuGraphCreate", unsafe { sys::cuGraphCreate(&mut graph, 0) }.result())?;
        Ok(GraphHandle(graph.cast()))
    }

    unsafe fn destroy_graph(&self, graph: GraphHandle) {
        // SAFETY: by the trait's contract the graph is live.
        let _ = unsafe { result::graph::destroy(graph.0.cast()) };
    }

    unsafe fn add_launch(&self, graph: GraphHandle, launch: &KernelLaunch<'_>) -> Result<NodeHandle, CudaError> {
        let mut parameters = parameters(launch.arguments);
        let params = sys::CUDA_KERNEL_NODE_PARAMS {
            func: launch.function.0.cast(),
            gridDimX: launch.blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: launch.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: launch.shared_bytes,
            kernelParams: parameters.as_mut_ptr(),
            extra: ptr::null_mut(),
            kern: ptr::null_mut(),
            ctx: ptr::null_mut(),
        };
        let mut node = ptr::null_mut();
        // SAFETY: by the trait's contract graph and function are live, and the function takes these arguments by value;
        // the driver copies them before it returns.
        let added = unsafe { sys::cuGraphAddKernelNode_v2(&mut node, graph.0.cast(), ptr::null(), 0, &params) };
        check("cuGraphAddKernelNode", added.result())?;
        if launch.residency == Residency::AllAtOnce {
            let attribute = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
            let value = sys::CUkernelNodeAttrValue { cooperative: 1 };
            // SAFETY: the node was just added, and `cooperative` is the member of the union that the attribute reads.
            let set = unsafe { sys::cuGraphKernelNodeSetAttribute(node, attribute, &value) };
            check("cuGraphKernelNodeSetAttribute", set.result())?;
        }
        Ok(NodeHandle(node.cast()))
    }

    unsafe fn add_record(&self, graph: GraphHandle, event: EventHandle) -> Result<NodeHandle, CudaError> {
        let mut node = ptr::null_mut();
        let (graph, event) = (graph.0.cast(), event.0.cast());
        // SAFETY: by the trait's contract graph and event are live.
        let added = unsafe { sys::cuGraphAddEventRecordNode(&mut node, graph, ptr::null(), 0, event) };
        check("cuGraphAddEventRecordNode", added.result())?;
        Ok(NodeHandle(node.cast()))
    }

    unsafe fn add_dependency(
        &self,
        graph: GraphHandle,
        earlier: NodeHandle,
        later: NodeHandle,
        dependency: Dependency,
    ) -> Result<(), CudaError> {
        let (port, kind) = match dependency {
            Dependency::Programmatic => {
                let kind = CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
                (sys::CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, kind)
            }
            Dependency::Full => {
                let kind = CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
                (sys::CU_GRAPH_KERNEL_NODE_PORT_DEFAULT, kind)
            }
        };
        let edge = sys::CUgraphEdgeData { from_port: port as u8, to_port: 0, type_: kind as u8, reserved: [0; 5] };
        let (earlier, later) = (earlier.0.cast(), later.0.cast());
        // SAFETY: by the trait's contract the graph and its nodes are live; the arrays have one element each.
        let added = unsafe { sys::cuGraphAddDependencies_v2(graph.0.cast(), &earlier, &later, &edge, 1) };
        check("cuGraphAddDependencies", added.result())
    }

    unsafe fn instantiate(&self, graph: GraphHandle) -> Result<ExecutableHandle, CudaError> {
        let mut executable = ptr::null_mut();
        // SAFETY: by the trait's contract the graph is live; what is instantiated does not refer to it afterwards.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, graph.0.cast(), 0) };
        check("cuGraphInstantiate", made.result())?;
        Ok(ExecutableHandle(executable.cast()))
    }

    unsafe fn destroy_executable(&self, graph: ExecutableHandle) {
        // SAFETY: by the trait's contract the graph is instantiated.
        let _ = unsafe { result::graph::exec_destroy(graph.0.cast()) };
    }

    unsafe fn launch_graph(&self, graph: ExecutableHandle, stream: StreamHandle) -> Result<(), CudaError> {
        // SAFETY: by the trait's contract graph and stream are live, and so is everything that its nodes refer to.
        check("cuGraphLaunch", unsafe { result::graph::launch(graph.0.cast(), stream.0.cast()) })
    }
}

/// The driver's handle of a device.
fn device(ordinal: u32) -> Result<sys::CUdevice, CudaError> {
    let missing = |count| CudaError::NoDevice { ordinal, count };
    let count = check("cuDeviceGetCount", result::device::get_count())?;
    let count = u32::try_from(count).unwrap_or(0);
    let number = i32::try_from(ordinal).ok().filter(|_| ordinal < count).ok_or(missing(count))?;
    check("cuDeviceGet", result::device::get(number))
}

/// Pointers to each parameter. The driver only reads through them.
fn parameters(arguments: KernelArguments<'_>) -> Vec<*mut c_void> {
    fn pointer<T>(value: &T) -> *mut c_void {
        ptr::from_ref(value).cast_mut().cast()
    }
    match arguments {
        KernelArguments::Streams(arguments) => vec![pointer(arguments)],
        KernelArguments::Node(arguments) => vec![pointer(arguments)],
        KernelArguments::Stamps(arguments) => vec![
            pointer(&arguments.stamps),
            pointer(&arguments.data),
            pointer(&arguments.elements),
            pointer(&arguments.rounds),
        ],
    }
}

/// The result of a driver call, with the call's name in its error.
fn check<T>(call: &'static str, result: Result<T, DriverError>) -> Result<T, CudaError> {
    result.map_err(|error| driver_error(call, error))
}

fn driver_error(call: &'static str, error: DriverError) -> CudaError {
    CudaError::Driver { call, reason: format!("{error:?}"), is_fault: is_fault(error.0) }
}

/// Whether the driver refuses all further work of this process after such a code.
fn is_fault(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
    )
}
