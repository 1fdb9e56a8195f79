//! Entries of one's own text that stamp what their blocks take: microbenchmarks.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use super::calls::{CodeImage, KernelArguments, KernelLaunch, Residency};
use super::driver::Driver;
use super::error::CudaError;
use super::fit::allow_shared_bytes;
use super::launches::StampArguments;
use super::memory::{Buffer, Context, Event, Module, Stream};

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

/// The stamps of all blocks of the last of `launches` equal launches on device `ordinal`, those before it being for warmth.
pub fn stamps(ordinal: u32, cubin: &[u8], launch: &StampedLaunch, launches: usize) -> Result<Vec<Stamp>, CudaError> {
    let context = Context::new(&Driver::open()?, ordinal)?;
    let module = Module::load(&context, CodeImage { cubin, kernel_ir: None })?;
    let function = module.function(launch.entry)?;
    allow_shared_bytes(&context, function, launch.shared_bytes as u32)?;
    let stream = Stream::new(&context)?;
    let written = Buffer::zeroed(&context, launch.blocks * size_of::<[u64; 3]>())?;
    let singles = launch.elements.max(launch.blocks * launch.threads).max(2048);
    let data = Buffer::zeroed(&context, size_of::<f32>() * singles)?;
    let arguments = StampArguments {
        stamps: written.address(),
        data: data.address(),
        elements: launch.elements as u64,
        rounds: launch.rounds,
    };
    for _ in 0..launches.max(1) {
        let launch = KernelLaunch {
            function,
            blocks: launch.blocks as u32,
            threads: launch.threads as u32,
            shared_bytes: launch.shared_bytes as u32,
            residency: Residency::AsRoomAllows,
            arguments: KernelArguments::Stamps(&arguments),
        };
        // SAFETY: the entry takes two addresses, a 64-bit and a 32-bit integer by value, in this order. Both addresses are of
        // live allocations: the stamps' holds three words a block, the data's at least `elements` singles and one a thread.
        unsafe { stream.launch(&launch) }?;
        let end = Event::new(&context)?;
        end.record(&stream)?;
        while !end.has_passed()? {
            std::thread::yield_now();
        }
    }
    let mut words = vec![[0u64; 3]; launch.blocks];
    written.read(0, bytemuck::cast_slice_mut(&mut words))?;
    Ok(words.into_iter().map(|[start, end, cycles]| Stamp { start, end, cycles }).collect())
}
