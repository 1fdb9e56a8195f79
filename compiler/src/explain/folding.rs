//! Repeated blocks of a sequence, such as the layers of a transformer, found so that one copy stands for all.

use std::collections::HashMap;
use std::hash::Hash;

use warpweave_fusion::partition::search::{FusionGroup, Partition};
use warpweave_graph::program::{Names, Origin, Phase};

/// The longest block that is looked for.
const LONGEST_BLOCK: usize = 256;
/// Items that folding must save, or a block stays as it is.
const LEAST_SAVED: usize = 2;

/// Consecutive items: `times` copies of a block of `length` items, the first of which is at `first`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// The position of the first item.
    pub first: usize,
    /// The items of a copy.
    pub length: usize,
    /// The number of copies; 1 where nothing is repeated.
    pub times: usize,
}

impl Stretch {
    /// The position behind the last copy.
    pub fn end(&self) -> usize {
        self.first + self.length * self.times
    }

    /// The positions of the copies of an item of the first one, ascending.
    pub fn copies(&self, item: usize) -> impl Iterator<Item = usize> {
        (0..self.times).map(move |copy| item + copy * self.length)
    }
}

/// The stretches of a partition. Groups are equal that have the same kernel, the same predicted time and operators of the same
/// names.
pub fn repeated_groups(partition: &Partition, names: &Names) -> Vec<Stretch> {
    let keys: Vec<_> = partition.groups.iter().map(|group| key(group, names)).collect();
    stretches(&keys)
}

/// The positions of the groups of each kind: of those with the same kernel, predicted time and operators, wherever they stand. Those
/// that take longest together come first.
pub fn kinds_of_groups(partition: &Partition, names: &Names) -> Vec<Vec<usize>> {
    let groups = &partition.groups;
    let mut kinds = kinds(groups.iter().map(|group| key(group, names)));
    let time = |kind: &Vec<usize>| kind.iter().map(|&group| groups[group].microseconds).sum::<f64>();
    kinds.sort_by(|a, b| time(b).total_cmp(&time(a)));
    kinds
}

/// The positions of equal keys, in the order of the first ones.
pub fn kinds<K: Eq + Hash>(keys: impl Iterator<Item = K>) -> Vec<Vec<usize>> {
    let mut numbers = HashMap::new();
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    for (position, key) in keys.enumerate() {
        let kind = *numbers.entry(key).or_insert(kinds.len());
        if kind == kinds.len() {
            kinds.push(Vec::new());
        }
        kinds[kind].push(position);
    }
    kinds
}

/// What equal groups have in common.
fn key<'a>(group: &FusionGroup, names: &'a Names) -> (String, usize, u64, Vec<(Phase, &'a str)>) {
    let known = group.origins.iter().filter_map(|&origin| names.origins.get(origin));
    let operators = known.map(|Origin { phase, operator, .. }| (*phase, operator.as_str())).collect();
    (group.kernel.params().to_string(), group.statements.len(), group.microseconds.to_bits(), operators)
}

/// Covers a sequence: what repeats is folded, the block first that saves most, then what is before and behind it.
pub fn stretches<K: Eq + Hash>(keys: &[K]) -> Vec<Stretch> {
    let mut numbers = vec![0; keys.len()];
    for (number, kind) in kinds(keys.iter()).into_iter().enumerate() {
        kind.into_iter().for_each(|position| numbers[position] = number);
    }
    let mut found = Vec::new();
    cover(&numbers, 0, &mut found);
    found
}

fn cover(keys: &[usize], before: usize, found: &mut Vec<Stretch>) {
    let Some(Stretch { first, length, times }) = best(keys) else {
        if !keys.is_empty() {
            found.push(Stretch { first: before, length: keys.len(), times: 1 });
        }
        return;
    };
    let end = first + length * times;
    cover(&keys[..first], before, found);
    found.push(Stretch { first: before + first, length, times });
    cover(&keys[end..], before + end, found);
}

/// The block that saves most; of equals the shortest, then the first.
fn best(keys: &[usize]) -> Option<Stretch> {
    let mut best: Option<(usize, Stretch)> = None;
    for length in 1..=LONGEST_BLOCK.min(keys.len() / 2) {
        let mut equal = 0;
        for position in 0..=keys.len() - length {
            if keys.get(position + length) == Some(&keys[position]) {
                equal += 1;
                continue;
            }
            let times = equal / length + 1;
            let saved = length * (times - 1);
            if saved >= LEAST_SAVED && best.is_none_or(|(most, _)| saved > most) {
                best = Some((saved, Stretch { first: position - equal, length, times }));
            }
            equal = 0;
        }
    }
    best.map(|(_, stretch)| stretch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_blocks_are_folded() {
        let cases = [
            ("", ""),
            ("abc", "0+3"),
            ("aa", "0+2"),
            ("aaa", "0+1x3"),
            ("xababaBy", "0+1 1+2x2 5+3"),
            ("eabcabcabcabcz", "0+1 1+3x4 13+1"),
            ("aabaabaab", "0+3x3"),
            ("abab-cdcdcd", "0+2x2 4+1 5+2x3"),
        ];
        for (text, expected) in cases {
            let keys: Vec<char> = text.chars().collect();
            let found = stretches(&keys);
            let shown = |stretch: &Stretch| match stretch.times {
                1 => format!("{}+{}", stretch.first, stretch.length),
                times => format!("{}+{}x{times}", stretch.first, stretch.length),
            };
            assert_eq!(found.iter().map(shown).collect::<Vec<_>>().join(" "), expected, "{text}");
            for stretch in found {
                for item in stretch.first..stretch.first + stretch.length {
                    assert!(stretch.copies(item).all(|copy| keys[copy] == keys[item]), "{text}");
                }
            }
        }
    }
}
