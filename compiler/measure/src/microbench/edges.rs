//! Times of what takes a unit from one rTask to a dependent one.

use warpweave_codegen::microbenchmark::{
    EDGE_ELEMENTS, EMPTY, EMPTY_NODE, EdgeProbe, GAVE_UP, MOST_BLOCKS, Stamped, empty_kernels,
};
use warpweave_fusion::cost::edges::{Edge, EdgeTime, barrier_units};
use warpweave_runtime::cuda::{EmptyBlocks, EmptyKernels, LaunchData, NodeKind, Stamp};
use warpweave_runtime::session::{Device, SessionError};

use super::{Bench, Extent, LAUNCHES, median_of, span};
use warpweave::OpenError;

/// Hops of a ring, at least: milliseconds.
const HOPS: usize = 8192;
/// Rounds of a barrier of all units.
const MEETINGS: u32 = 4096;
/// Ends of rTasks that are timed.
const TASK_ENDS: u32 = 2048;
/// Nodes of the smaller of both graphs by which a node is measured.
const NODES: usize = 64;
/// Launches of the smaller of both series by which a launch is measured.
const SERIES: usize = 64;
/// The first compute capability whose nodes may be launched before the one before them has ended.
const FIRST_PROGRAMMATIC: u32 = 9;

/// The edges that were measured, and those that could not be.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EdgeReadings {
    /// Times, each beside what the device's constants say.
    pub times: Vec<EdgeTime>,
    /// Edges without a time.
    pub failed: Vec<FailedEdge>,
}

/// An edge that could not be measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedEdge {
    /// Which edge.
    pub edge: Edge,
    /// Units that took part, where the number matters.
    pub units: Option<usize>,
    /// Why it has no time.
    pub reason: String,
}

impl EdgeReadings {
    fn keep(&mut self, bench: &Bench<'_>, edge: Edge, units: Option<usize>, time: Result<f64, OpenError>) {
        match time {
            Ok(microseconds) => {
                let predicted_microseconds = bench.prices.sync.edge_microseconds(edge, units);
                self.times.push(EdgeTime { edge, units, microseconds, predicted_microseconds });
            }
            Err(error) => self.failed.push(FailedEdge { edge, units, reason: error.to_string() }),
        }
    }
}

impl Bench<'_> {
    /// The times of all edges. One that fails keeps none of the others from being measured, unless the device is lost.
    pub fn edges(&self) -> EdgeReadings {
        let units = self.units();
        let mut found = EdgeReadings::default();
        found.keep(self, Edge::Signal, Some(2), self.hop(EdgeProbe::SignalRing, 2));
        found.keep(self, Edge::SignalChain, Some(units - 1), self.hop(EdgeProbe::SignalRing, units));
        found.keep(self, Edge::TaggedValue, Some(2), self.hop(EdgeProbe::TaggedRing, 2));
        for some in barrier_units(units) {
            found.keep(self, Edge::Barrier, Some(some), self.meeting(some));
        }
        let barrier = self.task_end(EdgeProbe::Barrier);
        let release = self.task_end(EdgeProbe::Release);
        let stored = self.task_end(EdgeProbe::StoreAndRelease);
        let less = |longer: &Result<f64, OpenError>, shorter: &Result<f64, OpenError>| match (longer, shorter) {
            (Ok(longer), Ok(shorter)) => Ok(longer - shorter),
            (Err(error), _) | (_, Err(error)) => Err(self.unmeasured(error.to_string())),
        };
        found.keep(self, Edge::Release, Some(units), less(&release, &barrier));
        found.keep(self, Edge::Drain, Some(units), less(&stored, &release));
        self.launches(&mut found);
        found.keep(self, Edge::Dispatch, None, self.smallest_task());
        found
    }

    fn units(&self) -> usize {
        (self.device.multiprocessors as usize).min(MOST_BLOCKS)
    }

    fn unmeasured(&self, reason: String) -> OpenError {
        SessionError::Unavailable { device: Device::Cuda(self.device.ordinal), reason }.into()
    }

    /// The stamps of an exchange, none of whose blocks gave up.
    fn exchange(&self, probe: EdgeProbe, blocks: usize, rounds: u32) -> Result<Vec<Stamp>, OpenError> {
        let extent = Extent { blocks, elements: EDGE_ELEMENTS, rounds, data: LaunchData::Zeroed };
        let stamps = self.stamps(&probe, extent, LAUNCHES)?;
        if stamps.iter().any(|stamp| stamp.cycles == GAVE_UP) {
            let threads = probe.threads();
            return Err(self.unmeasured(format!(
                "the probe `{probe}` of {blocks} blocks of {threads} threads gave up a wait: a signal did not arrive, or the \
                 blocks were not all resident; run it with nothing else on the device"
            )));
        }
        Ok(stamps)
    }

    /// Microseconds of a hop of a ring.
    fn hop(&self, probe: EdgeProbe, blocks: usize) -> Result<f64, OpenError> {
        let rounds = HOPS.div_ceil(blocks);
        Ok(span(&self.exchange(probe, blocks, rounds as u32)?) / (rounds * blocks) as f64)
    }

    /// Microseconds of a barrier of so many blocks.
    fn meeting(&self, blocks: usize) -> Result<f64, OpenError> {
        Ok(span(&self.exchange(EdgeProbe::Meeting, blocks, MEETINGS)?) / f64::from(MEETINGS))
    }

    /// Microseconds of the end of an rTask, of the middle block.
    fn task_end(&self, probe: EdgeProbe) -> Result<f64, OpenError> {
        let stamps = self.exchange(probe, self.units(), TASK_ENDS)?;
        let cycles = median_of(stamps.iter().map(|stamp| stamp.cycles as f64));
        Ok(cycles / f64::from(TASK_ENDS) / self.cycles_per_microsecond()?)
    }

    /// Kernels that do nothing, in streams and in graphs.
    fn launches(&self, found: &mut EdgeReadings) {
        let blocks = EmptyBlocks { count: self.device.multiprocessors, threads: EdgeProbe::Meeting.threads() as u32 };
        let load = |cubin: Vec<u8>| {
            EmptyKernels::load(self.device.ordinal, &cubin, blocks).map_err(|error| SessionError::from(error).into())
        };
        let kernels: Result<EmptyKernels, OpenError> = self.compiled(&empty_kernels()).and_then(load);
        let node = |kind: NodeKind| {
            let entry = match kind {
                NodeKind::Programmatic => EMPTY_NODE,
                NodeKind::Plain | NodeKind::Cooperative => EMPTY,
            };
            let graph = |kernels: &EmptyKernels, nodes: usize| kernels.graph_microseconds(entry, kind, nodes, 1);
            self.slope(&kernels, NODES, graph)
        };
        let stream = |kernels: &EmptyKernels, launches: usize| kernels.stream_microseconds(EMPTY, launches);
        let graphs =
            |kernels: &EmptyKernels, count: usize| kernels.graph_microseconds(EMPTY, NodeKind::Plain, 1, count);
        found.keep(self, Edge::StreamLaunch, None, self.slope(&kernels, SERIES, stream));
        found.keep(self, Edge::GraphLaunch, None, self.slope(&kernels, SERIES, graphs));
        found.keep(self, Edge::GraphNode, None, node(NodeKind::Plain));
        if self.device.capability.0 >= FIRST_PROGRAMMATIC {
            found.keep(self, Edge::ProgrammaticNode, None, node(NodeKind::Programmatic));
        }
        if self.device.cooperative {
            found.keep(self, Edge::CooperativeNode, None, node(NodeKind::Cooperative));
        }
        let events = self.with(&kernels, EmptyKernels::event_microseconds);
        found.keep(self, Edge::EmptyGraph, None, events);
    }

    /// What one more takes, between so many and twice as many.
    fn slope(
        &self,
        kernels: &Result<EmptyKernels, OpenError>,
        count: usize,
        time: impl Fn(&EmptyKernels, usize) -> Result<f64, warpweave_runtime::cuda::CudaError>,
    ) -> Result<f64, OpenError> {
        let few = self.with(kernels, |kernels| time(kernels, count))?;
        let many = self.with(kernels, |kernels| time(kernels, 2 * count))?;
        Ok((many - few) / count as f64)
    }

    /// A time of loaded kernels, on a device whose clocks are up.
    fn with(
        &self,
        kernels: &Result<EmptyKernels, OpenError>,
        time: impl FnOnce(&EmptyKernels) -> Result<f64, warpweave_runtime::cuda::CudaError>,
    ) -> Result<f64, OpenError> {
        match kernels {
            Ok(kernels) => {
                self.spin()?;
                Ok(time(kernels).map_err(SessionError::from)?)
            }
            Err(error) => Err(self.unmeasured(error.to_string())),
        }
    }
}
