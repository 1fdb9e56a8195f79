//! Sessions on memory that the package's code holds.
#![expect(unsafe_code, reason = "memory of arrays is given by its address")]

use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warpweave_graph::Tensor;
use warpweave_runtime::host::ThreadPool;
use warpweave_runtime::session::bound::{BoundInput, BoundOutput};
use warpweave_runtime::session::{Device, ModelSession, OpenOptions, Session as _, SessionError};

use crate::bundle::Bundle;
use crate::error::Failure;

/// Threads that sessions on the host share.
#[pyclass(frozen, module = "warpweave._native")]
pub(crate) struct Pool(Arc<ThreadPool>);

#[pymethods]
impl Pool {
    /// So many threads, the caller's among them; 0 stands for as many as there are processors.
    #[new]
    fn new(threads: usize) -> PyResult<Self> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            some => some,
        };
        let started = ThreadPool::new(threads);
        let refused =
            |error| Failure::Argument(format!("{threads} threads cannot be started: {error}"), "ask for fewer");
        Ok(Self(Arc::new(started.map_err(refused)?)))
    }
}

/// A session.
#[pyclass(frozen, module = "warpweave._native")]
pub(crate) struct Session {
    session: Mutex<ModelSession>,
}

/// Where memory begins, and how many bytes it has.
type Place = (usize, usize);

#[pymethods]
impl Session {
    /// Opens a session of a bundle on a device, or on a pool of threads of the host.
    #[new]
    fn new(
        py: Python<'_>,
        bundle: &Bundle,
        device: &str,
        threads: Option<usize>,
        pool: Option<&Pool>,
        wait_limit: Option<f64>,
    ) -> PyResult<Self> {
        let device: Device = device.parse().map_err(SessionError::UnknownDevice).map_err(Failure::from)?;
        let opened = match pool {
            Some(_) if device != Device::Host || threads.is_some() => {
                let text = "a pool has the threads of sessions on the host".to_owned();
                return Err(
                    Failure::Argument(text, "give either a pool, or a number of threads or another device").into()
                );
            }
            Some(Pool(pool)) => py.detach(|| bundle.deployment.open_on_pool(Arc::clone(pool))),
            None => {
                let defaults = OpenOptions::default();
                let limit = wait_limit.map(Duration::try_from_secs_f64).transpose().map_err(|_| {
                    let text = format!("a wait cannot give up after {} seconds", wait_limit.unwrap_or_default());
                    Failure::Argument(text, "give a number of seconds")
                })?;
                let options = OpenOptions {
                    threads: threads.filter(|&threads| threads > 0).unwrap_or(defaults.threads),
                    wait_limit: limit.unwrap_or(defaults.wait_limit),
                    ..defaults
                };
                py.detach(|| bundle.deployment.open(device, &options))
            }
        };
        Ok(Self { session: Mutex::new(opened.map_err(Failure::from)?) })
    }

    /// Runs once on memory at addresses, one an input and one an output. Returns the outputs of which fewer elements count than
    /// their types say, with their shapes. The package's code holds the memory, and checks what it may be.
    fn run(&self, py: Python<'_>, inputs: Vec<Place>, outputs: Vec<Place>) -> PyResult<Vec<(usize, Vec<usize>)>> {
        // SAFETY: the package's code holds arrays at these addresses while this runs. That nothing writes them meanwhile, it asks
        // of its caller, as every function over arrays does.
        let read = |(start, bytes): Place| unsafe { BoundInput::from_raw(start as *const u8, bytes) };
        // SAFETY: as above; the package's code has checked that the arrays are writable and do not overlap.
        let written = |(start, bytes): Place| unsafe { BoundOutput::from_raw(start as *mut u8, bytes) };
        let inputs: Vec<_> = inputs.into_iter().map(read).collect();
        let mut outputs: Vec<_> = outputs.into_iter().map(written).collect();
        let cut = self.with(py, move |session| session.run_on(&inputs, &mut outputs))?;
        Ok(cut.into_iter().map(|cut| (cut.output, cut.shape.to_vec())).collect())
    }

    /// Makes what the last run has left of each state what the next one finds.
    fn advance(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |session| session.advance())
    }

    /// The bytes of every state.
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let states = self.with(py, |session| session.states())?;
        Ok(states.iter().map(|state| PyBytes::new(py, state.bytes())).collect())
    }

    /// Replaces every state by these bytes.
    fn set_states(&self, py: Python<'_>, states: Vec<Bound<'_, PyBytes>>) -> PyResult<()> {
        let bytes: Vec<Bytes> = states.iter().map(|state| Bytes::copy_from_slice(state.as_bytes())).collect();
        self.with(py, move |session| {
            let known = session.states()?;
            let given =
                known.iter().zip(bytes).filter_map(|(known, bytes)| Tensor::from_bytes(known.ty().clone(), bytes));
            let given: Vec<Tensor> = given.collect();
            session.set_states(&given)
        })
    }

    /// Makes the session run again after a fault, if the device can.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |session| session.reset())
    }

    /// What should be known of how it was opened.
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |session| Ok(session.notes()))
    }
}

impl Session {
    /// What `use_it` gives, with the interpreter's lock released.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        use_it: impl FnOnce(&mut ModelSession) -> Result<T, SessionError> + Send,
    ) -> PyResult<T> {
        let used = py.detach(|| {
            let mut session = match self.session.try_lock() {
                Ok(session) => session,
                Err(TryLockError::Poisoned(session)) => session.into_inner(),
                Err(TryLockError::WouldBlock) => return None,
            };
            Some(use_it(&mut session))
        });
        let busy = || Failure::Busy;
        Ok(used.ok_or_else(busy)?.map_err(Failure::from)?)
    }
}
