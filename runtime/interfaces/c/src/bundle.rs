//! Bundles and what they say about themselves.
#![expect(unsafe_code, reason = "exported to C")]

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use warpweave_runtime::bundle::Bundle;
use warpweave_runtime::session::Deployment;

use crate::error::{Failure, reported};
use crate::handle::{self, BundleHandle, ErrorHandle, Named};
use crate::port::{self, NamedPort, Port};
use crate::tensor::{put, put_structure};
use crate::text;

/// A bundle that is open.
pub(crate) struct OpenedBundle {
    pub(crate) deployment: Deployment,
    pub(crate) inputs: Vec<NamedPort>,
    pub(crate) outputs: Vec<NamedPort>,
    pub(crate) states: Vec<NamedPort>,
}

impl Named for OpenedBundle {
    type Handle = BundleHandle;
    const WHAT: &'static str = "bundle";
}

impl OpenedBundle {
    fn new(bundle: Bundle) -> Self {
        let manifest = bundle.manifest();
        let states = manifest.training.as_ref().map_or(&[][..], |training| &training.states);
        let (inputs, outputs) = (NamedPort::inputs(manifest), NamedPort::outputs(&manifest.signature));
        Self { inputs, outputs, states: NamedPort::states(states), deployment: Deployment::new(bundle) }
    }
}

/// Opens the bundle at a path and checks it.
///
/// # Safety
/// `path` is null or a text that ends with a zero; `bundle` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_bundle_open(path: *const c_char, bundle: *mut *mut BundleHandle) -> *mut ErrorHandle {
    reported(|| {
        // SAFETY: by this function's contract.
        let path = unsafe { text::read("the path", path) }?;
        let opened = Arc::new(OpenedBundle::new(Bundle::open(Path::new(path))?));
        // SAFETY: by this function's contract.
        unsafe { put("bundle", bundle, || handle::insert(opened)) }
    })
}

/// Opens a bundle in memory and checks it. The bytes are copied.
///
/// # Safety
/// `data` is null, or so many bytes that stay as they are during the call; `bundle` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_bundle_open_memory(
    data: *const c_void,
    bytes: usize,
    bundle: *mut *mut BundleHandle,
) -> *mut ErrorHandle {
    reported(|| {
        if data.is_null() {
            return Err(Failure::argument("data is null", "give the bytes of a bundle"));
        }
        if isize::try_from(bytes).is_err() {
            return Err(Failure::argument(format!("{bytes} bytes are more than memory has"), "give the bundle's size"));
        }
        // SAFETY: by this function's contract.
        let copied = Bytes::copy_from_slice(unsafe { std::slice::from_raw_parts(data.cast(), bytes) });
        let opened = Arc::new(OpenedBundle::new(Bundle::from_bytes(copied)?));
        // SAFETY: by this function's contract.
        unsafe { put("bundle", bundle, || handle::insert(opened)) }
    })
}

/// Closes a bundle. Its sessions stay open.
#[unsafe(no_mangle)]
pub extern "C" fn ww_bundle_close(bundle: *mut BundleHandle) -> *mut ErrorHandle {
    reported(|| handle::remove::<OpenedBundle>(bundle).map(drop))
}

/// How many inputs the model has.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_bundle_input_count(bundle: *const BundleHandle, count: *mut usize) -> *mut ErrorHandle {
    // SAFETY: by this function's contract.
    reported(|| unsafe { put_count(bundle, count, |bundle| &bundle.inputs) })
}

/// How many outputs the model has.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_bundle_output_count(bundle: *const BundleHandle, count: *mut usize) -> *mut ErrorHandle {
    // SAFETY: by this function's contract.
    reported(|| unsafe { put_count(bundle, count, |bundle| &bundle.outputs) })
}

/// How many tensors live between runs: those that a training step changes. Of models for inference there are none.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_bundle_state_count(bundle: *const BundleHandle, count: *mut usize) -> *mut ErrorHandle {
    // SAFETY: by this function's contract.
    reported(|| unsafe { put_count(bundle, count, |bundle| &bundle.states) })
}

/// What the input of this number is.
///
/// # Safety
/// `port` is null, or the structure may be written whose size it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_bundle_input(
    bundle: *const BundleHandle,
    number: usize,
    port: *mut Port,
) -> *mut ErrorHandle {
    // SAFETY: by this function's contract.
    reported(|| unsafe { put_port(bundle, ("input", number), port, |bundle| &bundle.inputs) })
}

/// What the output of this number is.
///
/// # Safety
/// `port` is null, or the structure may be written whose size it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_bundle_output(
    bundle: *const BundleHandle,
    number: usize,
    port: *mut Port,
) -> *mut ErrorHandle {
    // SAFETY: by this function's contract.
    reported(|| unsafe { put_port(bundle, ("output", number), port, |bundle| &bundle.outputs) })
}

/// What the state of this number is.
///
/// # Safety
/// `port` is null, or the structure may be written whose size it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_bundle_state(
    bundle: *const BundleHandle,
    number: usize,
    port: *mut Port,
) -> *mut ErrorHandle {
    // SAFETY: by this function's contract.
    reported(|| unsafe { put_port(bundle, ("state", number), port, |bundle| &bundle.states) })
}

/// # Safety
/// `count` is null or may be written.
unsafe fn put_count(
    bundle: *const BundleHandle,
    count: *mut usize,
    ports: impl Fn(&OpenedBundle) -> &[NamedPort],
) -> Result<(), Failure> {
    let bundle = handle::get::<OpenedBundle>(bundle)?;
    // SAFETY: by this function's contract.
    unsafe { put("count", count, || ports(&bundle).len()) }
}

/// # Safety
/// `port` is null, or the structure may be written whose size it has.
unsafe fn put_port(
    bundle: *const BundleHandle,
    (what, number): (&str, usize),
    port: *mut Port,
    ports: impl Fn(&OpenedBundle) -> &[NamedPort],
) -> Result<(), Failure> {
    let bundle = handle::get::<OpenedBundle>(bundle)?;
    let found = port::at(ports(&bundle), what, number)?.describe();
    // SAFETY: by this function's contract.
    unsafe { put_structure("port", port, found) }
}
