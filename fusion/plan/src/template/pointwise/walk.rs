//! How a thread walks through a reduction.

use warpweave_graph::expr::{AxisId, TensorExpr};

/// Most taps that are written out.
const MOST_TAPS: usize = 64;
/// Most of them, over all points that a thread computes side by side.
const MOST_STEPS: usize = 256;
/// Taps of a loop's round where one axis has too many for all of them to be written out.
const ROUNDS: [usize; 4] = [16, 8, 4, 2];

/// A loop around the taps that are written out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rolled {
    /// The reduced axis.
    pub axis: AxisId,
    /// How often the loop runs.
    pub trips: usize,
    /// Points of the axis that a trip takes.
    pub step: usize,
}

/// A reduced axis whose points are written out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// The reduced axis.
    pub axis: AxisId,
    /// Its points: all of them, or those of one trip.
    pub points: usize,
}

/// A point of the axes that are written out, relative to where the loops stand.
pub type Tap = Vec<(AxisId, i64)>;

/// The order of a reduction: loops, and inside them taps that are written out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Walk {
    /// The loops, outermost first. An axis that is split between a loop and taps is the last.
    pub rolled: Vec<Rolled>,
    /// What is written out, outermost first.
    pub written: Vec<Written>,
}

impl Walk {
    /// The walk of a thread that computes so many points side by side.
    pub fn of(expr: &TensorExpr, points: usize) -> Self {
        let most = (MOST_STEPS / points).clamp(1, MOST_TAPS);
        let axes: Vec<(AxisId, usize)> = expr.reduced().map(|axis| (axis, expr.axes[axis].extent)).collect();
        let mut taps = 1;
        let fits = |&&(_, extent): &&(AxisId, usize)| {
            taps *= extent;
            taps <= most
        };
        let count = axes.iter().rev().take_while(fits).count();
        let (outer, inner) = axes.split_at(axes.len() - count);
        let written = inner.iter().map(|&(axis, points)| Written { axis, points }).collect();
        let mut walk = Self { rolled: Vec::new(), written };
        for (at, &(axis, extent)) in outer.iter().enumerate() {
            let splits = at + 1 == outer.len() && walk.written.is_empty();
            let step = ROUNDS.into_iter().find(|step| splits && *step <= most && extent.is_multiple_of(*step));
            walk.rolled.push(Rolled { axis, trips: extent / step.unwrap_or(1), step: step.unwrap_or(1) });
            walk.written.extend(step.map(|points| Written { axis, points }));
        }
        walk
    }

    /// Whether loops give part of an axis' coordinate.
    pub fn is_rolled(&self, axis: AxisId) -> bool {
        self.rolled.iter().any(|rolled| rolled.axis == axis)
    }

    /// Rounds of the loops.
    pub fn trips(&self) -> usize {
        self.rolled.iter().map(|rolled| rolled.trips).product()
    }

    /// The taps in their order; one that says nothing where nothing is written out.
    pub fn taps(&self) -> Vec<Tap> {
        let mut taps: Vec<Tap> = vec![Tap::new()];
        for &Written { axis, points } in &self.written {
            let along = |tap: &Tap| -> Vec<Tap> {
                let with = |at: usize| tap.iter().copied().chain([(axis, at as i64)]).collect();
                (0..points).map(with).collect()
            };
            taps = taps.iter().flat_map(along).collect();
        }
        taps
    }
}
