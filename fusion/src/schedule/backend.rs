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
    /// The one that is predicted to be faster, launch included; persistent if they are equal.
    Auto,
}

/// Why a plan is for its back end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
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
}

impl fmt::Display for BackendReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("as asked"),
            Self::Predicted { persistent_nanoseconds, cuda_graph_nanoseconds } => {
                let microseconds = |nanoseconds: &u64| *nanoseconds as f64 / 1000.0;
                let (persistent, graph) = (microseconds(persistent_nanoseconds), microseconds(cuda_graph_nanoseconds));
                write!(f, "by prediction: {persistent:.1} us persistent, {graph:.1} us as a graph, launch included")
            }
        }
    }
}
