//! What a search finds: groups, and how far they are fused.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use warpweave_graph::program::{Origins, StatementId};
use warpweave_plan::kernel::Kernel;

/// Statements that one kernel computes.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct FusionGroup {
    /// The members, ascending.
    pub statements: BTreeSet<StatementId>,
    /// What they compute together, and how.
    pub kernel: Kernel,
    /// Its cost in microseconds, as the search saw it.
    pub microseconds: f64,
    /// The nodes of the model that the members come from.
    pub origins: Origins,
}

/// Groups in topological order; every computing statement is in exactly one. Groups are connected and convex.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Partition {
    pub groups: Vec<FusionGroup>,
}

/// How far the search fuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FusionLevel {
    /// One statement a group.
    None,
    /// Register-level fusion and row fusion.
    Register,
    /// Shared-memory-level fusion too.
    Full,
}

impl fmt::Display for FusionLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Register => "register",
            Self::Full => "full",
        })
    }
}

impl FromStr for FusionLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = |level: &Self| level.to_string() == text;
        let found = [Self::None, Self::Register, Self::Full].into_iter().find(named);
        found.ok_or_else(|| format!("`{text}` is no level of fusion: none, register or full"))
    }
}
