//! Between tensors and the buffers of a plan.

use std::ops::Range;
use std::sync::Arc;

use warpweave_graph::program::TensorId;
use warpweave_graph::{Tensor, TensorProgram, TensorType};
use warpweave_plan::plan::backend::PlanBackend;
use warpweave_plan::plan::{ExecutionPlan, MemoryPlan};

use super::error::SessionError;

/// The weights buffer that a plan lays out, filled by `read`, which is given a constant's bytes in it.
pub fn pack_weights<E>(
    memory: &MemoryPlan,
    mut read: impl FnMut(TensorId, &TensorType, &mut [u8]) -> Result<(), E>,
) -> Result<Arc<[u8]>, E> {
    let mut weights: Arc<[u8]> = std::iter::repeat_n(0, memory.weights_bytes as usize).collect();
    let bytes = Arc::get_mut(&mut weights).expect("the buffer is not shared yet");
    for &tensor in &memory.constants {
        let range = place(memory, tensor);
        read(tensor, &memory.tensors[tensor].ty, &mut bytes[range])?;
    }
    Ok(weights)
}

/// The weights buffer of a plan whose program is in memory.
pub fn pack_program(memory: &MemoryPlan, program: &TensorProgram) -> Result<Arc<[u8]>, SessionError> {
    pack_weights(memory, |tensor, _, out| {
        let constant = program.tensors.get(tensor).and_then(|_| program.stored(tensor));
        let constant = constant.filter(|constant| constant.bytes().len() == out.len());
        let missing = || SessionError::Internal(format!("{tensor} is no constant of the program"));
        out.copy_from_slice(constant.ok_or_else(missing)?.bytes());
        Ok(())
    })
}

/// Whether these are the inputs that a program takes.
pub(crate) fn check_inputs<'a>(
    expected: impl ExactSizeIterator<Item = &'a TensorType>,
    inputs: &[Tensor],
) -> Result<(), SessionError> {
    if expected.len() != inputs.len() {
        return Err(SessionError::InputCount { expected: expected.len(), found: inputs.len() });
    }
    for (position, (expected, input)) in expected.zip(inputs).enumerate() {
        if input.ty() != expected {
            let (expected, found) = (expected.clone(), input.ty().clone());
            return Err(SessionError::InputType { position, expected, found });
        }
    }
    Ok(())
}

/// How a plan is run, for messages: `with 8 vEUs`.
pub(crate) fn run_as(plan: &ExecutionPlan) -> String {
    match plan.backend() {
        PlanBackend::Persistent if plan.segments.len() == 1 => format!("with {} vEUs", plan.units()),
        PlanBackend::CudaGraph => format!("as {} nodes of a graph", plan.launches()),
        PlanBackend::Persistent | PlanBackend::Mixed => {
            let programs = plan.grids().len();
            let kernels = plan.launches() - programs;
            format!(
                "as a graph of {programs} persistent programs with up to {} vEUs and {kernels} kernels",
                plan.units()
            )
        }
    }
}

/// The types of a plan's inputs.
pub(crate) fn input_types(memory: &MemoryPlan) -> impl ExactSizeIterator<Item = &TensorType> {
    memory.inputs.iter().map(|input| &memory.tensors[*input].ty)
}

/// The bytes that a tensor's buffer takes; empty for one without a buffer.
pub(crate) fn place(memory: &MemoryPlan, tensor: TensorId) -> Range<usize> {
    memory.tensors[tensor].buffer.map_or(0..0, |buffer| {
        let start = buffer.offset as usize;
        start..start + buffer.bytes as usize
    })
}

/// What outputs are filled with before a run that must write all of them.
pub(crate) const SPOILED: u8 = 0xff;

/// Fills the outputs' places in an arena.
#[cfg(feature = "compile")]
pub(crate) fn spoil(memory: &MemoryPlan, arena: &mut [u8]) {
    memory.outputs.iter().for_each(|&tensor| arena[place(memory, tensor)].fill(SPOILED));
}

/// Writes inputs, which have been checked, to an arena.
#[cfg(feature = "compile")]
pub(crate) fn write_inputs(memory: &MemoryPlan, inputs: &[Tensor], arena: &mut [u8]) {
    for (&tensor, input) in memory.inputs.iter().zip(inputs) {
        arena[place(memory, tensor)].copy_from_slice(input.bytes());
    }
}

/// Reads the outputs from an arena. They are their own roots, so contiguous.
#[cfg(feature = "compile")]
pub(crate) fn read_outputs(memory: &MemoryPlan, arena: &[u8]) -> Result<Vec<Tensor>, SessionError> {
    memory.outputs.iter().map(|&tensor| output(memory, tensor, arena[place(memory, tensor)].to_vec())).collect()
}

/// The tensor of an output's bytes.
pub(crate) fn output(memory: &MemoryPlan, tensor: TensorId, bytes: Vec<u8>) -> Result<Tensor, SessionError> {
    let ty = memory.tensors[tensor].ty.clone();
    Tensor::from_bytes(ty, bytes.into())
        .ok_or_else(|| SessionError::Internal(format!("the output {tensor} has no buffer of its own")))
}
