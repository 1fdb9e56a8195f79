//! What a device says of its clock, and the times of launches of kernels that do nothing: in a stream, and as nodes of graphs.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr;
use std::time::Duration;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdevice_attribute, CUgraphDependencyType};

use super::driver::{Driver, check};
use super::error::CudaError;
use super::memory::{Context, Event, Module, Stream};
use super::stamps::await_event;

/// Times of which the median counts.
const REPEATS: usize = 25;
/// Launches before those that count.
const WARM: usize = 5;
/// After how long a launch is given up.
const LAUNCH_LIMIT: Duration = Duration::from_secs(20);

/// The highest clock of the multiprocessors of device `ordinal`, in megahertz.
pub fn clock_mhz(ordinal: u32) -> Result<u32, CudaError> {
    let device = Driver::open()?.handle(ordinal)?;
    // SAFETY: the handle came from the driver.
    let kilohertz =
        unsafe { result::device::get_attribute(device, CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE) };
    Ok(u32::try_from(check("cuDeviceGetAttribute", kilohertz)?).unwrap_or(0) / 1000)
}

/// How a node of a graph is launched after the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// When that one has ended.
    Plain,
    /// Its blocks may be resident before; devices from compute capability 9.0 on.
    Programmatic,
    /// When that one has ended, with all of its blocks at once.
    Cooperative,
}

/// The blocks of every launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmptyBlocks {
    /// How many there are.
    pub count: u32,
    /// Threads of each.
    pub threads: u32,
}

/// Loaded kernels that take no arguments and do nothing.
pub struct EmptyKernels {
    /// Dropped unless a launch did not end: freeing what it uses would wait for it.
    loaded: ManuallyDrop<Loaded>,
    blocks: EmptyBlocks,
    is_lost: Cell<bool>,
}

struct Loaded {
    module: Module,
    stream: Stream,
    /// Last, so that all else is freed while it is there.
    _context: Context,
}

impl EmptyKernels {
    /// Loads code, which has been read as a cubin and whose entries take no arguments, on device `ordinal`.
    pub fn load(ordinal: u32, cubin: &[u8], blocks: EmptyBlocks) -> Result<Self, CudaError> {
        let device = Driver::open()?.handle(ordinal)?;
        let context = Context::new(device)?;
        let loaded = Loaded { module: Module::load(cubin)?, stream: Stream::new()?, _context: context };
        Ok(Self { loaded: ManuallyDrop::new(loaded), blocks, is_lost: false.into() })
    }

    /// Microseconds of so many launches of an entry into a stream, one after another: the median of [`REPEATS`] times.
    pub fn stream_microseconds(&self, entry: &str, launches: usize) -> Result<f64, CudaError> {
        let function = self.function(entry)?;
        self.median(|stream| (0..launches).try_for_each(|_| self.launch(function, stream)))
    }

    /// Microseconds of so many launches of a graph of `nodes` nodes, each of which runs an entry after the one before it: the
    /// median of [`REPEATS`] times.
    pub fn graph_microseconds(
        &self,
        entry: &str,
        kind: NodeKind,
        nodes: usize,
        launches: usize,
    ) -> Result<f64, CudaError> {
        let graph = EmptyGraph::new()?;
        let function = self.function(entry)?;
        let mut previous = None;
        for _ in 0..nodes {
            let node = graph.add(function, self.blocks, kind)?;
            if let Some(previous) = previous {
                graph.depend(previous, node, kind)?;
            }
            previous = Some(node);
        }
        let graph = ManuallyDrop::new(graph.instantiate()?);
        let time = self.median(|stream| (0..launches).try_for_each(|_| graph.launch(stream)));
        self.free(graph);
        time
    }

    /// Microseconds between two events that a graph records one after the other, and nothing else: the median of [`REPEATS`]
    /// times.
    pub fn event_microseconds(&self) -> Result<f64, CudaError> {
        self.usable()?;
        let (begin, end) = (Event::new()?, Event::new()?);
        let graph = EmptyGraph::new()?;
        let first = graph.record(&begin)?;
        let second = graph.record(&end)?;
        graph.depend(first, second, NodeKind::Plain)?;
        let graph = ManuallyDrop::new(graph.instantiate()?);
        let mut times = Vec::with_capacity(REPEATS);
        let done = (0..WARM + REPEATS).try_for_each(|at| {
            graph.launch(&self.loaded.stream)?;
            self.await_stream()?;
            if at >= WARM {
                times.push(f64::from(end.milliseconds_since(&begin)?) * 1e3);
            }
            Ok(())
        });
        self.free(graph);
        done.map(|()| middle(times))
    }

    fn function(&self, entry: &str) -> Result<sys::CUfunction, CudaError> {
        self.usable()?;
        self.loaded.module.function(entry)
    }

    fn usable(&self) -> Result<(), CudaError> {
        if self.is_lost.get() { Err(CudaError::Poisoned) } else { Ok(()) }
    }

    fn free(&self, graph: ManuallyDrop<ExecutableGraph>) {
        if !self.is_lost.get() {
            drop(ManuallyDrop::into_inner(graph));
        }
    }

    fn launch(&self, function: sys::CUfunction, stream: &Stream) -> Result<(), CudaError> {
        // SAFETY: the function is of the loaded module, and its entry takes no arguments.
        let launched = unsafe {
            result::launch_kernel(
                function,
                (self.blocks.count, 1, 1),
                (self.blocks.threads, 1, 1),
                0,
                stream.handle(),
                &mut [],
            )
        };
        check("cuLaunchKernel", launched)
    }

    /// Waits until all work of the stream has ended.
    fn await_stream(&self) -> Result<(), CudaError> {
        let end = Event::new()?;
        end.record(&self.loaded.stream)?;
        let ended = await_event(&end, LAUNCH_LIMIT);
        if ended.is_err() {
            self.is_lost.set(true);
        }
        ended
    }

    /// The median of the microseconds between events around what `work` puts into the stream.
    fn median(&self, work: impl Fn(&Stream) -> Result<(), CudaError>) -> Result<f64, CudaError> {
        let stream = &self.loaded.stream;
        let mut times = Vec::with_capacity(REPEATS);
        for at in 0..WARM + REPEATS {
            let (begin, end) = (Event::new()?, Event::new()?);
            begin.record(stream)?;
            work(stream)?;
            end.record(stream)?;
            self.await_stream()?;
            if at >= WARM {
                times.push(f64::from(end.milliseconds_since(&begin)?) * 1e3);
            }
        }
        Ok(middle(times))
    }
}

impl Drop for EmptyKernels {
    fn drop(&mut self) {
        if !self.is_lost.get() {
            // SAFETY: nothing uses what is loaded after this, and it is dropped once.
            unsafe { ManuallyDrop::drop(&mut self.loaded) };
        }
    }
}

fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A graph to which nodes are added.
struct EmptyGraph(sys::CUgraph);

impl EmptyGraph {
    fn new() -> Result<Self, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is to a live handle.
        check("cuGraphCreate", unsafe { sys::cuGraphCreate(&mut graph, 0) }.result())?;
        Ok(Self(graph))
    }

    /// Adds a launch of an entry that takes no arguments.
    fn add(
        &self,
        function: sys::CUfunction,
        blocks: EmptyBlocks,
        kind: NodeKind,
    ) -> Result<sys::CUgraphNode, CudaError> {
        let params = sys::CUDA_KERNEL_NODE_PARAMS {
            func: function,
            gridDimX: blocks.count,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: blocks.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: ptr::null_mut(),
            extra: ptr::null_mut(),
            kern: ptr::null_mut(),
            ctx: ptr::null_mut(),
        };
        let mut node = ptr::null_mut();
        // SAFETY: the graph is live, and the function is of a loaded module; its entry takes no arguments.
        let added = unsafe { sys::cuGraphAddKernelNode_v2(&mut node, self.0, ptr::null(), 0, &params) };
        check("cuGraphAddKernelNode", added.result())?;
        if kind == NodeKind::Cooperative {
            let attribute = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
            let value = sys::CUkernelNodeAttrValue { cooperative: 1 };
            // SAFETY: the node is of this live graph, and `cooperative` is the member of the union that the attribute reads.
            let set = unsafe { sys::cuGraphKernelNodeSetAttribute(node, attribute, &value) };
            check("cuGraphKernelNodeSetAttribute", set.result())?;
        }
        Ok(node)
    }

    /// Adds the recording of an event.
    fn record(&self, event: &Event) -> Result<sys::CUgraphNode, CudaError> {
        let mut node = ptr::null_mut();
        // SAFETY: the graph and the event are live.
        let added = unsafe { sys::cuGraphAddEventRecordNode(&mut node, self.0, ptr::null(), 0, event.handle()) };
        check("cuGraphAddEventRecordNode", added.result())?;
        Ok(node)
    }

    /// Lets `later` run after `earlier`, as its kind says.
    fn depend(&self, earlier: sys::CUgraphNode, later: sys::CUgraphNode, kind: NodeKind) -> Result<(), CudaError> {
        let (port, of_edge) = match kind {
            NodeKind::Programmatic => (
                sys::CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
            ),
            NodeKind::Plain | NodeKind::Cooperative => {
                (sys::CU_GRAPH_KERNEL_NODE_PORT_DEFAULT, CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_DEFAULT)
            }
        };
        let edge = sys::CUgraphEdgeData { from_port: port as u8, to_port: 0, type_: of_edge as u8, reserved: [0; 5] };
        // SAFETY: the graph and both of its nodes are live, and the arrays have one element each.
        let added = unsafe { sys::cuGraphAddDependencies_v2(self.0, &earlier, &later, &edge, 1) };
        check("cuGraphAddDependencies", added.result())
    }

    fn instantiate(self) -> Result<ExecutableGraph, CudaError> {
        let mut executable = ptr::null_mut();
        // SAFETY: the graph is live; what is instantiated does not refer to it afterwards.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, self.0, 0) };
        check("cuGraphInstantiate", made.result())?;
        Ok(ExecutableGraph(executable))
    }
}

impl Drop for EmptyGraph {
    fn drop(&mut self) {
        // SAFETY: the graph was created once and is no longer used.
        let _ = unsafe { result::graph::destroy(self.0) };
    }
}

/// An instantiated graph.
struct ExecutableGraph(sys::CUgraphExec);

impl ExecutableGraph {
    fn launch(&self, stream: &Stream) -> Result<(), CudaError> {
        // SAFETY: the graph is instantiated; its nodes' module and events are live for as long as it is, and its launches run
        // one after another in one stream.
        check("cuGraphLaunch", unsafe { result::graph::launch(self.0, stream.handle()) })
    }
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        // SAFETY: it was instantiated once, and it is dropped after its last launch has ended.
        let _ = unsafe { result::graph::exec_destroy(self.0) };
    }
}
