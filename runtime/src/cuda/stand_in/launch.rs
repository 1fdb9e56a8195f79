//! Launches: kernels on the emulator, probes by made-up stamps.

use std::collections::BTreeSet;

use warpweave_codegen::emulate::{Control, Device, LaunchOptions, LaunchReport};
use warpweave_codegen::kernel_ir::Program;
use warpweave_plan::tables::{
    Awaited, CLAIMED_BY_POLL, CLAIMED_BY_WAIT, CONTROL_WORDS, COUNTER_STRIDE_WORDS, Launch, NodeLaunch, STATUS_WORDS,
    STREAM_WORDS, StreamLaunch, Tables, node_name,
};

use super::super::calls::{FunctionHandle, KernelArguments, KernelLaunch, Residency};
use super::super::error::CudaError;
use super::super::launches::{NodeArguments, StampArguments, StreamArguments};
use super::error::{failure, refusal};
use super::fault::{self, Fault};
use super::state::State;

/// Microseconds of a launch, and of each that follows it in the same graph.
const LAUNCH_MICROSECONDS: f64 = 2.0;
const NODE_MICROSECONDS: f64 = 0.5;
pub(super) const CYCLES_PER_MICROSECOND: f64 = 1_980.0;
/// Instructions of warps that all multiprocessors execute a microsecond, if everything runs side by side.
const INSTRUCTIONS_PER_MICROSECOND: f64 = 132.0 * CYCLES_PER_MICROSECOND;
/// Cycles of a probe's round, and bytes that one multiprocessor reads a cycle.
const CYCLES_PER_ROUND: f64 = 100.0;
const BYTES_PER_CYCLE: f64 = 16.0;
/// Bytes of a table's word.
const WORD: u64 = 4;

/// A launch with its arguments.
#[derive(Clone, Copy)]
pub(super) struct OwnedLaunch {
    function: FunctionHandle,
    blocks: u32,
    threads: u32,
    shared_bytes: u32,
    pub(super) residency: Residency,
    arguments: Arguments,
}

#[derive(Clone, Copy)]
enum Arguments {
    Streams(StreamArguments),
    Node(NodeArguments),
    Stamps(StampArguments),
}

impl From<&KernelLaunch<'_>> for OwnedLaunch {
    fn from(launch: &KernelLaunch<'_>) -> Self {
        let &KernelLaunch { function, blocks, threads, shared_bytes, residency, arguments } = launch;
        let arguments = match arguments {
            KernelArguments::Streams(arguments) => Arguments::Streams(*arguments),
            KernelArguments::Node(arguments) => Arguments::Node(*arguments),
            KernelArguments::Stamps(arguments) => Arguments::Stamps(*arguments),
        };
        Self { function, blocks, threads, shared_bytes, residency, arguments }
    }
}

/// What launches have left. While nothing has changed since, they need not be emulated again.
#[derive(Clone)]
pub(super) struct Settled {
    /// The version of each allocation that they use.
    versions: Vec<(u64, u64)>,
    /// By how much each counter grows.
    arrivals: Vec<i32>,
    microseconds: f64,
}

/// The allocations that the launches of one program share.
struct Places {
    arena: u64,
    weights: u64,
    operands: u64,
    status: u64,
    /// Of programs with persistent segments.
    streams: Option<StreamPlaces>,
}

struct StreamPlaces {
    /// The first stream of the first segment.
    stream_start: u64,
    instructions: u64,
    counters: u64,
    /// The control block of each segment.
    controls: Vec<u64>,
}

impl State {
    /// Runs launches one after another.
    pub(super) fn run(
        &mut self,
        call: &'static str,
        launches: &[OwnedLaunch],
        settled: &mut Option<Settled>,
    ) -> Result<(), CudaError> {
        let Some(first) = launches.first() else { return Ok(()) };
        self.count_launch(call)?;
        for launch in launches {
            self.check(call, launch)?;
        }
        if self.is_hung {
            return Ok(());
        }
        let is_persistent = launches.iter().any(|launch| matches!(launch.arguments, Arguments::Streams(_)));
        if is_persistent && self.fault == Some(Fault::Hang) {
            self.is_hung = true;
            return Ok(());
        }
        let module = self.modules.get(first.function)?.module;
        let Some(program) = self.modules.program(module) else {
            return launches.iter().try_for_each(|launch| self.stamp(call, launch));
        };
        let places = Places::of(launches).ok_or_else(|| refusal(call, "launches of one program share its buffers"))?;
        if let Some(settled) = settled.as_ref()
            && settled.versions == self.versions(&places)?
        {
            return self.repeat(&places, launches, settled);
        }
        let before = self.counters(&places)?;
        let microseconds = self.emulate(call, &program, &places, launches)?;
        let after = self.counters(&places)?;
        let arrivals = before.iter().zip(&after).map(|(before, after)| after.wrapping_sub(*before)).collect();
        self.now += microseconds;
        *settled = Some(Settled { versions: self.versions(&places)?, arrivals, microseconds });
        Ok(())
    }

    /// What a driver checks of a launch.
    fn check(&self, call: &'static str, launch: &OwnedLaunch) -> Result<(), CudaError> {
        self.modules.check_shared_bytes(launch.function, launch.shared_bytes)?;
        let resident = self.modules.resident_blocks(launch.function, launch.threads, launch.shared_bytes);
        if launch.blocks == 0 || resident == 0 {
            return Err(refusal(call, "CUDA_ERROR_INVALID_VALUE"));
        }
        let multiprocessors = fault::multiprocessors(self.fault);
        let is_too_large = launch.residency == Residency::AllAtOnce && launch.blocks > resident * multiprocessors;
        if is_too_large { Err(refusal(call, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE")) } else { Ok(()) }
    }

    /// Runs the kernels of a program; gives the microseconds that this takes by the made-up clock.
    fn emulate(
        &mut self,
        call: &'static str,
        program: &Program,
        places: &Places,
        launches: &[OwnedLaunch],
    ) -> Result<f64, CudaError> {
        let tables = self.tables(places, launches)?;
        let is_persistent = places.streams.is_some();
        let mut weights = self.memory.rest(places.weights)?.to_vec();
        if is_persistent && self.fault == Some(Fault::WrongOutput) {
            weights.fill(0);
        }
        let arena = self.memory.rest(places.arena)?.to_vec();
        let counters = self.counters(places)?;
        let device = Device::new(program, &tables, &weights, arena.len(), counters.len());
        let mut device = device.map_err(|error| refusal(call, error.to_string()))?;
        device.arena_mut().copy_from_slice(&arena);
        device.counters = counters.iter().map(|counter| counter.cast_unsigned()).collect();
        let controls: &[u64] = places.streams.as_ref().map_or(&[], |streams| &streams.controls);
        for (control, address) in device.controls.iter_mut().zip(controls) {
            let words = self.memory.words(*address)?;
            let [epoch, left, abort] = [words[0], words[1], words[2]].map(i32::cast_unsigned);
            *control = Control { epoch, left, abort };
        }
        let gives_up = (is_persistent && self.fault == Some(Fault::Abort)).then_some(0);
        let options = LaunchOptions { time_out_wait: gives_up, time_out_poll: gives_up, ..LaunchOptions::seeded(0) };
        let whole = 0..arena.len();
        let report = device.launch(&[whole], &options);
        if !report.aborted && !report.is_clean() {
            return Err(failure(call, format!("the emulator reports: {}", report.to_string().trim_end())));
        }
        self.memory.write(places.arena, device.arena())?;
        for (control, address) in device.controls.iter().zip(controls) {
            let words = [control.epoch, control.left, control.abort].map(u32::cast_signed);
            self.memory.write_words(*address, &words)?;
        }
        for (counter, value) in device.counters.iter().enumerate() {
            self.write_counter(places, counter, value.cast_signed())?;
        }
        self.write_status(places, &report)?;
        Ok(microseconds(launches.len(), report.counts.instructions))
    }

    fn write_status(&mut self, places: &Places, report: &LaunchReport) -> Result<(), CudaError> {
        let Some(status) = report.status else { return Ok(()) };
        let (claimed, first, second) = match status.awaited {
            Awaited::Counter { position, counter } => (CLAIMED_BY_WAIT, position, counter),
            Awaited::Tagged { element } => (CLAIMED_BY_POLL, element, 0),
        };
        let [block, seen, wanted] = [status.block, status.seen, status.wanted].map(u32::cast_signed);
        let mut words = [0; STATUS_WORDS];
        words[..6].copy_from_slice(&[claimed, block, first, second, seen, wanted]);
        self.memory.write_words(places.status, &words)
    }

    /// What a run that changes nothing but control blocks and counters would leave.
    fn repeat(&mut self, places: &Places, launches: &[OwnedLaunch], settled: &Settled) -> Result<(), CudaError> {
        let segments = launches.iter().filter(|launch| matches!(launch.arguments, Arguments::Streams(_)));
        let blocks: Vec<u32> = segments.map(|launch| launch.blocks).collect();
        if let Some(streams) = &places.streams {
            for (address, blocks) in streams.controls.iter().zip(blocks) {
                let words = self.memory.words(*address)?;
                let moved = [words[0].wrapping_add(1), words[1].wrapping_add(blocks.cast_signed())];
                self.memory.write_words(*address, &moved)?;
            }
        }
        let counters = self.counters(places)?;
        for (counter, (value, arrivals)) in counters.into_iter().zip(&settled.arrivals).enumerate() {
            self.write_counter(places, counter, value.wrapping_add(*arrivals))?;
        }
        self.now += settled.microseconds;
        Ok(())
    }

    /// The versions of what launches read and the host writes. Control blocks and counters are left out: each launch moves
    /// them alike, from wherever they are.
    fn versions(&self, places: &Places) -> Result<Vec<(u64, u64)>, CudaError> {
        let Places { arena, weights, operands, status, streams } = places;
        let streams = streams.iter().flat_map(|streams| [streams.stream_start, streams.instructions]);
        let all: BTreeSet<u64> = [*arena, *weights, *operands, *status].into_iter().chain(streams).collect();
        let version = |address| self.memory.at(address).map(|(first, allocation, _)| (first, allocation.version));
        all.into_iter().map(version).collect()
    }

    /// The tables in device memory, and these launches.
    fn tables(&self, places: &Places, launches: &[OwnedLaunch]) -> Result<Tables, CudaError> {
        let mut tables = Tables { operands: self.memory.words(places.operands)?, ..Tables::default() };
        if let Some(streams) = &places.streams {
            tables.stream_start = self.memory.words(streams.stream_start)?;
            tables.instructions = self.memory.words(streams.instructions)?;
        }
        for launch in launches {
            let blocks = launch.blocks;
            tables.launches.push(match launch.arguments {
                Arguments::Streams(arguments) => {
                    let base = places.streams.as_ref().map_or(0, |streams| streams.stream_start);
                    let first_stream = ((arguments.stream_start - base) / (WORD * STREAM_WORDS as u64)) as u32;
                    Launch::Streams(StreamLaunch { first_stream, blocks })
                }
                Arguments::Node(arguments) => {
                    let kernel = self.node_kernel(launch.function)?;
                    Launch::Node(NodeLaunch { kernel, operands: arguments.first_operand, blocks })
                }
                Arguments::Stamps(_) => return Err(refusal("a launch", "a probe is no kernel of a program")),
            });
        }
        Ok(tables)
    }

    /// The number of the kernel whose node an entry is.
    fn node_kernel(&self, function: FunctionHandle) -> Result<u32, CudaError> {
        let function = self.modules.get(function)?;
        let kernels = self.modules.program(function.module).map_or(0, |program| program.kernels.len() as u32);
        let found = (0..kernels).find(|kernel| node_name(*kernel) == function.name);
        found.ok_or_else(|| refusal("a launch", format!("{} is no node", function.name)))
    }

    fn counters(&self, places: &Places) -> Result<Vec<i32>, CudaError> {
        let Some(streams) = &places.streams else { return Ok(Vec::new()) };
        Ok(self.memory.words(streams.counters)?.chunks_exact(COUNTER_STRIDE_WORDS).map(|line| line[0]).collect())
    }

    fn write_counter(&mut self, places: &Places, counter: usize, value: i32) -> Result<(), CudaError> {
        let Some(streams) = &places.streams else { return Ok(()) };
        let address = streams.counters + WORD * (counter * COUNTER_STRIDE_WORDS) as u64;
        self.memory.write_words(address, &[value])
    }

    /// Writes stamps as if each block had gone round at a fixed rate. A kernel that does nothing is given no place for them.
    fn stamp(&mut self, call: &'static str, launch: &OwnedLaunch) -> Result<(), CudaError> {
        let Arguments::Stamps(arguments) = launch.arguments else {
            return Err(refusal(call, "the code has no kernels to emulate"));
        };
        let bytes = (size_of::<f32>() as u64 * arguments.elements) as f64 / f64::from(launch.blocks);
        let cycles = f64::from(arguments.rounds) * (CYCLES_PER_ROUND + bytes / BYTES_PER_CYCLE);
        let start = self.now + LAUNCH_MICROSECONDS;
        let end = start + cycles / CYCLES_PER_MICROSECOND;
        let stamp = [(1e3 * start) as u64, (1e3 * end) as u64, cycles as u64];
        let stamps: Vec<u8> = (0..launch.blocks).flat_map(|_| stamp).flat_map(u64::to_le_bytes).collect();
        if arguments.stamps != 0 {
            self.memory.write(arguments.stamps, &stamps)?;
        }
        self.now = end;
        Ok(())
    }
}

impl Places {
    /// Of launches that share them; `None` if they do not.
    fn of(launches: &[OwnedLaunch]) -> Option<Self> {
        let mut places: Option<Self> = None;
        for launch in launches {
            let (arena, weights, operands, status) = match &launch.arguments {
                Arguments::Streams(own) => (own.arena, own.weights, own.operands, own.status),
                Arguments::Node(own) => (own.arena, own.weights, own.operands, own.status),
                Arguments::Stamps(_) => return None,
            };
            let places = places.get_or_insert(Self { arena, weights, operands, status, streams: None });
            if (places.arena, places.weights, places.operands, places.status) != (arena, weights, operands, status) {
                return None;
            }
            if let Arguments::Streams(own) = &launch.arguments {
                let &StreamArguments { stream_start, instructions, counters, control, .. } = own;
                let new = StreamPlaces { stream_start, instructions, counters, controls: Vec::new() };
                let streams = places.streams.get_or_insert(new);
                if (streams.instructions, streams.counters) != (instructions, counters) {
                    return None;
                }
                streams.controls.push(control);
            }
        }
        let are_apart = |streams: &StreamPlaces| {
            streams.controls.windows(2).all(|pair| pair[0] + WORD * CONTROL_WORDS as u64 <= pair[1])
        };
        places.filter(|places| places.streams.as_ref().is_none_or(are_apart))
    }
}

/// Microseconds of launches of a program that execute so many instructions of warps.
fn microseconds(launches: usize, instructions: u64) -> f64 {
    let others = launches.saturating_sub(1) as f64;
    LAUNCH_MICROSECONDS + NODE_MICROSECONDS * others + instructions as f64 / INSTRUCTIONS_PER_MICROSECOND
}
