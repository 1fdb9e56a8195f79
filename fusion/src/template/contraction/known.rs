//! What a search has found out about sums of products. Groups of a search that differ only in what follows the sum share it.

use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::cost::counts::KernelCounts;
use crate::partition::alone::sum_alone;
use crate::template::contraction::factor_loads::FactorLoads;
use warpweave_plan::body::{GroupBody, Stage};
use warpweave_plan::kernel::ScheduleParams;
use warpweave_plan::template::contraction::shape::ContractionShape;

/// Results of one cost model on one device, each computed once, by any thread.
#[derive(Default)]
pub struct KnownSums {
    ranked: Known<Sum, RankedShapes>,
    /// By the stage of the parts, and the bytes that they move.
    parts: Known<(Sum, u64), Option<ScheduleParams>>,
}

/// Values by key. The first thread that asks for a value computes it, and others wait for it.
type Known<K, V> = Mutex<FxHashMap<K, Arc<OnceLock<V>>>>;

/// A stage that sums products, without the names of its tensors: equal sums have equal kernels.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Sum {
    stage: Stage,
    tile_rank: usize,
}

/// The shapes of a sum that may be the best with any epilogue, in the order of the rules.
pub(super) struct RankedShapes {
    /// The number of all shapes that the rules allow.
    pub(super) all: usize,
    pub(super) shapes: Vec<RankedShape>,
}

/// A shape of a sum with what does not depend on the epilogue.
pub(super) struct RankedShape {
    pub(super) params: ScheduleParams,
    pub(super) shape: ContractionShape,
    /// What all tiles do before the epilogue.
    pub(super) before: KernelCounts,
    pub(super) loads: OnceLock<FactorLoads>,
}

impl KnownSums {
    /// The ranked shapes of the sum of a contraction, which `rank` finds for the sum alone. `None` where an index depends on data.
    pub(super) fn ranked<T>(
        &self,
        body: &GroupBody,
        rank: impl FnOnce(Arc<GroupBody>) -> RankedShapes,
        take: impl FnOnce(&RankedShapes) -> T,
    ) -> Option<T> {
        let alone = sum_alone(body)?;
        let key = Sum { stage: alone.stages[0].clone(), tile_rank: alone.tile_rank };
        Some(take(entry(&self.ranked, key).get_or_init(|| rank(Arc::new(alone)))))
    }

    /// The parameters of the cheapest kernel of the parts of a sum that move so many bytes, which `find` finds.
    pub(crate) fn of_parts(
        &self,
        parts: &Arc<GroupBody>,
        moved: u64,
        find: impl FnOnce() -> Option<ScheduleParams>,
    ) -> Option<ScheduleParams> {
        let sum = Sum { stage: parts.stages[0].clone(), tile_rank: parts.tile_rank };
        entry(&self.parts, (sum, moved)).get_or_init(find).clone()
    }
}

fn entry<K: Eq + Hash, V>(known: &Known<K, V>, key: K) -> Arc<OnceLock<V>> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(known.entry(key).or_default())
}

impl fmt::Debug for KnownSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownSums")
    }
}
