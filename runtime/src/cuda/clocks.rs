//! The clocks of a GPU, from the vendor's management library where it is installed.

use std::ffi::OsStr;
use std::fmt::Write;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;

use super::driver::Driver;
use super::error::CudaError;

/// What the driver's package installs; the name without a number belongs to the developer's package.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// A GPU's clocks at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GpuClocks {
    /// Megahertz of the multiprocessors.
    pub multiprocessor_mhz: u32,
    /// Megahertz of the memory.
    pub memory_mhz: u32,
    /// Why clocks are lower than they could be, if they are.
    pub throttle_reasons: Vec<&'static str>,
}

/// Why the clocks are not known.
#[derive(Debug, thiserror::Error)]
pub enum ClocksError {
    /// The driver refuses.
    #[error(transparent)]
    Driver(#[from] CudaError),
    /// The management library is absent, or refuses.
    #[error("clocks are unknown: {LIBRARY} says `{0}`; install the management library of the GPU's driver")]
    Library(#[from] NvmlError),
}

impl Driver {
    /// The clocks of the device of this number.
    pub fn clocks(&self, ordinal: u32) -> Result<GpuClocks, ClocksError> {
        let identity = self.identity(ordinal)?;
        let library = Nvml::builder().lib_path(OsStr::new(LIBRARY)).init()?;
        let device = library.device_by_uuid(uuid_text(identity))?;
        Ok(GpuClocks {
            multiprocessor_mhz: device.clock_info(Clock::SM)?,
            memory_mhz: device.clock_info(Clock::Memory)?,
            throttle_reasons: names(device.current_throttle_reasons()?),
        })
    }
}

/// A device's identity as the management library writes it.
fn uuid_text(bytes: [u8; 16]) -> String {
    let mut text = "GPU".to_owned();
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 0 | 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The reasons in words. That nothing runs at the moment is none.
fn names(reasons: ThrottleReasons) -> Vec<&'static str> {
    let known = [
        (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, "clocks set by the user"),
        (ThrottleReasons::SW_POWER_CAP, "power limit"),
        (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
        (ThrottleReasons::SYNC_BOOST, "another GPU of its group"),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN, "temperature"),
        (ThrottleReasons::HW_THERMAL_SLOWDOWN, "temperature, by hardware"),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
        (ThrottleReasons::DISPLAY_CLOCK_SETTING, "display clocks"),
    ];
    known.into_iter().filter(|(reason, _)| reasons.contains(*reason)).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_written_as_the_library_does() {
        let bytes = std::array::from_fn(|at| at as u8 * 17);
        assert_eq!(uuid_text(bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
    }

    #[test]
    fn reasons_have_names_and_idleness_is_none() {
        assert!(names(ThrottleReasons::GPU_IDLE).is_empty());
        let several = ThrottleReasons::SW_POWER_CAP | ThrottleReasons::GPU_IDLE | ThrottleReasons::HW_SLOWDOWN;
        assert_eq!(names(several), ["power limit", "hardware slowdown"]);
        assert_eq!(names(ThrottleReasons::all()).len(), 8);
    }
}
