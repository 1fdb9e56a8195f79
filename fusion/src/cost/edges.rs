//! Measured times of what takes a unit from one rTask to a dependent one, and the costs that follow from them.

use serde::{Deserialize, Serialize};

use crate::cost::arch::{Constant, measured};
use crate::cost::sync::SyncCosts;

/// What takes a unit from one rTask to a dependent one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// All units signal and wait for all.
    Barrier,
    /// One unit signals, another waits.
    Signal,
    /// The same in a chain of units, a hop.
    SignalChain,
    /// One unit stores a tagged value, another polls it.
    TaggedValue,
    /// Until what an rTask has stored is visible: what the signal behind it takes longer.
    Drain,
    /// A signal with nothing to wait for, of the unit that gives it.
    Release,
    /// A kernel of a stream of launches.
    StreamLaunch,
    /// A graph of one node.
    GraphLaunch,
    /// A further node.
    GraphNode,
    /// A further node that is launched before the one before it has ended.
    ProgrammaticNode,
    /// A further node whose blocks are all resident at once.
    CooperativeNode,
    /// From event to event of a graph that records two events and does nothing else.
    EmptyGraph,
    /// The smallest rTask of a stream, which waits for nothing.
    Dispatch,
}

/// The time of an edge on a device.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct EdgeTime {
    /// Which edge.
    pub edge: Edge,
    /// Units that take part, where the number matters.
    pub units: Option<usize>,
    pub microseconds: f64,
    /// Microseconds by the costs that plans are made with, where they have one for it.
    #[serde(default)]
    pub predicted_microseconds: Option<f64>,
}

impl Edge {
    /// All edges.
    pub const ALL: [Self; 13] = [
        Self::Barrier,
        Self::Signal,
        Self::SignalChain,
        Self::TaggedValue,
        Self::Drain,
        Self::Release,
        Self::StreamLaunch,
        Self::GraphLaunch,
        Self::GraphNode,
        Self::ProgrammaticNode,
        Self::CooperativeNode,
        Self::EmptyGraph,
        Self::Dispatch,
    ];

    /// The name, as records have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Signal => "signal",
            Self::SignalChain => "signal-chain",
            Self::TaggedValue => "tagged-value",
            Self::Drain => "drain",
            Self::Release => "release",
            Self::StreamLaunch => "stream-launch",
            Self::GraphLaunch => "graph-launch",
            Self::GraphNode => "graph-node",
            Self::ProgrammaticNode => "programmatic-node",
            Self::CooperativeNode => "cooperative-node",
            Self::EmptyGraph => "empty-graph",
            Self::Dispatch => "dispatch",
        }
    }

    /// What it is, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Signal => "signal",
            Self::SignalChain => "signal of a chain",
            Self::TaggedValue => "tagged value",
            Self::Drain => "stores before a signal",
            Self::Release => "signal alone, of its unit",
            Self::StreamLaunch => "launch in a stream",
            Self::GraphLaunch => "launch of a graph",
            Self::GraphNode => "node of a graph",
            Self::ProgrammaticNode => "node that is launched early",
            Self::CooperativeNode => "cooperative node",
            Self::EmptyGraph => "graph of two events",
            Self::Dispatch => "smallest rTask",
        }
    }
}

/// Numbers of units up to which an exchange is measured.
const MEASURED_UNITS: [usize; 3] = [8, 32, 64];

/// The numbers of units whose barriers are measured on a device of this many: with the signal between two, all that costs have an
/// entry for.
pub fn barrier_units(units: usize) -> Vec<usize> {
    let usual = MEASURED_UNITS;
    let below = if units > usual[usual.len() - 1] { usual } else { [units >> 3, units >> 2, units >> 1] };
    let mut all: Vec<usize> = below.into_iter().chain([units]).filter(|&some| some > 2).collect();
    all.dedup();
    all
}

impl SyncCosts {
    /// Microseconds of an edge by these costs; `None` where they have none for it.
    pub fn edge_microseconds(&self, edge: Edge, units: Option<usize>) -> Option<f64> {
        match edge {
            Edge::Barrier => units.map(|units| self.exchange_microseconds(units)),
            Edge::Signal | Edge::SignalChain => Some(self.exchange_microseconds(2)),
            Edge::TaggedValue => Some(self.tagged_value.value),
            Edge::Drain => Some(self.drain.value),
            Edge::Release => Some(self.release.value),
            Edge::StreamLaunch => Some(self.stream_launch.value),
            Edge::GraphLaunch => Some(self.graph_launch.value),
            Edge::GraphNode | Edge::ProgrammaticNode => Some(self.graph_node.value),
            Edge::CooperativeNode | Edge::EmptyGraph | Edge::Dispatch => None,
        }
    }

    /// These costs with those that were measured in their place. A node costs what it does where it is launched early, if that
    /// was measured: so are nodes launched where the device can. An exchange is replaced where as many numbers of units were
    /// measured as costs have entries for. A time that no device can have replaces nothing.
    pub fn with_edges(self, edges: &[EdgeTime]) -> Self {
        let time = |edge: Edge| {
            edges
                .iter()
                .rev()
                .find(|time| time.edge == edge)
                .map(|time| time.microseconds)
                .filter(|time| is_time(*time))
        };
        let or =
            |edges: &[Edge], before: Constant<f64>| edges.iter().find_map(|&edge| time(edge)).map_or(before, measured);
        Self {
            exchange: exchange(edges, time(Edge::Signal)).map_or(self.exchange, measured),
            drain: or(&[Edge::Drain], self.drain),
            release: or(&[Edge::Release], self.release),
            poll: self.poll,
            tagged_value: or(&[Edge::TaggedValue], self.tagged_value),
            keep: self.keep,
            stream_launch: or(&[Edge::StreamLaunch], self.stream_launch),
            graph_launch: or(&[Edge::GraphLaunch], self.graph_launch),
            graph_node: or(&[Edge::ProgrammaticNode, Edge::GraphNode], self.graph_node),
        }
    }
}

fn is_time(microseconds: f64) -> bool {
    microseconds.is_finite() && microseconds >= 1e-3
}

/// The exchange of all numbers of units that were measured, if they are as many as costs have entries for.
fn exchange<const N: usize>(edges: &[EdgeTime], signal: Option<f64>) -> Option<[(u32, f64); N]> {
    let barriers = edges.iter().filter(|time| time.edge == Edge::Barrier && is_time(time.microseconds));
    let barriers = barriers.filter_map(|time| Some((u32::try_from(time.units?).ok()?, time.microseconds)));
    let mut all: Vec<(u32, f64)> = signal.map(|time| (2, time)).into_iter().chain(barriers).collect();
    all.sort_by_key(|(units, _)| *units);
    all.dedup_by_key(|(units, _)| *units);
    signal?;
    all.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::arch::Provenance;

    fn row(edge: Edge, units: Option<usize>, microseconds: f64) -> EdgeTime {
        EdgeTime { edge, units, microseconds, predicted_microseconds: None }
    }

    #[test]
    fn costs_are_replaced_by_what_was_measured() {
        let barriers =
            barrier_units(132).into_iter().map(|units| row(Edge::Barrier, Some(units), units as f64 / 100.0));
        let others = [
            row(Edge::Signal, Some(2), 0.02),
            row(Edge::Drain, None, 0.7),
            row(Edge::Release, None, -0.1),
            row(Edge::TaggedValue, Some(2), 0.4),
            row(Edge::GraphNode, None, 0.9),
            row(Edge::ProgrammaticNode, None, 0.8),
        ];
        let edges: Vec<EdgeTime> = barriers.chain(others).collect();
        let (before, now) = (SyncCosts::h200(), SyncCosts::h200().with_edges(&edges));
        assert_eq!(now.exchange.value, [(2, 0.02), (8, 0.08), (32, 0.32), (64, 0.64), (132, 1.32)]);
        assert_eq!((now.drain.value, now.drain.provenance), (0.7, Provenance::Measured));
        assert_eq!(now.release, before.release, "no unit is held for less than no time");
        assert_eq!((now.tagged_value.value, now.graph_node.value), (0.4, 0.8));
        assert_eq!(now.stream_launch, before.stream_launch);
        assert!(now.is_sound());
    }

    #[test]
    fn an_exchange_of_too_few_numbers_of_units_replaces_nothing() {
        let edges = [row(Edge::Signal, Some(2), 0.5), row(Edge::Barrier, Some(132), 0.9)];
        assert_eq!(SyncCosts::h200().with_edges(&edges).exchange, SyncCosts::h200().exchange);
    }

    #[test]
    fn every_number_of_units_has_barriers_to_measure() {
        assert_eq!(barrier_units(132), [8, 32, 64, 132]);
        assert_eq!(barrier_units(56), [7, 14, 28, 56]);
        assert_eq!(barrier_units(4), [4]);
    }

    #[test]
    fn names_are_those_of_records() {
        for edge in Edge::ALL {
            let name = serde_json::to_value(edge).expect("an edge has a name");
            assert_eq!(name, edge.name());
        }
    }
}
