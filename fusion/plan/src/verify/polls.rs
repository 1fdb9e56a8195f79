//! Which rTasks every rTask polls.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::plan::{EdgeKind, MemoryPlan, PersistentSegment, RTask};
use crate::region::{Region, reads, writes_into};
use crate::streams::polls::Polls;
use crate::verify::writers::Writers;

/// The polls of a segment, from the boxes that rTasks read and the elements that others write there.
pub(super) fn polls(segment: &PersistentSegment, memory: &MemoryPlan, written: &Writers) -> Polls {
    let mut writers: BTreeMap<RTask, Vec<RTask>> = BTreeMap::new();
    let mut tiles = Vec::new();
    for (id, operator) in segment.operators.iter() {
        if operator.kernel.body().operands.iter().all(|tensor| memory.tensors[*tensor].edge == EdgeKind::Counter) {
            continue;
        }
        // Tiles mostly poll the same.
        let mut known: FxHashMap<Region, Vec<RTask>> = FxHashMap::default();
        for tile in 0..operator.tasks() {
            let reader = RTask { operator: id, tile };
            let found = writers.entry(reader).or_default();
            for region in reads(operator, memory, reader) {
                if memory.tensors[region.root].edge == EdgeKind::Counter {
                    continue;
                }
                if let Some(same) = known.get(&region) {
                    found.extend_from_slice(same);
                    continue;
                }
                let before = found.len();
                for writer_operator in written.of(&region) {
                    written.tiles(writer_operator, &region, &mut tiles);
                    let tasks = tiles.iter().map(|&tile| RTask { operator: writer_operator, tile });
                    let operator = &segment.operators[writer_operator];
                    found.extend(tasks.filter(|task| writes_into(operator, memory, *task, &region)));
                }
                known.insert(region, found[before..].to_vec());
            }
            found.sort_unstable();
            found.dedup();
        }
    }
    Polls::new(writers)
}
