//! Entries of one's own text that stamp what their blocks take: microbenchmarks.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

use super::calls::{CodeImage, FunctionHandle, KernelArguments, KernelLaunch, Residency};
use super::driver::Driver;
use super::error::CudaError;
use super::fit::allow_shared_bytes;
use super::launches::StampArguments;
use super::memory::{Buffer, Context, Event, Module, Stream};

/// After how long a launch is given up.
const LAUNCH_LIMIT: Duration = Duration::from_secs(20);

/// A launch of an entry that takes stamps, data, their number and a number of rounds, and writes [`STAMP_WORDS`] words a
/// block.
///
/// [`STAMP_WORDS`]: warpweave_codegen::microbenchmark::STAMP_WORDS
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StampedLaunch<'a> {
    /// The name of the entry.
    pub entry: &'a str,
    /// Blocks.
    pub blocks: usize,
    /// Threads of a block.
    pub threads: usize,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: usize,
    /// Singles of global memory that it may read; it has at least as many as all blocks have threads, and 2,048.
    pub elements: usize,
    /// How often each block goes round.
    pub rounds: u32,
    /// What a launch finds in the data.
    pub data: LaunchData,
}

/// What a launch finds in its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchData {
    /// What the launch before it has left; zeros at first.
    Kept,
    /// Zeros.
    Zeroed,
}

/// What a block took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Nanoseconds on the clock of all blocks.
    pub start: u64,
    /// The same at the end.
    pub end: u64,
    /// Cycles of its multiprocessor.
    pub cycles: u64,
}

/// A loaded program whose entries stamp what their blocks take.
pub struct StampedProgram {
    /// Dropped unless a launch did not end: freeing what it uses would wait for it.
    loaded: ManuallyDrop<Loaded>,
    is_lost: Cell<bool>,
}

struct Loaded {
    module: Module,
    stream: Stream,
    /// Last, so that all else is freed while it is there.
    context: Context,
}

impl StampedProgram {
    /// Loads code, which has been read as a cubin, on device `ordinal`.
    pub fn load(ordinal: u32, cubin: &[u8]) -> Result<Self, CudaError> {
        let context = Context::new(&Driver::open()?, ordinal)?;
        let module = Module::load(&context, CodeImage { cubin, kernel_ir: None })?;
        let loaded = Loaded { module, stream: Stream::new(&context)?, context };
        Ok(Self { loaded: ManuallyDrop::new(loaded), is_lost: false.into() })
    }

    /// The stamps of all blocks of the last of `launches` equal launches, those before it being for warmth.
    pub fn stamps(&self, launch: &StampedLaunch<'_>, launches: usize) -> Result<Vec<Stamp>, CudaError> {
        let memory = ManuallyDrop::new(self.memory(launch)?);
        let done = (0..launches.max(1)).try_for_each(|_| self.launch(launch, &memory)).and_then(|()| {
            let mut words = vec![[0u64; 3]; launch.blocks];
            memory.stamps.read(0, bytemuck::cast_slice_mut(&mut words))?;
            Ok(words.into_iter().map(|[start, end, cycles]| Stamp { start, end, cycles }).collect())
        });
        self.free(memory);
        done
    }

    /// Keeps the device busy with such launches for at least so long.
    pub fn spin(&self, launch: &StampedLaunch<'_>, least: Duration) -> Result<(), CudaError> {
        let memory = ManuallyDrop::new(self.memory(launch)?);
        let start = Instant::now();
        let mut done = Ok(());
        while done.is_ok() && start.elapsed() < least {
            done = self.launch(launch, &memory);
        }
        self.free(memory);
        done
    }

    fn memory(&self, launch: &StampedLaunch<'_>) -> Result<Memory, CudaError> {
        if self.is_lost.get() {
            return Err(CudaError::Poisoned);
        }
        let Loaded { module, context, .. } = &*self.loaded;
        let function = module.function(launch.entry)?;
        allow_shared_bytes(context, function, launch.shared_bytes as u32)?;
        let stamps = Buffer::zeroed(context, launch.blocks * size_of::<[u64; 3]>())?;
        let singles = launch.elements.max(launch.blocks * launch.threads).max(2048);
        let data = Buffer::zeroed(context, size_of::<f32>() * singles)?;
        Ok(Memory { function, stamps, data })
    }

    fn free(&self, memory: ManuallyDrop<Memory>) {
        if !self.is_lost.get() {
            drop(ManuallyDrop::into_inner(memory));
        }
    }

    /// Launches once and waits for the end.
    fn launch(&self, launch: &StampedLaunch<'_>, memory: &Memory) -> Result<(), CudaError> {
        match launch.data {
            LaunchData::Kept => {}
            LaunchData::Zeroed => memory.data.zero()?,
        }
        let Loaded { stream, context, .. } = &*self.loaded;
        let arguments = StampArguments {
            stamps: memory.stamps.address(),
            data: memory.data.address(),
            elements: launch.elements as u64,
            rounds: launch.rounds,
        };
        let launch = KernelLaunch {
            function: memory.function,
            blocks: launch.blocks as u32,
            threads: launch.threads as u32,
            shared_bytes: launch.shared_bytes as u32,
            residency: Residency::AsRoomAllows,
            arguments: KernelArguments::Stamps(&arguments),
        };
        // SAFETY: the entry takes two addresses, a 64-bit and a 32-bit integer by value, in this order. Both addresses are of
        // live allocations, which are not freed before the launch has ended: the stamps' holds three words a block, the
        // data's at least `elements` singles and one a thread.
        unsafe { stream.launch(&launch) }?;
        let end = Event::new(context)?;
        end.record(stream)?;
        let ended = await_event(&end, LAUNCH_LIMIT);
        if ended.is_err() {
            self.is_lost.set(true);
        }
        ended
    }
}

impl Drop for StampedProgram {
    fn drop(&mut self) {
        if !self.is_lost.get() {
            // SAFETY: nothing uses what is loaded after this, and it is dropped once.
            unsafe { ManuallyDrop::drop(&mut self.loaded) };
        }
    }
}

/// The entry of a launch and what it reads and writes.
struct Memory {
    function: FunctionHandle,
    stamps: Buffer,
    data: Buffer,
}

/// Waits until everything before an event has ended, at most so long.
pub(super) fn await_event(event: &Event, limit: Duration) -> Result<(), CudaError> {
    let start = Instant::now();
    while !event.has_passed()? {
        if start.elapsed() > limit {
            return Err(CudaError::TimeLimit { seconds: limit.as_secs() });
        }
        std::thread::yield_now();
    }
    Ok(())
}
