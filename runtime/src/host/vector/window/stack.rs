//! Planes of neighbouring windows.

use crate::host::window_dimension::WindowDimension;

/// Planes one after another.
pub(super) struct Stack<'w> {
    pub(super) axis: Option<usize>,
    /// The value of the first.
    pub(super) first: i64,
    pub(super) count: usize,
    /// Their rows and columns.
    pub(super) dimensions: [&'w WindowDimension; 2],
    /// The value where nothing is read.
    pub(super) fill: f32,
}

impl Stack<'_> {
    /// Goes to a plane.
    pub(super) fn enter(&self, number: usize, point: &mut [i64]) {
        self.axis.into_iter().for_each(|axis| point[axis] = self.first + number as i64);
    }
}
