//! A graph of launches, one after another: kernel nodes with their programmatic dependencies on one another, and
//! cooperative nodes that walk streams. Before and behind them stands what records when they begin and end.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::time::Duration;

use warpweave_plan::tables::{Launch, NodeLaunch, StreamLaunch, node_name};

use super::calls::{
    Dependency, ExecutableHandle, FunctionHandle, GraphHandle, KernelArguments, KernelLaunch, NodeHandle, Residency,
};
use super::device::DeviceInfo;
use super::driver::Calls;
use super::error::CudaError;
use super::launches::Addresses;
use super::memory::{Context, Event, Module, Stream};
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

    /// The launch of the entry that walks streams.
    pub(super) fn of_streams<'a>(
        &self,
        function: FunctionHandle,
        blocks: u32,
        arguments: KernelArguments<'a>,
    ) -> KernelLaunch<'a> {
        let &Self { threads, shared_bytes, .. } = self;
        KernelLaunch { function, blocks, threads, shared_bytes, residency: Residency::AllAtOnce, arguments }
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
pub(super) struct Graph {
    calls: Calls,
    handle: ExecutableHandle,
}

impl Graph {
    /// A graph of these launches of the module's entries, of which those that walk streams give up a wait after
    /// `wait_limit`. The events that it records must live as long as it.
    pub(super) fn new(
        context: &Context,
        module: &Module,
        shape: &Shape,
        addresses: &Addresses,
        wait_limit: Duration,
        recorded: Option<Recorded<'_>>,
    ) -> Result<Self, CudaError> {
        let graph = OpenGraph::new(context)?;
        let mut programs = 0;
        let begin = recorded.map(|recorded| graph.record(recorded.begin)).transpose()?;
        let mut previous = begin.map(|begin| (begin, Dependency::Full));
        for launch in &shape.launches {
            let (added, kind) = match *launch {
                Launch::Streams(StreamLaunch { first_stream, blocks }) => {
                    let function = module.function(ENTRY_NAME)?;
                    let own = addresses.of_streams(programs, first_stream, wait_limit);
                    programs += 1;
                    let launch = shape.of_streams(function, blocks, KernelArguments::Streams(&own));
                    (graph.add(&launch)?, Dependency::Full)
                }
                Launch::Node(NodeLaunch { kernel, operands, blocks }) => {
                    let own = addresses.of_node(operands);
                    let launch = KernelLaunch {
                        function: module.function(&node_name(kernel))?,
                        blocks,
                        threads: shape.threads,
                        shared_bytes: shape.node_shared(kernel),
                        residency: Residency::AsRoomAllows,
                        arguments: KernelArguments::Node(&own),
                    };
                    let kind = if shape.is_dependent { Dependency::Programmatic } else { Dependency::Full };
                    (graph.add(&launch)?, kind)
                }
            };
            if let Some((previous, before)) = previous {
                graph.depend(previous, added, between(before, kind))?;
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
        unsafe { self.calls.launch_graph(self.handle, stream.handle()) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: it was instantiated once, and sessions drop it after its last launch has ended.
        unsafe { self.calls.destroy_executable(self.handle) };
    }
}

/// How a node waits for the one before it: the entry that walks streams neither lets others in early nor waits itself.
fn between(before: Dependency, after: Dependency) -> Dependency {
    match (before, after) {
        (Dependency::Programmatic, Dependency::Programmatic) => Dependency::Programmatic,
        (Dependency::Full, _) | (_, Dependency::Full) => Dependency::Full,
    }
}

/// A graph to which nodes are added.
pub(super) struct OpenGraph {
    calls: Calls,
    handle: GraphHandle,
}

impl OpenGraph {
    pub(super) fn new(context: &Context) -> Result<Self, CudaError> {
        let calls = context.calls();
        Ok(Self { calls, handle: calls.create_graph()? })
    }

    /// Adds the launch of an entry.
    pub(super) fn add(&self, launch: &KernelLaunch<'_>) -> Result<NodeHandle, CudaError> {
        // SAFETY: the graph is live, and the function is of a loaded module. Its entry takes `ww_arguments` or
        // `ww_node_arguments`, which `StreamArguments` and `NodeArguments` mirror, and `Graph::new` pairs each entry with
        // its own. Its addresses are of live allocations of the sizes that the verified plan asks for. Entries of probes
        // that are nodes do nothing with theirs.
        unsafe { self.calls.add_launch(self.handle, launch) }
    }

    /// Adds the recording of an event.
    pub(super) fn record(&self, event: &Event) -> Result<NodeHandle, CudaError> {
        // SAFETY: the graph and the event are live.
        unsafe { self.calls.add_record(self.handle, event.handle()) }
    }

    /// Lets `later` run after `earlier`.
    pub(super) fn depend(
        &self,
        earlier: NodeHandle,
        later: NodeHandle,
        dependency: Dependency,
    ) -> Result<(), CudaError> {
        // SAFETY: the graph and both of its nodes are live.
        unsafe { self.calls.add_dependency(self.handle, earlier, later, dependency) }
    }

    pub(super) fn instantiate(self) -> Result<Graph, CudaError> {
        // SAFETY: the graph is live.
        let handle = unsafe { self.calls.instantiate(self.handle) }?;
        Ok(Graph { calls: self.calls, handle })
    }
}

impl Drop for OpenGraph {
    fn drop(&mut self) {
        // SAFETY: the graph was created once and is no longer used.
        unsafe { self.calls.destroy_graph(self.handle) };
    }
}
