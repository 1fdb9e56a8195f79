//! What a model's singles are stored in, as its user chooses it.

mod keep_list;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use warpweave_graph::TensorProgram;
use warpweave_graph::program::TensorId;
use warpweave_graph::program::precision::{Kept, Precision};

pub use keep_list::KeepList;

/// A precision, or how it is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrecisionChoice {
    /// The precision that is named.
    Only(Precision),
    /// The fastest one by prediction, of those whose error on samples is small.
    Auto,
}

impl Default for PrecisionChoice {
    fn default() -> Self {
        Self::Only(Precision::default())
    }
}

impl fmt::Display for PrecisionChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only(precision) => precision.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for PrecisionChoice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Self::Auto),
            _ => name.parse().map(Self::Only).map_err(|error: String| format!("{error} or auto")),
        }
    }
}

/// What a model's singles are stored in, and which of them stay as they are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Storage {
    /// What they are stored in.
    pub precision: Precision,
    /// What stays because its user says so.
    pub keep: KeepList,
    /// Names of tensors that leave the range on samples; see [`beyond_range`](crate::precision::beyond_range).
    pub beyond: BTreeSet<String>,
}

impl From<Precision> for Storage {
    fn from(precision: Precision) -> Self {
        Self { precision, ..Self::default() }
    }
}

impl Storage {
    /// The tensors of a program that stay for another reason than the rules of a precision, and why.
    pub(crate) fn wanted(&self, program: &TensorProgram) -> BTreeMap<TensorId, Kept> {
        let is_beyond = |tensor: &TensorId| program.tensor_name(*tensor).is_some_and(|name| self.beyond.contains(name));
        let beyond = program.tensors.ids().filter(is_beyond).map(|tensor| (tensor, Kept::Samples));
        beyond.chain(self.keep.tensors(program).into_iter().map(|tensor| (tensor, Kept::Named))).collect()
    }
}
