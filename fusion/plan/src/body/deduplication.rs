//! Groups that are alike: they compute the same with the same kernel, of different tensors. The steps of a recurrent network
//! are, and most of a deep network's layers.

use std::hash::Hash;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::body::GroupBody;
use crate::body::Stage;
use crate::kernel::{Kernel, ScheduleParams};

/// A body without its tensors, and its parameters: what decides the kernel, its tiles and what they cost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StructuralKey<'a> {
    staged: &'a [Stage],
    stages: &'a [Stage],
    tile_rank: usize,
    params: &'a ScheduleParams,
}

impl<'a> StructuralKey<'a> {
    /// That of a body under its parameters.
    pub fn of(kernel: &'a Kernel) -> Self {
        let GroupBody { staged, stages, tile_rank, operands: _, outputs: _ } = kernel.body();
        Self { staged, stages, tile_rank: *tile_rank, params: kernel.params() }
    }
}

/// What `value` makes of one item of every kind, and per item the position of its kind's: kinds in the order in which they
/// first occur.
pub fn deduplicated<T: Sync, K: Hash + Eq + Send, V: Send>(
    items: &[T],
    kind: impl Fn(&T) -> K,
    value: impl Fn(&T, Repeated) -> V + Sync,
) -> (Vec<V>, Vec<usize>) {
    let mut known: FxHashMap<K, usize> = FxHashMap::default();
    let mut firsts: Vec<(&T, Repeated)> = Vec::new();
    let mut kinds: Vec<usize> = Vec::with_capacity(items.len());
    for item in items {
        let position = *known.entry(kind(item)).or_insert(firsts.len());
        match firsts.get_mut(position) {
            Some((_, repeated)) => *repeated = Repeated::Yes,
            None => firsts.push((item, Repeated::No)),
        }
        kinds.push(position);
    }
    (firsts.into_par_iter().map(|(item, repeated)| value(item, repeated)).collect(), kinds)
}

/// Whether several items are of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeated {
    /// One alone.
    No,
    /// Several.
    Yes,
}
