//! The driver and its devices.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};

use super::error::CudaError;

/// The CUDA driver, opened and initialised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Driver {
    version: (u32, u32),
    devices: u32,
}

/// A GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceInfo {
    /// Its number.
    pub ordinal: u32,
    /// The product's name.
    pub name: String,
    /// Major and minor number of the compute capability.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of its memory.
    pub memory_bytes: u64,
    /// Shared-memory bytes that a block may ask for.
    pub shared_bytes: u32,
    /// Whether persistent programs can be launched.
    pub cooperative: bool,
}

impl Driver {
    /// Opens the driver library and initialises it. An installed driver without a device is no error.
    pub fn open() -> Result<Self, CudaError> {
        // SAFETY: opening the driver library runs its initialisers, which have no preconditions. No other function of
        // cudarc may come before: without the library they panic.
        if !unsafe { sys::is_culib_present() } {
            return Err(CudaError::NoDriver);
        }
        let mut version = 0;
        // SAFETY: the library is present, and the pointer is to a live integer.
        check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) }.result())?;
        let version = u32::try_from(version).unwrap_or(0);
        let version = (version / 1000, version % 1000 / 10);
        let devices = match result::init() {
            Ok(()) => check("cuDeviceGetCount", result::device::get_count())?,
            Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => 0,
            Err(error) => return Err(driver_error("cuInit", error)),
        };
        Ok(Self { version, devices: u32::try_from(devices).unwrap_or(0) })
    }

    /// Major and minor version of CUDA that the driver supports.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// All devices.
    pub fn devices(&self) -> Result<Vec<DeviceInfo>, CudaError> {
        (0..self.devices).map(|ordinal| self.device(ordinal)).collect()
    }

    /// The device of this number.
    pub fn device(&self, ordinal: u32) -> Result<DeviceInfo, CudaError> {
        let device = self.handle(ordinal)?;
        let attribute = |attribute: CUdevice_attribute| {
            // SAFETY: the handle came from the driver.
            let value = unsafe { result::device::get_attribute(device, attribute) };
            check("cuDeviceGetAttribute", value).map(|value| u32::try_from(value).unwrap_or(0))
        };
        // SAFETY: the handle came from the driver.
        let memory_bytes = check("cuDeviceTotalMem", unsafe { result::device::total_mem(device) })? as u64;
        Ok(DeviceInfo {
            ordinal,
            name: check("cuDeviceGetName", result::device::get_name(device))?,
            capability: (
                attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            memory_bytes,
            shared_bytes: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            cooperative: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0,
        })
    }

    pub(super) fn handle(&self, ordinal: u32) -> Result<sys::CUdevice, CudaError> {
        let number = i32::try_from(ordinal).ok().filter(|_| ordinal < self.devices);
        let number = number.ok_or(CudaError::NoDevice { ordinal, count: self.devices })?;
        check("cuDeviceGet", result::device::get(number))
    }
}

/// The result of a driver call, with the call's name in its error.
pub(super) fn check<T>(call: &'static str, result: Result<T, DriverError>) -> Result<T, CudaError> {
    result.map_err(|error| driver_error(call, error))
}

fn driver_error(call: &'static str, error: DriverError) -> CudaError {
    CudaError::Driver { call, reason: format!("{error:?}"), is_fault: is_fault(error.0) }
}

/// Whether the driver refuses all further work of this process after such a code.
fn is_fault(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
    )
}
