//! Inputs of a program, made up from a seed.

use warpweave_graph::Tensor;
use warpweave_runtime::bundle::{Port, Signature};

/// The most bytes of random inputs, unless the user asks for more.
pub const MOST_RANDOM_BYTES: u64 = 1 << 27;

/// Inputs from a seed: floating point in −1 … 1, integers below the smallest axis that they index, or 0 and 1. An input that
/// has a default is that.
pub fn random_inputs(signature: &Signature, seed: u64) -> Vec<Tensor> {
    let mut random = Random::new(seed);
    let input = |port: &Port| {
        if let Some(default) = &port.default {
            return default.clone();
        }
        let count = port.ty.shape.elements();
        if port.ty.element.is_float() {
            let elements: Vec<f64> = (0..count).map(|_| random.unit() * 2.0 - 1.0).collect();
            return Tensor::from_f64(port.ty.clone(), &elements);
        }
        let limit = port.index_limit.unwrap_or(2).max(1);
        let elements: Vec<i64> = (0..count).map(|_| (random.next() % limit) as i64).collect();
        Tensor::from_i64(port.ty.clone(), &elements)
    };
    signature.inputs.iter().map(input).collect()
}

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    /// In 0 … 1, without 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
