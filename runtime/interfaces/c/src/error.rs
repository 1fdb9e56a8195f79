//! Errors.
#![expect(unsafe_code, reason = "exported to C")]

use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use warpweave_runtime::bundle::BundleError;
use warpweave_runtime::session::{FailureKind, SessionError};

use crate::handle::{self, ErrorHandle, Named};
use crate::log::{self, LogLevel};
use crate::text;

/// The sort of an error. The numbers are those that the command line exits with.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::enum_variant_names, reason = "C has one namespace")]
pub enum ErrorCode {
    /// No error.
    WwOk = 0,
    /// A check has failed: an error of warpweave.
    WwCheck = 1,
    /// The caller's input is wrong.
    WwUsage = 2,
    /// The machine lacks something.
    WwEnvironment = 4,
    /// A device has failed. The session refuses runs until it is reset.
    WwDeviceFault = 5,
    /// Something did not end in time.
    WwTimeOut = 6,
    /// An element is no index of the dimension that it indexes.
    WwIndex = 7,
    /// A bundle is not what was written.
    WwDamage = 8,
}

/// An error that was returned to C.
#[derive(Debug)]
pub struct Reported {
    code: ErrorCode,
    name: CString,
    message: CString,
    help: CString,
}

impl Named for Reported {
    type Handle = ErrorHandle;
    const WHAT: &'static str = "error";
}

/// Why a function fails.
#[derive(Debug)]
pub(crate) struct Failure {
    code: ErrorCode,
    name: &'static str,
    message: String,
    help: String,
}

impl Failure {
    /// A handle that names nothing of its kind.
    pub(crate) fn handle(what: &str, is_null: bool) -> Self {
        let why = if is_null { "is null" } else { "names nothing: it was closed, or is one of another kind" };
        Self {
            code: ErrorCode::WwUsage,
            name: "handle",
            message: format!("the {what} handle {why}"),
            help: format!("give a handle of a {what} that is open"),
        }
    }

    /// An argument that cannot be meant.
    pub(crate) fn argument(message: impl Into<String>, help: &str) -> Self {
        Self { code: ErrorCode::WwUsage, name: "argument", message: message.into(), help: help.to_owned() }
    }

    /// Memory that cannot be bound.
    pub(crate) fn memory(message: impl Into<String>, help: &str) -> Self {
        Self { code: ErrorCode::WwUsage, name: "input", message: message.into(), help: help.to_owned() }
    }

    /// A session that another thread uses.
    pub(crate) fn busy() -> Self {
        Self {
            code: ErrorCode::WwUsage,
            name: "busy",
            message: "another thread uses the session".to_owned(),
            help: "wait until that call returns, or open a session a thread".to_owned(),
        }
    }

    /// An error of the runtime. A remedy stands behind the message.
    fn of_runtime(kind: FailureKind, name: &'static str, text: &str) -> Self {
        let code = match kind {
            FailureKind::Check => ErrorCode::WwCheck,
            FailureKind::Usage => ErrorCode::WwUsage,
            FailureKind::Environment => ErrorCode::WwEnvironment,
            FailureKind::DeviceFault => ErrorCode::WwDeviceFault,
            FailureKind::TimeOut => ErrorCode::WwTimeOut,
            FailureKind::Index => ErrorCode::WwIndex,
            FailureKind::Damage => ErrorCode::WwDamage,
        };
        let (message, help) = text.rsplit_once("; ").unwrap_or((text, ""));
        Self { code, name, message: message.to_owned(), help: help.to_owned() }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Self::of_runtime(error.kind(), error.code(), &error.to_string())
    }
}

impl From<BundleError> for Failure {
    fn from(error: BundleError) -> Self {
        Self::of_runtime(error.kind(), error.code(), &error.to_string())
    }
}

/// Runs what a function does; its failure, or its panic, becomes an error for the caller.
pub(crate) fn reported(function: impl FnOnce() -> Result<(), Failure>) -> *mut ErrorHandle {
    let ran = catch_unwind(AssertUnwindSafe(function)).unwrap_or_else(|_| {
        Err(Failure {
            code: ErrorCode::WwCheck,
            name: "internal",
            message: "a check inside of warpweave failed".to_owned(),
            help: "report this as an error of warpweave".to_owned(),
        })
    });
    let Err(Failure { code, name, message, help }) = ran else { return std::ptr::null_mut() };
    log::write(LogLevel::WwLogError, &message);
    let [name, message, help] = [name, &message, &help].map(text::owned);
    handle::insert(Arc::new(Reported { code, name, message, help }))
}

/// The sort of an error; `WW_OK` of null, and of an error that was freed.
#[unsafe(no_mangle)]
pub extern "C" fn ww_error_code(error: *const ErrorHandle) -> ErrorCode {
    handle::get::<Reported>(error).map_or(ErrorCode::WwOk, |error| error.code)
}

/// A short name of the kind of error, which stays the same across versions, such as `bundle-damaged`. It lives as long as the
/// error.
#[unsafe(no_mangle)]
pub extern "C" fn ww_error_name(error: *const ErrorHandle) -> *const c_char {
    shown(error, |error| &error.name)
}

/// What is wrong. It lives as long as the error.
#[unsafe(no_mangle)]
pub extern "C" fn ww_error_message(error: *const ErrorHandle) -> *const c_char {
    shown(error, |error| &error.message)
}

/// What to do; empty where that is unknown. It lives as long as the error.
#[unsafe(no_mangle)]
pub extern "C" fn ww_error_help(error: *const ErrorHandle) -> *const c_char {
    shown(error, |error| &error.help)
}

/// Frees an error. Null, and an error that was freed, are left alone.
#[unsafe(no_mangle)]
pub extern "C" fn ww_error_free(error: *mut ErrorHandle) {
    drop(handle::remove::<Reported>(error));
}

fn shown(error: *const ErrorHandle, part: impl Fn(&Reported) -> &CString) -> *const c_char {
    // The table holds the error until it is freed.
    handle::get::<Reported>(error).map_or(c"".as_ptr(), |error| part(&error).as_ptr())
}
