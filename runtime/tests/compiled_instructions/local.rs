//! Local memory of a lane: words and parts of words.

use crate::harness::{Kernels, LANES, TARGETS};

/// Elements of a lane's array.
const LENGTH: usize = 8;

/// A type whose array lies in local memory, its bits, and what stores and loads of it are compiled to.
const TYPES: [(&str, u32, [&str; 2]); 3] = [
    ("unsigned char", 8, ["STL.U8", "LDL.U8"]),
    ("unsigned short", 16, ["STL.U16", "LDL.U16"]),
    ("unsigned", 32, ["STL", "LDL"]),
];

#[test]
fn parts_of_words_are_stored_alone() {
    let body = |(name, ..): &(&str, u32, [&str; 2])| {
        format!(
            "volatile {name} a[{LENGTH}]; for (int i = 0; i < {LENGTH}; ++i) a[(3 * i + in[lane]) % {LENGTH}] = in[lane] * (i + 1); \
             for (int i = 0; i < {LENGTH}; ++i) out[{LENGTH} * lane + i] = a[(i + in[lane]) % {LENGTH}];"
        )
    };
    let bodies: Vec<String> = TYPES.iter().map(body).collect();
    let input: Vec<u32> = (0..LANES as u32).map(|lane| lane * 0x0101_0307 + 5).collect();
    for target in TARGETS {
        let kernels = Kernels::compile(target, &bodies);
        for (kernel, (name, bits, wanted)) in TYPES.iter().enumerate() {
            let opcodes = kernels.opcodes(kernel);
            for wanted in wanted {
                assert!(opcodes.iter().any(|found| found == wanted), "{name} on {target}: {opcodes:?}");
            }
            let element = |lane: usize, at: usize| {
                // 3 is its own inverse modulo 8.
                let stored = 3 * at % LENGTH;
                let value = u64::from(input[lane]) * (stored as u64 + 1);
                (value & ((1 << bits) - 1)) as u32
            };
            let expected: Vec<u32> = (0..LANES * LENGTH).map(|at| element(at / LENGTH, at % LENGTH)).collect();
            assert_eq!(kernels.run(kernel, &input, LANES * LENGTH), expected, "{name} on {target}");
        }
    }
}
