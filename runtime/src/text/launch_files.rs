//! The files through which a launch reaches the child and its results come back. There is one per buffer, in the byte
//! order of the machine, and four words a launch in `launches`. `launch` holds five 64-bit words: threads, shared
//! bytes, how often all launches follow one another, wait limit in nanoseconds, generation of tensor cores.

use std::fs;
use std::io;

use warpweave_plan::tables::{Launch, NodeLaunch, StreamLaunch};
use warpweave_plan::tensor_core::sum::TensorCore;

use super::TextLaunch;
use crate::session_memory::SessionMemory;
use crate::unfinished::TemporaryDirectory;

/// The first word of a launch: what is launched.
const OF_STREAMS: u32 = 0;
const OF_NODE: u32 = 1;

pub(super) fn write(directory: &TemporaryDirectory, launch: TextLaunch<'_>, memory: &SessionMemory) -> io::Result<()> {
    let wait_limit = u64::try_from(launch.wait_limit.as_nanos()).unwrap_or(u64::MAX);
    let generation = match launch.tensor_core {
        TensorCore::Ampere => 0,
        TensorCore::Hopper => 1,
    };
    let [threads, shared_bytes, launches] = [launch.threads, launch.shared_bytes, launch.launches].map(u64::from);
    let parameters = [threads, shared_bytes, launches, wait_limit, generation];
    let parameters: Vec<u8> = parameters.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let write = |name: &str, bytes: &[u8]| fs::write(directory.join(name), bytes);
    write("launch", &parameters)?;
    write("arena", &memory.arena)?;
    write("weights", launch.weights)?;
    write("stream_start", &bytes_of(&launch.tables.stream_start))?;
    write("instructions", &bytes_of(&launch.tables.instructions))?;
    write("operands", &bytes_of(&launch.tables.operands))?;
    let launches = launch.tables.launches.iter().flat_map(|launch| match *launch {
        Launch::Streams(StreamLaunch { first_stream, blocks }) => [OF_STREAMS, first_stream, 0, blocks],
        Launch::Node(NodeLaunch { kernel, operands, blocks }) => [OF_NODE, kernel, operands, blocks],
    });
    write("launches", &launches.flat_map(u32::to_ne_bytes).collect::<Vec<u8>>())?;
    write("control", &bytes_of(&memory.control))?;
    write("counters", &bytes_of(&memory.counters))?;
    write("status", &bytes_of(&memory.status))
}

pub(super) fn read(directory: &TemporaryDirectory, memory: &mut SessionMemory) -> io::Result<()> {
    let read = |name: &str| fs::read(directory.join(name));
    memory.arena = read("arena")?;
    memory.control = words_of(&read("control")?);
    memory.counters = words_of(&read("counters")?);
    memory.status = words_of(&read("status")?);
    Ok(())
}

fn bytes_of(words: &[i32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn words_of(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks().0.iter().map(|word| i32::from_ne_bytes(*word)).collect()
}
