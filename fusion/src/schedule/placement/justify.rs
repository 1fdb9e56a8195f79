//! Double justification: every rTask as late as its readers allow, then every rTask as early as what it reads allows, in the
//! order of the late starts (V. Valls, F. Ballestín, S. Quintanilla, *Justification and RCPSP: a technique that pays*, EJOR
//! 165, 2005).
//!
//! The first placement decides an rOperator at a time; here every rTask is as urgent as its own late start says, so gaps
//! close that rOperators as wholes leave.

use std::cmp::Reverse;

use warpweave_graph::arena::Arena;

use crate::schedule::dependence::bands::BandId;
use crate::schedule::dependence::requirements::Requirements;
use crate::schedule::placement::insertion;
use crate::schedule::placement::insertion::{Home, Release};
use crate::schedule::placement::timeline::Timeline;
use crate::schedule::placement::{Placement, Step, Time};
use warpweave_plan::plan::RTask;

/// A placement of the same rTasks, often a shorter one. Placements in waves stay as they are.
pub fn justify(requirements: &Requirements, placement: &Placement) -> Placement {
    if placement.barriers.is_empty() {
        insertion::place_in_order(requirements, latest_first_to_start(requirements, placement).into_iter())
    } else {
        placement.clone()
    }
}

/// What is known of a band's readers while rTasks are placed backwards in time, in time that runs backwards.
#[derive(Clone, Copy)]
struct Deadline {
    /// When the band has to be complete for readers on other units.
    far: Time,
    /// When the first of the readers starts.
    near: Time,
    home: Home,
}

/// All rTasks by their latest starts, ascending: those that end last choose first.
fn latest_first_to_start(requirements: &Requirements, placement: &Placement) -> Vec<RTask> {
    let work = requirements.work;
    let mut timeline = Timeline::new(requirements.units);
    let deadline = |_| Deadline { far: 0, near: 0, home: Home::Nowhere };
    let mut deadlines: Arena<BandId, Deadline> = (0..work.bands.len()).map(deadline).collect();
    let mut steps: Vec<&Step> = placement.steps.iter().collect();
    steps.sort_by_key(|step| Reverse((step.end, step.start)));
    let mut starts: Vec<(Time, RTask)> = Vec::with_capacity(steps.len());
    for &Step { task, .. } in steps {
        let (own, signal) = requirements.takes(task.operator);
        let release = release(work.bands.of(task.operator, task.tile).map(|band| deadlines[band]), signal);
        let home = work.affinity.unit(task, requirements.units);
        let (end, unit) = insertion::take(&mut timeline, home, release, own + signal);
        let start = end + own + signal;
        starts.push((start, task));
        for &need in requirements.of(task) {
            let Deadline { far, near, home } = deadlines[need.0];
            let far = far.max(start + requirements.reach(need));
            deadlines[need.0] = Deadline { far, near: near.max(start), home: home.with(unit) };
        }
    }
    starts.sort_by_key(|(start, _)| Reverse(*start));
    starts.into_iter().map(|(_, task)| task).collect()
}

/// From when on, backwards, an rTask of bands with these deadlines may end, the signal that follows it included.
fn release(deadlines: impl Iterator<Item = Deadline>, signal: Time) -> Release {
    let (mut from, mut near, mut home) = (0, 0, Home::Nowhere);
    for deadline in deadlines.filter(|deadline| deadline.home != Home::Nowhere) {
        from = from.max(deadline.far.saturating_sub(signal));
        near = near.max(deadline.near);
        home = match deadline.home {
            Home::At(unit) => home.with(unit),
            Home::Nowhere | Home::Spread => Home::Spread,
        };
    }
    let near = match home {
        Home::At(unit) => Some((unit, near)),
        Home::Nowhere | Home::Spread => None,
    };
    Release { from, near }
}
