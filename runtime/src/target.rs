//! Devices that code is compiled for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use warpweave_plan::tensor_core::sum::TensorCore;

/// A real architecture. The suffix `a` allows instructions of that architecture alone, and code that uses it runs on no
/// other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Target {
    /// Ampere data centre, `sm_80`.
    Sm80,
    /// Ampere, `sm_86`.
    Sm86,
    /// Ampere embedded, `sm_87`.
    Sm87,
    /// Ada, `sm_89`.
    Sm89,
    /// Hopper, `sm_90`.
    Sm90,
    /// Hopper with its own instructions, `sm_90a`.
    Sm90a,
    /// Blackwell data centre, `sm_100`.
    Sm100,
    /// Blackwell data centre with its own instructions, `sm_100a`.
    Sm100a,
    /// Blackwell Ultra, `sm_103`.
    Sm103,
    /// Blackwell Ultra with its own instructions, `sm_103a`.
    Sm103a,
    /// Blackwell, `sm_120`.
    Sm120,
    /// Blackwell with its own instructions, `sm_120a`.
    Sm120a,
    /// Blackwell desktop module, `sm_121`.
    Sm121,
    /// Blackwell desktop module with its own instructions, `sm_121a`.
    Sm121a,
}

/// A text that names no [`Target`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown target `{name}`: expected one of {}", Target::ALL.map(|target| target.to_string()).join(", "))]
pub struct UnknownTarget {
    /// What was given.
    pub name: String,
}

impl Target {
    /// All targets, oldest first.
    pub const ALL: [Self; 14] = [
        Self::Sm80,
        Self::Sm86,
        Self::Sm87,
        Self::Sm89,
        Self::Sm90,
        Self::Sm90a,
        Self::Sm100,
        Self::Sm100a,
        Self::Sm103,
        Self::Sm103a,
        Self::Sm120,
        Self::Sm120a,
        Self::Sm121,
        Self::Sm121a,
    ];

    /// Whose sums products of matrices have. Those of 10.0 and above are taken as those of 9.0.
    pub fn tensor_core(self) -> TensorCore {
        match self.compute_capability() {
            (..9, _) => TensorCore::Ampere,
            (9.., _) => TensorCore::Hopper,
        }
    }

    /// Major and minor number of the compute capability.
    pub fn compute_capability(self) -> (u32, u32) {
        match self {
            Self::Sm80 => (8, 0),
            Self::Sm86 => (8, 6),
            Self::Sm87 => (8, 7),
            Self::Sm89 => (8, 9),
            Self::Sm90 | Self::Sm90a => (9, 0),
            Self::Sm100 | Self::Sm100a => (10, 0),
            Self::Sm103 | Self::Sm103a => (10, 3),
            Self::Sm120 | Self::Sm120a => (12, 0),
            Self::Sm121 | Self::Sm121a => (12, 1),
        }
    }

    /// Bytes of shared memory that a block may have, at most.
    pub fn shared_bytes_per_block(self) -> usize {
        match self {
            Self::Sm80 | Self::Sm87 => 163 << 10,
            Self::Sm86 | Self::Sm89 | Self::Sm120 | Self::Sm120a | Self::Sm121 | Self::Sm121a => 99 << 10,
            Self::Sm90 | Self::Sm90a | Self::Sm100 | Self::Sm100a | Self::Sm103 | Self::Sm103a => 227 << 10,
        }
    }

    /// Whether a program may be compiled in units that are linked. Before Hopper a shuffle is a call in such a unit, and its
    /// kernel would keep its return address in local memory.
    pub fn can_link(self) -> bool {
        match self {
            Self::Sm80 | Self::Sm86 | Self::Sm87 | Self::Sm89 => false,
            Self::Sm90
            | Self::Sm90a
            | Self::Sm100
            | Self::Sm100a
            | Self::Sm103
            | Self::Sm103a
            | Self::Sm120
            | Self::Sm120a
            | Self::Sm121
            | Self::Sm121a => true,
        }
    }

    /// Whether instructions of this architecture alone are allowed.
    pub fn is_architecture_specific(self) -> bool {
        match self {
            Self::Sm90a | Self::Sm100a | Self::Sm103a | Self::Sm120a | Self::Sm121a => true,
            Self::Sm80
            | Self::Sm86
            | Self::Sm87
            | Self::Sm89
            | Self::Sm90
            | Self::Sm100
            | Self::Sm103
            | Self::Sm120
            | Self::Sm121 => false,
        }
    }

    /// Whether a cubin for this target loads on a device of the given compute capability.
    pub fn runs_on(self, major: u32, minor: u32) -> bool {
        let (own_major, own_minor) = self.compute_capability();
        own_major == major && if self.is_architecture_specific() { own_minor == minor } else { own_minor <= minor }
    }

    /// The architecture's number and suffix: `90a`.
    fn number(self) -> String {
        let (major, minor) = self.compute_capability();
        format!("{major}{minor}{}", if self.is_architecture_specific() { "a" } else { "" })
    }

    /// The name of the virtual architecture, for PTX: `compute_90a`.
    pub fn virtual_name(self) -> String {
        format!("compute_{}", self.number())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number())
    }
}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, UnknownTarget> {
        let matching = Self::ALL.into_iter().find(|target| target.to_string() == name);
        matching.ok_or_else(|| UnknownTarget { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for target in Target::ALL {
            assert_eq!(target.to_string().parse(), Ok(target));
        }
        assert!("sm_91".parse::<Target>().is_err());
    }

    #[test]
    fn specific_code_runs_on_its_architecture_alone() {
        assert!(Target::Sm90a.runs_on(9, 0));
        assert!(!Target::Sm100a.runs_on(10, 3));
        assert!(Target::Sm100.runs_on(10, 3));
        assert!(!Target::Sm80.runs_on(9, 0));
    }
}
