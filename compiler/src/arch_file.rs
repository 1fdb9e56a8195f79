//! A device's constants as a file.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::cpu::CpuArch;
use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_graph::legible::file_remedy;
use warpweave_runtime::json::{self, Value};
use warpweave_runtime::new_file;

/// The constants of a device.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "one value a command: a box would only hide the constants")]
pub enum DeviceArch {
    /// Of a GPU.
    Gpu(GpuPrices),
    /// Of a processor.
    Processor(CpuArch),
}

impl From<GpuPrices> for DeviceArch {
    fn from(prices: GpuPrices) -> Self {
        Self::Gpu(prices)
    }
}

impl From<CpuArch> for DeviceArch {
    fn from(arch: CpuArch) -> Self {
        Self::Processor(arch)
    }
}

/// A GPU's constants as a file has them.
#[derive(Serialize, Deserialize)]
struct GpuFile {
    #[serde(flatten)]
    arch: GpuArch,
    /// Of signals, waits and launches; absent from files of versions that did not measure them.
    #[serde(default)]
    sync: Option<SyncCosts>,
}

/// What a file of a processor's constants holds them under.
const PROCESSOR: &str = "processor";

/// Why a file of constants cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchFileError {
    /// The file system refuses.
    #[error("cannot {action} {}: {source}; {}", path.display(), file_remedy(source))]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// It does not hold a device's constants.
    #[error("{} holds no constants of a device: {reason}; write it with `warpweave doctor --calibrate`", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads the constants that [`write_arch`] wrote.
pub fn read_arch(path: &Path) -> Result<DeviceArch, ArchFileError> {
    let content = |reason: String| ArchFileError::Content { path: path.to_owned(), reason };
    let text = std::fs::read_to_string(path).map_err(file_error("read", path))?;
    let arch = parse(&text, path).map_err(|error| content(error.to_string()))?;
    let is_sound = match &arch {
        DeviceArch::Gpu(prices) => prices.is_sound(),
        DeviceArch::Processor(arch) => arch.is_sound(),
    };
    if is_sound { Ok(arch) } else { Err(content("a constant is none that a device can have".to_owned())) }
}

fn parse(text: &str, path: &Path) -> Result<DeviceArch, json::Error> {
    let mut value: Value = json::from_str(text)?;
    match value.get_mut(PROCESSOR) {
        Some(processor) => Ok(DeviceArch::Processor(json::from_value(processor.take())?)),
        None => {
            let GpuFile { arch, sync } = json::from_value(value)?;
            let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.display().to_string());
            Ok(DeviceArch::Gpu(GpuPrices::of_file(name, arch, sync)))
        }
    }
}

/// Writes a device's constants, each with where it comes from.
pub fn write_arch(path: &Path, arch: impl Into<DeviceArch>) -> Result<(), ArchFileError> {
    let value = match arch.into() {
        DeviceArch::Gpu(GpuPrices { arch, sync, .. }) => json::to_string_pretty(&GpuFile { arch, sync: Some(sync) }),
        DeviceArch::Processor(arch) => json::to_string_pretty(&json::json!({PROCESSOR: arch})),
    };
    let text = value.expect("constants have an encoding");
    new_file::write(path, (text + "\n").as_bytes()).map_err(file_error("write", path))
}

fn file_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ArchFileError {
    let path = path.to_owned();
    move |source| ArchFileError::File { action, path, source }
}
