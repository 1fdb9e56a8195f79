//! The emulator of kernel IR as a device: it runs the program under several interleavings, and every one must be free
//! of violations and give the same bits.

use std::ops::Range;
use std::sync::Arc;

use warpweave_codegen::emulate::{Device as Emulated, LaunchOptions};
use warpweave_codegen::kernel_ir::Program;
use warpweave_graph::Tensor;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::tensor_core::sum::TensorCore;

use super::check_records;
use super::error::SessionError;
use super::exchange::{check_inputs, input_types, place, read_outputs, run_as, spoil, write_inputs};
use super::turns::Turns;
use super::{Session, states};
use crate::bundle::TargetPlan;

/// How a program is emulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmulatorOptions {
    /// How many interleavings are run; at least one is.
    pub interleavings: u64,
    /// The seed of the first; the others follow.
    pub seed: u64,
    /// Whose sums products of matrices have.
    pub tensor_core: TensorCore,
}

/// A program on the emulator.
pub struct EmulatorSession {
    program: Program,
    turns: Turns,
    weights: Arc<[u8]>,
    options: EmulatorOptions,
    /// The number of the next launch.
    epoch: u32,
    /// The arena after the last interleaving.
    arena: Vec<u8>,
    /// Whether the next run begins with spoiled outputs.
    is_spoiled: bool,
    /// What the next run finds in the tensors that live between runs.
    states: Vec<Tensor>,
}

impl EmulatorSession {
    /// A session of `program` that follows `plan`.
    pub fn new(program: Program, plan: TargetPlan, weights: Arc<[u8]>, options: EmulatorOptions) -> Self {
        Self {
            program,
            turns: Turns::new(plan),
            weights,
            options,
            epoch: 1,
            arena: Vec::new(),
            is_spoiled: false,
            states: Vec::new(),
        }
    }
}

impl Session for EmulatorSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        let (plan, tables) = (self.turns.plan(), &self.turns.turn().tables);
        let memory = &plan.memory;
        check_inputs(input_types(memory), inputs)?;
        let arena = memory.arena_bytes as usize;
        let counters = plan.arrivals().len();
        let mut device = Emulated::new(&self.program, tables, &self.weights, arena, counters)
            .map_err(|error| SessionError::Internal(error.to_string()))?;
        device.restart(self.epoch);
        let initialised: Vec<_> = memory.live_in().map(|tensor| place(memory, tensor)).collect();
        let is_spoiled = std::mem::take(&mut self.is_spoiled);
        let mut first: Option<Vec<Tensor>> = None;
        for position in 0..self.options.interleavings.max(1) {
            let seed = self.options.seed.wrapping_add(position);
            if is_spoiled {
                spoil(memory, device.arena_mut());
            }
            let records = memory.index_records.range();
            write_inputs(memory, inputs, device.arena_mut());
            states::write(memory, &self.states, device.arena_mut());
            device.arena_mut()[records.clone()].fill(0);
            let options = LaunchOptions { tensor_core: self.options.tensor_core, ..LaunchOptions::seeded(seed) };
            let report = device.launch(&initialised, &options);
            if !report.is_clean() {
                self.epoch = 1;
                return Err(SessionError::Violations { seed, report: report.to_string().trim_end().to_owned() });
            }
            check_records(memory, &device.arena()[records])?;
            let outputs = read_outputs(memory, device.arena())?;
            match &first {
                None => first = Some(outputs),
                Some(first) => {
                    if let Some(output) = (0..outputs.len()).find(|&output| first[output] != outputs[output]) {
                        return Err(SessionError::OrderDependent { output, first: self.options.seed, second: seed });
                    }
                }
            }
        }
        self.epoch = device.controls.first().map_or(self.epoch, |control| control.epoch);
        self.arena = device.arena().to_vec();
        first.ok_or_else(|| SessionError::Internal("no interleaving was run".to_owned()))
    }

    fn states(&mut self) -> Result<Vec<Tensor>, SessionError> {
        Ok(self.states.clone())
    }

    fn set_states(&mut self, states: &[Tensor]) -> Result<(), SessionError> {
        states::check(&self.turns.plan().memory, states)?;
        self.states = states.to_vec();
        Ok(())
    }

    fn advance(&mut self) -> Result<(), SessionError> {
        let memory = &self.turns.plan().memory;
        self.states = states::read(memory, |state| state.next, |range| Ok(self.arena[range].to_vec()))?;
        self.turns.advance();
        Ok(())
    }

    fn read_arena(&mut self, bytes: Range<usize>) -> Result<Option<Vec<u8>>, SessionError> {
        Ok(self.arena.get(bytes).map(<[u8]>::to_vec))
    }

    fn spoil_outputs(&mut self) -> Result<bool, SessionError> {
        self.is_spoiled = true;
        Ok(true)
    }

    fn start_at(&mut self, epoch: i32) -> Result<bool, SessionError> {
        self.epoch = epoch.cast_unsigned();
        Ok(true)
    }

    fn execution_plan(&self) -> Option<&ExecutionPlan> {
        Some(self.turns.plan())
    }

    fn notes(&self) -> Vec<String> {
        let run_as = run_as(self.turns.plan());
        let emulated = format!("emulated {run_as} under {} interleavings", self.options.interleavings.max(1));
        self.turns.turn().plan.choice().into_iter().chain([emulated]).collect()
    }
}
