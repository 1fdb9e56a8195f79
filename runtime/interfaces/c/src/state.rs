//! What lives between the runs of a training step.
#![expect(unsafe_code, reason = "exported to C")]

use std::ffi::c_void;

use warpweave_graph::Tensor;
use warpweave_runtime::session::Session;

use crate::error::{Failure, reported};
use crate::handle::{self, ErrorHandle, SessionHandle};
use crate::port;
use crate::session::SharedSession;

/// Makes what the last run has left of each state what the next run finds: run and advance are a step of training.
#[unsafe(no_mangle)]
pub extern "C" fn ww_session_advance(session: *mut SessionHandle) -> *mut ErrorHandle {
    reported(|| Ok(handle::get::<SharedSession>(session)?.lock()?.session.advance()?))
}

/// Copies what the next run finds of a state.
///
/// # Safety
/// `data` is null, or so many bytes may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_session_read_state(
    session: *mut SessionHandle,
    number: usize,
    data: *mut c_void,
    bytes: usize,
) -> *mut ErrorHandle {
    reported(|| {
        let shared = handle::get::<SharedSession>(session)?;
        check(&shared, number, data, bytes)?;
        let states = shared.lock()?.session.states()?;
        // SAFETY: by this function's contract; the state has as many bytes, as was checked.
        unsafe { std::ptr::copy_nonoverlapping(states[number].bytes().as_ptr(), data.cast(), bytes) };
        Ok(())
    })
}

/// Makes these bytes what the next run finds of a state.
///
/// # Safety
/// `data` is null, or so many bytes that stay as they are during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_session_write_state(
    session: *mut SessionHandle,
    number: usize,
    data: *const c_void,
    bytes: usize,
) -> *mut ErrorHandle {
    reported(|| {
        let shared = handle::get::<SharedSession>(session)?;
        check(&shared, number, data.cast_mut(), bytes)?;
        let mut state = shared.lock()?;
        let mut states = state.session.states()?;
        // SAFETY: by this function's contract.
        let given = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) };
        let ty = shared.bundle.states[number].ty.clone();
        let given = bytes::Bytes::copy_from_slice(given);
        states[number] = Tensor::from_bytes(ty, given).expect("as many bytes as the type has");
        Ok(state.session.set_states(&states)?)
    })
}

fn check(shared: &SharedSession, number: usize, data: *mut c_void, bytes: usize) -> Result<(), Failure> {
    let state = port::at(&shared.bundle.states, "state", number)?;
    let wanted = state.ty.bytes();
    match (data.is_null(), bytes == wanted) {
        (true, _) => Err(Failure::memory("the memory is null", "give memory that is there")),
        (false, true) => Ok(()),
        (false, false) => {
            let message = format!("the state `{}` has {wanted} bytes, and the memory {bytes}", state.name);
            Err(Failure::memory(message, "give as many"))
        }
    }
}
