//! The driver and its devices.

use std::ffi::OsString;

use super::calls::DriverCalls;
use super::device::DeviceInfo;
use super::error::CudaError;
use super::library::Library;

/// The calls of a driver that lives as long as the process.
pub(super) type Calls = &'static dyn DriverCalls;

/// The variable that names a stand-in for the driver's library: `stand-in`, or `stand-in:FAULT`.
pub const DRIVER_VARIABLE: &str = "WARPWEAVE_DRIVER";

/// The CUDA driver, opened and initialised.
#[derive(Clone, Copy)]
pub struct Driver {
    calls: Calls,
    version: (u32, u32),
    devices: u32,
}

impl Driver {
    /// Opens the driver library and initialises it. An installed driver without a device is no error. Where the environment's
    /// [`DRIVER_VARIABLE`] names a stand-in, it is opened instead.
    pub fn open() -> Result<Self, CudaError> {
        match std::env::var_os(DRIVER_VARIABLE) {
            None => Self::with(&Library),
            Some(name) => stand_in(&name),
        }
    }

    fn with(calls: Calls) -> Result<Self, CudaError> {
        let (version, devices) = calls.initialise()?;
        Ok(Self { calls, version, devices })
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
        self.check_ordinal(ordinal)?;
        self.calls.device(ordinal)
    }

    /// The highest clock of the multiprocessors of the device of this number in megahertz, where the driver tells it.
    pub fn clock_mhz(&self, ordinal: u32) -> Result<Option<u32>, CudaError> {
        self.check_ordinal(ordinal)?;
        self.calls.clock_mhz(ordinal)
    }

    /// The identity of the device of this number.
    #[cfg(feature = "clocks")]
    pub(super) fn identity(&self, ordinal: u32) -> Result<[u8; 16], CudaError> {
        self.check_ordinal(ordinal)?;
        self.calls.identity(ordinal)
    }

    pub(super) fn calls(&self) -> Calls {
        self.calls
    }

    pub(super) fn check_ordinal(&self, ordinal: u32) -> Result<(), CudaError> {
        let count = self.devices;
        if ordinal < count { Ok(()) } else { Err(CudaError::NoDevice { ordinal, count }) }
    }
}

#[cfg(feature = "compile")]
fn stand_in(name: &OsString) -> Result<Driver, CudaError> {
    use super::stand_in;

    let calls = stand_in::named(name).ok_or_else(|| CudaError::UnknownDriver {
        name: name.to_string_lossy().into_owned(),
        known: format!("unset it, or choose one of {}", stand_in::known()),
    })?;
    Driver::with(calls)
}

#[cfg(not(feature = "compile"))]
fn stand_in(name: &OsString) -> Result<Driver, CudaError> {
    let name = name.to_string_lossy().into_owned();
    Err(CudaError::UnknownDriver { name, known: "unset it: this program was built without stand-ins".to_owned() })
}
