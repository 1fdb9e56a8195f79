//! Sets of rOperators as bit sets, and who comes before whom.

use std::collections::BTreeSet;

use warpweave_graph::arena::{Arena, Id};

use super::plan::OperatorId;

/// A set of rOperators.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OperatorSet {
    words: Vec<u64>,
}

impl OperatorSet {
    /// The empty set, with room for `operators`.
    pub fn new(operators: usize) -> Self {
        Self { words: vec![0; operators.div_ceil(64)] }
    }

    /// Adds an operator.
    pub fn insert(&mut self, id: OperatorId) {
        self.words[id.index() / 64] |= 1 << (id.index() % 64);
    }

    /// Adds all of another set.
    pub fn extend(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Whether an operator is in the set.
    pub fn contains(&self, id: OperatorId) -> bool {
        self.words[id.index() / 64] >> (id.index() % 64) & 1 == 1
    }
}

/// Per operator, the operators whose every rTask happens before its every rTask, because each waits for the one before.
/// Operators stand in topological order.
pub fn ancestors(producers: &Arena<OperatorId, BTreeSet<OperatorId>>) -> Arena<OperatorId, OperatorSet> {
    let mut ancestors: Arena<OperatorId, OperatorSet> = Arena::new();
    for own in producers.values() {
        let mut set = OperatorSet::new(producers.len());
        for &producer in own {
            set.insert(producer);
            set.extend(&ancestors[producer]);
        }
        ancestors.push(set);
    }
    ancestors
}
