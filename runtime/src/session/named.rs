//! Sessions that name tensors as the model does.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use warpweave_graph::Tensor;
use warpweave_graph::counted::{self, CountedOutput};
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::ExecutionPlan;

use super::{Session, SessionError};

/// The names in the model of tensors that hold indices.
pub type TensorNames = BTreeMap<TensorId, String>;

/// A session whose errors name tensors as the model does, and whose outputs are cut to what counts.
pub struct NamedSession {
    session: Box<dyn Session>,
    names: TensorNames,
    counted: Vec<CountedOutput>,
}

impl NamedSession {
    /// The session with these names, and these outputs whose extents depend on data.
    pub fn new(session: Box<dyn Session>, names: TensorNames, counted: Vec<CountedOutput>) -> Self {
        Self { session, names, counted }
    }
}

impl Session for NamedSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        let outputs = self.session.run(inputs).map_err(|error| match error {
            SessionError::Index(mut error) => {
                error.tensor.name = self.names.get(&error.tensor.id).cloned();
                SessionError::Index(error)
            }
            other => other,
        })?;
        Ok(counted::cut(outputs, &self.counted))
    }

    fn states(&mut self) -> Result<Vec<Tensor>, SessionError> {
        self.session.states()
    }

    fn set_states(&mut self, states: &[Tensor]) -> Result<(), SessionError> {
        self.session.set_states(states)
    }

    fn advance(&mut self) -> Result<(), SessionError> {
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
        self.session.start_at(epoch)
    }

    fn set_wait_limit(&mut self, limit: Duration) -> bool {
        self.session.set_wait_limit(limit)
    }

    fn notes(&self) -> Vec<String> {
        self.session.notes()
    }
}
