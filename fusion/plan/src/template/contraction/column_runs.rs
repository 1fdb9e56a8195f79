//! Runs of neighbouring columns: what a thread's epilogue loads and stores at once.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, Read, TensorExpr};

use crate::body::GroupBody;
use crate::template::contraction::shape::ContractionShape;
use crate::template::contraction::{AxisClass, Contraction};

/// The runs of [`ContractionShape::column_width`] columns of a thread, where the columns of a run differ in one axis alone
/// and exist together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnRuns {
    axis: AxisId,
    /// Columns of a run: 2 or 4.
    pub width: usize,
}

impl ColumnRuns {
    /// The runs under a shape and a tile of the body's axes; `None` where columns are taken one by one.
    pub fn of(body: &GroupBody, contraction: &Contraction, shape: &ContractionShape, tile: &[usize]) -> Option<Self> {
        let width = shape.column_width;
        let axis = *contraction.tile_axes(body, AxisClass::Column).last()?;
        let divides = |extent: usize| extent.is_multiple_of(width);
        let together = width > 1 && divides(tile[axis]) && divides(body.tile_extents()[axis]);
        together.then(|| Self { axis: AxisId::from_index(axis), width })
    }

    /// Whether the elements that a stage touches at the columns of a run are neighbours of which the first is aligned
    /// to the run. `element` is the number of the element in memory.
    pub fn are_neighbours(&self, expr: &TensorExpr, element: &Index) -> bool {
        let divides = |value: i64| value % self.width as i64 == 0;
        let mut others = expr.axes.ids().filter(|&axis| axis != self.axis && expr.axes[axis].extent > 1);
        element.is_affine()
            && element.coefficient(self.axis) == 1
            && divides(element.offset())
            && others.all(|axis| divides(element.coefficient(axis)))
    }

    /// The same of a read, which exists everywhere.
    pub fn reads_neighbours(&self, expr: &TensorExpr, read: &Read, element: &Index) -> bool {
        read.guard.is_always() && self.are_neighbours(expr, element)
    }
}
