//! A bundle from which many sessions are opened.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::error::SessionError;
use super::open::{OpenOptions, host_program, of_model, open_bundle};
use super::{Device, ModelSession};
use crate::bundle::Bundle;
use crate::host::{HostProgram, HostSession, ThreadPool};

/// A bundle whose sessions on the host have its constants in common.
pub struct Deployment {
    bundle: Bundle,
    /// The host's programs that sessions hold, by the threads that they were folded onto.
    programs: Mutex<Vec<(usize, Weak<HostProgram>)>>,
}

impl Deployment {
    /// Opens nothing yet: the first session prepares the host's program.
    pub fn new(bundle: Bundle) -> Self {
        Self { bundle, programs: Mutex::default() }
    }

    /// What was given, with its manifest and signature.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// A session on a device. On the host it has threads of its own.
    pub fn open(&self, device: Device, options: &OpenOptions) -> Result<ModelSession, SessionError> {
        match device {
            Device::Host => {
                let session = HostSession::of_program(self.program(options.threads)?)?;
                of_model(&self.bundle, Box::new(session), device)
            }
            _ => open_bundle(&self.bundle, device, options),
        }
    }

    /// A session on the host that shares threads with all others of this pool. They run one after another.
    pub fn open_on_pool(&self, pool: Arc<ThreadPool>) -> Result<ModelSession, SessionError> {
        if pool.process() != std::process::id() {
            return Err(SessionError::Forked { opened_in: pool.process() });
        }
        let session = HostSession::on_pool(self.program(pool.threads())?, pool)?;
        of_model(&self.bundle, Box::new(session), Device::Host)
    }

    /// The host's program for so many threads, which is prepared once while any session holds it.
    fn program(&self, threads: usize) -> Result<Arc<HostProgram>, SessionError> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.retain(|(_, program)| program.strong_count() > 0);
        let known = programs.iter().find(|(of, _)| *of == threads).and_then(|(_, program)| program.upgrade());
        if let Some(known) = known {
            return Ok(known);
        }
        let program = Arc::new(host_program(&self.bundle, threads)?);
        programs.push((threads, Arc::downgrade(&program)));
        Ok(program)
    }
}
