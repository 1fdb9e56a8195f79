//! Placement in program order: every unit runs the rOperators one after another, so what it reads again it has read a moment ago.
//!
//! Where weights are used again at every step of a sequence, a wave of layers would push them out of every cache.

use warpweave_graph::arena::Arena;

use crate::schedule::dependence::bands::BandId;
use crate::schedule::dependence::requirements::{Need, Requirements};
use crate::schedule::placement::insertion::Home;
use crate::schedule::placement::{Placement, Step, Time};
use warpweave_plan::plan::RTask;

/// Places all rTasks in the order of their rOperators and tiles. Each goes on the unit that can start it first after
/// what it has, the first of equals. So equal rOperators in turn have equal tiles on equal units.
pub fn place(requirements: &Requirements) -> Placement {
    let band = |_| (0, Home::Nowhere);
    let mut bands: Arena<BandId, (Time, Home)> = (0..requirements.work.bands.len()).map(band).collect();
    let mut free: Vec<Time> = vec![0; requirements.units];
    let mut steps = Vec::new();
    let mut is_home = vec![false; requirements.units];
    for (operator, definition) in requirements.work.operators.iter() {
        let (own, signal) = requirements.takes(operator);
        for tile in 0..definition.tasks() {
            let task = RTask { operator, tile };
            let needs = requirements.of(task);
            let abroad = released(needs, None, &bands, requirements);
            let mark = |is_home: &mut [bool], marked: bool| {
                needs.iter().filter_map(|need| bands[need.0].1.unit()).for_each(|unit| is_home[unit] = marked);
            };
            mark(&mut is_home, true);
            let starts = |unit: usize| {
                let released = if is_home[unit] { released(needs, Some(unit), &bands, requirements) } else { abroad };
                free[unit].max(released)
            };
            let unit = match requirements.work.affinity.unit(task, requirements.units) {
                Some(home) => home,
                None => (0..requirements.units).min_by_key(|&unit| starts(unit)).expect("a device has units"),
            };
            let start = starts(unit);
            mark(&mut is_home, false);
            let end = start + own;
            free[unit] = end + signal;
            for band in requirements.work.bands.of(operator, tile) {
                let (last, home) = &mut bands[band];
                (*last, *home) = ((*last).max(end), home.with(unit));
            }
            steps.push(Step { task, unit, start, end });
        }
    }
    Placement { steps, barriers: Vec::new() }
}

/// When everything that is needed has reached a unit; `None` is one that has made nothing of it.
fn released(
    needs: &[Need],
    unit: Option<usize>,
    bands: &Arena<BandId, (Time, Home)>,
    requirements: &Requirements,
) -> Time {
    let reaches = |need: &Need| {
        let (end, home) = bands[need.0];
        if unit.is_some() && home.unit() == unit { end } else { end + requirements.reach(*need) }
    };
    needs.iter().map(reaches).max().unwrap_or(0)
}
