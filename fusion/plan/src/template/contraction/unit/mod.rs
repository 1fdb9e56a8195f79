//! The units that multiply and add: a file a unit.

pub mod simt;

use serde::{Deserialize, Serialize};
use warpweave_graph::words;

/// What multiplies and adds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ComputeUnit {
    /// The lanes of a multiprocessor, each on registers of its own.
    Simt,
}

words!(ComputeUnit {
    Simt => "simt",
});
