//! All constants that predictions for one GPU follow from, and the GPUs whose constants are built in.

use std::fmt;

use crate::cost::arch::{Constant, GpuArch, Provenance};
use crate::cost::sync::SyncCosts;

/// A GPU whose constants are built in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GpuProduct {
    /// An A100 with 40 GB.
    A100With40Gb,
    /// An A100 with 80 GB.
    A100With80Gb,
    /// An H100 as SXM module.
    H100Sxm,
    /// An H100 as PCIe card.
    H100Pcie,
    /// An H100 as NVL card.
    H100Nvl,
    /// An H200.
    H200,
}

/// What a driver says of a GPU.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GpuFacts<'a> {
    /// The product's name, such as `NVIDIA H100 80GB HBM3`.
    pub name: &'a str,
    /// The major number of the compute capability.
    pub major_capability: u32,
    /// Streaming multiprocessors.
    pub multiprocessors: usize,
    /// Bytes of shared memory that a block may have, opt-in included.
    pub shared_bytes_per_block: usize,
    /// Bytes of device memory.
    pub memory_bytes: u64,
    /// The highest clock of the multiprocessors in cycles a microsecond, where the driver tells it.
    pub cycles_per_microsecond: Option<f64>,
}

/// Where the constants of a GPU come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PriceSource {
    /// They are built in.
    BuiltIn(GpuProduct),
    /// They are those of `product`, adapted to the attributes of a device that has none of its own.
    InPlace {
        /// The product whose constants they are.
        product: GpuProduct,
        /// The name of the device, or of the architecture.
        device: String,
    },
    /// A file holds them.
    File(String),
}

/// All constants that predictions for one GPU follow from.
#[derive(Clone, PartialEq, Debug)]
pub struct GpuPrices {
    /// Of its multiprocessors and memories.
    pub arch: GpuArch,
    /// Of signals, waits and launches.
    pub sync: SyncCosts,
    /// Where both come from.
    pub source: PriceSource,
}

/// A clock below which an H100 of 132 multiprocessors is no SXM module, in cycles a microsecond.
const SXM_CLOCK: f64 = 1900.0;
/// Multiprocessors of an SXM module of an H100.
const SXM_MULTIPROCESSORS: usize = 132;
/// Memory above which an A100 is the larger one, in bytes.
const LARGE_A100: u64 = 60_000_000_000;
/// Memory above which a GH200 has the memory of an H200, in bytes.
const LARGE_GH200: u64 = 120_000_000_000;
/// The first major compute capability of the generation that the H100 and the H200 are of.
const HOPPER: u32 = 9;

impl GpuProduct {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::A100With40Gb, Self::A100With80Gb, Self::H100Sxm, Self::H100Pcie, Self::H100Nvl, Self::H200];

    /// The product that a driver names; `None` if its constants are not built in.
    pub fn of(facts: &GpuFacts<'_>) -> Option<Self> {
        let name = facts.name.to_uppercase();
        let words: Vec<&str> = name.split(|letter: char| !letter.is_alphanumeric()).collect();
        let has = |word: &str| words.contains(&word);
        if has("H200") || (has("GH200") && facts.memory_bytes > LARGE_GH200) {
            Some(Self::H200)
        } else if has("H100") || has("H800") {
            Some(Self::h100_of(facts, &has))
        } else if has("GH200") {
            Some(Self::H100Nvl)
        } else if has("A100") || has("A800") {
            Some(if facts.memory_bytes > LARGE_A100 { Self::A100With80Gb } else { Self::A100With40Gb })
        } else {
            None
        }
    }

    /// Which H100 it is: by its name where that says it, else by its multiprocessors and its clock.
    fn h100_of(facts: &GpuFacts<'_>, has: &dyn Fn(&str) -> bool) -> Self {
        let is_slow = facts.cycles_per_microsecond.is_some_and(|clock| clock < SXM_CLOCK);
        if has("PCIE") || (!has("NVL") && facts.multiprocessors < SXM_MULTIPROCESSORS) {
            Self::H100Pcie
        } else if has("NVL") || is_slow {
            Self::H100Nvl
        } else {
            Self::H100Sxm
        }
    }

    /// The product that stands in for a device of this major compute capability.
    pub fn of_generation(major_capability: u32) -> Self {
        if major_capability < HOPPER { Self::A100With40Gb } else { Self::H200 }
    }

    /// Its constants.
    pub fn prices(self) -> GpuPrices {
        let arch = match self {
            Self::A100With40Gb => GpuArch::a100(),
            Self::A100With80Gb => GpuArch::a100_80gb(),
            Self::H100Sxm => GpuArch::h100(),
            Self::H100Pcie => GpuArch::h100_pcie(),
            Self::H100Nvl => GpuArch::h100_nvl(),
            Self::H200 => GpuArch::h200(),
        };
        let (memory, multiprocessors) = (arch.memory_bytes_per_microsecond.value, arch.multiprocessors.value);
        let sync = match self {
            Self::A100With40Gb | Self::A100With80Gb => SyncCosts::a100(memory, multiprocessors),
            Self::H100Sxm | Self::H100Pcie | Self::H100Nvl => SyncCosts::h100(memory, multiprocessors),
            Self::H200 => SyncCosts::h200(),
        };
        GpuPrices { arch, sync, source: PriceSource::BuiltIn(self) }
    }
}

impl fmt::Display for GpuProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A100With40Gb => "NVIDIA A100 40 GB",
            Self::A100With80Gb => "NVIDIA A100 80 GB",
            Self::H100Sxm => "NVIDIA H100 SXM",
            Self::H100Pcie => "NVIDIA H100 PCIe",
            Self::H100Nvl => "NVIDIA H100 NVL",
            Self::H200 => "NVIDIA H200",
        })
    }
}

impl fmt::Display for PriceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(product) => write!(f, "{product}, built-in constants"),
            Self::InPlace { product, device } => {
                write!(f, "{product}, built-in constants in place of those of {device}")
            }
            Self::File(name) => f.write_str(name),
        }
    }
}

impl GpuPrices {
    /// The constants of a device: built in for a product that its name tells, else those of its generation, in both cases with
    /// the multiprocessors, shared memory and clock that the device says of itself.
    pub fn of_device(facts: &GpuFacts<'_>) -> Self {
        let (product, source) = match GpuProduct::of(facts) {
            Some(product) => (product, PriceSource::BuiltIn(product)),
            None => {
                let product = GpuProduct::of_generation(facts.major_capability);
                (product, PriceSource::InPlace { product, device: facts.name.to_owned() })
            }
        };
        let prices = product.prices().with_attributes(facts.multiprocessors, facts.shared_bytes_per_block);
        let arch = match facts.cycles_per_microsecond.filter(|clock| clock.is_finite() && *clock > 0.0) {
            Some(clock) => prices.arch.with_clock(clock),
            None => prices.arch,
        };
        Self { arch, source, ..prices }
    }

    /// The constants of a file of this name. Files that hold none of signals, waits and launches have those of the generation
    /// that their shared memory tells.
    pub fn of_file(name: String, arch: GpuArch, sync: Option<SyncCosts>) -> Self {
        let of_generation = || {
            let is_hopper = arch.shared_bytes_per_block.value >= GpuArch::h200().shared_bytes_per_block.value;
            let product = if is_hopper { GpuProduct::H200 } else { GpuProduct::A100With40Gb };
            product.prices().sync
        };
        Self { arch, sync: sync.unwrap_or_else(of_generation), source: PriceSource::File(name) }
    }

    /// The same with the multiprocessors and the shared memory of a block of a device; what all multiprocessors share is divided
    /// among them.
    pub fn with_attributes(self, multiprocessors: usize, shared_bytes_per_block: usize) -> Self {
        let before = self.arch.multiprocessors.value;
        let arch = self.arch.with_attributes(multiprocessors, shared_bytes_per_block);
        let keep = if multiprocessors == before {
            self.sync.keep
        } else {
            let value = self.sync.keep.value * before as f64 / multiprocessors as f64;
            Constant { value, provenance: Provenance::Assumed }
        };
        Self { arch, sync: SyncCosts { keep, ..self.sync }, ..self }
    }

    /// Whether every constant is one that a device can have.
    pub fn is_sound(&self) -> bool {
        self.arch.is_sound() && self.sync.is_sound()
    }

    /// The names of the constants that were assumed.
    pub fn assumptions(&self) -> Vec<&'static str> {
        [self.arch.assumptions(), self.sync.assumptions()].concat()
    }

    /// Which device's constants they are, and where they come from.
    pub fn priced_for(&self) -> String {
        self.source.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str, multiprocessors: usize, gigabytes: u64, clock: f64) -> GpuFacts<'_> {
        GpuFacts {
            name,
            major_capability: 9,
            multiprocessors,
            shared_bytes_per_block: 232_448,
            memory_bytes: gigabytes * 1_000_000_000,
            cycles_per_microsecond: Some(clock),
        }
    }

    #[test]
    fn products_are_told_apart_by_name_then_multiprocessors_and_clock() {
        let product =
            |name, multiprocessors, gigabytes, clock| GpuProduct::of(&facts(name, multiprocessors, gigabytes, clock));
        for (name, multiprocessors, gigabytes, clock, expected) in [
            ("NVIDIA H200", 132, 150, 1980.0, GpuProduct::H200),
            ("NVIDIA H200 NVL", 132, 150, 1785.0, GpuProduct::H200),
            ("NVIDIA GH200 144G HBM3e", 132, 150, 1980.0, GpuProduct::H200),
            ("NVIDIA GH200 480GB", 132, 102, 1980.0, GpuProduct::H100Nvl),
            ("NVIDIA H100 80GB HBM3", 132, 85, 1980.0, GpuProduct::H100Sxm),
            ("NVIDIA H100 PCIe", 114, 85, 1755.0, GpuProduct::H100Pcie),
            ("NVIDIA H100", 114, 85, 1980.0, GpuProduct::H100Pcie),
            ("NVIDIA H100 NVL", 132, 100, 1785.0, GpuProduct::H100Nvl),
            ("NVIDIA H100", 132, 100, 1785.0, GpuProduct::H100Nvl),
            ("NVIDIA A100-SXM4-40GB", 108, 42, 1410.0, GpuProduct::A100With40Gb),
            ("NVIDIA A100-SXM4-80GB", 108, 85, 1410.0, GpuProduct::A100With80Gb),
        ] {
            assert_eq!(product(name, multiprocessors, gigabytes, clock), Some(expected), "{name}");
        }
        for other in ["NVIDIA H20", "NVIDIA B200", "NVIDIA GeForce RTX 4090", ""] {
            assert_eq!(product(other, 128, 24, 2520.0), None, "{other}");
        }
    }

    #[test]
    fn every_product_has_constants_of_its_own() {
        for product in GpuProduct::ALL {
            let prices = product.prices();
            assert!(prices.is_sound(), "{product}");
            for other in GpuProduct::ALL.into_iter().filter(|other| *other != product) {
                assert_ne!(prices.arch, other.prices().arch, "{product} and {other}");
                assert_ne!(prices.sync, other.prices().sync, "{product} and {other}");
            }
        }
        assert!(GpuProduct::A100With40Gb.prices().sync.assumptions().len() == 9, "nothing was measured on an A100");
    }

    #[test]
    fn the_attributes_of_a_measured_device_leave_its_constants_as_they_are() {
        let found = GpuPrices::of_device(&facts("NVIDIA H200", 132, 150, 1980.0));
        assert_eq!(found, GpuProduct::H200.prices());
        assert_eq!(found.priced_for(), "NVIDIA H200, built-in constants");
    }

    #[test]
    fn an_unknown_device_has_its_generations_constants_and_says_so() {
        let found = GpuPrices::of_device(&GpuFacts { major_capability: 8, ..facts("NVIDIA A30", 56, 25, 1440.0) });
        assert_eq!(found.priced_for(), "NVIDIA A100 40 GB, built-in constants in place of those of NVIDIA A30");
        assert_eq!((found.arch.multiprocessors.value, found.arch.cycles_per_microsecond.value), (56, 1440.0));
        assert!(found.is_sound());
    }
}
