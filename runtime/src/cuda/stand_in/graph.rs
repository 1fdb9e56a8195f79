//! Graphs, each a chain of launches and recordings.

use super::super::calls::{Dependency, EventHandle, ExecutableHandle, GraphHandle, NodeHandle, Residency};
use super::super::error::CudaError;
use super::error::refusal;
use super::handle::{pointer, slot};
use super::launch::{OwnedLaunch, Settled};

/// A node of a graph.
#[derive(Clone)]
pub(super) enum Node {
    Launch(OwnedLaunch),
    Record(EventHandle),
}

#[derive(Default)]
struct Open {
    nodes: Vec<Node>,
    /// Of each node, whether it depends on the one before it, and how.
    before: Vec<Option<Dependency>>,
}

/// An instantiated graph.
#[derive(Clone)]
pub(super) struct Executable {
    pub(super) nodes: Vec<Node>,
    /// What its last run has left.
    pub(super) settled: Option<Settled>,
}

#[derive(Default)]
pub(super) struct Graphs {
    open: Vec<Option<Open>>,
    executables: Vec<Option<Executable>>,
}

impl Graphs {
    pub(super) fn create(&mut self) -> GraphHandle {
        self.open.push(Some(Open::default()));
        GraphHandle(pointer(self.open.len() - 1))
    }

    pub(super) fn destroy(&mut self, graph: GraphHandle) {
        if let Some(graph) = self.open.get_mut(slot(graph.0)) {
            *graph = None;
        }
    }

    fn open(&mut self, graph: GraphHandle) -> Result<&mut Open, CudaError> {
        let found = self.open.get_mut(slot(graph.0)).and_then(Option::as_mut);
        found.ok_or_else(|| refusal("a call for a graph", "CUDA_ERROR_INVALID_HANDLE"))
    }

    pub(super) fn add(&mut self, graph: GraphHandle, node: Node) -> Result<NodeHandle, CudaError> {
        let graph = self.open(graph)?;
        graph.nodes.push(node);
        graph.before.push(None);
        Ok(NodeHandle(pointer(graph.nodes.len() - 1)))
    }

    /// Accepts what the product builds: chains. A programmatic dependency is one between kernel nodes that need not be resident
    /// at once.
    pub(super) fn add_dependency(
        &mut self,
        graph: GraphHandle,
        earlier: NodeHandle,
        later: NodeHandle,
        dependency: Dependency,
    ) -> Result<(), CudaError> {
        const CALL: &str = "cuGraphAddDependencies";
        let (earlier, later) = (slot(earlier.0), slot(later.0));
        let graph = self.open(graph)?;
        if later != earlier + 1 || later >= graph.nodes.len() || graph.before[later].is_some() {
            return Err(refusal(CALL, "the stand-in runs chains of nodes only"));
        }
        let may_overlap =
            |node: &Node| matches!(node, Node::Launch(launch) if launch.residency == Residency::AsRoomAllows);
        let overlap = graph.nodes[earlier..=later].iter().all(may_overlap);
        if dependency == Dependency::Programmatic && !overlap {
            return Err(refusal(CALL, "CUDA_ERROR_INVALID_VALUE: a programmatic dependency needs two kernel nodes"));
        }
        graph.before[later] = Some(dependency);
        Ok(())
    }

    pub(super) fn instantiate(&mut self, graph: GraphHandle) -> Result<ExecutableHandle, CudaError> {
        let graph = self.open(graph)?;
        if graph.before.iter().skip(1).any(Option::is_none) {
            return Err(refusal("cuGraphInstantiate", "a node is not ordered behind the one before it"));
        }
        let nodes = graph.nodes.clone();
        self.executables.push(Some(Executable { nodes, settled: None }));
        Ok(ExecutableHandle(pointer(self.executables.len() - 1)))
    }

    pub(super) fn destroy_executable(&mut self, graph: ExecutableHandle) {
        if let Some(graph) = self.executables.get_mut(slot(graph.0)) {
            *graph = None;
        }
    }

    pub(super) fn executable(&mut self, graph: ExecutableHandle) -> Result<&mut Executable, CudaError> {
        let found = self.executables.get_mut(slot(graph.0)).and_then(Option::as_mut);
        found.ok_or_else(|| refusal("cuGraphLaunch", "CUDA_ERROR_INVALID_HANDLE"))
    }
}
