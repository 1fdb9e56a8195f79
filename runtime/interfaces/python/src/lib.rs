//! The module `warpweave._native`: what the Python package asks of Rust. The package's own code knows of arrays.

mod array;
mod bundle;
mod command;
mod error;
mod session;

use pyo3::prelude::*;

/// What the Python package asks of Rust.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<bundle::Bundle>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<session::Pool>()?;
    module.add_function(wrap_pyfunction!(command::run, module)?)?;
    module.add_function(wrap_pyfunction!(command::main, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_by, module)?)?;
    module.add_function(wrap_pyfunction!(array::from_dlpack, module)?)?;
    module.add_function(wrap_pyfunction!(bundle::devices, module)?)?;
    Ok(())
}
