//! Opened bundles.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use warpweave_graph::TensorType;
use warpweave_runtime::bundle::{self, BundleTarget};
use warpweave_runtime::cuda::Driver;
use warpweave_runtime::session::Deployment;

use crate::error::Failure;

/// A bundle that is open.
#[pyclass(frozen, module = "warpweave._native")]
pub(crate) struct Bundle {
    pub(crate) deployment: Arc<Deployment>,
}

#[pymethods]
impl Bundle {
    /// Opens the bundle at a path.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| bundle::Bundle::open(&path)).map_err(Failure::from)?;
        Ok(Self { deployment: Arc::new(Deployment::new(opened)) })
    }

    /// Opens a bundle in memory.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let data = Bytes::copy_from_slice(data.as_bytes());
        let opened = py.detach(|| bundle::Bundle::from_bytes(data)).map_err(Failure::from)?;
        Ok(Self { deployment: Arc::new(Deployment::new(opened)) })
    }

    /// The inputs: names, element types, shapes, and the default's bytes where there is one.
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ports = PyList::empty(py);
        for (number, port) in self.manifest().signature.inputs.iter().enumerate() {
            let described = described(py, &port.name, &port.ty)?;
            let default = self.manifest().default_of(number).map(|default| PyBytes::new(py, default.bytes()));
            described.set_item("default", default)?;
            ports.append(described)?;
        }
        Ok(ports)
    }

    /// The outputs: names, element types, shapes, and which dimensions depend on data.
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ports = PyList::empty(py);
        let signature = &self.manifest().signature;
        for (number, port) in signature.outputs.iter().enumerate() {
            let described = described(py, &port.name, &port.ty)?;
            let open = signature.counted.iter().filter(|counted| counted.output == number);
            described.set_item("open", open.map(|counted| counted.dimension).collect::<Vec<_>>())?;
            ports.append(described)?;
        }
        Ok(ports)
    }

    /// The states of a training step: names, roles, element types, shapes.
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ports = PyList::empty(py);
        for state in self.manifest().training.iter().flat_map(|training| &training.states) {
            let described = described(py, &state.name, &state.ty)?;
            let role = match state.role {
                bundle::StateRole::Weight => "weight",
                bundle::StateRole::Statistic => "statistic",
                bundle::StateRole::Optimizer => "optimizer",
            };
            described.set_item("role", role)?;
            ports.append(described)?;
        }
        Ok(ports)
    }

    /// What it was compiled for.
    fn targets(&self) -> Vec<String> {
        self.manifest().targets.keys().map(BundleTarget::to_string).collect()
    }
}

impl Bundle {
    fn manifest(&self) -> &bundle::Manifest {
        self.deployment.bundle().manifest()
    }
}

fn described<'py>(py: Python<'py>, name: &str, ty: &TensorType) -> PyResult<Bound<'py, PyDict>> {
    let described = PyDict::new(py);
    described.set_item("name", name)?;
    described.set_item("element", ty.element.to_string())?;
    described.set_item("shape", ty.shape.to_vec())?;
    described.set_item("bytes", ty.bytes())?;
    Ok(described)
}

/// The devices on which sessions can be opened: their names, and what they are.
#[pyfunction]
pub(crate) fn devices() -> Vec<(String, String)> {
    let gpus = Driver::open().and_then(|driver| driver.devices()).unwrap_or_default();
    let gpus = gpus.into_iter().map(|device| (format!("cuda:{}", device.ordinal), device.name));
    std::iter::once(("host".to_owned(), "the processor".to_owned())).chain(gpus).collect()
}
