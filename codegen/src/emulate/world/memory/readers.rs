//! Interned sets of the reads of a word since it was last written.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::emulate::world::clock::Clocks;

/// A set of reads; equal histories have equal numbers. 0 is the empty set.
pub type ReaderSet = u32;

#[derive(Clone, Copy)]
struct Node {
    rest: ReaderSet,
    warp: u32,
    tick: u32,
}

/// All sets of a launch, as lists that share their tails.
///
/// A read that happens before a later one of the set is dropped where it is the last: an access that is ordered after the
/// later read is ordered after it, too.
#[derive(Default)]
pub struct Readers {
    nodes: Vec<Node>,
    interned: HashMap<(u32, u32, u32), ReaderSet, FastBuild>,
    added: HashMap<(u32, u32, u32), ReaderSet, FastBuild>,
}

impl Readers {
    /// The set with a read by `warp` in its present step.
    pub fn add(&mut self, set: ReaderSet, warp: usize, clocks: &Clocks) -> ReaderSet {
        self.add_at(set, warp, clocks.tick(warp), clocks)
    }

    /// The set with a read by `warp` in its step `tick`.
    pub fn add_at(&mut self, set: ReaderSet, warp: usize, tick: u32, clocks: &Clocks) -> ReaderSet {
        let key = (set, warp as u32, tick);
        if let Some(&known) = self.added.get(&key) {
            return known;
        }
        let mut rest = set;
        while let Some(node) = self.node(rest) {
            if tick != clocks.tick(warp) || !clocks.ordered(node.warp as usize, node.tick, warp) {
                break;
            }
            rest = node.rest;
        }
        let result = if self.find(rest, |node| node.warp == warp as u32 && node.tick == tick).is_some() {
            set
        } else {
            let next = self.nodes.len() as ReaderSet + 1;
            let node = Node { rest, warp: warp as u32, tick };
            let result = *self.interned.entry((rest, node.warp, tick)).or_insert(next);
            if result == next {
                self.nodes.push(node);
            }
            result
        };
        self.added.insert(key, result);
        result
    }

    /// A read of the set, by its warp, of which `warp` does not know that it is over.
    pub fn unordered(&self, set: ReaderSet, warp: usize, clocks: &Clocks) -> Option<usize> {
        self.find(set, |node| !clocks.has_been_read(node.warp as usize, node.tick, warp)).map(|node| node.warp as usize)
    }

    fn node(&self, set: ReaderSet) -> Option<Node> {
        set.checked_sub(1).map(|index| self.nodes[index as usize])
    }

    fn find(&self, set: ReaderSet, wanted: impl Fn(&Node) -> bool) -> Option<Node> {
        std::iter::successors(self.node(set), |node| self.node(node.rest)).find(wanted)
    }
}

/// Hashes the small integer keys above; they are not under anyone's control, so speed is all that matters.
#[derive(Default)]
pub struct FastHasher(u64);

/// Builds a [`FastHasher`].
pub type FastBuild = BuildHasherDefault<FastHasher>;

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(byte.into());
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.0 = (self.0.rotate_left(23) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
