//! Graphs as text that parses back to an equal graph.
//!
//! ```text
//! graph "net"
//! v0 "x": f32[2x3] = input
//! v1 "scale": f32[] = constant 2.0
//! v2 "weight": f32[64x64] = constant #8f1c…
//! v3 "y": f32[2x3] = Mul "node" (v0, v1)
//! output v3
//! ```
//! An input may be followed by its default, as in `v1 "scale": f32[] = input 2.0`.
//! Values stand in the order of their ids. Large constants are named by a hash of type and content; the tensors
//! themselves go beside the text, in [`Tensors`].

mod lexer;
pub(crate) mod literal;
mod parse;
mod print;
pub mod reader;

use std::collections::BTreeMap;
use std::fmt;

use crate::tensor::Tensor;

pub use parse::{ParseError, parse};
pub use print::{print, tensors};

/// A hash of a tensor's type and bytes, which stands for it in text. It guards against accidents, not against intent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ContentHash(u128);

/// Tensors by their hash: what a text names and does not hold.
pub type Tensors = BTreeMap<ContentHash, Tensor>;

impl ContentHash {
    /// The hash of a tensor.
    pub fn of(tensor: &Tensor) -> Self {
        const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        let ty = tensor.ty().to_string();
        let chunks = ty.as_bytes().chunks(8).chain(tensor.bytes().chunks(8));
        let word = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        Self(chunks.map(word).fold(OFFSET, |hash, word| (hash ^ u128::from(word)).wrapping_mul(PRIME)))
    }

    /// The hash that prints as `digits`.
    pub fn from_digits(digits: &str) -> Option<Self> {
        (digits.len() == 32).then(|| u128::from_str_radix(digits, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
