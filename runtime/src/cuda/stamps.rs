//! Entries of one's own text that stamp what their blocks take: microbenchmarks.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::ffi::c_void;

use cudarc::driver::result;

use super::driver::{Driver, check};
use super::error::CudaError;
use super::fit::allow_shared_bytes;
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
    let device = Driver::open()?.handle(ordinal)?;
    let _context = Context::new(device)?;
    let module = Module::load(cubin)?;
    let function = module.function(launch.entry)?;
    allow_shared_bytes(function, launch.shared_bytes as u32)?;
    let stream = Stream::new()?;
    let written = Buffer::zeroed(launch.blocks * size_of::<[u64; 3]>())?;
    let data = Buffer::zeroed(4 * launch.elements.max(launch.blocks * launch.threads).max(2048))?;
    let (mut address, mut data_address) = (written.address(), data.address());
    let (mut elements, mut rounds) = (launch.elements as u64, launch.rounds);
    for _ in 0..launches.max(1) {
        let mut parameters = [
            (&raw mut address).cast::<c_void>(),
            (&raw mut data_address).cast(),
            (&raw mut elements).cast(),
            (&raw mut rounds).cast(),
        ];
        // SAFETY: the entry takes two addresses, a 64-bit and a 32-bit integer by value, in this order; the driver copies them
        // before it returns. Both addresses are of live allocations: the stamps' holds three words a block, the data's
        // at least `elements` singles and one a thread.
        let launched = unsafe {
            result::launch_kernel(
                function,
                (launch.blocks as u32, 1, 1),
                (launch.threads as u32, 1, 1),
                launch.shared_bytes as u32,
                stream.handle(),
                &mut parameters,
            )
        };
        check("cuLaunchKernel", launched)?;
        let end = Event::new()?;
        end.record(&stream)?;
        while !end.has_passed()? {
            std::thread::yield_now();
        }
    }
    let mut words = vec![[0u64; 3]; launch.blocks];
    written.read(0, bytemuck::cast_slice_mut(&mut words))?;
    Ok(words.into_iter().map(|[start, end, cycles]| Stamp { start, end, cycles }).collect())
}
