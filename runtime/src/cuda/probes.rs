//! What a device says of its clock, and the times of empty launches: as they stand in streams and graphs.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use cudarc::driver::result;
use cudarc::driver::sys::CUdevice_attribute;

use super::driver::{Driver, check};
use super::error::CudaError;

/// The highest clock of the multiprocessors of device `ordinal`, in megahertz.
pub fn clock_mhz(ordinal: u32) -> Result<u32, CudaError> {
    let device = Driver::open()?.handle(ordinal)?;
    // SAFETY: the handle came from the driver.
    let kilohertz =
        unsafe { result::device::get_attribute(device, CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE) };
    Ok(u32::try_from(check("cuDeviceGetAttribute", kilohertz)?).unwrap_or(0) / 1000)
}
