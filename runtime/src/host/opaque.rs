//! What procedures compute, on the host: the body's values along a row, then the procedure itself.

use std::convert::Infallible;

use warpweave_graph::procedure::sort::{self, Keys};
use warpweave_graph::procedure::{Opaque, Procedure, suppress};

use super::lanes::{LANES, Lanes};
use super::memory::Memory;
use super::stage::{HostStage, Run};

/// Computes the row of a stage at one point of the tile axes.
pub(super) fn run_row(procedure: Procedure, stage: &HostStage, tile_point: &[i64], memory: &Memory) {
    let row = Row { stage, memory, point: tile_point, length: Opaque::row(&stage.expr) };
    match procedure {
        Procedure::Sort(direction) => {
            let keys = row.keys();
            row.store(&sort::places(stage.expr.body_element(), &keys, direction));
        }
        Procedure::Suppress { most } => {
            let itself: Vec<bool> = (0..row.length).map(|place| row.truths(place, place..place + 1)[0]).collect();
            let by = |each: usize| {
                let mut all = vec![false; each + 1];
                all.extend(row.truths(each, each + 1..row.length));
                Ok::<_, Infallible>(all)
            };
            let Ok(stays) = suppress::staying(&itself, most, by);
            row.store(&stays.into_iter().map(i64::from).collect::<Vec<i64>>());
        }
    }
}

struct Row<'r> {
    stage: &'r HostStage,
    memory: &'r Memory<'r>,
    point: &'r [i64],
    length: usize,
}

impl Row<'_> {
    /// The axis of the places, then the reduced one.
    fn axes(&self) -> [usize; 2] {
        [self.point.len(), self.point.len() + 1]
    }

    /// The values along the reduced axis.
    fn keys(&self) -> Keys {
        let [_, each] = self.axes();
        let mut keys = match self.stage.expr.body_element().is_float() {
            true => Keys::Float(Vec::with_capacity(self.length)),
            false => Keys::Integer(Vec::with_capacity(self.length)),
        };
        self.runs(each, 0, 0..self.length, |lanes, count| match (&mut keys, lanes) {
            (Keys::Float(keys), Lanes::Float(lanes)) => keys.extend(lanes[..count].iter().map(|&lane| f64::from(lane))),
            (Keys::Float(keys), Lanes::Double(lanes)) => keys.extend(&lanes[..count]),
            (Keys::Integer(keys), Lanes::Integer(lanes)) => keys.extend(&lanes[..count]),
            _ => unreachable!("lanes hold what the element type says"),
        });
        keys
    }

    /// The truth values at some places, the reduced axis at `each`.
    fn truths(&self, each: usize, places: std::ops::Range<usize>) -> Vec<bool> {
        let mut truths = Vec::with_capacity(places.len());
        self.runs(self.axes()[0], each, places, |lanes, count| {
            let Lanes::Integer(lanes) = lanes else { unreachable!("truth values are integers") };
            truths.extend(lanes[..count].iter().map(|&lane| lane != 0));
        });
        truths
    }

    /// The body's values along an axis, run by run, the reduced axis at `each` otherwise.
    fn runs(&self, axis: usize, each: usize, along: std::ops::Range<usize>, mut take: impl FnMut(Lanes, usize)) {
        let mut point = self.point.to_vec();
        point.extend([0, each as i64]);
        for first in along.clone().step_by(LANES) {
            point[axis] = first as i64;
            let count = (along.end - first).min(LANES);
            let run = Run { point: &point, axis: Some(axis), count };
            take(self.stage.evaluate(&self.stage.body, self.memory, &run, &[], None), count);
        }
    }

    fn store(&self, values: &[i64]) {
        let [places, _] = self.axes();
        let mut point = self.point.to_vec();
        point.extend([0, 0]);
        for (number, values) in values.chunks(LANES).enumerate() {
            point[places] = (number * LANES) as i64;
            let mut lanes = [0; LANES];
            lanes[..values.len()].copy_from_slice(values);
            let run = Run { point: &point, axis: Some(places), count: values.len() };
            self.stage.store(self.memory, &run, &Lanes::Integer(lanes));
        }
    }
}
