//! A program on a GPU: one cooperative launch a run, or one launch of a graph.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::time::{Duration, Instant};

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUfunction_attribute};
use warpweave_fusion::schedule::plan::SENTINEL_BYTES;
use warpweave_fusion::schedule::tables::node_name;
use warpweave_fusion::schedule::{ExecutionPlan, Segment};
use warpweave_graph::Tensor;

use super::driver::{DeviceInfo, Driver, check};
use super::error::CudaError;
use super::graph::{Graph, NodeArguments};
use super::memory::{Buffer, Context, Event, Module, Stream};
use crate::bundle::{BundleTarget, DeviceCode, TargetPlan};
use crate::cubin::CubinInfo;
use crate::session::{Session, SessionError, check_inputs, input_types, output, place};
use crate::session_memory::{SessionMemory, marked_element, sentinels};

/// The entry of every persistent program.
const ENTRY_NAME: &str = "warpweave_persistent";
/// The oldest driver interface that the calls here need.
const OLDEST_DRIVER: (u32, u32) = (12, 8);
/// Bytes that no second-level cache of a GPU holds.
const FLUSH_BYTES: usize = 512 << 20;
/// For so long the end of a launch is polled without rest.
const POLL_EAGERLY: Duration = Duration::from_millis(20);

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

impl Default for CudaOptions {
    fn default() -> Self {
        Self { wait_limit: Duration::from_secs(10), launch_limit: Duration::from_secs(60), units: None }
    }
}

/// The arguments of the entry: `ww_arguments` of the prelude, by value.
#[repr(C)]
#[derive(Clone, Copy)]
struct Arguments {
    arena: u64,
    weights: u64,
    stream_start: u64,
    instructions: u64,
    operands: u64,
    control: u64,
    counters: u64,
    status: u64,
    time_limit_ns: u64,
}

/// A loaded program with its memory.
pub struct CudaSession {
    // Never freed after a launch that did not end: freeing would wait for it.
    loaded: ManuallyDrop<Loaded>,
    plan: TargetPlan,
    options: CudaOptions,
    threads: u32,
    shared_bytes: u32,
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
    Cooperative(sys::CUfunction),
    /// A graph of kernel nodes.
    Graph(Graph),
}

/// Dropped from first to last: memory before the context that it belongs to.
struct Loaded {
    arena: Buffer,
    weights: Buffer,
    stream_start: Buffer,
    instructions: Buffer,
    operands: Buffer,
    control: Buffer,
    counters: Buffer,
    status: Buffer,
    /// Written whole before each launch, where caches are to be cold.
    flush: Option<Buffer>,
    begin: Event,
    end: Event,
    stream: Stream,
    launched: Launched,
    _module: Module,
    _context: Context,
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
        let driver = Driver::open()?;
        let device = driver.device(ordinal)?;
        let needed = code.minimum_driver.max(OLDEST_DRIVER);
        if driver.version() < needed {
            return Err(CudaError::OldDriver { found: driver.version(), needed }.into());
        }
        check_device(&device, code)?;
        let names: Vec<String> = match plan.plan.plan().segment() {
            Segment::Persistent(_) => vec![ENTRY_NAME.to_owned()],
            Segment::CudaGraph(_) => plan.tables().nodes.iter().map(|node| node_name(node.kernel)).collect(),
        };
        check_entries(code, &names)?;
        let context = Context::new(driver.handle(ordinal)?)?;
        let module = Module::load(&code.cubin)?;
        let (plan, notes) = match plan.plan.plan().segment() {
            Segment::Persistent(_) => {
                let blocks = resident_blocks(module.function(ENTRY_NAME)?, &device, (code, code.shared_bytes))?;
                fit(plan, code, &device, blocks, options)?
            }
            Segment::CudaGraph(segment) => {
                (plan.clone(), vec![format!("{} runs {} nodes of a graph", device.name, segment.nodes.len())])
            }
        };
        let loaded = load(&plan, weights, (&device, code), context, module)?;
        let mut session = Self {
            loaded: ManuallyDrop::new(loaded),
            plan,
            options,
            threads: code.threads,
            shared_bytes: code.shared_bytes,
            notes,
            state: State::Ready,
            last: None,
        };
        session.restart(1)?;
        Ok(session)
    }

    fn restart(&mut self, epoch: i32) -> Result<(), CudaError> {
        if self.state == State::Lost {
            return Err(CudaError::Poisoned);
        }
        let segment = self.plan.plan.plan().segment();
        let arrivals = segment.arrivals();
        let memory = SessionMemory::new(Vec::new(), arrivals.len()).at_epoch(epoch, &arrivals, segment.units() as i32);
        self.loaded.control.write(0, bytemuck::cast_slice(&memory.control))?;
        self.loaded.counters.write(0, bytemuck::cast_slice(&memory.counters))?;
        self.loaded.status.zero()?;
        for (range, mark) in sentinels(&self.plan.plan.plan().memory) {
            let marked = marked_element(epoch, mark).repeat(range.len() / SENTINEL_BYTES);
            self.loaded.arena.write(range.start, &marked)?;
        }
        self.state = State::Ready;
        Ok(())
    }

    fn launch(&mut self) -> Result<(), CudaError> {
        let loaded = &*self.loaded;
        if let Some(flush) = &loaded.flush {
            // The stream waits for the write: it is a blocking one.
            flush.zero()?;
        }
        loaded.begin.record(&loaded.stream)?;
        match &loaded.launched {
            Launched::Cooperative(function) => self.launch_cooperative(*function)?,
            Launched::Graph(graph) => graph.launch(&loaded.stream)?,
        }
        loaded.end.record(&loaded.stream)?;
        self.await_end()
    }

    fn launch_cooperative(&self, function: sys::CUfunction) -> Result<(), CudaError> {
        let loaded = &*self.loaded;
        let mut arguments = Arguments {
            arena: loaded.arena.address(),
            weights: loaded.weights.address(),
            stream_start: loaded.stream_start.address(),
            instructions: loaded.instructions.address(),
            operands: loaded.operands.address(),
            control: loaded.control.address(),
            counters: loaded.counters.address(),
            status: loaded.status.address(),
            time_limit_ns: u64::try_from(self.options.wait_limit.as_nanos()).unwrap_or(u64::MAX),
        };
        let units = self.plan.plan.plan().segment().units() as u32;
        let mut parameters = [(&raw mut arguments).cast::<c_void>()];
        // SAFETY: the entry takes one `ww_arguments` by value, which `Arguments` mirrors; the driver copies it before it
        // returns. All addresses are of live allocations of the sizes that the verified plan asks for, and nothing
        // touches them until `end` has passed.
        let launched = unsafe {
            result::launch_cooperative_kernel(
                function,
                (units, 1, 1),
                (self.threads, 1, 1),
                self.shared_bytes,
                loaded.stream.handle(),
                &mut parameters,
            )
        };
        check("cuLaunchCooperativeKernel", launched)
    }

    fn await_end(&mut self) -> Result<(), CudaError> {
        let start = Instant::now();
        loop {
            match self.loaded.end.has_passed() {
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
        self.loaded.status.read(0, bytemuck::cast_slice_mut(&mut memory.status))?;
        match memory.timed_out_wait() {
            None => Ok(()),
            Some(wait) => {
                self.state = State::Aborted;
                Err(CudaError::Wait(wait))
            }
        }
    }
}

impl Session for CudaSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        if self.state != State::Ready {
            return Err(CudaError::Poisoned.into());
        }
        check_inputs(input_types(&self.plan.plan.plan().memory), inputs)?;
        let memory = &self.plan.plan.plan().memory;
        for (&tensor, input) in memory.inputs.iter().zip(inputs) {
            self.loaded.arena.write(place(memory, tensor).start, input.bytes())?;
        }
        self.launch()?;
        self.check_status()?;
        let milliseconds = self.loaded.end.milliseconds_since(&self.loaded.begin)?;
        self.last = Some(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3));
        let memory = &self.plan.plan.plan().memory;
        let read = |&tensor| {
            let range = place(memory, tensor);
            let mut bytes = vec![0; range.len()];
            self.loaded.arena.read(range.start, &mut bytes)?;
            output(memory, tensor, bytes)
        };
        memory.outputs.iter().map(read).collect()
    }

    fn read_arena(&mut self, bytes: Range<usize>) -> Result<Option<Vec<u8>>, SessionError> {
        if self.state != State::Ready {
            return Err(CudaError::Poisoned.into());
        }
        let mut read = vec![0; bytes.len()];
        self.loaded.arena.read(bytes.start, &mut read)?;
        Ok(Some(read))
    }

    fn set_wait_limit(&mut self, limit: Duration) -> bool {
        self.options.wait_limit = limit;
        true
    }

    fn start_at(&mut self, epoch: i32) -> Result<bool, SessionError> {
        self.restart(epoch)?;
        Ok(true)
    }

    fn device_time(&self) -> Option<Duration> {
        self.last
    }

    fn execution_plan(&self) -> Option<&ExecutionPlan> {
        Some(self.plan.plan.plan())
    }

    fn set_cold_cache(&mut self, cold: bool) -> Result<bool, SessionError> {
        if self.state == State::Lost {
            return Err(CudaError::Poisoned.into());
        }
        self.loaded.flush = if cold { Some(Buffer::zeroed(FLUSH_BYTES)?) } else { None };
        Ok(true)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

impl Drop for CudaSession {
    fn drop(&mut self) {
        if self.state != State::Lost {
            // SAFETY: this is the only place that drops it, and it is not used afterwards. No launch is running.
            unsafe { ManuallyDrop::drop(&mut self.loaded) };
        }
    }
}

fn check_device(device: &DeviceInfo, code: &DeviceCode) -> Result<(), CudaError> {
    let (major, minor) = device.capability;
    if !code.target.runs_on(major, minor) {
        let (device, capability) = (device.name.clone(), device.capability);
        return Err(CudaError::Capability { target: code.target, device, capability });
    }
    // A graph needs no cooperative launch.
    if !device.cooperative && code.node_shared_bytes.is_empty() {
        return Err(CudaError::NotCooperative { device: device.name.clone() });
    }
    if code.shared_bytes > device.shared_bytes {
        return Err(too_large(device, code));
    }
    Ok(())
}

fn check_entries(code: &DeviceCode, names: &[String]) -> Result<(), SessionError> {
    let info = CubinInfo::read(&code.cubin);
    let lacks = |name: &&String| info.as_ref().ok().and_then(|info| info.entry(name)).is_none();
    match names.iter().find(lacks) {
        Some(name) => Err(SessionError::Internal(format!("the code has no entry `{name}`"))),
        None => Ok(()),
    }
}

/// How many blocks of this much shared memory are resident on the whole device at once; the function may then ask for it.
pub(super) fn resident_blocks(
    function: sys::CUfunction,
    device: &DeviceInfo,
    (code, shared_bytes): (&DeviceCode, u32),
) -> Result<usize, CudaError> {
    let shared = i32::try_from(shared_bytes).unwrap_or(i32::MAX);
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the function is of a loaded module.
    check("cuFuncSetAttribute", unsafe { result::function::set_function_attribute(function, attribute, shared) })?;
    let threads = i32::try_from(code.threads).unwrap_or(i32::MAX);
    // SAFETY: the function is of a loaded module.
    let blocks =
        unsafe { result::occupancy::max_active_block_per_multiprocessor(function, threads, shared_bytes as usize) };
    let blocks = check("cuOccupancyMaxActiveBlocksPerMultiprocessor", blocks)?;
    let resident = usize::try_from(blocks).unwrap_or(0) * device.multiprocessors as usize;
    if resident == 0 { Err(too_large(device, code)) } else { Ok(resident) }
}

pub(super) fn too_large(device: &DeviceInfo, code: &DeviceCode) -> CudaError {
    CudaError::BlockTooLarge {
        device: device.name.clone(),
        threads: code.threads,
        shared_bytes: code.shared_bytes,
        available_bytes: device.shared_bytes,
    }
}

/// The plan on as many units as are resident, or as the caller wants, and what to say about it.
fn fit(
    plan: &TargetPlan,
    code: &DeviceCode,
    device: &DeviceInfo,
    resident: usize,
    options: CudaOptions,
) -> Result<(TargetPlan, Vec<String>), SessionError> {
    let planned = plan.plan.plan().segment().units();
    let units = options.units.unwrap_or(resident).min(resident);
    let mut notes = vec![format!("{} runs {planned} vEUs on {} multiprocessors", device.name, device.multiprocessors)];
    if planned <= units {
        return Ok((plan.clone(), notes));
    }
    notes.push(format!("the plan for {planned} vEUs is folded onto {units}; {resident} blocks are resident at once"));
    Ok((plan.folded(BundleTarget::Gpu(code.target), units)?, notes))
}

fn load(
    plan: &TargetPlan,
    weights: &[u8],
    (device, code): (&DeviceInfo, &DeviceCode),
    context: Context,
    module: Module,
) -> Result<Loaded, SessionError> {
    let (memory, tables) = (&plan.plan.plan().memory, plan.tables());
    let host = SessionMemory::new(Vec::new(), plan.plan.plan().segment().arrivals().len());
    let words = tables.stream_start.len() + tables.instructions.len() + tables.operands.len() + host.counters.len();
    let (needed, free) = (memory.arena_bytes + weights.len() as u64 + 4 * words as u64, context.free_bytes()?);
    if needed > free {
        return Err(CudaError::Memory { needed, free }.into());
    }
    let (arena, weights) = (Buffer::zeroed(memory.arena_bytes as usize)?, Buffer::holding(weights)?);
    let operands = Buffer::holding(&tables.operands)?;
    let launched = match plan.plan.plan().segment() {
        Segment::Persistent(_) => Launched::Cooperative(module.function(ENTRY_NAME)?),
        Segment::CudaGraph(_) => {
            let addresses = NodeArguments::of(arena.address(), weights.address(), operands.address());
            Launched::Graph(Graph::new(&module, (device, code), addresses, &tables.nodes)?)
        }
    };
    Ok(Loaded {
        arena,
        weights,
        stream_start: Buffer::holding(&tables.stream_start)?,
        instructions: Buffer::holding(&tables.instructions)?,
        operands,
        control: Buffer::holding(&host.control)?,
        counters: Buffer::holding(&host.counters)?,
        status: Buffer::holding(&host.status)?,
        flush: None,
        begin: Event::new()?,
        end: Event::new()?,
        stream: Stream::new()?,
        launched,
        _module: module,
        _context: context,
    })
}
