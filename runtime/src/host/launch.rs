//! Runs of a plan on threads: what they share, and what each does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use warpweave_graph::arena::Arena;
use warpweave_plan::plan::Segment;
use warpweave_plan::plan::{CounterId, GraphSegment, Instruction, KernelNode, OperatorId, PersistentSegment, RTask};

use super::HostMoments;
use super::indices::IndexFaults;
use super::memory::{Memory, SharedArena};
use super::operator::TaskScratch;
use super::program::{HostProgram, HostSegment, node_threads};
use super::streams::Delays;

/// Polls of a wait before the thread lets others run each time.
const SPINS: u32 = 64;

/// Runs of all sessions; 0 is none.
static RUNS: AtomicU64 = AtomicU64::new(1);

/// The state of a program's runs in one session.
pub(super) struct Launch {
    pub(super) program: Arc<HostProgram>,
    pub(super) arena: SharedArena,
    pub(super) faults: IndexFaults,
    segments: Vec<SegmentState>,
    /// What each thread works in.
    scratch: Box<[Mutex<TaskScratch>]>,
    /// The number of the run among those of all sessions.
    run: AtomicU64,
    /// How often threads came to the end of their part of a segment or node in this run.
    arrivals: AtomicUsize,
    failed: AtomicBool,
    recording: Mutex<Option<Recording>>,
    records: Box<[Mutex<Record>]>,
}

/// The state of a segment's run.
struct SegmentState {
    /// Which rTasks have ended, of operators some of whose are polled.
    ended: Arena<OperatorId, Vec<AtomicBool>>,
    counters: Arena<CounterId, AtomicU32>,
}

/// That a run notes what it does.
#[derive(Clone, Copy)]
pub(super) struct Recording {
    pub(super) start: Instant,
    pub(super) delays: Option<Delays>,
}

/// What a thread did in a run.
#[derive(Default)]
pub(super) struct Record {
    /// The rTasks that it executed, each with the position of its segment.
    pub(super) tasks: Vec<(usize, RTask)>,
    /// Per persistent segment, when it came to the instructions of its stream.
    pub(super) moments: Vec<(usize, Vec<HostMoments>)>,
}

/// Another thread failed.
struct Failed;

/// The parts, over all threads, of the segments and nodes that a thread has come past.
struct Before(usize);

impl SegmentState {
    fn new(segment: &Segment, prepared: &HostSegment) -> Self {
        let counters = match segment {
            Segment::Persistent(segment) => segment.counters.values().map(|_| AtomicU32::new(0)).collect(),
            Segment::CudaGraph(_) => Arena::new(),
        };
        let ended = segment.operators().values().map(|operator| match prepared.polls.is_empty() {
            true => Vec::new(),
            false => (0..operator.tasks()).map(|_| AtomicBool::new(false)).collect(),
        });
        Self { ended: ended.collect(), counters }
    }
}

impl Launch {
    /// What a session of a program needs beside it, for all its runs.
    pub(super) fn new(program: Arc<HostProgram>) -> Self {
        let plan = program.plan.plan();
        let segments = plan.segments.iter().zip(&program.segments);
        let segments = segments.map(|(segment, prepared)| SegmentState::new(segment, prepared)).collect();
        let threads = 0..program.threads;
        Self {
            arena: SharedArena::with_ports(plan.memory.arena_bytes as usize, &program.ports),
            faults: IndexFaults::default(),
            segments,
            scratch: threads.clone().map(|_| Mutex::new(program.scratch())).collect(),
            run: AtomicU64::new(0),
            arrivals: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            recording: Mutex::new(None),
            records: threads.map(|_| Mutex::default()).collect(),
            program,
        }
    }

    /// Makes everything ready for a run, while no thread runs.
    pub(super) fn begin(&self, recording: Option<Recording>) {
        for segment in &self.segments {
            segment.counters.values().for_each(|counter| counter.store(0, Ordering::Relaxed));
            segment.ended.values().flatten().for_each(|ended| ended.store(false, Ordering::Relaxed));
        }
        self.run.store(RUNS.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        self.arrivals.store(0, Ordering::Relaxed);
        self.failed.store(false, Ordering::Relaxed);
        *self.recording.lock().unwrap_or_else(PoisonError::into_inner) = recording;
    }

    /// Whether a thread of the last run failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// What the threads noted in the last run.
    pub(super) fn records(&self) -> Vec<Record> {
        let take = |record: &Mutex<Record>| std::mem::take(&mut *record.lock().unwrap_or_else(PoisonError::into_inner));
        self.records.iter().map(take).collect()
    }

    /// One thread's part of a run.
    pub(super) fn run(&self, thread: usize) {
        let mut scratch = self.scratch[thread].lock().unwrap_or_else(PoisonError::into_inner);
        let ran = catch_unwind(AssertUnwindSafe(|| self.run_segments(thread, &mut scratch)));
        if ran.is_err() {
            self.failed.store(true, Ordering::Release);
            // Registers may be missing.
            *scratch = self.program.scratch();
        }
    }

    fn run_segments(&self, thread: usize, scratch: &mut TaskScratch) -> Result<(), Failed> {
        let recording = *self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = Memory {
            arena: &self.arena,
            weights: &self.program.weights,
            staged: Vec::new(),
            faults: &self.faults,
            run: self.run.load(Ordering::Relaxed),
            bases: &[],
        };
        let mut record = Record::default();
        let mut before = Before(0);
        for (position, segment) in self.program.plan.plan().segments.iter().enumerate() {
            match segment {
                Segment::Persistent(segment) => {
                    let width = segment.streams.len();
                    let (prepared, state) = (&self.program.segments[position], &self.segments[position]);
                    let stream = Stream { launch: self, segment, prepared, state, thread, memory: &memory };
                    self.take_part(thread, width, &mut before, || {
                        match recording {
                            None => stream.run(scratch)?,
                            Some(recording) => {
                                let (tasks, moments) = stream.run_recorded(scratch, recording)?;
                                record.tasks.extend(tasks.into_iter().map(|task| (position, task)));
                                record.moments.push((position, moments));
                            }
                        }
                        Ok(())
                    })?;
                }
                Segment::CudaGraph(segment) => {
                    let tasks = recording.map(|_| &mut record.tasks);
                    self.run_nodes(thread, (position, segment), &memory, scratch, tasks, &mut before)?;
                }
            }
        }
        if recording.is_some() {
            *self.records[thread].lock().unwrap_or_else(PoisonError::into_inner) = record;
        }
        Ok(())
    }

    /// The blocks of this thread, every n-th of n threads, one node after another.
    fn run_nodes(
        &self,
        thread: usize,
        (position, segment): (usize, &GraphSegment),
        memory: &Memory,
        scratch: &mut TaskScratch,
        mut tasks: Option<&mut Vec<(usize, RTask)>>,
        before: &mut Before,
    ) -> Result<(), Failed> {
        for node in &segment.nodes {
            let width = node_threads(node, self.program.threads);
            let &KernelNode { operator, blocks } = node;
            self.take_part(thread, width, before, || {
                for tile in (thread as u32..blocks).step_by(width) {
                    self.program.segments[position].operators[operator].run(tile, memory, scratch);
                    if let Some(tasks) = tasks.as_deref_mut() {
                        tasks.push((position, RTask { operator, tile }));
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Does a thread's part of a segment or node on which the first `width` threads work, if it has one. The part begins
    /// after as many arrivals as there are parts of earlier segments and nodes. These are the arrivals of exactly those parts:
    /// no other part begins, let alone arrives, before as many arrivals.
    fn take_part(
        &self,
        thread: usize,
        width: usize,
        before: &mut Before,
        part: impl FnOnce() -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let Before(wanted) = *before;
        before.0 += width;
        if thread >= width {
            return Ok(());
        }
        self.wait(|| self.arrivals.load(Ordering::Acquire) >= wanted)?;
        part()?;
        self.arrivals.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Waits until something has happened.
    fn wait(&self, happened: impl Fn() -> bool) -> Result<(), Failed> {
        let mut polls = 0u32;
        while !happened() {
            if self.failed.load(Ordering::Relaxed) {
                return Err(Failed);
            }
            polls += 1;
            if polls < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}

/// A thread's stream of a persistent segment.
struct Stream<'l> {
    launch: &'l Launch,
    segment: &'l PersistentSegment,
    prepared: &'l HostSegment,
    state: &'l SegmentState,
    thread: usize,
    memory: &'l Memory<'l>,
}

impl Stream<'_> {
    fn run(&self, scratch: &mut TaskScratch) -> Result<(), Failed> {
        for (position, instruction) in self.segment.streams[self.thread].iter().enumerate() {
            self.execute(position, instruction, scratch, &mut || {})?;
        }
        Ok(())
    }

    fn run_recorded(
        &self,
        scratch: &mut TaskScratch,
        Recording { start, delays }: Recording,
    ) -> Result<(Vec<RTask>, Vec<HostMoments>), Failed> {
        let now = || start.elapsed().as_nanos() as u64;
        let instructions = &self.segment.streams[self.thread];
        let (mut tasks, mut moments) = (Vec::new(), Vec::with_capacity(instructions.len()));
        for (position, instruction) in instructions.iter().enumerate() {
            delays.iter().for_each(|delays| delays.pause(self.thread, position));
            let begin = now();
            let mut polled = begin;
            self.execute(position, instruction, scratch, &mut || polled = now())?;
            moments.push(HostMoments { begin, polled, end: now() });
            if let Instruction::Run(task) = instruction {
                tasks.push(*task);
            }
        }
        Ok((tasks, moments))
    }

    /// Executes the instruction at a position; `polled` is called whenever something that it polls is there.
    #[inline]
    fn execute(
        &self,
        position: usize,
        instruction: &Instruction,
        scratch: &mut TaskScratch,
        polled: &mut impl FnMut(),
    ) -> Result<(), Failed> {
        let Self { launch, prepared, state, .. } = self;
        match *instruction {
            Instruction::Run(task) => {
                for &writer in prepared.polls.writers(task) {
                    let ended = &state.ended[writer.operator][writer.tile as usize];
                    launch.wait(|| ended.load(Ordering::Acquire))?;
                    polled();
                }
                prepared.operators[task.operator].run(task.tile, self.memory, scratch);
                if prepared.polls.is_polled(task) {
                    state.ended[task.operator][task.tile as usize].store(true, Ordering::Release);
                }
            }
            // Every constant is as near as any other.
            Instruction::Hold(_) | Instruction::Prefetch(_) => {}
            Instruction::Signal(counter) => match prepared.signals[self.thread][position] {
                0 => {}
                growth => _ = state.counters[counter].fetch_add(growth, Ordering::Release),
            },
            Instruction::Wait { counter, signals } => {
                launch.wait(|| state.counters[counter].load(Ordering::Acquire) >= signals)?;
            }
        }
        Ok(())
    }
}
