//! Errors as the package's exception.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use warpweave_runtime::bundle::BundleError;
use warpweave_runtime::session::SessionError;

/// An error of the runtime.
pub(crate) enum Failure {
    Bundle(BundleError),
    Session(SessionError),
    /// Another thread uses the session.
    Busy,
    /// An argument that cannot be meant, and what to do.
    Argument(String, &'static str),
}

impl From<BundleError> for Failure {
    fn from(error: BundleError) -> Self {
        Self::Bundle(error)
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let (code, text) = match failure {
            Failure::Bundle(error) => (error.code(), error.to_string()),
            Failure::Session(error) => (error.code(), error.to_string()),
            Failure::Busy => {
                let help = "wait until that call returns, or open a session a thread";
                return exception("busy", "another thread uses the session", help);
            }
            Failure::Argument(message, help) => return exception("argument", &message, help),
        };
        let (message, help) = text.rsplit_once("; ").unwrap_or((&text, ""));
        exception(code, message, help)
    }
}

/// The package's exception.
fn exception(code: &str, message: &str, help: &str) -> PyErr {
    Python::attach(|py| {
        let made = || {
            let class = py.import("warpweave._errors")?.getattr("Error")?;
            let fields = PyDict::new(py);
            fields.set_item("code", code)?;
            fields.set_item("help", help)?;
            class.call((message,), Some(&fields))
        };
        made().map_or_else(|error: PyErr| error, PyErr::from_value)
    })
}
