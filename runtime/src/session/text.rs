//! The printed text on the host as a device.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use warpweave_codegen::kernel_ir::Program;
use warpweave_codegen::print::cuda;
use warpweave_graph::Tensor;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::tables::Tables;

use super::check_records;
use super::error::SessionError;
use super::exchange::{check_inputs, input_types, read_outputs, run_as, spoil, write_inputs};
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
    plan: TargetPlan,
    tables: Tables,
    weights: Arc<[u8]>,
    state: SessionMemory,
    wait_limit: Duration,
}

impl TextSession {
    /// Prints and compiles `program`, which follows `plan`.
    pub fn new(program: &Program, plan: TargetPlan, weights: Arc<[u8]>) -> Result<Self, SessionError> {
        let tables = plan.tables();
        let (threads, shared_bytes) = (program.threads, program.shared_bytes());
        let program = TextProgram::compile(&cuda(program), None)?;
        let state = memory_at(&plan, 1);
        Ok(Self { program, threads, shared_bytes, plan, tables, weights, state, wait_limit: WAIT_LIMIT })
    }
}

impl Session for TextSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        let plan = self.plan.plan.plan();
        let memory = &plan.memory;
        check_inputs(input_types(memory), inputs)?;
        write_inputs(memory, inputs, &mut self.state.arena);
        let launch = TextLaunch {
            threads: self.threads,
            shared_bytes: self.shared_bytes,
            tables: &self.tables,
            weights: &self.weights,
            launches: 1,
            wait_limit: self.wait_limit,
            run_limit: RUN_LIMIT,
        };
        if let Err(error) = self.program.run(launch, &mut self.state) {
            let found = states::read(memory, |state| state.tensor, |range| Ok(self.state.arena[range].to_vec()))?;
            self.state = memory_at(&self.plan, 1);
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
        let memory = &self.plan.plan.plan().memory;
        states::read(memory, |state| state.tensor, |range| Ok(self.state.arena[range].to_vec()))
    }

    fn set_states(&mut self, states: &[Tensor]) -> Result<(), SessionError> {
        let memory = &self.plan.plan.plan().memory;
        states::check(memory, states)?;
        states::write(memory, states, &mut self.state.arena);
        Ok(())
    }

    fn advance(&mut self) -> Result<(), SessionError> {
        let memory = &self.plan.plan.plan().memory;
        let next = states::read(memory, |state| state.next, |range| Ok(self.state.arena[range].to_vec()))?;
        self.set_states(&next)
    }

    fn set_wait_limit(&mut self, limit: Duration) -> bool {
        self.wait_limit = limit;
        true
    }

    fn read_arena(&mut self, bytes: Range<usize>) -> Result<Option<Vec<u8>>, SessionError> {
        Ok(self.state.arena.get(bytes).map(<[u8]>::to_vec))
    }

    fn spoil_outputs(&mut self) -> Result<bool, SessionError> {
        spoil(&self.plan.plan.plan().memory, &mut self.state.arena);
        Ok(true)
    }

    fn start_at(&mut self, epoch: i32) -> Result<bool, SessionError> {
        self.state = memory_at(&self.plan, epoch);
        Ok(true)
    }

    fn execution_plan(&self) -> Option<&ExecutionPlan> {
        Some(self.plan.plan.plan())
    }

    fn notes(&self) -> Vec<String> {
        self.plan.choice().into_iter().chain([format!("the text runs {}", run_as(self.plan.plan.plan()))]).collect()
    }
}

/// The memory of a session whose next launch is number `epoch`.
fn memory_at(plan: &TargetPlan, epoch: i32) -> SessionMemory {
    let plan = plan.plan.plan();
    let arrivals = plan.arrivals();
    let arena = vec![0; plan.memory.arena_bytes as usize];
    let memory = SessionMemory::new(arena, arrivals.len());
    memory.at_epoch(epoch, &arrivals, &plan.grids()).tagged(&plan.memory)
}
