//! Changes of inputs: bytes, numbers in text and in binary, parts of others.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    /// In 0 … below − 1; 0 if there is none.
    pub fn below(&mut self, below: usize) -> usize {
        (self.next() % below.max(1) as u64) as usize
    }
}

const NUMBERS: [i64; 12] = [0, 1, -1, 8, 9, 127, 128, 1 << 20, 1 << 31, 1 << 40, i64::MAX, i64::MIN];
const WORDS: [&str; 10] =
    ["0", "-1", "9223372036854775808", "1e999", "NaN", "null", "[]", "\"\"", "99999999999999999999999", "\t"];

/// One of the inputs with one to four changes.
pub fn bytes(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut changed = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(4) {
        change(&mut changed, corpus, random);
    }
    changed
}

/// One change.
fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(9) {
        0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        2 if !bytes.is_empty() => bytes[at] = random.next() as u8,
        3 => bytes.truncate(at),
        4 => {
            let end = bytes.len().min(at + 1 + random.below(16));
            bytes.drain(at..end);
        }
        5 => {
            let number = NUMBERS[random.below(NUMBERS.len())].to_le_bytes();
            let width = [1, 2, 4, 8][random.below(4)];
            overwrite(bytes, at, &number[..width]);
        }
        6 => {
            let mut number = NUMBERS[random.below(NUMBERS.len())].cast_unsigned();
            let mut varint = Vec::new();
            while number >= 0x80 {
                varint.push(number as u8 | 0x80);
                number >>= 7;
            }
            varint.push(number as u8);
            bytes.splice(at..at, varint);
        }
        7 => text(bytes, at, random),
        _ => {
            let other = &corpus[random.below(corpus.len())];
            let start = random.below(other.len());
            let end = other.len().min(start + 1 + random.below(64));
            bytes.splice(at..at, other[start..end].iter().copied());
        }
    }
}

fn overwrite(bytes: &mut [u8], at: usize, new: &[u8]) {
    let width = new.len().min(bytes.len() - at);
    bytes[at..at + width].copy_from_slice(&new[..width]);
}

/// Puts a word in the place of the next number in text, if there is one.
fn text(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(start) = (at..bytes.len()).find(|&at| bytes[at].is_ascii_digit()) else { return };
    let end = (start..bytes.len()).find(|&at| !bytes[at].is_ascii_digit()).unwrap_or(bytes.len());
    bytes.splice(start..end, WORDS[random.below(WORDS.len())].bytes());
}
