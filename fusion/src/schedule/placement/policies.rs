//! The policies by which rTasks are placed.
//!
//! List scheduling gives every rTask to the unit that can start it first, as soon as the bands that it reads are complete. The
//! most urgent rOperators choose first; the others fill the gaps that these leave, so nothing delays what is more urgent.
//! rTasks then stand in the order of their estimated starts. That order respects every wait, so streams that follow it
//! cannot deadlock, and rOperators of different waves overlap wherever their tiles allow.
//!
//! Program order suits processors: what a thread reads again soon is still in its caches.

use crate::cost::sync::SyncCosts;
use crate::schedule::dependence::requirements::Requirements;
use crate::schedule::placement::{Placement, Work, insertion, program_order, wavefront};
use crate::schedule::policy::{PlacementPolicy, SyncPolicy};

/// Places all rTasks on `units` units.
pub fn place(work: &Work, units: usize, policy: SyncPolicy, costs: &SyncCosts) -> Placement {
    match policy.placement() {
        PlacementPolicy::Wavefront => wavefront::place(work, units, costs),
        PlacementPolicy::ListScheduling => {
            insertion::place_ready(&Requirements::new(work, units, costs), &work.urgency(units, costs))
        }
        PlacementPolicy::ProgramOrder => program_order::place(&Requirements::new(work, units, costs)),
    }
}
