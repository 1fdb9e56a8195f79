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
    /// Segments of both kinds in turn, whatever they are predicted to take; a program of one group is one persistent segment.
    Mixed,
    /// For every stretch of a program that which is predicted to make the whole fastest, launch included; one persistent
    /// program if nothing is faster.
    Auto,
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only(backend) => backend.fmt(f),
            Self::Mixed => PlanBackend::Mixed.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
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

/// A choice whose predicted times differ by a smaller share than this is too close to call: predictions are less exact.
pub const TOO_CLOSE: f64 = 0.10;

impl BackendReason {
    /// By what share of the next best time the chosen one is predicted to be shorter; `None` where nothing was compared.
    pub fn advantage(&self) -> Option<f64> {
        let (chosen, next) = match self {
            Self::Asked => return None,
            Self::Predicted { persistent_nanoseconds: one, cuda_graph_nanoseconds: other } => {
                (one.min(other), one.max(other))
            }
            Self::Mixed { mixed_nanoseconds, persistent_nanoseconds, cuda_graph_nanoseconds, .. } => {
                (mixed_nanoseconds, persistent_nanoseconds.min(cuda_graph_nanoseconds))
            }
        };
        Some(next.saturating_sub(*chosen) as f64 / (*next).max(1) as f64)
    }

    /// The same without the figures of single segments.
    pub fn brief(&self) -> impl fmt::Display {
        fmt::from_fn(|f| {
            let microseconds = |nanoseconds: &u64| *nanoseconds as f64 / 1000.0;
            let (persistent, graph) = match self {
                Self::Asked => return f.write_str("as asked"),
                Self::Predicted { persistent_nanoseconds, cuda_graph_nanoseconds } => {
                    f.write_str("by prediction: ")?;
                    (persistent_nanoseconds, cuda_graph_nanoseconds)
                }
                Self::Mixed { mixed_nanoseconds, persistent_nanoseconds, cuda_graph_nanoseconds, .. } => {
                    write!(f, "by prediction: {:.1} us mixed, ", microseconds(mixed_nanoseconds))?;
                    (persistent_nanoseconds, cuda_graph_nanoseconds)
                }
            };
            let (persistent, graph) = (microseconds(persistent), microseconds(graph));
            write!(f, "{persistent:.1} us persistent, {graph:.1} us as a graph, launch included; ")?;
            let advantage = self.advantage().unwrap_or(0.0);
            write!(f, "{:.1} % less", advantage * 1e2)?;
            if advantage < TOO_CLOSE { f.write_str(", too close to call") } else { Ok(()) }
        })
    }
}

impl fmt::Display for BackendReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.brief().fmt(f)?;
        match self {
            Self::Asked | Self::Predicted { .. } => Ok(()),
            Self::Mixed { segments, .. } => {
                segments.iter().enumerate().try_for_each(|(at, segment)| write!(f, "; segment {at} {segment}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_says_by_how_much_and_whether_that_is_too_close_to_call() {
        let predicted = |persistent_nanoseconds, cuda_graph_nanoseconds| BackendReason::Predicted {
            persistent_nanoseconds,
            cuda_graph_nanoseconds,
        };
        let mixed = |mixed_nanoseconds| BackendReason::Mixed {
            mixed_nanoseconds,
            persistent_nanoseconds: 20_000,
            cuda_graph_nanoseconds: 10_000,
            segments: Vec::new(),
        };
        let close = ", too close to call";
        for (reason, percent, is_close) in [
            (predicted(20_000, 10_000), "50.0 % less", false),
            (predicted(9_000, 10_000), "10.0 % less", false),
            (predicted(10_000, 9_001), "10.0 % less", true),
            (predicted(0, 0), "0.0 % less", true),
            (mixed(8_000), "20.0 % less", false),
            (mixed(9_500), "5.0 % less", true),
        ] {
            let told = reason.to_string();
            assert!(told.contains(percent) && told.ends_with(close) == is_close, "{told}");
        }
        assert_eq!(BackendReason::Asked.to_string(), "as asked");
    }
}
