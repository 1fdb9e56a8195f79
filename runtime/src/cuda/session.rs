//! A program on a GPU: one launch of a graph a run, of which persistent segments are cooperative nodes. Where the
//! driver refuses such a graph of one persistent segment, it is one cooperative launch.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::time::{Duration, Instant};

use warpweave_graph::Tensor;
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::plan::TAGGED_BYTES;
use warpweave_plan::plan::states::{PlannedState, StateMove};
use warpweave_plan::tables::{Launch, node_name};

use super::calls::{CodeImage, FunctionHandle, KernelArguments};
use super::driver::Driver;
use super::error::CudaError;
use super::fit::{check_device, check_entries, fit, resident_blocks};
use super::graph::{Graph, Recorded, Shape};
use super::launches::Addresses;
use super::memory::{Buffer, Context, Event, Module, Stream};
use crate::bundle::{DeviceCode, TargetPlan};
use crate::session::{
    SPOILED, Session, SessionError, Turns, check_inputs, check_records, input_types, output, place, states,
};
use crate::session_memory::{SessionMemory, tagged_element, tagged_values};

/// The entry that walks streams.
pub(super) const ENTRY_NAME: &str = "warpweave_persistent";
/// The oldest driver interface that the calls here need.
const OLDEST_DRIVER: (u32, u32) = (12, 8);
/// Bytes that no second-level cache of a GPU holds.
const FLUSH_BYTES: usize = 512 << 20;
/// For so long the end of a launch is polled without rest.
const POLL_EAGERLY: Duration = Duration::from_millis(20);

/// Launches that are put into the stream before the end of the last one is awaited.
const LAUNCHES_AT_ONCE: usize = 16;

/// How a program is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CudaOptions {
    /// After how long a wait of the plan gives up. The device counts it.
    pub wait_limit: Duration,
    /// After how long the host gives up on a launch. It must be longer.
    pub launch_limit: Duration,
    /// The most virtual execution units to use; the plan is folded onto them.
    pub units: Option<usize>,
}

/// Limits of waits after which a launch is given up: some waits may each take long before one gives up.
const WAITS_OF_A_LAUNCH: u32 = 6;

impl CudaOptions {
    /// For waits that give up after `wait_limit`, and launches that are given up after a multiple of it.
    pub fn waiting(wait_limit: Duration) -> Self {
        Self { wait_limit, launch_limit: wait_limit.saturating_mul(WAITS_OF_A_LAUNCH), units: None }
    }
}

impl Default for CudaOptions {
    fn default() -> Self {
        Self::waiting(Duration::from_secs(10))
    }
}

/// A loaded program with its memory.
pub struct CudaSession {
    // Never freed after a launch that did not end: freeing would wait for it.
    loaded: ManuallyDrop<Loaded>,
    turns: Turns,
    options: CudaOptions,
    notes: Vec<String>,
    state: State,
    last: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Ready,
    /// A wait gave up: memory must be reset.
    Aborted,
    /// A launch is still running, or the device has failed.
    Lost,
}

/// What a launch launches.
enum Launched {
    /// The entry of a persistent program, once, cooperatively.
    Cooperative { function: FunctionHandle, shape: Shape },
    /// A graph for each turn, made for a limit of waits.
    Graphs { graphs: Vec<Graph>, shape: Shape, wait_limit: Duration, clock: Clock },
}

/// What records when a launch begins and ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// Nodes of the graph: what the host does has no part in the time.
    Nodes,
    /// The stream: an idle one has recorded the begin before the launch arrives.
    Stream,
}

impl Clock {
    fn events<'e>(self, begin: &'e Event, end: &'e Event) -> Option<Recorded<'e>> {
        match self {
            Self::Nodes => Some(Recorded { begin, end }),
            Self::Stream => None,
        }
    }
}

/// What launches read and write.
struct Buffers {
    arena: Buffer,
    weights: Buffer,
    stream_start: Buffer,
    instructions: Buffer,
    /// Those of each turn.
    operands: Vec<Buffer>,
    control: Buffer,
    counters: Buffer,
    status: Buffer,
}

impl Buffers {
    /// What the launches of a turn read and write.
    fn addresses(&self, turn: usize) -> Addresses {
        Addresses {
            arena: self.arena.address(),
            weights: self.weights.address(),
            stream_start: self.stream_start.address(),
            instructions: self.instructions.address(),
            operands: self.operands[turn].address(),
            control: self.control.address(),
            counters: self.counters.address(),
            status: self.status.address(),
        }
    }
}

/// Dropped from first to last: memory before the context that it belongs to, a graph before its events.
struct Loaded {
    buffers: Buffers,
    /// Written whole before each launch, where caches are to be cold.
    flush: Option<Buffer>,
    launched: Launched,
    begin: Event,
    end: Event,
    /// Behind everything that was put into the stream.
    done: Event,
    stream: Stream,
    module: Module,
    context: Context,
}

impl CudaSession {
    /// Loads a program on device `ordinal`: driver, capability and occupancy are checked in this order.
    pub fn open(
        ordinal: u32,
        plan: &TargetPlan,
        code: &DeviceCode,
        weights: &[u8],
        options: CudaOptions,
    ) -> Result<Self, SessionError> {
        Self::open_on(&Driver::open()?, ordinal, plan, code, weights, options)
    }

    /// The same on a driver that is open.
    pub(super) fn open_on(
        driver: &Driver,
        ordinal: u32,
        plan: &TargetPlan,
        code: &DeviceCode,
        weights: &[u8],
        options: CudaOptions,
    ) -> Result<Self, SessionError> {
        let device = driver.device(ordinal)?;
        let needed = code.minimum_driver.max(OLDEST_DRIVER);
        if driver.version() < needed {
            return Err(CudaError::OldDriver { found: driver.version(), needed }.into());
        }
        check_device(&device, code)?;
        let launches = plan.tables().launches;
        let walks = launches.iter().any(|launch| matches!(launch, Launch::Streams(_)));
        if walks && !device.cooperative {
            return Err(CudaError::NotCooperative { device: device.name }.into());
        }
        check_entries(code, &launches)?;
        let context = Context::new(driver, ordinal)?;
        let image = CodeImage { cubin: &code.cubin, kernel_ir: Some((code.target, &code.kernel_ir)) };
        let module = Module::load(&context, image)?;
        let shape = Shape::new(launches, &device, code);
        for launch in &shape.launches {
            if let Launch::Node(node) = launch {
                let function = module.function(&node_name(node.kernel))?;
                resident_blocks(&context, function, &device, (code, shape.node_shared(node.kernel)))?;
            }
        }
        let (plan, notes) = if walks {
            let blocks = resident_blocks(&context, module.function(ENTRY_NAME)?, &device, (code, code.shared_bytes))?;
            fit(plan, code, &device, blocks, options)?
        } else {
            (plan.clone(), vec![format!("{} runs {} nodes of a graph", device.name, shape.launches.len())])
        };
        let shape = Shape { launches: plan.tables().launches, ..shape };
        let turns = Turns::new(plan);
        let (loaded, refused) = load(&turns, weights, shape, options.wait_limit, context, module)?;
        let mut notes = notes;
        notes.extend(refused.map(|error| format!("times have a part of the host in them: {error}")));
        let mut session =
            Self { loaded: ManuallyDrop::new(loaded), turns, options, notes, state: State::Ready, last: None };
        session.restart(1)?;
        Ok(session)
    }

    fn restart(&mut self, epoch: i32) -> Result<(), CudaError> {
        if self.state == State::Lost {
            return Err(CudaError::Poisoned);
        }
        let memory = counters(self.turns.plan(), epoch);
        self.loaded.buffers.control.write(0, bytemuck::cast_slice(&memory.control))?;
        self.loaded.buffers.counters.write(0, bytemuck::cast_slice(&memory.counters))?;
        self.loaded.buffers.status.zero()?;
        for (range, tag) in tagged_values(&self.turns.plan().memory) {
            let tagged = tagged_element(epoch, tag).repeat(range.len() / TAGGED_BYTES);
            self.loaded.buffers.arena.write(range.start, &tagged)?;
        }
        let records = self.turns.plan().memory.index_records.range();
        self.loaded.buffers.arena.write(records.start, &vec![0; records.len()])?;
        self.state = State::Ready;
        Ok(())
    }

    /// Makes the graph again where waits are to give up after another time than it was made for.
    fn keep_limit(&mut self) -> Result<(), CudaError> {
        let limit = self.options.wait_limit;
        let Loaded { buffers, launched, module, begin, end, context, .. } = &mut *self.loaded;
        if let Launched::Graphs { graphs, shape, wait_limit, clock } = launched
            && *wait_limit != limit
        {
            *graphs = make_graphs((&*context, &*module), shape, buffers, limit, clock.events(begin, end))?;
            *wait_limit = limit;
        }
        Ok(())
    }

    fn launch(&mut self) -> Result<(), CudaError> {
        self.keep_limit()?;
        let loaded = &*self.loaded;
        if let Some(flush) = &loaded.flush {
            // The stream waits for the write: it is a blocking one.
            flush.zero()?;
        }
        self.enqueue()?;
        self.await_end()
    }

    /// Puts a launch into the stream.
    fn enqueue(&self) -> Result<(), CudaError> {
        let Loaded { launched, begin, end, stream, .. } = &*self.loaded;
        let turn = self.turns.number();
        match launched {
            Launched::Graphs { graphs, clock: Clock::Nodes, .. } => graphs[turn].launch(stream),
            Launched::Graphs { graphs, clock: Clock::Stream, .. } => {
                begin.record(stream)?;
                graphs[turn].launch(stream)?;
                end.record(stream)
            }
            Launched::Cooperative { function, shape } => {
                begin.record(stream)?;
                self.launch_cooperative(*function, shape)?;
                end.record(stream)
            }
        }
    }

    fn launch_cooperative(&self, function: FunctionHandle, shape: &Shape) -> Result<(), CudaError> {
        let loaded = &*self.loaded;
        let own = loaded.buffers.addresses(self.turns.number()).of_streams(0, 0, self.options.wait_limit);
        let blocks = self.turns.plan().units() as u32;
        // SAFETY: the entry takes one `ww_arguments` by value, which `StreamArguments` mirrors. All addresses are of live
        // allocations of the sizes that the verified plan asks for, and nothing touches them until `done` has passed.
        unsafe { loaded.stream.launch(&shape.of_streams(function, blocks, KernelArguments::Streams(&own))) }
    }

    /// Waits for everything that was put into the stream. Events that a graph records do not tell it: until the graph runs,
    /// they are what they were before.
    fn await_end(&mut self) -> Result<(), CudaError> {
        let start = Instant::now();
        if let Err(error) = self.loaded.done.record(&self.loaded.stream) {
            self.state = State::Lost;
            return Err(error);
        }
        loop {
            match self.loaded.done.has_passed() {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => {
                    self.state = State::Lost;
                    return Err(error);
                }
            }
            let waited = start.elapsed();
            if waited > self.options.launch_limit {
                self.state = State::Lost;
                return Err(CudaError::TimeLimit { seconds: self.options.launch_limit.as_secs() });
            }
            if waited > POLL_EAGERLY {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    }

    /// What the first wait that gave up has written.
    fn check_status(&mut self) -> Result<(), CudaError> {
        let mut memory = SessionMemory::new(Vec::new(), 0);
        self.loaded.buffers.status.read(0, bytemuck::cast_slice_mut(&mut memory.status))?;
        match memory.timed_out_wait() {
            None => Ok(()),
            Some(wait) => {
                self.state = State::Aborted;
                Err(CudaError::Wait(wait))
            }
        }
    }
}

impl CudaSession {
    /// What the launch has recorded of faulty indices, which is then forgotten.
    fn check_indices(&mut self) -> Result<(), SessionError> {
        let memory = &self.turns.plan().memory;
        let records = memory.index_records.range();
        if records.is_empty() {
            return Ok(());
        }
        let mut bytes = vec![0; records.len()];
        self.loaded.buffers.arena.read(records.start, &mut bytes)?;
        let checked = check_records(memory, &bytes);
        if checked.is_err() {
            bytes.fill(0);
            self.loaded.buffers.arena.write(records.start, &bytes)?;
        }
        Ok(checked?)
    }
}

impl CudaSession {
    fn read_states(&self, part: impl Fn(&PlannedState) -> TensorId) -> Result<Vec<Tensor>, SessionError> {
        states::read(&self.turns.plan().memory, part, |range| {
            let mut bytes = vec![0; range.len()];
            self.loaded.buffers.arena.read(range.start, &mut bytes)?;
            Ok(bytes)
        })
    }
}

impl Session for CudaSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        self.loaded.context.enter()?;
        if self.state != State::Ready {
            return Err(CudaError::Poisoned.into());
        }
        check_inputs(input_types(&self.turns.plan().memory), inputs)?;
        let memory = &self.turns.plan().memory;
        for (&tensor, input) in memory.inputs.iter().zip(inputs) {
            self.loaded.buffers.arena.write(place(memory, tensor).start, input.bytes())?;
        }
        self.launch()?;
        self.check_status()?;
        self.check_indices()?;
        // Without a time the outputs are still right.
        let milliseconds = self.loaded.end.milliseconds_since(&self.loaded.begin).ok();
        self.last = milliseconds.map(|milliseconds| Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3));
        let memory = &self.turns.plan().memory;
        let read = |&tensor| {
            let range = place(memory, tensor);
            let mut bytes = vec![0; range.len()];
            self.loaded.buffers.arena.read(range.start, &mut bytes)?;
            output(memory, tensor, bytes)
        };
        memory.outputs.iter().map(read).collect()
    }

    fn states(&mut self) -> Result<Vec<Tensor>, SessionError> {
        self.loaded.context.enter()?;
        self.read_states(|state| state.tensor)
    }

    fn set_states(&mut self, states: &[Tensor]) -> Result<(), SessionError> {
        self.loaded.context.enter()?;
        let memory = &self.turns.plan().memory;
        states::check(memory, states)?;
        for (state, tensor) in memory.states.iter().zip(states) {
            self.loaded.buffers.arena.write(place(memory, state.tensor).start, tensor.bytes())?;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), SessionError> {
        self.loaded.context.enter()?;
        if self.state != State::Ready {
            return Err(CudaError::Poisoned.into());
        }
        for StateMove { from, to, bytes } in self.turns.plan().memory.state_moves() {
            self.loaded.buffers.arena.copy(from as usize..(from + bytes) as usize, to as usize)?;
        }
        self.turns.advance();
        Ok(())
    }

    fn spin(&mut self, least: Duration) -> Result<bool, SessionError> {
        self.loaded.context.enter()?;
        if self.state != State::Ready {
            return Err(CudaError::Poisoned.into());
        }
        let start = Instant::now();
        while start.elapsed() < least {
            for _ in 0..LAUNCHES_AT_ONCE {
                self.enqueue()?;
            }
            self.await_end()?;
            self.check_status()?;
        }
        Ok(true)
    }

    fn read_arena(&mut self, bytes: Range<usize>) -> Result<Option<Vec<u8>>, SessionError> {
        self.loaded.context.enter()?;
        if self.state != State::Ready {
            return Err(CudaError::Poisoned.into());
        }
        let mut read = vec![0; bytes.len()];
        self.loaded.buffers.arena.read(bytes.start, &mut read)?;
        Ok(Some(read))
    }

    fn spoil_outputs(&mut self) -> Result<bool, SessionError> {
        self.loaded.context.enter()?;
        if self.state != State::Ready {
            return Err(CudaError::Poisoned.into());
        }
        let memory = &self.turns.plan().memory;
        for &tensor in &memory.outputs {
            self.loaded.buffers.arena.fill(place(memory, tensor), SPOILED)?;
        }
        Ok(true)
    }

    fn set_wait_limit(&mut self, limit: Duration) -> bool {
        self.options.wait_limit = limit;
        true
    }

    fn start_at(&mut self, epoch: i32) -> Result<bool, SessionError> {
        self.loaded.context.enter()?;
        self.restart(epoch)?;
        Ok(true)
    }

    fn device_time(&self) -> Option<Duration> {
        self.last
    }

    fn execution_plan(&self) -> Option<&ExecutionPlan> {
        Some(self.turns.plan())
    }

    fn set_cold_cache(&mut self, cold: bool) -> Result<bool, SessionError> {
        self.loaded.context.enter()?;
        if self.state == State::Lost {
            return Err(CudaError::Poisoned.into());
        }
        self.loaded.flush = if cold { Some(Buffer::zeroed(&self.loaded.context, FLUSH_BYTES)?) } else { None };
        Ok(true)
    }

    fn notes(&self) -> Vec<String> {
        self.turns.turn().plan.choice().into_iter().chain(self.notes.iter().cloned()).collect()
    }
}

impl Drop for CudaSession {
    fn drop(&mut self) {
        if self.state != State::Lost && self.loaded.context.enter().is_ok() {
            // SAFETY: this is the only place that drops it, and it is not used afterwards. No launch is running.
            unsafe { ManuallyDrop::drop(&mut self.loaded) };
        }
    }
}

fn load(
    turns: &Turns,
    weights: &[u8],
    shape: Shape,
    wait_limit: Duration,
    context: Context,
    module: Module,
) -> Result<(Loaded, Option<CudaError>), SessionError> {
    let (plan, tables) = (turns.plan(), &turns.turn().tables);
    let (memory, host) = (&plan.memory, counters(plan, 1));
    let operands = || turns.all().iter().map(|turn| &turn.tables.operands);
    let operand_words: usize = operands().map(Vec::len).sum();
    let words = tables.stream_start.len() + tables.instructions.len() + operand_words + host.counters.len();
    let (needed, free) = (memory.arena_bytes + weights.len() as u64 + 4 * words as u64, context.free_bytes()?);
    if needed > free {
        return Err(CudaError::Memory { needed, free }.into());
    }
    let buffers = Buffers {
        arena: Buffer::zeroed(&context, memory.arena_bytes as usize)?,
        weights: Buffer::holding(&context, weights)?,
        stream_start: Buffer::holding(&context, &tables.stream_start)?,
        instructions: Buffer::holding(&context, &tables.instructions)?,
        operands: operands().map(|own| Buffer::holding(&context, own)).collect::<Result<_, _>>()?,
        control: Buffer::holding(&context, &host.control)?,
        counters: Buffer::holding(&context, &host.counters)?,
        status: Buffer::holding(&context, &host.status)?,
    };
    let (begin, end) = (Event::new(&context)?, Event::new(&context)?);
    let graphs = |clock: Clock| {
        make_graphs((&context, &module), &shape, &buffers, wait_limit, clock.events(&begin, &end))
            .map(|graphs| Launched::Graphs { graphs, shape: shape.clone(), wait_limit, clock })
    };
    let (launched, refused) = match (graphs(Clock::Nodes), plan.only_persistent()) {
        (Ok(launched), _) => (launched, None),
        (Err(error), Some(_)) => {
            let function = module.function(ENTRY_NAME)?;
            (Launched::Cooperative { function, shape: shape.clone() }, Some(error))
        }
        (Err(error), None) => (graphs(Clock::Stream)?, Some(error)),
    };
    let (done, stream) = (Event::new(&context)?, Stream::new(&context)?);
    let loaded = Loaded { buffers, flush: None, launched, begin, end, done, stream, module, context };
    Ok((loaded, refused))
}

/// The graphs of all turns.
fn make_graphs(
    (context, module): (&Context, &Module),
    shape: &Shape,
    buffers: &Buffers,
    wait_limit: Duration,
    recorded: Option<Recorded<'_>>,
) -> Result<Vec<Graph>, CudaError> {
    let turns = 0..buffers.operands.len();
    turns.map(|turn| Graph::new(context, module, shape, &buffers.addresses(turn), wait_limit, recorded)).collect()
}

/// Control blocks and counters before launch number `epoch`.
fn counters(plan: &ExecutionPlan, epoch: i32) -> SessionMemory {
    let arrivals = plan.arrivals();
    SessionMemory::new(Vec::new(), arrivals.len()).at_epoch(epoch, &arrivals, &plan.grids())
}
