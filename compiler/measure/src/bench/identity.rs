//! What a measurement is of: the model, what it computes in, and the hardware.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_graph::types::ElementType;

/// What was measured.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// The name by which peers know it.
    pub name: String,
    /// BLAKE3 of the model file in hexadecimal digits; empty if unknown.
    pub blake3: String,
    /// What it computes in.
    pub precision: Option<Precision>,
    /// The first dimension that its inputs share, if they do.
    pub batch: Option<usize>,
}

/// What a run is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Work {
    /// The model's outputs are computed.
    Inference,
    /// The model's weights become others.
    TrainingStep,
}

/// The floating-point type that a model computes in, in the main.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// IEEE double.
    Fp64,
    /// IEEE single.
    Fp32,
    /// bfloat16.
    Bf16,
    /// IEEE half.
    Fp16,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fp64 => "fp64",
            Self::Fp32 => "fp32",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
        })
    }
}

impl Precision {
    /// All precisions.
    pub const ALL: [Self; 4] = [Self::Fp64, Self::Fp32, Self::Bf16, Self::Fp16];

    /// The precision of an element type; `None` for integers, truth values and types of storage only.
    pub fn of(element: ElementType) -> Option<Self> {
        match element {
            ElementType::F64 => Some(Self::Fp64),
            ElementType::F32 => Some(Self::Fp32),
            ElementType::BF16 => Some(Self::Bf16),
            ElementType::F16 => Some(Self::Fp16),
            ElementType::Bool
            | ElementType::I8
            | ElementType::I16
            | ElementType::I32
            | ElementType::I64
            | ElementType::U8
            | ElementType::U16
            | ElementType::U32
            | ElementType::U64
            | ElementType::F8E4M3FN
            | ElementType::F8E4M3FNUZ
            | ElementType::F8E5M2
            | ElementType::F8E5M2FNUZ
            | ElementType::F8E8M0
            | ElementType::F4E2M1
            | ElementType::I4
            | ElementType::U4
            | ElementType::I2
            | ElementType::U2 => None,
        }
    }
}

/// What times are measured on, as far as they can be compared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Hardware {
    /// The processor of the machine.
    Processor,
    /// The GPU of this product's name.
    Gpu(String),
}

const PROCESSOR: &str = "cpu";

impl fmt::Display for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Processor => PROCESSOR,
            Self::Gpu(product) => product,
        })
    }
}

impl From<String> for Hardware {
    fn from(name: String) -> Self {
        if name == PROCESSOR { Self::Processor } else { Self::Gpu(name) }
    }
}

impl From<Hardware> for String {
    fn from(hardware: Hardware) -> Self {
        hardware.to_string()
    }
}
