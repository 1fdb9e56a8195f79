//! A graph of kernel nodes, one after another, each with its programmatic dependency on the one before it.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUgraphDependencyType};
use warpweave_fusion::schedule::tables::{NodeLaunch, node_name};

use super::driver::{DeviceInfo, check};
use super::error::CudaError;
use super::memory::{Module, Stream};
use super::session::resident_blocks;
use crate::bundle::DeviceCode;

/// The first compute capability whose blocks may be resident before the node before them has ended.
const FIRST_DEPENDENT_LAUNCH: u32 = 9;

/// The arguments of a node's entry: `ww_node_arguments` of the prelude, by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct NodeArguments {
    arena: u64,
    weights: u64,
    operands: u64,
    first_operand: u32,
}

impl NodeArguments {
    /// Addresses of live allocations; the first operand is each node's own.
    pub(super) fn of(arena: u64, weights: u64, operands: u64) -> Self {
        Self { arena, weights, operands, first_operand: 0 }
    }
}

/// An instantiated graph.
pub(super) struct Graph(sys::CUgraphExec);

impl Graph {
    /// A graph of these launches of the module's entries.
    pub(super) fn new(
        module: &Module,
        (device, code): (&DeviceInfo, &DeviceCode),
        arguments: NodeArguments,
        nodes: &[NodeLaunch],
    ) -> Result<Self, CudaError> {
        let draft = Draft::new()?;
        let is_dependent = device.capability.0 >= FIRST_DEPENDENT_LAUNCH;
        let mut previous = None;
        for node in nodes {
            let function = module.function(&node_name(node.kernel))?;
            let shared_bytes = code.node_shared_bytes.get(node.kernel as usize).copied().unwrap_or(code.shared_bytes);
            resident_blocks(function, device, (code, shared_bytes))?;
            let own = NodeArguments { first_operand: node.operands, ..arguments };
            let added = draft.add(function, (node.blocks, code.threads, shared_bytes), own)?;
            if let Some(previous) = previous {
                draft.depend(previous, added, is_dependent)?;
            }
            previous = Some(added);
        }
        draft.instantiate()
    }

    /// Launches all nodes into a stream.
    pub(super) fn launch(&self, stream: &Stream) -> Result<(), CudaError> {
        // SAFETY: the graph is instantiated, its nodes' allocations and module are live for as long as it is, and one
        // launch of it is under way at a time: a session waits for the end of each.
        check("cuGraphLaunch", unsafe { result::graph::launch(self.0, stream.handle()) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: it was instantiated once, and sessions drop it after its last launch has ended.
        let _ = unsafe { result::graph::exec_destroy(self.0) };
    }
}

/// A graph to which nodes are added.
struct Draft(sys::CUgraph);

impl Draft {
    fn new() -> Result<Self, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is to a live handle.
        check("cuGraphCreate", unsafe { sys::cuGraphCreate(&mut graph, 0) }.result())?;
        Ok(Self(graph))
    }

    fn add(
        &self,
        function: sys::CUfunction,
        (blocks, threads, shared_bytes): (u32, u32, u32),
        mut arguments: NodeArguments,
    ) -> Result<sys::CUgraphNode, CudaError> {
        let mut parameters = [(&raw mut arguments).cast::<c_void>()];
        let params = sys::CUDA_KERNEL_NODE_PARAMS {
            func: function,
            gridDimX: blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shared_bytes,
            kernelParams: parameters.as_mut_ptr(),
            extra: ptr::null_mut(),
            kern: ptr::null_mut(),
            ctx: ptr::null_mut(),
        };
        let mut node = ptr::null_mut();
        // SAFETY: the graph is live, and the function is of a loaded module, whose entry takes one `ww_node_arguments` by
        // value, which `NodeArguments` mirrors; the driver copies it before it returns. Its addresses are of live
        // allocations of the sizes that the verified plan asks for.
        let added = unsafe { sys::cuGraphAddKernelNode_v2(&mut node, self.0, ptr::null(), 0, &params) };
        check("cuGraphAddKernelNode", added.result())?;
        Ok(node)
    }

    /// Lets `later` run after `earlier`: programmatically where its blocks wait themselves.
    fn depend(&self, earlier: sys::CUgraphNode, later: sys::CUgraphNode, is_dependent: bool) -> Result<(), CudaError> {
        let (port, kind) = if is_dependent {
            let kind = CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
            (sys::CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, kind)
        } else {
            (sys::CU_GRAPH_KERNEL_NODE_PORT_DEFAULT, CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_DEFAULT)
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

impl Drop for Draft {
    fn drop(&mut self) {
        // SAFETY: the graph was created once and is no longer used.
        let _ = unsafe { result::graph::destroy(self.0) };
    }
}
