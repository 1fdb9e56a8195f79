//! The units that multiply and add: a file a unit.

pub mod simt;

use serde::{Deserialize, Serialize};
use warpweave_graph::words;

use crate::template::contraction::shape::ContractionShape;

/// What multiplies and adds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ComputeUnit {
    /// The lanes of a multiprocessor, each on registers of its own.
    Simt,
}

impl ComputeUnit {
    /// Whether kernels on the unit can have a shape.
    pub fn takes(self, shape: &ContractionShape) -> bool {
        match self {
            Self::Simt => simt::takes(shape),
        }
    }
}

words!(ComputeUnit {
    Simt => "simt",
});
