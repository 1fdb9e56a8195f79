//! What is known of values of which only some elements count.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::ValueId;
use warpweave_graph::ops::layout::slice::Bounds;

/// A dimension of a value that has as many elements as another value says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::import) struct Count {
    pub(in crate::import) dimension: usize,
    pub(in crate::import) count: ValueId,
}

/// What is known of counts.
#[derive(Default, Debug)]
pub(in crate::import) struct Counts {
    /// The values of which only some elements count.
    pub(in crate::import) of: BTreeMap<ValueId, Count>,
    /// Vectors of extents, some of which are counts.
    pub(in crate::import) extents: BTreeMap<ValueId, Vec<Extent>>,
    /// Indices whose elements that do not count are zeros.
    pub(in crate::import) places: BTreeSet<ValueId>,
    /// The places of what counts in parts laid end to end.
    pub(super) joined: BTreeMap<Vec<Part>, ValueId>,
    /// How many of so many stand within bounds.
    pub(super) shortened: BTreeMap<(ValueId, Bounds), ValueId>,
}

impl Counts {
    /// Whether a count is known to be no larger than another.
    pub(super) fn is_at_most(&self, count: ValueId, other: ValueId) -> bool {
        let of = |count| self.shortened.iter().find(|(_, shortened)| **shortened == count).map(|((of, _), _)| *of);
        std::iter::successors(Some(count), |&count| of(count)).any(|count| count == other)
    }
}

/// A part of what is laid end to end: all of it counts, or as many elements as a value says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::import) struct Part {
    pub(in crate::import) count: Option<ValueId>,
    pub(in crate::import) extent: usize,
}

/// An element of a vector of extents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::import) enum Extent {
    /// A number.
    Known(i64),
    /// As many elements as a value says, at most as many as the capacity.
    Counted { count: ValueId, capacity: i64 },
}

/// An input that was replaced by the most that its extents may be.
pub(in crate::import) struct Replaced {
    pub(super) input: usize,
    pub(super) extents: Vec<Extent>,
}

impl Extent {
    pub(super) fn most(self) -> i64 {
        match self {
            Self::Known(extent) => extent,
            Self::Counted { capacity, .. } => capacity,
        }
    }

    pub(super) fn less(self) -> i64 {
        match self {
            Self::Known(extent) => extent,
            Self::Counted { capacity, .. } => capacity - 1,
        }
    }
}
