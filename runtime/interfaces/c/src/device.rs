//! The devices of the machine.
#![expect(unsafe_code, reason = "exported to C")]

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use warpweave_runtime::cuda::Driver;

use crate::error::{Failure, reported};
use crate::handle::ErrorHandle;
use crate::tensor::{Structure, put, put_structure};
use crate::text;

/// A device on which sessions can be opened.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DeviceDescription {
    /// `sizeof(ww_device)`.
    pub size: usize,
    /// What `ww_session_options.device` names it: `host`, or `cuda:` and a number. It lives as long as the library.
    pub name: *const c_char,
    /// What it is, such as the name of a GPU. It lives as long as the library.
    pub description: *const c_char,
    /// Major and minor compute capability of a GPU, as `10 * major + minor`; 0 of others.
    pub capability: u32,
    /// Multiprocessors of a GPU, or the processors of the host.
    pub processors: u32,
}

// SAFETY: it begins with its size; integers and addresses may be zero.
unsafe impl Structure for DeviceDescription {}

struct Known {
    name: CString,
    description: CString,
    capability: u32,
    processors: u32,
}

/// The host, and the GPUs that there were when this was asked first. A machine without a driver has none.
fn devices() -> &'static [Known] {
    static DEVICES: OnceLock<Vec<Known>> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let host = Known {
            name: c"host".to_owned(),
            description: c"the processor".to_owned(),
            capability: 0,
            processors: std::thread::available_parallelism().map_or(1, |count| usize::from(count) as u32),
        };
        let gpus = Driver::open().and_then(|driver| driver.devices()).unwrap_or_default();
        let gpu = |device: warpweave_runtime::cuda::DeviceInfo| Known {
            name: text::owned(&format!("cuda:{}", device.ordinal)),
            description: text::owned(&device.name),
            capability: 10 * device.capability.0 + device.capability.1,
            processors: device.multiprocessors,
        };
        std::iter::once(host).chain(gpus.into_iter().map(gpu)).collect()
    })
}

/// How many devices there are. The first is the host.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_device_count(count: *mut usize) -> *mut ErrorHandle {
    // SAFETY: by this function's contract.
    reported(|| unsafe { put("count", count, || devices().len()) })
}

/// What the device of this number is.
///
/// # Safety
/// `device` is null, or the structure may be written whose size it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_device_at(number: usize, device: *mut DeviceDescription) -> *mut ErrorHandle {
    reported(|| {
        let devices = devices();
        let known = devices.get(number).ok_or_else(|| {
            Failure::argument(
                format!("there is no device {number}: there are {}", devices.len()),
                "ask for one of them",
            )
        })?;
        let size = size_of::<DeviceDescription>();
        let found = DeviceDescription {
            size,
            name: known.name.as_ptr(),
            description: known.description.as_ptr(),
            capability: known.capability,
            processors: known.processors,
        };
        // SAFETY: by this function's contract.
        unsafe { put_structure("device", device, found) }
    })
}
