//! Times of launches of kernels that do nothing: in a stream, and as nodes of graphs.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::time::Duration;

use super::calls::{CodeImage, Dependency, FunctionHandle, KernelArguments, KernelLaunch, Residency};
use super::driver::Driver;
use super::error::CudaError;
use super::graph::{Graph, OpenGraph};
use super::launches::StampArguments;
use super::memory::{Context, Event, Module, Stream};
use super::stamps::await_event;

/// Times of which the median counts.
const REPEATS: usize = 25;
/// Launches before those that count.
const WARM: usize = 5;
/// After how long a launch is given up.
const LAUNCH_LIMIT: Duration = Duration::from_secs(20);
/// What the kernels are given, and leave alone.
const NOTHING: StampArguments = StampArguments { stamps: 0, data: 0, elements: 0, rounds: 0 };

/// How a node of a graph is launched after the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// When that one has ended.
    Plain,
    /// Its blocks may be resident before; devices from compute capability 9.0 on.
    Programmatic,
    /// When that one has ended, with all of its blocks at once.
    Cooperative,
}

/// The blocks of every launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmptyBlocks {
    /// How many there are.
    pub count: u32,
    /// Threads of each.
    pub threads: u32,
}

/// Loaded kernels that take what stamped entries take, and do nothing with it.
pub struct EmptyKernels {
    /// Dropped unless a launch did not end: freeing what it uses would wait for it.
    loaded: ManuallyDrop<Loaded>,
    blocks: EmptyBlocks,
    is_lost: Cell<bool>,
}

struct Loaded {
    module: Module,
    stream: Stream,
    /// Last, so that all else is freed while it is there.
    context: Context,
}

impl EmptyKernels {
    /// Loads code, which has been read as a cubin, on device `ordinal`.
    pub fn load(ordinal: u32, cubin: &[u8], blocks: EmptyBlocks) -> Result<Self, CudaError> {
        let context = Context::new(&Driver::open()?, ordinal)?;
        let module = Module::load(&context, CodeImage { cubin, kernel_ir: None })?;
        let loaded = Loaded { module, stream: Stream::new(&context)?, context };
        Ok(Self { loaded: ManuallyDrop::new(loaded), blocks, is_lost: false.into() })
    }

    /// Microseconds of so many launches of an entry into a stream, one after another: the median of 25 times.
    pub fn stream_microseconds(&self, entry: &str, launches: usize) -> Result<f64, CudaError> {
        let launch = self.launch(self.function(entry)?, NodeKind::Plain);
        self.median(|stream| {
            // SAFETY: the function is of the loaded module, and its entry does nothing with its arguments.
            (0..launches).try_for_each(|_| unsafe { stream.launch(&launch) })
        })
    }

    /// Microseconds of so many launches of a graph of `nodes` nodes, each of which runs an entry after the one before it: the
    /// median of 25 times.
    pub fn graph_microseconds(
        &self,
        entry: &str,
        kind: NodeKind,
        nodes: usize,
        launches: usize,
    ) -> Result<f64, CudaError> {
        let launch = self.launch(self.function(entry)?, kind);
        let graph = OpenGraph::new(&self.loaded.context)?;
        let mut previous = None;
        for _ in 0..nodes {
            let node = graph.add(&launch)?;
            if let Some(previous) = previous {
                graph.depend(previous, node, dependency(kind))?;
            }
            previous = Some(node);
        }
        let graph = ManuallyDrop::new(graph.instantiate()?);
        let time = self.median(|stream| (0..launches).try_for_each(|_| graph.launch(stream)));
        self.free(graph);
        time
    }

    /// Microseconds between two events that a graph records one after the other, and nothing else: the median of 25 times.
    pub fn event_microseconds(&self) -> Result<f64, CudaError> {
        self.usable()?;
        let Loaded { context, stream, .. } = &*self.loaded;
        let (begin, end) = (Event::new(context)?, Event::new(context)?);
        let graph = OpenGraph::new(context)?;
        let (first, second) = (graph.record(&begin)?, graph.record(&end)?);
        graph.depend(first, second, Dependency::Full)?;
        let graph = ManuallyDrop::new(graph.instantiate()?);
        let mut times = Vec::with_capacity(REPEATS);
        let done = (0..WARM + REPEATS).try_for_each(|at| {
            graph.launch(stream)?;
            self.await_stream()?;
            if at >= WARM {
                times.push(f64::from(end.milliseconds_since(&begin)?) * 1e3);
            }
            Ok(())
        });
        self.free(graph);
        done.map(|()| middle(times))
    }

    fn function(&self, entry: &str) -> Result<FunctionHandle, CudaError> {
        self.usable()?;
        self.loaded.module.function(entry)
    }

    fn usable(&self) -> Result<(), CudaError> {
        if self.is_lost.get() { Err(CudaError::Poisoned) } else { Ok(()) }
    }

    fn free(&self, graph: ManuallyDrop<Graph>) {
        if !self.is_lost.get() {
            drop(ManuallyDrop::into_inner(graph));
        }
    }

    fn launch(&self, function: FunctionHandle, kind: NodeKind) -> KernelLaunch<'static> {
        let residency = match kind {
            NodeKind::Plain | NodeKind::Programmatic => Residency::AsRoomAllows,
            NodeKind::Cooperative => Residency::AllAtOnce,
        };
        let EmptyBlocks { count: blocks, threads } = self.blocks;
        KernelLaunch {
            function,
            blocks,
            threads,
            shared_bytes: 0,
            residency,
            arguments: KernelArguments::Stamps(&NOTHING),
        }
    }

    /// Waits until all work of the stream has ended.
    fn await_stream(&self) -> Result<(), CudaError> {
        let end = Event::new(&self.loaded.context)?;
        end.record(&self.loaded.stream)?;
        let ended = await_event(&end, LAUNCH_LIMIT);
        if ended.is_err() {
            self.is_lost.set(true);
        }
        ended
    }

    /// The median of the microseconds between events around what `work` puts into the stream.
    fn median(&self, work: impl Fn(&Stream) -> Result<(), CudaError>) -> Result<f64, CudaError> {
        let Loaded { context, stream, .. } = &*self.loaded;
        let mut times = Vec::with_capacity(REPEATS);
        for at in 0..WARM + REPEATS {
            let (begin, end) = (Event::new(context)?, Event::new(context)?);
            begin.record(stream)?;
            work(stream)?;
            end.record(stream)?;
            self.await_stream()?;
            if at >= WARM {
                times.push(f64::from(end.milliseconds_since(&begin)?) * 1e3);
            }
        }
        Ok(middle(times))
    }
}

impl Drop for EmptyKernels {
    fn drop(&mut self) {
        if !self.is_lost.get() {
            // SAFETY: nothing uses what is loaded after this, and it is dropped once.
            unsafe { ManuallyDrop::drop(&mut self.loaded) };
        }
    }
}

fn dependency(kind: NodeKind) -> Dependency {
    match kind {
        NodeKind::Programmatic => Dependency::Programmatic,
        NodeKind::Plain | NodeKind::Cooperative => Dependency::Full,
    }
}

fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
