//! Operators that differ in where they read and write are prepared once.
//!
//! The steps of a recurrent layer are such operators: prepared
//! separately, the data of each step would miss the cache.

use std::collections::HashMap;
use std::sync::Arc;

use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{ReadId, TensorExpr};

use super::vector::{Output, Shared, Source, StageReads};

/// What has been prepared, by what it was prepared of.
pub(super) struct Known<T>(HashMap<Arc<Key>, Arc<T>>);

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

/// All of stages that share their first axes but the bytes from which they read and write.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Key {
    stages: Vec<(TensorExpr, Arena<ReadId, Source>, Option<Output>)>,
    shared: Vec<Shared>,
}

impl Key {
    /// That of some stages. What checks indices names a tensor, and has no equal.
    pub(super) fn new(stages: &[StageReads], shared: &[Shared]) -> Option<Arc<Self>> {
        if stages.iter().any(|stage| !stage.checks.is_empty()) {
            return None;
        }
        let parts = |stage: &StageReads| (stage.expr.clone(), stage.sources.clone(), stage.output.clone());
        Some(Arc::new(Self { stages: stages.iter().map(parts).collect(), shared: shared.to_vec() }))
    }
}

impl<T> Known<T> {
    /// What is prepared of what a key says, now or before.
    pub(super) fn prepared(&mut self, key: Option<&Arc<Key>>, prepare: impl FnOnce() -> T) -> Arc<T> {
        let Some(key) = key else { return Arc::new(prepare()) };
        let known = self.0.entry(Arc::clone(key)).or_insert_with(|| Arc::new(prepare()));
        Arc::clone(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_an_equal_is_prepared_once() {
        let key = |most: usize| Key::new(&[], &[Shared { most, is_whole: true }]);
        let (mut known, mut count) = (Known::default(), 0);
        let mut prepared = |key: Option<Arc<Key>>| {
            *known.prepared(key.as_ref(), || {
                count += 1;
                count
            })
        };
        assert_eq!([key(3), key(4), key(3), None, None].map(&mut prepared), [1, 2, 1, 3, 4]);
    }
}
