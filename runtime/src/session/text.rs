//! The printed text on the host as a device.

use std::sync::Arc;
use std::time::Duration;

use warpweave_codegen::kernel_ir::Program;
use warpweave_codegen::print::cuda;
use warpweave_fusion::schedule::tables::Tables;
use warpweave_graph::Tensor;

use super::Session;
use super::error::SessionError;
use super::exchange::{check_inputs, input_types, read_outputs, write_inputs};
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
}

impl TextSession {
    /// Prints and compiles `program`, which follows `plan`.
    pub fn new(program: &Program, plan: TargetPlan, weights: Arc<[u8]>) -> Result<Self, SessionError> {
        let tables = plan.tables();
        let (threads, shared_bytes) = (program.threads, program.shared_bytes());
        Ok(Self { program: TextProgram::compile(&cuda(program), None)?, threads, shared_bytes, plan, tables, weights })
    }
}

impl Session for TextSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        let plan = self.plan.plan.plan();
        let (memory, segment) = (&plan.memory, plan.persistent());
        check_inputs(input_types(memory), inputs)?;
        let mut arena = vec![0; memory.arena_bytes as usize];
        write_inputs(memory, inputs, &mut arena);
        let mut state = SessionMemory::new(arena, segment.counters.len());
        let launch = TextLaunch {
            grid: segment.units() as u32,
            threads: self.threads,
            shared_bytes: self.shared_bytes,
            tables: &self.tables,
            weights: &self.weights,
            launches: 1,
            wait_limit: WAIT_LIMIT,
            run_limit: RUN_LIMIT,
        };
        self.program.run(launch, &mut state)?;
        read_outputs(memory, &state.arena)
    }

    fn notes(&self) -> Vec<String> {
        vec![format!("the text runs with {} vEUs", self.plan.plan.plan().persistent().units())]
    }
}
