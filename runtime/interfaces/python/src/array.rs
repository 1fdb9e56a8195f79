//! Arrays of other libraries, by DLPack (https://dmlc.github.io/dlpack/latest/c_api.html, versions 0 and 1).
#![expect(unsafe_code, reason = "reads structures of other libraries")]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

use crate::error::Failure;

const NAME: &CStr = c"dltensor";
const USED_NAME: &CStr = c"used_dltensor";
const VERSIONED_NAME: &CStr = c"dltensor_versioned";
const USED_VERSIONED_NAME: &CStr = c"used_dltensor_versioned";

/// The device type of memory that the processor reads.
const CPU: i32 = 1;
/// The flag of memory that must not be written.
const READ_ONLY: u64 = 1;

#[repr(C)]
struct Device {
    device_type: i32,
    device_id: i32,
}

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// What was taken out of a capsule.
enum Taken {
    Managed(NonNull<Managed>),
    Versioned(NonNull<Versioned>),
}

/// Keeps an array of another library.
#[pyclass(frozen, module = "warpweave._native")]
pub(crate) struct Lent(Taken);

// SAFETY: a managed tensor may be read, and its deleter called, on any thread.
unsafe impl Send for Lent {}
// SAFETY: it is not changed before it is dropped.
unsafe impl Sync for Lent {}

impl Drop for Lent {
    fn drop(&mut self) {
        // SAFETY: the structure was taken out of its capsule, so this is its only owner, and its deleter takes it.
        unsafe {
            match self.0 {
                Taken::Managed(managed) => managed.as_ref().deleter.map(|deleter| deleter(managed.as_ptr())),
                Taken::Versioned(managed) => managed.as_ref().deleter.map(|deleter| deleter(managed.as_ptr())),
            }
        };
    }
}

/// Takes the array out of the capsule that `__dlpack__` gave: its address, shape, strides in elements or nothing, the code, the
/// bits and the lanes of its elements, whether it must not be written, and what keeps it.
#[pyfunction]
pub(crate) fn from_dlpack<'py>(py: Python<'py>, capsule: &Bound<'py, PyCapsule>) -> PyResult<Bound<'py, PyDict>> {
    let refused = |text: &str| Failure::Argument(text.to_owned(), "give an array that has not been taken yet");
    let is = |name: &CStr| capsule.is_valid_checked(Some(name));
    let (taken, flags, used) = if is(VERSIONED_NAME) {
        let managed = capsule.pointer_checked(Some(VERSIONED_NAME))?.cast::<Versioned>();
        // SAFETY: the capsule's name says what it points to.
        let (major, flags) = unsafe { (managed.as_ref().major, managed.as_ref().flags) };
        if major != 1 {
            return Err(refused(&format!("the array has version {major} of DLPack, and 1 is read")).into());
        }
        (Taken::Versioned(managed), flags, USED_VERSIONED_NAME)
    } else if is(NAME) {
        (Taken::Managed(capsule.pointer_checked(Some(NAME))?.cast::<Managed>()), 0, USED_NAME)
    } else {
        return Err(refused("the capsule holds no array").into());
    };
    // SAFETY: the name is a text that lives for ever. From now on the capsule's destructor leaves the structure alone.
    if unsafe { pyo3::ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
        return Err(PyErr::fetch(py));
    }
    let lent = Lent(taken);
    // SAFETY: the structure is owned by `lent`.
    let tensor = unsafe {
        match &lent.0 {
            Taken::Managed(managed) => &managed.as_ref().tensor,
            Taken::Versioned(managed) => &managed.as_ref().tensor,
        }
    };
    let numbers = |start: *const i64| {
        let count = usize::try_from(tensor.ndim).unwrap_or(0);
        // SAFETY: a tensor has as many extents and strides as dimensions.
        (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start, count) }.to_vec())
    };
    let found = PyDict::new(py);
    found.set_item("address", tensor.data.addr() as u64 + tensor.byte_offset)?;
    found.set_item("shape", numbers(tensor.shape).unwrap_or_default())?;
    found.set_item("strides", numbers(tensor.strides))?;
    found.set_item("dtype", (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes))?;
    found.set_item("on_processor", tensor.device.device_type == CPU)?;
    found.set_item("read_only", flags & READ_ONLY != 0)?;
    found.set_item("keeper", Py::new(py, lent)?)?;
    Ok(found)
}
