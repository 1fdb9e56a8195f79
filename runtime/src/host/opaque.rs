//! What procedures compute, on the host: the body's values along a row, then the procedure itself.

use std::convert::Infallible;
use std::ops::Range;

use warpweave_graph::procedure::sort::{self, Keys};
use warpweave_graph::procedure::{Along, Opaque, Procedure, suppress};
use warpweave_plan::body::Stage;
use warpweave_plan::plan::MemoryPlan;
use warpweave_plan::plan::ROperator;

use super::lanes::{LANES, Lanes};
use super::memory::Memory;
use super::stage::{HostStage, Run};

/// What a procedure computes, prepared for the host.
pub(super) struct HostOpaque {
    procedure: Procedure,
    /// The stage at both places at once: whether each place suppresses itself.
    itself: Option<HostStage>,
}

impl HostOpaque {
    /// Prepares the only stage of an operator of a verified plan, if a procedure computes it.
    pub(super) fn new(operator: &ROperator, memory: &MemoryPlan) -> Option<Self> {
        let stage = &operator.kernel.body().stages[0];
        let procedure = stage.procedure?;
        let itself = match procedure {
            Procedure::Sort(_) => None,
            Procedure::Suppress { .. } => {
                let expr = Opaque::values(&stage.expr, Along::Both);
                let both = Stage { expr, output: None, procedure: None, sources: stage.sources.clone() };
                Some(HostStage::new(operator, &both, memory, &[]))
            }
        };
        Some(Self { procedure, itself })
    }

    /// Computes the row of the operator's stage at one point of the tile axes.
    pub(super) fn run_row(&self, stage: &HostStage, tile_point: &[i64], memory: &Memory) {
        let row = Row { stage, memory, point: tile_point, length: Opaque::row(&stage.expr) };
        match self.procedure {
            Procedure::Sort(direction) => {
                let keys = row.keys();
                row.store(&sort::places(stage.expr.body_element(), &keys, direction));
            }
            Procedure::Suppress { most } => {
                let itself = self.itself.as_ref().expect("a suppression has its stage at both places");
                let point = [tile_point, &[0]].concat();
                let itself = truths(itself, memory, point, tile_point.len(), 0..row.length);
                let by = |each: usize| {
                    let mut all = vec![false; each + 1];
                    let point = [tile_point, &[0, each as i64]].concat();
                    all.extend(truths(stage, memory, point, tile_point.len(), each + 1..row.length));
                    Ok::<_, Infallible>(all)
                };
                let Ok(stays) = suppress::staying(&itself, most, by);
                row.store(&stays.into_iter().map(i64::from).collect::<Vec<i64>>());
            }
        }
    }
}

/// A stage's body along an axis from a point on, run by run.
fn runs(
    stage: &HostStage,
    memory: &Memory,
    mut point: Vec<i64>,
    axis: usize,
    along: Range<usize>,
    mut take: impl FnMut(Lanes, usize),
) {
    for first in along.clone().step_by(LANES) {
        point[axis] = first as i64;
        let count = (along.end - first).min(LANES);
        take(stage.evaluate(&stage.body, memory, &Run { point: &point, axis: Some(axis), count }, &[], None), count);
    }
}

/// The same where the values are truth values.
fn truths(stage: &HostStage, memory: &Memory, point: Vec<i64>, axis: usize, along: Range<usize>) -> Vec<bool> {
    let mut truths = Vec::with_capacity(along.len());
    runs(stage, memory, point, axis, along, |lanes, count| {
        let Lanes::Integer(lanes) = lanes else { unreachable!("truth values are integers") };
        truths.extend(lanes[..count].iter().map(|&lane| lane != 0));
    });
    truths
}

struct Row<'r> {
    stage: &'r HostStage,
    memory: &'r Memory<'r>,
    point: &'r [i64],
    length: usize,
}

impl Row<'_> {
    /// The values along the reduced axis.
    fn keys(&self) -> Keys {
        let point = [self.point, &[0, 0]].concat();
        let mut keys = match self.stage.expr.body_element().is_float() {
            true => Keys::Float(Vec::with_capacity(self.length)),
            false => Keys::Integer(Vec::with_capacity(self.length)),
        };
        runs(self.stage, self.memory, point, self.point.len() + 1, 0..self.length, |lanes, count| {
            match (&mut keys, lanes) {
                (Keys::Float(keys), Lanes::Float(lanes)) => {
                    keys.extend(lanes[..count].iter().map(|&lane| f64::from(lane)))
                }
                (Keys::Float(keys), Lanes::Double(lanes)) => keys.extend(&lanes[..count]),
                (Keys::Integer(keys), Lanes::Integer(lanes)) => keys.extend(&lanes[..count]),
                _ => unreachable!("lanes hold what the element type says"),
            }
        });
        keys
    }

    fn store(&self, values: &[i64]) {
        let places = self.point.len();
        let mut point = [self.point, &[0, 0]].concat();
        for (number, values) in values.chunks(LANES).enumerate() {
            point[places] = (number * LANES) as i64;
            let mut lanes = [0; LANES];
            lanes[..values.len()].copy_from_slice(values);
            let run = Run { point: &point, axis: Some(places), count: values.len() };
            self.stage.store(self.memory, &run, &Lanes::Integer(lanes));
        }
    }
}
