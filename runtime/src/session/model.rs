//! Sessions that name tensors as the model does.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use warpweave_graph::Tensor;
use warpweave_graph::counted;
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::ExecutionPlan;

use super::bound::{self, BoundInput, BoundOutput, CutOutput};
use super::{Session, SessionError};
use crate::aligned::AlignedBytes;
use crate::bundle::{Port, Signature};

/// The names in the model of tensors that hold indices.
pub type TensorNames = BTreeMap<TensorId, String>;

/// A session of a model. Its errors name tensors as the model does, and its outputs are cut to what counts.
///
/// After a run that left it in an unknown state it refuses every other until [`Self::reset`]. A child of the process that
/// opened it cannot run it: threads and devices stay with the parent.
pub struct ModelSession {
    session: Box<dyn Session>,
    names: TensorNames,
    signature: Signature,
    /// Outputs that hold counts, which stand behind those that are shown.
    counts: Vec<AlignedBytes>,
    opened_in: u32,
    fault: Option<String>,
}

impl ModelSession {
    /// The session of a model with this signature and these names.
    pub fn new(session: Box<dyn Session>, names: TensorNames, signature: Signature) -> Self {
        let most = signature.counted.iter().map(|counted| counted.count + 1).max();
        let hidden = most.map_or(0, |most| most - signature.outputs.len());
        let counts = vec![AlignedBytes::filled(size_of::<i64>(), 0); hidden];
        Self { session, names, signature, counts, opened_in: std::process::id(), fault: None }
    }

    /// What goes in and what comes out.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Why the session cannot run, if a run before has left it so.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Makes the session run again after a fault, if the device can. States are what they were before the run that failed.
    pub fn reset(&mut self) -> Result<(), SessionError> {
        self.check_process()?;
        self.session.start_at(1)?;
        self.fault = None;
        Ok(())
    }

    /// Runs the model once. Inputs are in the signature's order and of exactly its types; so are the outputs, but those that are
    /// cut to what counts.
    pub fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        self.check_process()?;
        self.check_fault()?;
        let ran = self.session.run(inputs);
        Ok(counted::cut(self.noted(ran)?, &self.signature.counted))
    }

    /// Runs the model once on memory of the caller. Each input and output has exactly the bytes of its type and is aligned to its
    /// element. Returns the outputs of which fewer elements count than their types say.
    ///
    /// The host reads inputs where they lie and writes outputs where they shall be, and allocates nothing unless outputs are cut.
    /// Other devices copy.
    pub fn run_on(
        &mut self,
        inputs: &[BoundInput<'_>],
        outputs: &mut [BoundOutput<'_>],
    ) -> Result<Vec<CutOutput>, SessionError> {
        self.check_process()?;
        self.check_fault()?;
        let Signature { inputs: read, outputs: written, .. } = &self.signature;
        bound::check((read.iter().map(|port| &port.ty), inputs), (written.iter().map(|port| &port.ty), outputs))?;
        let ran = match self.counts.is_empty() {
            true => self.session.run_bound(inputs, outputs),
            false => {
                let counts = self.counts.iter_mut().map(|count| BoundOutput::from(count.as_mut()));
                let mut all: Vec<_> = outputs.iter_mut().map(BoundOutput::reborrow).chain(counts).collect();
                self.session.run_bound(inputs, &mut all)
            }
        };
        match self.noted(ran)? {
            true => Ok(self.cut(outputs)),
            false => self.run_copied(inputs, outputs),
        }
    }

    /// The same on a device that has memory of its own.
    fn run_copied(
        &mut self,
        inputs: &[BoundInput<'_>],
        outputs: &mut [BoundOutput<'_>],
    ) -> Result<Vec<CutOutput>, SessionError> {
        let ports = self.signature.inputs.iter().zip(inputs);
        let tensor = |(port, input): (&Port, &BoundInput<'_>)| {
            let bytes = Bytes::copy_from_slice(input.as_slice());
            Tensor::from_bytes(port.ty.clone(), bytes).expect("memory that was checked has the type's bytes")
        };
        let inputs: Vec<Tensor> = ports.map(tensor).collect();
        let found = self.run(&inputs)?;
        let mut cut = Vec::new();
        for (number, (found, output)) in found.iter().zip(outputs).enumerate() {
            output.as_mut_slice()[..found.bytes().len()].copy_from_slice(found.bytes());
            if found.ty() != &self.signature.outputs[number].ty {
                cut.push(CutOutput { output: number, shape: found.ty().shape.clone() });
            }
        }
        Ok(cut)
    }

    /// Moves what counts of each output to its front.
    fn cut(&self, outputs: &mut [BoundOutput<'_>]) -> Vec<CutOutput> {
        let mut cut: Vec<CutOutput> = Vec::new();
        for counted in &self.signature.counted {
            let ty = &self.signature.outputs[counted.output].ty;
            let known = cut.iter().position(|cut| cut.output == counted.output);
            let shape = known.map_or_else(|| ty.shape.clone(), |known| cut[known].shape.clone());
            let count = self.counts[counted.count - self.signature.outputs.len()].as_ref();
            let count = count.try_into().map_or(0, i64::from_le_bytes);
            let count = usize::try_from(count).unwrap_or(0).min(shape[counted.dimension]);
            let bytes = outputs[counted.output].as_mut_slice();
            let shape = counted::keep_first(bytes, ty.element, &shape, (counted.dimension, count));
            match known {
                Some(known) => cut[known].shape = shape,
                None => cut.push(CutOutput { output: counted.output, shape }),
            }
        }
        cut
    }

    fn check_process(&self) -> Result<(), SessionError> {
        match self.opened_in == std::process::id() {
            true => Ok(()),
            false => Err(SessionError::Forked { opened_in: self.opened_in }),
        }
    }

    fn check_fault(&self) -> Result<(), SessionError> {
        self.fault.clone().map_or(Ok(()), |reason| Err(SessionError::Faulted { reason }))
    }

    /// The result of a run, in the model's words; a fault is remembered.
    fn noted<T>(&mut self, ran: Result<T, SessionError>) -> Result<T, SessionError> {
        ran.map_err(|error| match error {
            SessionError::Index(mut error) => {
                error.tensor.name = self.names.get(&error.tensor.id).cloned();
                SessionError::Index(error)
            }
            other => {
                self.fault = Some(other.to_string()).filter(|_| other.is_fault());
                other
            }
        })
    }
}

impl Session for ModelSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        ModelSession::run(self, inputs)
    }

    fn states(&mut self) -> Result<Vec<Tensor>, SessionError> {
        self.check_process()?;
        self.session.states()
    }

    fn set_states(&mut self, states: &[Tensor]) -> Result<(), SessionError> {
        self.check_process()?;
        self.session.set_states(states)
    }

    fn advance(&mut self) -> Result<(), SessionError> {
        self.check_process()?;
        self.check_fault()?;
        self.session.advance()
    }

    fn device_time(&self) -> Option<Duration> {
        self.session.device_time()
    }

    fn execution_plan(&self) -> Option<&ExecutionPlan> {
        self.session.execution_plan()
    }

    fn read_arena(&mut self, bytes: Range<usize>) -> Result<Option<Vec<u8>>, SessionError> {
        self.session.read_arena(bytes)
    }

    fn spoil_outputs(&mut self) -> Result<bool, SessionError> {
        self.session.spoil_outputs()
    }

    fn spin(&mut self, least: Duration) -> Result<bool, SessionError> {
        self.session.spin(least)
    }

    fn set_cold_cache(&mut self, cold: bool) -> Result<bool, SessionError> {
        self.session.set_cold_cache(cold)
    }

    fn start_at(&mut self, epoch: i32) -> Result<bool, SessionError> {
        let started = self.session.start_at(epoch)?;
        self.fault = None;
        Ok(started)
    }

    fn set_wait_limit(&mut self, limit: Duration) -> bool {
        self.session.set_wait_limit(limit)
    }

    fn notes(&self) -> Vec<String> {
        self.session.notes()
    }
}
