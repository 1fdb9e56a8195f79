//! Constants that a graph's text names by a hash: a file test has seeded ones of the same types in their place.

use warpweave::graph::TensorType;
use warpweave::graph::text::reader::Reader;
use warpweave::graph::text::{ContentHash, Tensors};
use warpweave_tests::random::{self, Random};

/// A tensor for every hash of the text, from the hash's digits.
pub fn seeded(text: &str) -> Tensors {
    let mut tensors = Tensors::new();
    for (before, digits) in text.match_indices('#').map(|(at, _)| (&text[..at], &text[at + 1..])) {
        let digits = digits.get(..32).unwrap_or_default();
        if let (Some(hash), Some(ty)) = (ContentHash::from_digits(digits), declared(before)) {
            let seed = digits.bytes().fold(0u64, |seed, digit| seed.wrapping_mul(31).wrapping_add(u64::from(digit)));
            tensors.insert(hash, random::tensor(&mut Random::new(seed), &ty));
        }
    }
    tensors
}

/// The type before a hash: `f32[4] = constant #…` of a value, `f32[4] #…` of an attribute.
fn declared(before: &str) -> Option<TensorType> {
    let word = before.trim_end().trim_end_matches("= constant").split_whitespace().last()?;
    Reader::new(word).tensor_type().ok()
}
