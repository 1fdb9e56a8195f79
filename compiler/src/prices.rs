//! Whose constants predictions follow from: those of a file, else of the device that is used, else of what is compiled for.

use warpweave_fusion::cost::cpu::{CpuArch, CpuKind};
use warpweave_fusion::cost::gpu::{GpuFacts, GpuPrices, GpuProduct, PriceSource};
use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_runtime::bundle::BundleTarget;
use warpweave_runtime::cuda::{CudaError, DeviceInfo, Driver};
use warpweave_runtime::sass::machine::{Figure, MachineModel, Source};
use warpweave_runtime::session::{DEFAULT_KERNEL_TARGET, Device, SessionError};
use warpweave_runtime::target::Target;

use crate::arch_file::DeviceArch;

/// Constants that were given, in place of those of a device or a target.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GivenPrices {
    /// Of the GPU.
    pub gpu: Option<GpuPrices>,
    /// Of the host's processor.
    pub processor: Option<CpuArch>,
}

/// The constants that are built in for a target: those of a product of its generation.
pub fn of_target(target: Target) -> GpuPrices {
    let product = match target {
        Target::Sm80 | Target::Sm86 | Target::Sm87 | Target::Sm89 => GpuProduct::A100With40Gb,
        Target::Sm90
        | Target::Sm90a
        | Target::Sm100
        | Target::Sm100a
        | Target::Sm103
        | Target::Sm103a
        | Target::Sm120
        | Target::Sm120a
        | Target::Sm121
        | Target::Sm121a => GpuProduct::H200,
    };
    let is_own = matches!(target, Target::Sm80 | Target::Sm90 | Target::Sm90a);
    let prices = product.prices();
    let source = if is_own {
        PriceSource::BuiltIn(product)
    } else {
        PriceSource::InPlace { product, device: target.to_string() }
    };
    let shared_bytes = target.shared_bytes_per_block().min(prices.arch.shared_bytes_per_block.value);
    GpuPrices { source, ..prices.with_attributes(BundleTarget::Gpu(target).units(), shared_bytes) }
}

/// The constants of a GPU of this machine.
pub fn of_gpu(device: &DeviceInfo) -> GpuPrices {
    let clock = Driver::open().and_then(|driver| driver.clock_mhz(device.ordinal));
    GpuPrices::of_device(&GpuFacts {
        name: &device.name,
        major_capability: device.capability.0,
        multiprocessors: device.multiprocessors as usize,
        shared_bytes_per_block: device.shared_bytes as usize,
        memory_bytes: device.memory_bytes,
        cycles_per_microsecond: clock.ok().flatten().map(f64::from),
    })
}

/// The constants of GPU `ordinal` of this machine.
pub fn of_ordinal(ordinal: u32) -> Result<GpuPrices, CudaError> {
    Ok(of_gpu(&Driver::open()?.device(ordinal)?))
}

/// The constants that are shipped for processors whose own are not given.
pub fn of_processor() -> CpuArch {
    CpuArch::avx2()
}

/// The constants of the device that runs a program; `None` of [`Device::Reference`], which follows no plan. Devices that run
/// a GPU's kernels without a GPU have those of what these kernels are compiled for.
pub fn of_run(device: Device, given: &GivenPrices) -> Result<Option<DeviceArch>, SessionError> {
    Ok(match device {
        Device::Reference => None,
        Device::Host => Some(given.processor.unwrap_or_else(of_processor).into()),
        Device::Emulator | Device::Text | Device::MachineCode | Device::Cuda(_) => {
            Some(of_part(DEFAULT_KERNEL_TARGET, device, given)?.into())
        }
    })
}

/// The constants that a plan for `target` is predicted with beside a run on `device`.
pub fn of_part(target: Target, device: Device, given: &GivenPrices) -> Result<GpuPrices, SessionError> {
    match (&given.gpu, device) {
        (Some(prices), _) => Ok(prices.clone()),
        (None, Device::Cuda(ordinal)) => Ok(of_ordinal(ordinal)?),
        (None, Device::Reference | Device::Host | Device::Emulator | Device::Text | Device::MachineCode) => {
            Ok(of_target(target))
        }
    }
}

/// Which processor's constants they are, and where they come from.
pub fn processor_priced_for(arch: &CpuArch) -> String {
    match CpuKind::ALL.into_iter().find(|kind| CpuArch::of(*kind) == *arch) {
        Some(kind) => format!("processor with {kind}, built-in constants"),
        None => "processor, constants of a file".to_owned(),
    }
}

impl DeviceArch {
    /// The costs of signals, waits and launches.
    pub fn sync(&self) -> SyncCosts {
        match self {
            Self::Gpu(prices) => prices.sync,
            Self::Processor(arch) => SyncCosts::of_processor(arch),
        }
    }

    /// Which device's constants they are, and where they come from.
    pub fn priced_for(&self) -> String {
        match self {
            Self::Gpu(prices) => prices.priced_for(),
            Self::Processor(arch) => processor_priced_for(arch),
        }
    }
}

/// A multiprocessor of a device, with the latency and the bandwidth of the device's second-level cache.
pub fn machine_model(prices: &GpuPrices) -> MachineModel {
    let (base, arch) = (MachineModel::h200(), &prices.arch);
    let known = GpuProduct::H200.prices().arch;
    let of_device = |figure: Figure, own: f64, usual: f64| {
        if own == usual {
            return figure;
        }
        Figure { value: (own.round() as u64).max(1), source: Source::Assumed("the constants of the device") }
    };
    let share = |arch: &warpweave_fusion::cost::arch::GpuArch| {
        let all = arch.cache_bytes_per_microsecond.value / arch.cycles_per_microsecond.value;
        all / arch.multiprocessors.value as f64
    };
    let count = |arch: &warpweave_fusion::cost::arch::GpuArch| arch.multiprocessors.value as f64;
    MachineModel {
        multiprocessors: of_device(base.multiprocessors, count(arch), count(&known)),
        second_level_latency: of_device(
            base.second_level_latency,
            arch.load_latency_cycles.value,
            known.load_latency_cycles.value,
        ),
        second_level_bytes_shared: of_device(base.second_level_bytes_shared, share(arch), share(&known)),
        ..base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_the_constants_of_their_own_generation() {
        let ampere = of_target(Target::Sm80);
        assert_eq!((ampere.arch, ampere.sync), {
            let own = GpuProduct::A100With40Gb.prices().with_attributes(108, 166_912);
            (own.arch, own.sync)
        });
        let hopper = of_target(Target::Sm90a);
        assert_eq!(hopper, GpuProduct::H200.prices());
        assert_ne!(ampere.sync, hopper.sync);
        assert!(of_target(Target::Sm86).priced_for().ends_with("sm_86"));
    }

    #[test]
    fn every_device_is_predicted_by_constants_of_its_own() {
        let of = |device, given: &GivenPrices| {
            of_run(device, given).expect("no device is asked").map(|arch| arch.priced_for())
        };
        let none = GivenPrices::default();
        assert_eq!(of(Device::Reference, &none), None);
        assert_eq!(of(Device::Host, &none).as_deref(), Some("processor with avx2, built-in constants"));
        assert_eq!(of(Device::Emulator, &none).as_deref(), Some("NVIDIA H200, built-in constants"));
        let given = GivenPrices { gpu: Some(GpuProduct::H100Sxm.prices()), processor: Some(CpuArch::avx512()) };
        assert_eq!(of(Device::Text, &given).as_deref(), Some("NVIDIA H100 SXM, built-in constants"));
        assert_eq!(
            of(Device::Cuda(0), &given).as_deref(),
            Some("NVIDIA H100 SXM, built-in constants"),
            "a file comes first"
        );
        assert_eq!(of(Device::Host, &given).as_deref(), Some("processor with avx512, built-in constants"));
        assert!(of_run(Device::Cuda(4095), &none).is_err(), "no other device's constants stand in");
    }

    #[test]
    fn machine_code_is_timed_with_the_latencies_of_the_device() {
        assert_eq!(machine_model(&of_target(Target::Sm90a)), MachineModel::h200());
        let mut slow = of_target(Target::Sm90a);
        slow.arch.load_latency_cycles.value = 400.0;
        assert_eq!(machine_model(&slow).second_level_latency.value, 400);
    }
}
