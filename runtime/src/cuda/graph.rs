//! A graph of launches, one after another: kernel nodes with their programmatic dependencies on one another, and
//! cooperative nodes that walk streams. Before and behind them stands what records when they begin and end.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::ffi::c_void;
use std::ptr;
use std::time::Duration;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUgraphDependencyType};
use warpweave_plan::tables::{Launch, NodeLaunch, StreamLaunch, node_name};

use super::driver::{DeviceInfo, check};
use super::error::CudaError;
use super::launches::Addresses;
use super::memory::{Event, Module, Stream};
use super::session::ENTRY_NAME;
use crate::bundle::DeviceCode;

/// The first compute capability whose blocks may be resident before the node before them has ended.
const FIRST_DEPENDENT_LAUNCH: u32 = 9;

/// What the nodes of a graph are made of, beside their addresses.
#[derive(Clone)]
pub(super) struct Shape {
    /// The launches in their order.
    pub(super) launches: Vec<Launch>,
    /// Threads of a block.
    pub(super) threads: u32,
    /// Shared-memory bytes of a block that walks a stream.
    pub(super) shared_bytes: u32,
    /// Shared-memory bytes of a block of each kernel's node.
    pub(super) node_shared_bytes: Vec<u32>,
    /// Whether blocks may be resident before the node before them has ended.
    pub(super) is_dependent: bool,
}

impl Shape {
    /// Of a program's code on a device.
    pub(super) fn new(launches: Vec<Launch>, device: &DeviceInfo, code: &DeviceCode) -> Self {
        Self {
            launches,
            threads: code.threads,
            shared_bytes: code.shared_bytes,
            node_shared_bytes: code.node_shared_bytes.clone(),
            is_dependent: device.capability.0 >= FIRST_DEPENDENT_LAUNCH,
        }
    }

    /// Shared-memory bytes of a block of a kernel's node.
    pub(super) fn node_shared(&self, kernel: u32) -> u32 {
        self.node_shared_bytes.get(kernel as usize).copied().unwrap_or(self.shared_bytes)
    }
}

/// Events that a graph records itself, so that nothing that the host does lies between them.
#[derive(Clone, Copy)]
pub(super) struct Recorded<'e> {
    /// Before the first launch.
    pub(super) begin: &'e Event,
    /// Behind the last one.
    pub(super) end: &'e Event,
}

/// An instantiated graph.
pub(super) struct Graph(sys::CUgraphExec);

impl Graph {
    /// A graph of these launches of the module's entries, of which those that walk streams give up a wait after
    /// `wait_limit`. The events that it records must live as long as it.
    pub(super) fn new(
        module: &Module,
        shape: &Shape,
        addresses: &Addresses,
        wait_limit: Duration,
        recorded: Option<Recorded<'_>>,
    ) -> Result<Self, CudaError> {
        let graph = OpenGraph::new()?;
        let mut programs = 0;
        let begin = recorded.map(|recorded| graph.record(recorded.begin)).transpose()?;
        let mut previous = begin.map(|begin| (begin, Dependency::Full));
        for launch in &shape.launches {
            let (added, kind) = match *launch {
                Launch::Streams(StreamLaunch { first_stream, blocks }) => {
                    let function = module.function(ENTRY_NAME)?;
                    let mut own = addresses.of_streams(programs, first_stream, wait_limit);
                    programs += 1;
                    let block = Blocks { count: blocks, threads: shape.threads, shared_bytes: shape.shared_bytes };
                    let added = graph.add(function, block, (&raw mut own).cast::<c_void>())?;
                    graph.cooperate(added)?;
                    (added, Dependency::Full)
                }
                Launch::Node(NodeLaunch { kernel, operands, blocks }) => {
                    let function = module.function(&node_name(kernel))?;
                    let mut own = addresses.of_node(operands);
                    let shared_bytes = shape.node_shared(kernel);
                    let block = Blocks { count: blocks, threads: shape.threads, shared_bytes };
                    let added = graph.add(function, block, (&raw mut own).cast::<c_void>())?;
                    (added, if shape.is_dependent { Dependency::Programmatic } else { Dependency::Full })
                }
            };
            if let Some((previous, before)) = previous {
                graph.depend(previous, added, before.and(kind))?;
            }
            previous = Some((added, kind));
        }
        if let (Some(recorded), Some((last, _))) = (recorded, previous) {
            let end = graph.record(recorded.end)?;
            graph.depend(last, end, Dependency::Full)?;
        }
        graph.instantiate()
    }

    /// Launches all nodes into a stream.
    pub(super) fn launch(&self, stream: &Stream) -> Result<(), CudaError> {
        // SAFETY: the graph is instantiated, and its nodes' allocations, module and events are live for as long as it
        // is. Its launches run one after another: all of them are in the one stream of their session.
        check("cuGraphLaunch", unsafe { result::graph::launch(self.0, stream.handle()) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: it was instantiated once, and sessions drop it after its last launch has ended.
        let _ = unsafe { result::graph::exec_destroy(self.0) };
    }
}

/// How a node waits for the one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dependency {
    /// It starts when that has ended.
    Full,
    /// Its blocks may be resident before and wait themselves.
    Programmatic,
}

impl Dependency {
    /// Between a node of this kind and the next: what walks streams neither lets others in early nor waits itself.
    fn and(self, next: Self) -> Self {
        match (self, next) {
            (Self::Programmatic, Self::Programmatic) => Self::Programmatic,
            (Self::Full, _) | (_, Self::Full) => Self::Full,
        }
    }
}

/// The blocks of a node.
struct Blocks {
    count: u32,
    threads: u32,
    shared_bytes: u32,
}

/// A graph to which nodes are added.
struct OpenGraph(sys::CUgraph);

impl OpenGraph {
    fn new() -> Result<Self, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is to a live handle.
        check("cuGraphCreate", unsafe { sys::cuGraphCreate(&mut graph, 0) }.result())?;
        Ok(Self(graph))
    }

    /// Adds a launch of an entry whose one argument `argument` points to.
    fn add(
        &self,
        function: sys::CUfunction,
        blocks: Blocks,
        argument: *mut c_void,
    ) -> Result<sys::CUgraphNode, CudaError> {
        let mut parameters = [argument];
        let params = sys::CUDA_KERNEL_NODE_PARAMS {
            func: function,
            gridDimX: blocks.count,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: blocks.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: blocks.shared_bytes,
            kernelParams: parameters.as_mut_ptr(),
            extra: ptr::null_mut(),
            kern: ptr::null_mut(),
            ctx: ptr::null_mut(),
        };
        let mut node = ptr::null_mut();
        // SAFETY: the graph is live, and the function is of a loaded module. Its entry takes one argument by value:
        // `ww_arguments` or `ww_node_arguments`, which `StreamArguments` and `NodeArguments` mirror, and `new` pairs each
        // entry with its own; the driver copies it before it returns. Its addresses are of live allocations of the sizes
        // that the verified plan asks for.
        let added = unsafe { sys::cuGraphAddKernelNode_v2(&mut node, self.0, ptr::null(), 0, &params) };
        check("cuGraphAddKernelNode", added.result())?;
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

    /// Makes a node's launch cooperative: all of its blocks are resident at once, or it fails.
    fn cooperate(&self, node: sys::CUgraphNode) -> Result<(), CudaError> {
        let attribute = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        let value = sys::CUkernelNodeAttrValue { cooperative: 1 };
        // SAFETY: the node is of this live graph, and `cooperative` is the member of the union that the attribute reads.
        let set = unsafe { sys::cuGraphKernelNodeSetAttribute(node, attribute, &value) };
        check("cuGraphKernelNodeSetAttribute", set.result())
    }

    /// Lets `later` run after `earlier`.
    fn depend(
        &self,
        earlier: sys::CUgraphNode,
        later: sys::CUgraphNode,
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
        // SAFETY: the graph and both of its nodes are live, and the arrays have one element each.
        let added = unsafe { sys::cuGraphAddDependencies_v2(self.0, &earlier, &later, &edge, 1) };
        check("cuGraphAddDependencies", added.result())
    }

    fn instantiate(self) -> Result<Graph, CudaError> {
        let mut executable = ptr::null_mut();
        // SAFETY: the graph is live; what is instantiated does not refer to it afterwards.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, self.0, 0) };
        check("cuGraphInstantiate", made.result())?;
        Ok(Graph(executable))
    }
}

impl Drop for OpenGraph {
    fn drop(&mut self) {
        // SAFETY: the graph was created once and is no longer used.
        let _ = unsafe { result::graph::destroy(self.0) };
    }
}
