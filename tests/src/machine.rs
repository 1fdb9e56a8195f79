//! The emulator as a machine: weights packed, inputs written, outputs read.

use std::ops::Range;

use warpweave::codegen::emulate::report::LaunchReport;
use warpweave::codegen::emulate::{Device, LaunchOptions};
use warpweave::codegen::kernel_ir::Program;
use warpweave::codegen::lower::LoweredProgram;
use warpweave::graph::Tensor;
use warpweave::graph::program::{TensorId, TensorProgram};
use warpweave::plan::plan::Buffer;
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::plan::states::PlannedState;
use warpweave::plan::tables;
use warpweave::plan::tables::Tables;

use crate::pipeline::Compiled;

/// What a launch needs beyond the program: tables, weights and the shape of memory.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The kernels and the entry.
    pub program: Program,
    /// The plan's tables.
    pub tables: Tables,
    /// The packed constants.
    pub weights: Vec<u8>,
    /// What the first launch finds in the plan's states, in their order.
    pub states: Vec<Tensor>,
    /// Where tensors lie.
    pub plan: ExecutionPlan,
}

impl Machine {
    /// The machine of a compiled program.
    pub fn new(compiled: &Compiled) -> Self {
        Self::with_plan(compiled.plan.plan(), &compiled.lowered, &compiled.program)
    }

    /// A machine that runs another plan of the same operators.
    pub fn with_plan(plan: &ExecutionPlan, lowered: &LoweredProgram, program: &TensorProgram) -> Self {
        Self::with_constants(plan, lowered, |id| {
            program.stored(id).expect("the plan lists constants and states").clone()
        })
    }

    /// A machine that runs a plan with these constants and states.
    pub fn with_constants(
        plan: &ExecutionPlan,
        lowered: &LoweredProgram,
        constant: impl Fn(TensorId) -> Tensor,
    ) -> Self {
        let tables = tables::encode(plan, &lowered.bindings, lowered.operands.clone());
        let mut weights = vec![0u8; plan.memory.weights_bytes as usize];
        for &id in &plan.memory.constants {
            let value = constant(id);
            weights[range(plan, id)].copy_from_slice(value.bytes());
        }
        let states = plan.memory.states.iter().map(|state| constant(state.tensor)).collect();
        Self { program: lowered.program.clone(), tables, weights, states, plan: plan.clone() }
    }

    /// The number of counters.
    pub fn counters(&self) -> usize {
        self.plan.arrivals().len()
    }

    /// The arena before a launch.
    pub fn arena(&self, inputs: &[Tensor]) -> Vec<u8> {
        let mut arena = vec![0u8; self.plan.memory.arena_bytes as usize];
        for (&id, value) in self.plan.memory.inputs.iter().zip(inputs) {
            arena[range(&self.plan, id)].copy_from_slice(value.bytes());
        }
        arena
    }

    /// The outputs that an arena holds after a launch.
    pub fn outputs(&self, arena: &[u8]) -> Vec<Tensor> {
        let output = |&id: &TensorId| {
            let bytes = arena[range(&self.plan, id)].to_vec();
            let ty = self.plan.memory.tensors[id].ty.clone();
            Tensor::from_bytes(ty, bytes.into()).expect("an output's buffer is as long as the output")
        };
        self.plan.memory.outputs.iter().map(output).collect()
    }

    /// A device before its first launch.
    pub fn device(&self) -> Device<'_> {
        let bytes = self.plan.memory.arena_bytes as usize;
        let device = Device::new(&self.program, &self.tables, &self.weights, bytes, self.counters());
        let mut device = device.unwrap_or_else(|error| panic!("{error}"));
        for (state, value) in self.plan.memory.states.iter().zip(&self.states) {
            device.arena_mut()[range(&self.plan, state.tensor)].copy_from_slice(value.bytes());
        }
        device
    }

    /// One more launch of a device, which leaves in its states what they become.
    pub fn launch_on(
        &self,
        device: &mut Device<'_>,
        inputs: &[Tensor],
        options: &LaunchOptions,
    ) -> (LaunchReport, Vec<Tensor>) {
        let arena = self.arena(inputs);
        let memory = &self.plan.memory;
        for range in memory.inputs.iter().map(|&id| range(&self.plan, id)) {
            device.arena_mut()[range.clone()].copy_from_slice(&arena[range]);
        }
        let initialised: Vec<Range<usize>> = memory.live_in().map(|id| range(&self.plan, id)).collect();
        let report = device.launch(&initialised, options);
        let outputs = self.outputs(device.arena());
        let next = |state: &PlannedState| device.arena()[range(&self.plan, state.next)].to_vec();
        let next: Vec<Vec<u8>> = memory.states.iter().map(next).collect();
        for (state, value) in memory.states.iter().zip(next) {
            device.arena_mut()[range(&self.plan, state.tensor)].copy_from_slice(&value);
        }
        (report, outputs)
    }

    /// Three launches in a row on a fresh device, from number `epoch` on and under interleavings from `seed` on, give what is
    /// expected.
    #[track_caller]
    pub fn check_launches(&self, inputs: &[Tensor], expected: &[Tensor], epoch: u32, seed: u64) {
        let mut device = self.device();
        device.restart(epoch);
        for launch in 0..3 {
            let (report, outputs) = self.launch_on(&mut device, inputs, &LaunchOptions::seeded(seed + launch));
            assert!(report.is_clean(), "launch {launch} from {epoch}: {report}");
            assert_close(&outputs, expected, 1e-4);
        }
    }

    /// One launch on a fresh device.
    pub fn launch(&self, inputs: &[Tensor], options: &LaunchOptions) -> (LaunchReport, Vec<Tensor>) {
        self.launch_on(&mut self.device(), inputs, options)
    }

    /// The outputs of a launch under a seed, which must be clean.
    #[track_caller]
    pub fn run(&self, inputs: &[Tensor], seed: u64) -> Vec<Tensor> {
        let (report, outputs) = self.launch(inputs, &LaunchOptions::seeded(seed));
        assert!(report.is_clean(), "seed {seed}: {report}");
        outputs
    }
}

fn range(plan: &ExecutionPlan, tensor: TensorId) -> Range<usize> {
    let planned = &plan.memory.tensors[tensor];
    assert_eq!(planned.layout.root, tensor, "what the host touches has a buffer of its own");
    let Buffer { offset, bytes, .. } = planned.buffer.expect("what the host touches has a buffer");
    offset as usize..(offset + bytes) as usize
}

/// Fails unless two lists of tensors agree: integers exactly, floating point within `tolerance`, relative to the larger
/// of the expected value and 1.
#[track_caller]
pub fn assert_close(found: &[Tensor], expected: &[Tensor], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "as many outputs");
    for (position, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.ty(), expected.ty(), "output {position}");
        if !found.element().is_float() {
            assert_eq!(found.to_i64(), expected.to_i64(), "output {position}");
            continue;
        }
        for (at, (found, expected)) in found.to_f64().into_iter().zip(expected.to_f64()).enumerate() {
            let same = found == expected || (found.is_nan() && expected.is_nan());
            let close = same || (found - expected).abs() <= tolerance * expected.abs().max(1.0);
            assert!(close, "output {position}, element {at}: {found} instead of {expected}");
        }
    }
}
