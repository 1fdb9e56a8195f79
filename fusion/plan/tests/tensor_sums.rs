//! Dot products of tensor cores against those of MMA-Sim, which `scripts/mma_exact.py` has stored: whole fragments, and digests of
//! fragments that are made from the same seeds here.

use warpweave_plan::tensor_core::sum::{FactorFormat, SumFormat, TensorCore, Term};

const STORED: &[u8] = include_bytes!("tensor_sums.bin");
const GENERATIONS: [TensorCore; 2] = [TensorCore::Ampere, TensorCore::Hopper];
const ROWS: usize = 16;
const COLUMNS: usize = 8;
/// Fragments that one digest is of.
const BATCH: usize = 500;
/// Numbers that the generator draws for one fragment at most.
const STRIDE: u64 = 1024;
const STYLES: usize = 8;
/// The style whose products cancel.
const CANCELLING: usize = 6;

/// A kind of fragments: how many there are, and how many of them are stored.
struct Kind {
    depth: usize,
    factors: FactorFormat,
    sums: SumFormat,
    count: usize,
    stored: usize,
}

const fn kind(depth: usize, factors: FactorFormat, sums: SumFormat, count: usize, stored: usize) -> Kind {
    Kind { depth, factors, sums, count, stored }
}

const KINDS: [Kind; 6] = [
    kind(16, FactorFormat::Half, SumFormat::Single, 20_000, 100),
    kind(16, FactorFormat::BFloat16, SumFormat::Single, 20_000, 100),
    kind(16, FactorFormat::Half, SumFormat::Half, 5_000, 75),
    kind(8, FactorFormat::Half, SumFormat::Single, 5_000, 75),
    kind(8, FactorFormat::BFloat16, SumFormat::Single, 5_000, 75),
    kind(8, FactorFormat::TensorFloat32, SumFormat::Single, 5_000, 75),
];

/// Bits of an exponent and of a fraction.
type Layout = (u32, u32);

/// Three matrices by rows, as bits.
#[derive(PartialEq, Eq, Debug)]
struct Fragment {
    left: Vec<u32>,
    right: Vec<u32>,
    old: Vec<u32>,
}

impl Kind {
    fn factor_layout(&self) -> Layout {
        match self.factors {
            FactorFormat::Half => (5, 10),
            FactorFormat::BFloat16 => (8, 7),
            FactorFormat::TensorFloat32 => (8, 10),
        }
    }

    fn sum_layout(&self) -> Layout {
        match self.sums {
            SumFormat::Half => (5, 10),
            SumFormat::Single => (8, 23),
        }
    }

    fn sum_bytes(&self) -> usize {
        if self.sums == SumFormat::Half { 2 } else { 4 }
    }

    fn sums(&self, core: TensorCore, fragment: &Fragment) -> Vec<u32> {
        let term = |bits: &u32| self.factors.decode(*bits);
        let left: Vec<Term> = fragment.left.iter().map(term).collect();
        let right: Vec<Term> = fragment.right.iter().map(term).collect();
        let columns: Vec<Vec<Term>> =
            (0..COLUMNS).map(|column| (0..self.depth).map(|index| right[index * COLUMNS + column]).collect()).collect();
        let dot = |(index, old): (usize, &u32)| {
            let row = &left[index / COLUMNS * self.depth..][..self.depth];
            core.dot(self.factors, self.sums, row, &columns[index % COLUMNS], *old)
        };
        fragment.old.iter().enumerate().map(dot).collect()
    }

    fn fragment(&self, seed: u64, number: usize) -> Fragment {
        let style = number % STYLES;
        let mut next = number as u64 * STRIDE;
        let mut words = |count: usize, word: &dyn Fn(u64) -> u32| {
            let words = (next..next + count as u64).map(|index| word(draw(seed, index))).collect();
            next += count as u64;
            words
        };
        let factor = |draw| factor(draw, style, self.factor_layout());
        let mut left: Vec<u32> = words(ROWS * self.depth, &factor);
        let mut right: Vec<u32> = words(self.depth * COLUMNS, &factor);
        let old = words(ROWS * COLUMNS, &|draw| earlier_sum(draw, style, self.factor_layout(), self.sum_layout()));
        if style == CANCELLING {
            self.cancel(&mut left, &mut right);
        }
        if self.factors == FactorFormat::TensorFloat32 {
            left.iter_mut().for_each(|word| *word = *word << 13 | 0x1555);
            right.iter_mut().for_each(|word| *word = *word << 13 | 0x0aaa);
        }
        Fragment { left, right, old }
    }

    fn cancel(&self, left: &mut [u32], right: &mut [u32]) {
        let (exponent_bits, fraction_bits) = self.factor_layout();
        for index in (1..self.depth).step_by(2) {
            for row in 0..ROWS {
                let negated = left[row * self.depth + index - 1] ^ 1 << (exponent_bits + fraction_bits);
                left[row * self.depth + index] = negated ^ u32::from(row % 3 == 0);
            }
            right.copy_within((index - 1) * COLUMNS..index * COLUMNS, index * COLUMNS);
        }
    }
}

/// A number of SplitMix64 (Steele, Lea and Flood, 2014).
fn draw(seed: u64, index: u64) -> u64 {
    let z = seed.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn bits(draw: u64, first: u32, count: u32) -> u32 {
    (draw >> first & ((1 << count) - 1)) as u32
}

/// The first biased exponent of a style's factors, and how many follow.
fn middle_exponent(style: usize, (exponent_bits, _): Layout) -> (u32, u32) {
    let largest = (1 << exponent_bits) - 1;
    let bias = largest >> 1;
    let wide = 24.min(largest - 7);
    match style {
        0 => (0, largest + 1),
        1 | CANCELLING => (bias - 4, 8),
        2 => (1, largest - 1),
        3 => (0, 3),
        4 | 5 => (bias - wide / 2, wide),
        _ if exponent_bits == 8 => (40, 32),
        _ => (0, 8),
    }
}

fn assemble(draw: u64, exponent: u32, (exponent_bits, fraction_bits): Layout) -> u32 {
    (bits(draw, 0, 1) << exponent_bits | exponent) << fraction_bits | bits(draw, 1, fraction_bits)
}

/// One in 64 elements is a zero, an infinity, a NaN or the largest number instead.
fn with_specials(draw: u64, word: u32, (exponent_bits, fraction_bits): Layout) -> u32 {
    if !bits(draw, 40, 8).is_multiple_of(64) {
        return word;
    }
    let (largest, ones) = ((1 << exponent_bits) - 1, (1 << fraction_bits) - 1);
    let codes = [0, largest << fraction_bits, largest << fraction_bits | 1, (largest - 1) << fraction_bits | ones];
    codes[bits(draw, 48, 2) as usize] | bits(draw, 0, 1) << (exponent_bits + fraction_bits)
}

fn factor(draw: u64, style: usize, layout: Layout) -> u32 {
    let (first, count) = middle_exponent(style, layout);
    let word = assemble(draw, first + bits(draw, 24, 16) % count, layout);
    if style == 5 { with_specials(draw, word, layout) } else { word }
}

fn earlier_sum(draw: u64, style: usize, factors: Layout, layout: Layout) -> u32 {
    let (exponent_bits, fraction_bits) = layout;
    let (first, count) = middle_exponent(style, factors);
    let bias = |bits: u32| ((1 << bits) - 1) >> 1;
    let middle = 2 * ((first + count / 2) as i32 - bias(factors.0)) + bias(exponent_bits);
    let most = (1 << exponent_bits) - 2;
    let chosen = bits(draw, 24, 16);
    let exponent = match bits(draw, 50, 2) {
        1 => 1 + chosen % most,
        _ => (middle - 12 + (chosen % 24) as i32).clamp(0, most as i32) as u32,
    };
    let word = match bits(draw, 50, 2) {
        0 => bits(draw, 0, 1) << (exponent_bits + fraction_bits),
        _ => assemble(draw, exponent, layout),
    };
    if matches!(style, 0 | 5) { with_specials(draw, word, layout) } else { word }
}

/// FNV-1a of 64 bits over words of 32.
fn digest(words: impl Iterator<Item = u32>) -> u64 {
    words.fold(0xcbf2_9ce4_8422_2325, |value, word| (value ^ u64::from(word)).wrapping_mul(0x100_0000_01b3))
}

/// Takes words of so many bytes from stored ones.
fn take(stored: &mut &[u8], count: usize, bytes: usize) -> Vec<u32> {
    let (taken, rest) = stored.split_at(count * bytes);
    *stored = rest;
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    taken.chunks_exact(bytes).map(word).collect()
}

#[test]
fn sums_are_those_of_the_simulator() {
    let mut stored = STORED;
    for (seed, kind) in KINDS.iter().enumerate() {
        for number in 0..kind.stored {
            let bytes = 4 / kind.factors.elements_of_register();
            let left = take(&mut stored, ROWS * kind.depth, bytes);
            let right = take(&mut stored, kind.depth * COLUMNS, bytes);
            let old = take(&mut stored, ROWS * COLUMNS, kind.sum_bytes());
            let fragment = Fragment { left, right, old };
            for core in GENERATIONS {
                let expected = take(&mut stored, ROWS * COLUMNS, kind.sum_bytes());
                let found = kind.sums(core, &fragment);
                let different = found.iter().zip(&expected).position(|(found, expected)| found != expected);
                if let Some(index) = different {
                    let (found, expected) = (found[index], expected[index]);
                    panic!("kind {seed}, fragment {number}, sum {index} on {core:?}: {found:#x}, not {expected:#x}");
                }
            }
            assert_eq!(fragment, kind.fragment(seed as u64, number), "both generators make the same fragments");
        }
        for batch in 0..kind.count / BATCH {
            let fragments: Vec<Fragment> =
                (batch * BATCH..(batch + 1) * BATCH).map(|number| kind.fragment(seed as u64, number)).collect();
            for core in GENERATIONS {
                let digests = take(&mut stored, 2, 4);
                let expected = u64::from(digests[1]) << 32 | u64::from(digests[0]);
                let found = digest(fragments.iter().flat_map(|fragment| kind.sums(core, fragment)));
                assert_eq!(found, expected, "kind {seed}, batch {batch} on {core:?}");
            }
        }
    }
    assert!(stored.is_empty());
}
