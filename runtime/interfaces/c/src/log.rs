//! Messages to the caller.
#![expect(unsafe_code, reason = "exported to C, and calls it")]

use std::ffi::{c_char, c_void};
use std::sync::{PoisonError, RwLock};

use crate::text;

/// How much a message matters.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogLevel {
    /// How a session was opened.
    WwLogNote = 0,
    /// The message of an error that a function returns.
    WwLogError = 1,
}

/// Takes a message, which is the caller's no longer when it returns. It is called on the thread that calls the library.
pub type LogCallback = Option<unsafe extern "C" fn(level: LogLevel, message: *const c_char, user: *mut c_void)>;

struct Log {
    callback: unsafe extern "C" fn(LogLevel, *const c_char, *mut c_void),
    user: *mut c_void,
}

// SAFETY: the pointer is only handed back to the callback, which `ww_log_to` allows on every thread.
unsafe impl Send for Log {}
// SAFETY: as above.
unsafe impl Sync for Log {}

static LOG: RwLock<Option<Log>> = RwLock::new(None);

/// Gives messages to `callback` from now on, and `user` with each; to no callback if it is null. The callback may be called from every
/// thread that calls the library, from several at a time. It must not call this function.
#[unsafe(no_mangle)]
pub extern "C" fn ww_log_to(callback: LogCallback, user: *mut c_void) {
    let log = callback.map(|callback| Log { callback, user });
    *LOG.write().unwrap_or_else(PoisonError::into_inner) = log;
}

/// Gives a message to the caller's callback, if there is one.
pub(crate) fn write(level: LogLevel, message: &str) {
    let log = LOG.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(Log { callback, user }) = &*log {
        let message = text::owned(message);
        // SAFETY: `ww_log_to` demands a function that takes these from any thread.
        unsafe { callback(level, message.as_ptr(), *user) };
    }
}
