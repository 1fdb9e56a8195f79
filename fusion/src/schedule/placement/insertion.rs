//! Placement by insertion: every rTask into the earliest gap of a unit that has room for it and its signal. If one unit
//! made all that an rTask reads, the rTask may go behind that instead.

use std::cmp::Reverse;

use warpweave_graph::arena::Arena;

use crate::schedule::dependence::bands::BandId;
use crate::schedule::dependence::requirements::{Need, Requirements};
use crate::schedule::placement::timeline::Timeline;
use crate::schedule::placement::{Placement, Step, Time};
use warpweave_plan::plan::{OperatorId, RTask};

/// Places rOperators, the most urgent first.
pub fn place_ready(requirements: &Requirements, urgency: &Arena<OperatorId, Time>) -> Placement {
    let mut order: Vec<OperatorId> = urgency.ids().collect();
    // A reader is less urgent than the rOperator that it reads from.
    order.sort_by_key(|&id| (Reverse(urgency[id]), id));
    let mut placer = Placer::new(requirements);
    let steps: Vec<Step> = order.into_iter().flat_map(|id| placer.place(id)).collect();
    by_start(steps)
}

/// Places rTasks in this order, in which all that one comes after stands before it.
pub fn place_in_order(requirements: &Requirements, tasks: impl Iterator<Item = RTask>) -> Placement {
    let mut placer = Placer::new(requirements);
    by_start(tasks.map(|task| placer.place_released(task, placer.release(task))).collect())
}

fn by_start(mut steps: Vec<Step>) -> Placement {
    steps.sort_by_key(|step| step.start);
    Placement { steps, barriers: Vec::new() }
}

/// The units that have a part in something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// None.
    Nowhere,
    At(usize),
    /// Several.
    Spread,
}

impl Home {
    /// With another unit.
    pub fn with(self, unit: usize) -> Self {
        match self {
            Self::Nowhere => Self::At(unit),
            Self::At(home) if home == unit => self,
            Self::At(_) | Self::Spread => Self::Spread,
        }
    }

    /// The unit, if it is one alone.
    pub fn unit(self) -> Option<usize> {
        match self {
            Self::At(unit) => Some(unit),
            Self::Nowhere | Self::Spread => None,
        }
    }
}

/// When something may be placed, in the direction of time in which placing goes on.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    /// On any unit.
    pub from: Time,
    /// On the unit of the last conflicting rTask, if all of these run on one unit.
    pub near: Option<(usize, Time)>,
}

/// Takes the earliest room for `length` on an rTask's own unit, if it has one, or on any; the start and the unit.
pub fn take(
    timeline: &mut Timeline,
    home: Option<usize>,
    Release { from, near }: Release,
    length: Time,
) -> (Time, usize) {
    let (start, unit) = match home {
        Some(home) => {
            let from = near.filter(|(unit, _)| *unit == home).map_or(from, |(_, near)| near);
            (timeline.earliest(home, from, length), home)
        }
        None => {
            let any = timeline.soonest(from, length);
            let near = near.map(|(unit, near)| (timeline.earliest(unit, near, length), unit));
            near.filter(|(start, _)| *start <= any.0).unwrap_or(any)
        }
    };
    timeline.occupy(unit, start, length);
    (start, unit)
}

/// What is known of a band while rTasks are placed: when the last of its tiles ends, and which units have them.
#[derive(Clone, Copy)]
struct BandState {
    end: Time,
    home: Home,
}

struct Placer<'a> {
    requirements: &'a Requirements<'a>,
    timeline: Timeline,
    bands: Arena<BandId, BandState>,
}

impl<'a> Placer<'a> {
    fn new(requirements: &'a Requirements<'a>) -> Self {
        let band = |_| BandState { end: 0, home: Home::Nowhere };
        let bands = (0..requirements.work.bands.len()).map(band).collect();
        Self { requirements, timeline: Timeline::new(requirements.units), bands }
    }

    /// Places all rTasks of an rOperator, those first that may start first.
    fn place(&mut self, operator: OperatorId) -> Vec<Step> {
        let tasks = (0..self.requirements.work.operators[operator].tasks()).map(|tile| RTask { operator, tile });
        let mut released: Vec<(RTask, Release)> = tasks.map(|task| (task, self.release(task))).collect();
        released.sort_by_key(|(_, release)| release.from);
        released.into_iter().map(|(task, release)| self.place_released(task, release)).collect()
    }

    fn place_released(&mut self, task: RTask, release: Release) -> Step {
        let (own, signal) = self.requirements.takes(task.operator);
        let home = self.requirements.work.affinity.unit(task, self.requirements.units);
        let (start, unit) = take(&mut self.timeline, home, release, own + signal);
        let end = start + own;
        for band in self.requirements.work.bands.of(task.operator, task.tile) {
            let state = &mut self.bands[band];
            *state = BandState { end: state.end.max(end), home: state.home.with(unit) };
        }
        Step { task, unit, start, end }
    }

    /// When the bands that an rTask waits for are complete.
    fn release(&self, task: RTask) -> Release {
        let needs = self.requirements.of(task);
        let far = |&need: &Need| self.bands[need.0].end + self.requirements.reach(need);
        let Some(last) = needs.iter().max_by_key(|need| far(need)) else { return Release { from: 0, near: None } };
        let home = self.bands[last.0].home;
        let near = match home {
            Home::At(unit) => {
                let reaches = |need: &Need| {
                    let state = self.bands[need.0];
                    if state.home == home { state.end } else { far(need) }
                };
                Some((unit, needs.iter().map(reaches).max().unwrap_or(0)))
            }
            Home::Nowhere | Home::Spread => None,
        };
        Release { from: far(last), near }
    }
}
