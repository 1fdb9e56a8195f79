//! Sessions: opening, running, reading what came out.
#![expect(unsafe_code, reason = "exported to C")]

use std::ffi::c_char;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use warpweave_runtime::session::bound::{BoundInput, BoundOutput};
use warpweave_runtime::session::{Device, ModelSession, OpenOptions, Session, SessionError};

use crate::binding::Bindings;
use crate::bundle::OpenedBundle;
use crate::error::{Failure, reported};
use crate::handle::{self, BundleHandle, ErrorHandle, Named, PoolHandle, SessionHandle};
use crate::log::{self, LogLevel};
use crate::port;
use crate::tensor::{Structure, TensorView, put, put_structure, read_structure};
use crate::text;
use warpweave_runtime::host::ThreadPool;

/// How a session is opened. Whatever is zero is chosen by the library.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SessionOptions {
    /// `sizeof(ww_session_options)`.
    pub size: usize,
    /// The name of the device, such as `cuda:0`; null stands for `host`. No device ever stands in for another.
    pub device: *const c_char,
    /// The most threads of a session on the host, the caller's among them; 0 stands for as many as there are processors.
    pub threads: u32,
    /// After how many milliseconds a wait on a GPU gives up; 0 stands for ten seconds.
    pub wait_limit: u32,
    /// The threads that a session on the host shares with others; null stands for threads of its own.
    pub pool: *const PoolHandle,
}

// SAFETY: it begins with its size; integers and addresses may be zero.
unsafe impl Structure for SessionOptions {}

/// A session that threads may ask for at the same time.
pub(crate) struct SharedSession {
    pub(crate) bundle: Arc<OpenedBundle>,
    state: Mutex<SessionState>,
}

/// A session with what is bound to it.
pub(crate) struct SessionState {
    pub(crate) session: ModelSession,
    pub(crate) bindings: Bindings,
    /// The shapes that outputs have had in the last run, once there was one.
    shapes: Vec<Vec<i64>>,
    has_run: bool,
}

impl Named for SharedSession {
    type Handle = SessionHandle;
    const WHAT: &'static str = "session";
}

impl SharedSession {
    /// The session, unless another thread uses it.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, SessionState>, Failure> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Failure::busy()),
        }
    }
}

impl SessionState {
    fn run(&mut self, bundle: &OpenedBundle) -> Result<(), Failure> {
        let Self { session, bindings, shapes, has_run } = self;
        bindings.check(bundle)?;
        let (inputs, outputs): (&[BoundInput<'_>], &mut [BoundOutput<'_>]) = bindings.memory();
        let cut = session.run_on(inputs, outputs)?;
        *has_run = true;
        for (output, shape) in bundle.outputs.iter().zip(shapes) {
            shape.clear();
            shape.extend(output.ty.shape.iter().map(|&extent| extent as i64));
        }
        for cut in cut {
            self.shapes[cut.output] = cut.shape.iter().map(|&extent| extent as i64).collect();
        }
        Ok(())
    }
}

fn open(bundle: &OpenedBundle, options: &SessionOptions, device: &str) -> Result<ModelSession, Failure> {
    let device: Device = device.parse().map_err(SessionError::UnknownDevice)?;
    if !options.pool.is_null() {
        let pool = handle::get::<ThreadPool>(options.pool)?;
        if device != Device::Host || options.threads != 0 {
            let message = "a pool has the threads of sessions on the host";
            return Err(Failure::argument(message, "give either a pool, or a number of threads or another device"));
        }
        return Ok(bundle.deployment.open_on_pool(pool)?);
    }
    let defaults = OpenOptions::default();
    let chosen = OpenOptions {
        threads: if options.threads == 0 { defaults.threads } else { options.threads as usize },
        wait_limit: match options.wait_limit {
            0 => defaults.wait_limit,
            some => Duration::from_millis(u64::from(some)),
        },
        ..defaults
    };
    Ok(bundle.deployment.open(device, &chosen)?)
}

/// Opens a session of a bundle. Null options stand for those that are all zero.
///
/// # Safety
/// `options` is null, or the structure may be read whose size it has, and what it points to; `session` is null or may be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_session_open(
    bundle: *const BundleHandle,
    options: *const SessionOptions,
    session: *mut *mut SessionHandle,
) -> *mut ErrorHandle {
    reported(|| {
        let bundle = handle::get::<OpenedBundle>(bundle)?;
        let none = SessionOptions {
            size: size_of::<SessionOptions>(),
            device: std::ptr::null(),
            threads: 0,
            wait_limit: 0,
            pool: std::ptr::null(),
        };
        // SAFETY: by this function's contract.
        let options = if options.is_null() { none } else { unsafe { read_structure("options", options) }? };
        // SAFETY: by this function's contract.
        let device =
            if options.device.is_null() { "host" } else { unsafe { text::read("the device", options.device) }? };
        let opened = open(&bundle, &options, device)?;
        opened.notes().iter().for_each(|note| log::write(LogLevel::WwLogNote, note));
        let state = SessionState {
            bindings: Bindings::new(&bundle),
            shapes: bundle.outputs.iter().map(|output| port::extents(&output.ty)).collect(),
            has_run: false,
            session: opened,
        };
        let shared = Arc::new(SharedSession { bundle, state: Mutex::new(state) });
        // SAFETY: by this function's contract.
        unsafe { put("session", session, || handle::insert(shared)) }
    })
}

/// Closes a session. If another thread runs it, that run ends first.
#[unsafe(no_mangle)]
pub extern "C" fn ww_session_close(session: *mut SessionHandle) -> *mut ErrorHandle {
    reported(|| handle::remove::<SharedSession>(session).map(drop))
}

/// Runs the model once on what is bound. Every input is bound or has a default. Nothing is allocated on the host, and nothing
/// copied, unless the extents of outputs depend on data.
#[unsafe(no_mangle)]
pub extern "C" fn ww_session_run(session: *mut SessionHandle) -> *mut ErrorHandle {
    reported(|| {
        let shared = handle::get::<SharedSession>(session)?;
        let mut state = shared.lock()?;
        state.run(&shared.bundle)
    })
}

/// What the last run has left of an output: in the memory that is bound to it, or else in the session's, until the next run.
///
/// # Safety
/// `name` is null or a text that ends with a zero; `tensor` is null, or the structure may be written whose size it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_session_output(
    session: *const SessionHandle,
    name: *const c_char,
    tensor: *mut TensorView,
) -> *mut ErrorHandle {
    reported(|| {
        let shared = handle::get::<SharedSession>(session)?;
        // SAFETY: by this function's contract.
        let number = port::find(&shared.bundle.outputs, "output", unsafe { text::read("the name", name) }?)?;
        let state = shared.lock()?;
        if !state.has_run {
            return Err(Failure::argument("the session has not run yet", "run it first"));
        }
        let view = TensorView::of(
            &shared.bundle.outputs[number].ty,
            &state.shapes[number],
            state.bindings.output_start(number),
        );
        // SAFETY: by this function's contract.
        unsafe { put_structure("tensor", tensor, view) }
    })
}

/// Makes a session run again after a run has left it in an unknown state, if the device can.
#[unsafe(no_mangle)]
pub extern "C" fn ww_session_reset(session: *mut SessionHandle) -> *mut ErrorHandle {
    reported(|| Ok(handle::get::<SharedSession>(session)?.lock()?.session.reset()?))
}
