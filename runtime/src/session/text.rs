//! The printed text on the host as a device.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use warpweave_codegen::kernel_ir::Program;
use warpweave_codegen::print::cuda;
use warpweave_graph::Tensor;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::plan::states::StateMove;
use warpweave_plan::tensor_core::sum::TensorCore;

use super::check_records;
use super::error::SessionError;
use super::exchange::{check_inputs, input_types, read_outputs, run_as, spoil, write_inputs};
use super::turns::Turns;
use super::{Session, states};
use crate::bundle::TargetPlan;
use crate::session_memory::SessionMemory;
use crate::text::{TextLaunch, TextProgram};

const WAIT_LIMIT: Duration = Duration::from_secs(120);
const RUN_LIMIT: Duration = Duration::from_secs(600);

/// Printed text, compiled for the processor.
pub struct TextSession {
    program: TextProgram,
    threads: u32,
    shared_bytes: u32,
    turns: Turns,
    weights: Arc<[u8]>,
    state: SessionMemory,
    wait_limit: Duration,
    /// Whose sums products of matrices have.
    tensor_core: TensorCore,
}

impl TextSession {
    /// Prints and compiles `program`, which follows `plan`.
    pub fn new(
        program: &Program,
        plan: TargetPlan,
        weights: Arc<[u8]>,
        tensor_core: TensorCore,
    ) -> Result<Self, SessionError> {
        let (threads, shared_bytes) = (program.threads, program.shared_bytes());
        let program = TextProgram::compile(&cuda(program), None)?;
        let state = SessionMemory::of_plan(plan.plan.plan(), 1);
        let turns = Turns::new(plan);
        Ok(Self { program, threads, shared_bytes, turns, weights, state, wait_limit: WAIT_LIMIT, tensor_core })
    }
}

impl Session for TextSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        let (plan, tables) = (self.turns.plan(), &self.turns.turn().tables);
        let memory = &plan.memory;
        check_inputs(input_types(memory), inputs)?;
        write_inputs(memory, inputs, &mut self.state.arena);
        let launch = TextLaunch {
            threads: self.threads,
            shared_bytes: self.shared_bytes,
            tables,
            weights: &self.weights,
            launches: 1,
            wait_limit: self.wait_limit,
            run_limit: RUN_LIMIT,
            tensor_core: self.tensor_core,
        };
        if let Err(error) = self.program.run(launch, &mut self.state) {
            let found = states::read(memory, |state| state.tensor, |range| Ok(self.state.arena[range].to_vec()))?;
            self.state = SessionMemory::of_plan(plan, 1);
            states::write(memory, &found, &mut self.state.arena);
            return Err(error.into());
        }
        let records = &mut self.state.arena[memory.index_records.range()];
        let checked = check_records(memory, records);
        records.fill(0);
        checked?;
        read_outputs(memory, &self.state.arena)
    }

    fn states(&mut self) -> Result<Vec<Tensor>, SessionError> {
        let memory = &self.turns.plan().memory;
        states::read(memory, |state| state.tensor, |range| Ok(self.state.arena[range].to_vec()))
    }

    fn set_states(&mut self, states: &[Tensor]) -> Result<(), SessionError> {
        let memory = &self.turns.plan().memory;
        states::check(memory, states)?;
        states::write(memory, states, &mut self.state.arena);
        Ok(())
    }

    fn advance(&mut self) -> Result<(), SessionError> {
        for StateMove { from, to, bytes } in self.turns.plan().memory.state_moves() {
            self.state.arena.copy_within(from as usize..(from + bytes) as usize, to as usize);
        }
        self.turns.advance();
        Ok(())
    }

    fn set_wait_limit(&mut self, limit: Duration) -> bool {
        self.wait_limit = limit;
        true
    }

    fn read_arena(&mut self, bytes: Range<usize>) -> Result<Option<Vec<u8>>, SessionError> {
        Ok(self.state.arena.get(bytes).map(<[u8]>::to_vec))
    }

    fn spoil_outputs(&mut self) -> Result<bool, SessionError> {
        spoil(&self.turns.plan().memory, &mut self.state.arena);
        Ok(true)
    }

    fn start_at(&mut self, epoch: i32) -> Result<bool, SessionError> {
        self.state = SessionMemory::of_plan(self.turns.plan(), epoch);
        Ok(true)
    }

    fn execution_plan(&self) -> Option<&ExecutionPlan> {
        Some(self.turns.plan())
    }

    fn notes(&self) -> Vec<String> {
        let choice = self.turns.turn().plan.choice();
        choice.into_iter().chain([format!("the text runs {}", run_as(self.turns.plan()))]).collect()
    }
}
