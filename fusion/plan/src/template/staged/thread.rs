//! How a thread of a staged kernel goes through elements, where it computes one after another.

use warpweave_graph::expr::{AxisId, TensorExpr};

/// Elements without a reduction that a thread fetches before it computes the first.
pub const ELEMENTS: usize = 4;
/// Most taps of a reduction that are fetched before the first is used.
const MOST_TAPS: usize = 25;

/// The reduced axes of an expression: loops, and inside them taps that are written out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taps {
    /// The outer axes.
    pub rolled: Vec<AxisId>,
    /// The inner axes.
    pub written: Vec<AxisId>,
    count: usize,
}

impl Taps {
    /// The taps of an expression.
    pub fn of(expr: &TensorExpr) -> Self {
        let axes: Vec<AxisId> = expr.reduced().collect();
        let mut count = 1;
        let mut first = axes.len();
        while let Some(next) = first.checked_sub(1).map(|at| count * expr.axes[axes[at]].extent)
            && next <= MOST_TAPS
        {
            count = next;
            first -= 1;
        }
        let (rolled, written) = axes.split_at(first);
        Self { rolled: rolled.to_vec(), written: written.to_vec(), count }
    }

    /// How many are written out.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How often these are gone through.
    pub fn rounds(&self, expr: &TensorExpr) -> usize {
        self.rolled.iter().map(|axis| expr.axes[*axis].extent).product()
    }
}
