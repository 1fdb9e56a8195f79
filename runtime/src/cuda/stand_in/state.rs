//! What the device is at a moment: memory, code, graphs, and a clock that launches move.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use super::super::calls::{EventHandle, ExecutableHandle};
use super::super::error::CudaError;
use super::error::{failure, refusal};
use super::fault::{Fault, LAUNCHES_BEFORE_LOSS};
use super::graph::{Graphs, Node};
use super::handle::{pointer, slot};
use super::launch::OwnedLaunch;
use super::memory::Memory;
use super::module::Modules;

pub(super) struct State {
    pub(super) fault: Option<Fault>,
    pub(super) memory: Memory,
    pub(super) modules: Modules,
    pub(super) graphs: Graphs,
    events: Vec<Option<Moment>>,
    /// Microseconds by the device's clock.
    pub(super) now: f64,
    /// Whether a launch runs that never ends.
    pub(super) is_hung: bool,
    launches: u64,
    /// Holds a byte for each launch of all processes that share it.
    shared_launches: Option<PathBuf>,
}

/// When an event was recorded.
#[derive(Clone, Copy)]
enum Moment {
    Never,
    At(f64),
    /// Behind a launch that never ends.
    AfterHang,
}

impl State {
    pub(super) fn new(fault: Option<Fault>, shared_launches: Option<PathBuf>) -> Self {
        Self {
            fault,
            memory: Memory::new(),
            modules: Modules::default(),
            graphs: Graphs::default(),
            events: Vec::new(),
            now: 0.0,
            is_hung: false,
            launches: 0,
            shared_launches,
        }
    }

    /// Whether the device is lost, in this process or in an earlier one.
    pub(super) fn is_lost(&self) -> bool {
        self.fault == Some(Fault::LostDevice) && self.launches_so_far() >= LAUNCHES_BEFORE_LOSS
    }

    fn launches_so_far(&self) -> u64 {
        let shared = self.shared_launches.as_ref().and_then(|path| fs::metadata(path).ok());
        shared.map_or(0, |file| file.len()).max(self.launches)
    }

    /// Counts a launch; it fails if the device is lost by it.
    pub(super) fn count_launch(&mut self, call: &'static str) -> Result<(), CudaError> {
        self.launches += 1;
        if let Some(path) = &self.shared_launches {
            let appended =
                OpenOptions::new().create(true).append(true).open(path).and_then(|mut file| file.write_all(b"."));
            appended.map_err(|error| refusal(call, format!("cannot count launches in {}: {error}", path.display())))?;
        }
        if self.is_lost() { Err(failure(call, "CUDA_ERROR_LAUNCH_FAILED: the device is lost")) } else { Ok(()) }
    }

    pub(super) fn create_event(&mut self) -> EventHandle {
        self.events.push(Some(Moment::Never));
        EventHandle(pointer(self.events.len() - 1))
    }

    pub(super) fn destroy_event(&mut self, event: EventHandle) {
        if let Some(event) = self.events.get_mut(slot(event.0)) {
            *event = None;
        }
    }

    pub(super) fn record(&mut self, event: EventHandle) -> Result<(), CudaError> {
        let moment = if self.is_hung { Moment::AfterHang } else { Moment::At(self.now) };
        let event = self.events.get_mut(slot(event.0)).and_then(Option::as_mut);
        *event.ok_or_else(|| refusal("cuEventRecord", "CUDA_ERROR_INVALID_HANDLE"))? = moment;
        Ok(())
    }

    fn moment(&self, event: EventHandle) -> Result<Moment, CudaError> {
        let found = self.events.get(slot(event.0)).copied().flatten();
        found.ok_or_else(|| refusal("a call for an event", "CUDA_ERROR_INVALID_HANDLE"))
    }

    pub(super) fn has_passed(&self, event: EventHandle) -> Result<bool, CudaError> {
        match self.moment(event)? {
            Moment::Never | Moment::At(_) => Ok(true),
            Moment::AfterHang => Ok(false),
        }
    }

    pub(super) fn milliseconds(&self, begin: EventHandle, end: EventHandle) -> Result<f32, CudaError> {
        match (self.moment(begin)?, self.moment(end)?) {
            (Moment::At(begin), Moment::At(end)) => Ok(((end - begin) / 1e3) as f32),
            _ => Err(refusal("cuEventElapsedTime", "CUDA_ERROR_NOT_READY")),
        }
    }

    /// Runs all nodes of a graph; launches between two recordings run as one program.
    pub(super) fn run_graph(&mut self, graph: ExecutableHandle) -> Result<(), CudaError> {
        const CALL: &str = "cuGraphLaunch";
        let executable = self.graphs.executable(graph)?.clone();
        let mut settled = executable.settled;
        let mut launches: Vec<OwnedLaunch> = Vec::new();
        for node in executable.nodes {
            match node {
                Node::Launch(launch) => launches.push(launch),
                Node::Record(event) => {
                    self.run(CALL, &launches, &mut settled)?;
                    launches.clear();
                    self.record(event)?;
                }
            }
        }
        self.run(CALL, &launches, &mut settled)?;
        self.graphs.executable(graph)?.settled = settled;
        Ok(())
    }
}
