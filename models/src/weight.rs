//! Constants of a model, made when they are written.

use std::io::{self, Write};

use half::f16;

/// The type of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    /// A single.
    F32,
    /// A half.
    F16,
    /// A 64-bit integer.
    I64,
}

impl Element {
    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
            Self::I64 => 8,
        }
    }

    /// ONNX's number of the type.
    pub(crate) fn number(self) -> i32 {
        match self {
            Self::F32 => 1,
            Self::I64 => 7,
            Self::F16 => 10,
        }
    }
}

/// What the elements of a constant are.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Fill {
    /// Uniform between `centre − spread` and `centre + spread`, from the seed.
    Uniform { centre: f32, spread: f32 },
    /// Given numbers.
    Floats(Vec<f32>),
    /// Given integers.
    Integers(Vec<i64>),
}

/// A constant of a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Weight {
    /// The name, unique in the model.
    pub name: String,
    pub shape: Vec<usize>,
    pub element: Element,
    /// Whether training changes it: no running statistic, table of positions or shape.
    pub learnable: bool,
    pub(crate) fill: Fill,
    pub(crate) seed: u64,
}

/// Elements that are made at once.
const CHUNK: usize = 1 << 14;

impl Weight {
    /// How many elements there are.
    pub fn elements(&self) -> u64 {
        self.shape.iter().map(|&extent| extent as u64).product()
    }

    /// How many bytes the elements take.
    pub fn bytes(&self) -> u64 {
        self.elements() * self.element.bytes() as u64
    }

    /// Writes the elements as little-endian bytes, a block at a time. The bytes depend on the model's name, the weight's
    /// name and its fill only: integer arithmetic and exactly rounded operations make them.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let count = self.elements();
        let mut bytes = Vec::with_capacity(CHUNK.min(count as usize) * self.element.bytes());
        for start in (0..count).step_by(CHUNK) {
            bytes.clear();
            for at in start..count.min(start + CHUNK as u64) {
                match &self.fill {
                    Fill::Uniform { centre, spread } => {
                        self.push(centre + spread * signed_unit(self.seed, at), &mut bytes);
                    }
                    Fill::Floats(values) => self.push(values[at as usize], &mut bytes),
                    Fill::Integers(values) => bytes.extend(values[at as usize].to_le_bytes()),
                }
            }
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    fn push(&self, value: f32, bytes: &mut Vec<u8>) {
        match self.element {
            Element::F32 => bytes.extend(value.to_le_bytes()),
            Element::F16 => bytes.extend(f16::from_f32(value).to_le_bytes()),
            Element::I64 => bytes.extend((value as i64).to_le_bytes()),
        }
    }
}

/// A seed from names: FNV-1a over their bytes.
pub(crate) fn seed(names: [&str; 2]) -> u64 {
    let bytes = names.iter().flat_map(|name| name.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Element `at` of the sequence of a seed: SplitMix64's output as a multiple of 2⁻²³ from −1 to below 1.
fn signed_unit(seed: u64, at: u64) -> f32 {
    let mut value = seed.wrapping_add((at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^= value >> 31;
    ((value >> 40) as i64 - (1 << 23)) as f32 / (1 << 23) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(element: Element) -> Weight {
        let fill = Fill::Uniform { centre: 1.0, spread: 0.5 };
        Weight { name: "w".into(), shape: vec![3, 20_000], element, learnable: true, fill, seed: seed(["m", "w"]) }
    }

    #[test]
    fn elements_are_spread_evenly_around_the_centre() {
        let mut bytes = Vec::new();
        uniform(Element::F32).write(&mut bytes).expect("memory takes all");
        let values: Vec<f32> =
            bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect();
        assert_eq!(values.len(), 60_000);
        assert!(values.iter().all(|value| (0.5..1.5).contains(value)));
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn halves_are_the_rounded_singles() {
        let (mut singles, mut halves) = (Vec::new(), Vec::new());
        uniform(Element::F32).write(&mut singles).expect("memory takes all");
        uniform(Element::F16).write(&mut halves).expect("memory takes all");
        for (four, two) in singles.chunks(4).zip(halves.chunks(2)) {
            let single = f32::from_le_bytes(four.try_into().expect("four bytes"));
            assert_eq!(f16::from_f32(single), f16::from_le_bytes(two.try_into().expect("two bytes")));
        }
    }

    #[test]
    fn bytes_stay_the_same() {
        let mut bytes = Vec::new();
        uniform(Element::F32).write(&mut bytes).expect("memory takes all");
        let digest = bytes.iter().fold(0u64, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        assert_eq!(digest, 0x236f_cbd1_a91a_f795, "the recorded digest of all bytes");
    }
}
