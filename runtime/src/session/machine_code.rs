//! Machine code as a device: the cubin that ships, executed without a GPU.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use warpweave_codegen::print::ENTRY_NAME;
use warpweave_graph::Tensor;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::plan::states::StateMove;
use warpweave_plan::tables::{Launch, NodeLaunch, StreamLaunch, Tables, node_name};

use super::error::SessionError;
use super::exchange::{SPOILED, check_inputs, input_types, output, place, run_as};
use super::turns::Turns;
use super::{Session, check_records, states};
use crate::bundle::{DeviceCode, TargetPlan};
use crate::cuda::{Addresses, NodeArguments, StreamArguments};
use crate::sass::execute::failure::MachineCodeError;
use crate::sass::execute::grid::{ExecuteOptions, GridLaunch, LaunchError, Residency};
use crate::sass::execute::image::{Image, LoadError};
use crate::sass::execute::memory::global::{BufferId, GlobalMemory, Permission};
use crate::session_memory::{SessionMemory, tagged_element, tagged_values};

/// How machine code is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachineCodeOptions {
    /// How it is executed.
    pub execute: ExecuteOptions,
    /// How many launches with memory as weak as its model allows a run makes, of seeds that follow one another; one launch
    /// with all threads and memory as the processor has it unless more than one.
    pub interleavings: u64,
    /// The first seed.
    pub seed: u64,
    /// After how long a wait of the plan gives up, by the clock that the code reads.
    pub wait_limit: Duration,
}

/// A program as machine code, executed.
pub struct MachineCodeSession {
    image: Image,
    threads: u32,
    shared_bytes: u32,
    node_shared_bytes: Vec<u32>,
    turns: Turns,
    options: MachineCodeOptions,
    memory: GlobalMemory,
    buffers: Buffers,
    /// Bytes of the arena that a run finds besides inputs and states: what earlier launches have left there.
    left: Vec<Range<usize>>,
}

/// What launches read and write.
struct Buffers {
    arena: BufferId,
    weights: BufferId,
    stream_start: BufferId,
    instructions: BufferId,
    /// Those of each turn.
    operands: Vec<BufferId>,
    control: BufferId,
    counters: BufferId,
    status: BufferId,
}

impl MachineCodeSession {
    /// A session of code that follows `plan`, and whose cubin `image` has been loaded from.
    pub fn new(
        image: Image,
        code: &DeviceCode,
        plan: TargetPlan,
        weights: &Arc<[u8]>,
        options: MachineCodeOptions,
    ) -> Result<Self, SessionError> {
        let turns = Turns::new(plan);
        for launch in turns.all().iter().flat_map(|turn| &turn.tables.launches) {
            check_launch(&image, launch).map_err(MachineCodeError::from)?;
        }
        let (plan, tables) = (turns.plan(), &turns.turn().tables);
        let host = SessionMemory::of_plan(plan, 1);
        let mut memory = GlobalMemory::default();
        let table = |memory: &mut GlobalMemory, name, words: &[i32]| {
            memory.add(name, Permission::ReadOnly, bytemuck::cast_slice(words))
        };
        let buffers = Buffers {
            arena: memory.add_unwritten("the arena", Permission::ReadWrite, &host.arena),
            weights: memory.add("the weights", Permission::ReadOnly, weights),
            stream_start: table(&mut memory, "the table of streams", &tables.stream_start),
            instructions: table(&mut memory, "the table of instructions", &tables.instructions),
            operands: turns
                .all()
                .iter()
                .map(|turn| table(&mut memory, "the table of operands", &turn.tables.operands))
                .collect(),
            control: memory.add("the control blocks", Permission::ReadWrite, bytemuck::cast_slice(&host.control)),
            counters: memory.add("the counters", Permission::ReadWrite, bytemuck::cast_slice(&host.counters)),
            status: memory.add("the status buffer", Permission::ReadWrite, bytemuck::cast_slice(&host.status)),
        };
        let tagged = tagged_values(&plan.memory).into_iter().map(|(range, _)| range);
        let left = tagged.chain([plan.memory.index_records.range()]).collect();
        Ok(Self {
            image,
            threads: code.threads,
            shared_bytes: code.shared_bytes,
            node_shared_bytes: code.node_shared_bytes.clone(),
            turns,
            options,
            memory,
            buffers,
            left,
        })
    }

    /// The code, with what of it was executed.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The code, to be watched.
    pub fn image_mut(&mut self) -> &mut Image {
        &mut self.image
    }

    /// What launches have left in memory: arena, control blocks, counters and status buffer.
    pub fn left_in_memory(&self) -> [Vec<u8>; 4] {
        let Buffers { arena, control, counters, status, .. } = self.buffers;
        [arena, control, counters, status].map(|buffer| self.memory.read(buffer))
    }

    /// Makes launches find other streams, such as those of a plan that lacks a wait.
    pub fn set_streams(&mut self, tables: &Tables) {
        let table = |memory: &mut GlobalMemory, name, words: &[i32]| {
            memory.add(name, Permission::ReadOnly, bytemuck::cast_slice(words))
        };
        self.buffers.stream_start = table(&mut self.memory, "the table of streams", &tables.stream_start);
        self.buffers.instructions = table(&mut self.memory, "the table of instructions", &tables.instructions);
    }

    /// How launches are executed from now on.
    pub fn set_execution(&mut self, execute: ExecuteOptions) {
        self.options.execute = execute;
    }

    fn addresses(&self) -> Addresses {
        let address = |id| self.memory.address(id);
        let Buffers { arena, weights, stream_start, instructions, operands, control, counters, status } = &self.buffers;
        Addresses {
            arena: address(*arena),
            weights: address(*weights),
            stream_start: address(*stream_start),
            instructions: address(*instructions),
            operands: address(operands[self.turns.number()]),
            control: address(*control),
            counters: address(*counters),
            status: address(*status),
        }
    }

    /// One launch on these inputs, which have been checked.
    fn run_once(&mut self, inputs: &[Tensor], weak: Option<u64>) -> Result<Vec<Tensor>, SessionError> {
        let arena = self.buffers.arena;
        let plan = &self.turns.plan().memory;
        self.memory.forget(arena);
        for range in plan.live_in().map(|tensor| place(plan, tensor)).chain(self.left.iter().cloned()) {
            self.memory.note_written(arena, range);
        }
        for (&tensor, input) in plan.inputs.iter().zip(inputs) {
            self.memory.write(arena, place(plan, tensor).start, input.bytes());
        }
        self.options.execute.weak = weak;
        if let Err(error) = self.launch(&self.turns.turn().tables) {
            self.restart(1);
            return Err(MachineCodeError::from(error).into());
        }
        self.check_status()?;
        let plan = &self.turns.plan().memory;
        let records = plan.index_records.range();
        let checked = check_records(plan, &self.read_range(records.clone()));
        self.memory.write(arena, records.start, &vec![0; records.len()]);
        checked?;
        plan.outputs.iter().map(|&tensor| output(plan, tensor, self.read_range(place(plan, tensor)))).collect()
    }

    fn launch(&self, tables: &Tables) -> Result<(), LaunchError> {
        let addresses = self.addresses();
        let mut programs = 0;
        for launch in &tables.launches {
            let (entry, blocks, shared_bytes, residency, parameters);
            match *launch {
                Launch::Streams(StreamLaunch { first_stream, blocks: units }) => {
                    let own = addresses.of_streams(programs, first_stream, self.options.wait_limit);
                    programs += 1;
                    (entry, blocks, parameters) = (ENTRY_NAME.to_owned(), units, own.bytes());
                    (shared_bytes, residency) = (self.shared_bytes, Residency::AllAtOnce);
                }
                Launch::Node(NodeLaunch { kernel, operands, blocks: tiles }) => {
                    let own = addresses.of_node(operands);
                    (entry, blocks, parameters) = (node_name(kernel), tiles, own.bytes());
                    let shared = self.node_shared_bytes.get(kernel as usize);
                    (shared_bytes, residency) = (shared.copied().unwrap_or(self.shared_bytes), Residency::AsRoomAllows);
                }
            }
            let launch = GridLaunch {
                entry: &entry,
                blocks,
                threads: self.threads,
                shared_bytes,
                parameters: &parameters,
                residency,
            };
            self.image.launch(&self.memory, &launch, &self.options.execute)?;
        }
        Ok(())
    }

    /// Sets what launches share to what it is before launch number `epoch`.
    fn restart(&mut self, epoch: i32) {
        let host = SessionMemory::of_plan(self.turns.plan(), epoch);
        let Buffers { arena, control, counters, status, .. } = self.buffers;
        self.memory.write(control, 0, bytemuck::cast_slice(&host.control));
        self.memory.write(counters, 0, bytemuck::cast_slice(&host.counters));
        self.memory.write(status, 0, bytemuck::cast_slice(&host.status));
        for (range, tag) in tagged_values(&self.turns.plan().memory) {
            let tagged = tagged_element(epoch, tag).repeat(range.len() / tagged_element(epoch, tag).len());
            self.memory.write(arena, range.start, &tagged);
        }
        let records = self.turns.plan().memory.index_records.range();
        self.memory.write(arena, records.start, &vec![0; records.len()]);
    }

    /// What the first wait that gave up has written; memory is then as before a first launch.
    fn check_status(&mut self) -> Result<(), SessionError> {
        let mut host = SessionMemory::new(Vec::new(), 0);
        host.status = bytemuck::pod_collect_to_vec(&self.memory.read(self.buffers.status));
        match host.timed_out_wait() {
            None => Ok(()),
            Some(wait) => {
                self.restart(1);
                Err(MachineCodeError::Wait(wait).into())
            }
        }
    }

    fn read_range(&self, range: Range<usize>) -> Vec<u8> {
        self.memory.read_range(self.buffers.arena, range)
    }
}

/// Fails unless the code has the entry that a launch of the plan names, with the parameters that the launch gives.
fn check_launch(image: &Image, launch: &Launch) -> Result<(), LoadError> {
    match *launch {
        Launch::Streams(_) => image.check_launch(ENTRY_NAME, size_of::<StreamArguments>()),
        Launch::Node(NodeLaunch { kernel, .. }) => image.check_launch(&node_name(kernel), size_of::<NodeArguments>()),
    }
}

impl Session for MachineCodeSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        check_inputs(input_types(&self.turns.plan().memory), inputs)?;
        if self.options.interleavings <= 1 {
            return self.run_once(inputs, self.options.execute.weak);
        }
        let first = self.run_once(inputs, Some(self.options.seed))?;
        for position in 1..self.options.interleavings {
            let seed = self.options.seed.wrapping_add(position);
            let outputs = self.run_once(inputs, Some(seed))?;
            if let Some(output) = (0..outputs.len()).find(|&output| first[output] != outputs[output]) {
                return Err(SessionError::OrderDependent { output, first: self.options.seed, second: seed });
            }
        }
        Ok(first)
    }

    fn states(&mut self) -> Result<Vec<Tensor>, SessionError> {
        states::read(&self.turns.plan().memory, |state| state.tensor, |range| Ok(self.read_range(range)))
    }

    fn set_states(&mut self, given: &[Tensor]) -> Result<(), SessionError> {
        let plan = &self.turns.plan().memory;
        states::check(plan, given)?;
        for (state, tensor) in plan.states.iter().zip(given) {
            self.memory.write(self.buffers.arena, place(plan, state.tensor).start, tensor.bytes());
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), SessionError> {
        for StateMove { from, to, bytes } in self.turns.plan().memory.state_moves() {
            let moved = self.read_range(from as usize..(from + bytes) as usize);
            self.memory.write(self.buffers.arena, to as usize, &moved);
        }
        self.turns.advance();
        Ok(())
    }

    fn set_wait_limit(&mut self, limit: Duration) -> bool {
        self.options.wait_limit = limit;
        true
    }

    fn read_arena(&mut self, bytes: Range<usize>) -> Result<Option<Vec<u8>>, SessionError> {
        Ok(Some(self.read_range(bytes)))
    }

    fn spoil_outputs(&mut self) -> Result<bool, SessionError> {
        let plan = &self.turns.plan().memory;
        for &tensor in &plan.outputs {
            let range = place(plan, tensor);
            self.memory.write(self.buffers.arena, range.start, &vec![SPOILED; range.len()]);
        }
        Ok(true)
    }

    fn start_at(&mut self, epoch: i32) -> Result<bool, SessionError> {
        self.restart(epoch);
        Ok(true)
    }

    fn execution_plan(&self) -> Option<&ExecutionPlan> {
        Some(self.turns.plan())
    }

    fn notes(&self) -> Vec<String> {
        let choice = self.turns.turn().plan.choice();
        let order = match self.options.interleavings {
            0 | 1 => String::new(),
            interleavings => format!(" under {interleavings} interleavings with weak memory"),
        };
        choice.into_iter().chain([format!("machine code runs {}{order}", run_as(self.turns.plan()))]).collect()
    }
}
