//! The names of a bundle's entries and targets.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use warpweave_graph::pipeline::Machine;

use crate::target::{Target, UnknownTarget};

/// What a part of a bundle was made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum BundleTarget {
    /// The processor that opens the bundle.
    Host,
    /// A GPU architecture.
    Gpu(Target),
}

impl BundleTarget {
    /// What its program was rewritten for.
    pub fn machine(self) -> Machine {
        match self {
            Self::Host => Machine::Processor,
            Self::Gpu(_) => Machine::Gpu,
        }
    }

    /// The virtual execution units that plans for this target have: the multiprocessors of the largest such device.
    pub fn units(self) -> usize {
        match self {
            Self::Host => 16,
            Self::Gpu(target) => match target {
                Target::Sm80 => 108,
                Target::Sm86 => 84,
                Target::Sm87 => 16,
                Target::Sm89 => 142,
                Target::Sm90 | Target::Sm90a => 132,
                Target::Sm100 | Target::Sm100a | Target::Sm103 | Target::Sm103a => 148,
                Target::Sm120 | Target::Sm120a => 188,
                Target::Sm121 | Target::Sm121a => 48,
            },
        }
    }
}

impl fmt::Display for BundleTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Gpu(target) => write!(f, "{target}"),
        }
    }
}

impl FromStr for BundleTarget {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, UnknownTarget> {
        if name == "host" { Ok(Self::Host) } else { name.parse().map(Self::Gpu) }
    }
}

impl TryFrom<String> for BundleTarget {
    type Error = UnknownTarget;

    fn try_from(name: String) -> Result<Self, UnknownTarget> {
        name.parse()
    }
}

impl From<BundleTarget> for String {
    fn from(target: BundleTarget) -> Self {
        target.to_string()
    }
}

/// An entry of a bundle. Nothing else may lie in one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum EntryName {
    /// The program without weights, in postcard.
    Program,
    /// The same of the program that the host's plan schedules, where that is another.
    HostProgram,
    /// The plan of a target, in postcard.
    Plan(BundleTarget),
    /// The kernels of a target, in postcard.
    KernelIr(Target),
    /// The text of a target, as its compiler read it.
    Source(Target),
    /// The code of a target.
    Cubin(Target),
    /// The constants of the program.
    Weights,
    /// What inputs are where the caller gives nothing: arrays by the inputs' positions.
    Defaults,
    /// What the bundle is, and the hashes of all other entries.
    Manifest,
}

/// A name that no entry of a bundle has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no entry of a bundle")]
pub struct UnknownEntry(pub String);

impl fmt::Display for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program => f.write_str("program.bin"),
            Self::HostProgram => f.write_str("program/host.bin"),
            Self::Plan(target) => write!(f, "plan/{target}.bin"),
            Self::KernelIr(target) => write!(f, "ir/{target}.bin"),
            Self::Source(target) => write!(f, "src/{target}.cu"),
            Self::Cubin(target) => write!(f, "cubin/{target}.cubin"),
            Self::Weights => f.write_str("weights.safetensors"),
            Self::Defaults => f.write_str("defaults.npz"),
            Self::Manifest => f.write_str("manifest.json"),
        }
    }
}

impl FromStr for EntryName {
    type Err = UnknownEntry;

    fn from_str(name: &str) -> Result<Self, UnknownEntry> {
        let target = name.split_once('/').and_then(|(_, file)| file.rsplit_once('.')).map(|(target, _)| target);
        let target: Option<BundleTarget> = target.and_then(|target| target.parse().ok());
        let mut candidates = vec![Self::Program, Self::HostProgram, Self::Weights, Self::Defaults, Self::Manifest];
        candidates.extend(target.map(Self::Plan));
        if let Some(BundleTarget::Gpu(target)) = target {
            candidates.extend([Self::KernelIr(target), Self::Source(target), Self::Cubin(target)]);
        }
        let matching = candidates.into_iter().find(|entry| entry.to_string() == name);
        matching.ok_or_else(|| UnknownEntry(name.to_owned()))
    }
}

impl TryFrom<String> for EntryName {
    type Error = UnknownEntry;

    fn try_from(name: String) -> Result<Self, UnknownEntry> {
        name.parse()
    }
}

impl From<EntryName> for String {
    fn from(entry: EntryName) -> Self {
        entry.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let mut names = vec![EntryName::Program, EntryName::HostProgram, EntryName::Weights, EntryName::Defaults];
        names.push(EntryName::Manifest);
        names.push(EntryName::Plan(BundleTarget::Host));
        for target in Target::ALL {
            names.push(EntryName::Plan(BundleTarget::Gpu(target)));
            names.extend([EntryName::KernelIr(target), EntryName::Source(target), EntryName::Cubin(target)]);
        }
        for name in names {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        for wrong in [
            "",
            "/manifest.json",
            "../program.bin",
            "plan/sm_91.bin",
            "plan/host.cubin",
            "ir/host.bin",
            "plan/../host.bin",
        ] {
            assert!(wrong.parse::<EntryName>().is_err(), "{wrong}");
        }
    }
}
