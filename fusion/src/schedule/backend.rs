//! What runs a program on a GPU, and why that.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What runs a plan on a GPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// One persistent program.
    Persistent,
    /// A CUDA graph with a kernel node an rOperator.
    CudaGraph,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Persistent => "persistent",
            Self::CudaGraph => "cuda-graph",
        })
    }
}

/// What runs a whole plan on a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanBackend {
    /// Persistent programs alone.
    Persistent,
    /// Nodes of a CUDA graph alone.
    CudaGraph,
    /// Segments of both kinds, as nodes of one graph.
    Mixed,
}

impl PlanBackend {
    /// Of a plan whose segments have these.
    pub fn of(segments: impl IntoIterator<Item = Backend>) -> Self {
        let kinds = segments.into_iter().map(|backend| match backend {
            Backend::Persistent => Self::Persistent,
            Backend::CudaGraph => Self::CudaGraph,
        });
        kinds.reduce(|one, other| if one == other { one } else { Self::Mixed }).unwrap_or(Self::Persistent)
    }
}

impl fmt::Display for PlanBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Persistent => Backend::Persistent.fmt(f),
            Self::CudaGraph => Backend::CudaGraph.fmt(f),
            Self::Mixed => f.write_str("mixed"),
        }
    }
}

/// Which back ends a plan may be made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackendChoice {
    /// This one.
    Only(Backend),
    /// For every stretch of a program that which is predicted to make the whole fastest, launch included; one persistent
    /// program if nothing is faster.
    Auto,
}

/// Why a plan is for its back end.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendReason {
    /// It was asked for, or is the only one that the target has.
    Asked,
    /// It is predicted to be the faster one, launch included.
    Predicted {
        /// Nanoseconds as a persistent program.
        persistent_nanoseconds: u64,
        /// Nanoseconds as a graph.
        cuda_graph_nanoseconds: u64,
    },
    /// Segments of both kinds are predicted to be faster than one of either, launch included.
    Mixed {
        /// Nanoseconds as these segments.
        mixed_nanoseconds: u64,
        /// Nanoseconds as one persistent program.
        persistent_nanoseconds: u64,
        /// Nanoseconds as one graph.
        cuda_graph_nanoseconds: u64,
        /// Why each segment is what it is, in their order.
        segments: Vec<SegmentReason>,
    },
}

/// Why a segment is for its back end: what it takes as it is, and what its groups take in a plan of the other kind alone.
/// Launches and changes of back end are left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SegmentReason {
    /// What runs it.
    pub backend: Backend,
    /// Nanoseconds as a persistent program.
    pub persistent_nanoseconds: u64,
    /// Nanoseconds as nodes of a graph.
    pub cuda_graph_nanoseconds: u64,
}

impl fmt::Display for BackendReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let microseconds = |nanoseconds: &u64| *nanoseconds as f64 / 1000.0;
        match self {
            Self::Asked => f.write_str("as asked"),
            Self::Mixed { mixed_nanoseconds, persistent_nanoseconds, cuda_graph_nanoseconds, segments } => {
                let (persistent, graph) = (microseconds(persistent_nanoseconds), microseconds(cuda_graph_nanoseconds));
                let mixed = microseconds(mixed_nanoseconds);
                write!(
                    f,
                    "by prediction: {mixed:.1} us mixed, {persistent:.1} us persistent, {graph:.1} us as a graph, "
                )?;
                f.write_str("launch included")?;
                segments.iter().enumerate().try_for_each(|(at, segment)| write!(f, "; segment {at} {segment}"))
            }
            Self::Predicted { persistent_nanoseconds, cuda_graph_nanoseconds } => {
                let (persistent, graph) = (microseconds(persistent_nanoseconds), microseconds(cuda_graph_nanoseconds));
                write!(f, "by prediction: {persistent:.1} us persistent, {graph:.1} us as a graph, launch included")
            }
        }
    }
}

impl fmt::Display for SegmentReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
        let (persistent, graph) =
            (microseconds(self.persistent_nanoseconds), microseconds(self.cuda_graph_nanoseconds));
        write!(f, "{}: {persistent:.1} us persistent, {graph:.1} us as a graph", self.backend)
    }
}
