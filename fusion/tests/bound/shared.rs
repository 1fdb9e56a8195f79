//! Bank conflicts by enumeration.

use warpweave_fusion::cost::bound::conflicts::row_major;
use warpweave_fusion::cost::bound::{BlockShape, OperandLevel};
use warpweave_plan::shared_memory::{SharedWidth, conflict_degree};

use crate::operators::elementwise;

fn stride(words: u64) -> Vec<u64> {
    (0..32).map(|lane| lane * words).collect()
}

#[test]
fn known_patterns_of_one_word() {
    for (pattern, expected) in
        [(stride(1), 1.0), (stride(2), 2.0), (stride(4), 4.0), (stride(32), 32.0), (stride(33), 1.0), (stride(0), 1.0)]
    {
        assert_eq!(conflict_degree(&pattern, SharedWidth::Word), expected, "{pattern:?}");
    }
    let halves: Vec<u64> = (0..32).map(|lane| lane / 16 * 32).collect();
    assert_eq!(conflict_degree(&halves, SharedWidth::Word), 2.0, "two words of one bank");
}

#[test]
fn known_patterns_of_four_words() {
    assert_eq!(conflict_degree(&stride(4), SharedWidth::FourWords), 1.0, "neighbouring vectors");
    assert_eq!(conflict_degree(&stride(0), SharedWidth::FourWords), 0.5, "one vector for all");
    let pairs: Vec<u64> = (0..32).map(|lane| lane / 2 * 4).collect();
    assert_eq!(conflict_degree(&pairs, SharedWidth::FourWords), 0.5, "a vector for two neighbours");
    let halves: Vec<u64> = (0..32).map(|lane| lane % 16 * 4).collect();
    assert_eq!(conflict_degree(&halves, SharedWidth::FourWords), 1.0, "a vector for two lanes far apart");
    assert_eq!(conflict_degree(&stride(8), SharedWidth::FourWords), 2.0, "every second vector");
    assert_eq!(conflict_degree(&stride(32), SharedWidth::FourWords), 8.0, "one vector a row of banks");
}

/// Threads down the rows of a tile 32 words wide hit one bank; a word of padding a row spreads them.
#[test]
fn padding_removes_the_conflicts_of_a_transposed_walk() {
    let expr = elementwise(&[64, 64], 1);
    let shape = BlockShape::over_parallel(&expr, &[32, 32], &[1, 32], OperandLevel::Registers);
    assert_eq!(row_major(&expr, &shape, 0), 32.0);
    assert_eq!(row_major(&expr, &shape, 1), 1.0);
}
