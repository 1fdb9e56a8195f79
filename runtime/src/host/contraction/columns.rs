//! Where the columns of a product lie: packed in panels, or side by side at every step.

use crate::host::memory::Singles;

/// The columns that a panel of rows is multiplied with.
#[derive(Clone, Copy)]
pub(in crate::host) enum Columns<'c> {
    /// Panels one after another, each with the elements of every step side by side.
    Packed(&'c [f32]),
    /// Panels side by side where they lie.
    Placed(Placed<'c>),
    /// Half a panel where it lies.
    Half(Placed<'c>),
}

/// Neighbouring columns that lie side by side at every step.
#[derive(Clone, Copy)]
pub(in crate::host) struct Placed<'c> {
    pub(in crate::host) singles: Singles<'c>,
    /// Where the first column is, beyond the offset of a step.
    pub(in crate::host) first: usize,
    /// The offset of each step.
    pub(in crate::host) offsets: &'c [usize],
    /// Panels, whole or half.
    pub(in crate::host) panels: usize,
}

/// What a kernel takes panels of so many columns from.
pub(super) trait Source<const COLUMNS: usize>: Copy {
    /// How many panels of so many steps there are.
    fn panels(self, steps: usize) -> usize;
    /// One of them.
    fn panel(self, number: usize, steps: usize) -> Self;
    /// The elements of the first panel at a step.
    fn at(&self, step: usize) -> &[f32; COLUMNS];
}

impl<const COLUMNS: usize> Source<COLUMNS> for &[[f32; COLUMNS]] {
    #[inline(always)]
    fn panels(self, steps: usize) -> usize {
        self.len().checked_div(steps).unwrap_or(0)
    }

    #[inline(always)]
    fn panel(self, number: usize, steps: usize) -> Self {
        &self[number * steps..][..steps]
    }

    #[inline(always)]
    fn at(&self, step: usize) -> &[f32; COLUMNS] {
        &self[step]
    }
}

impl<const COLUMNS: usize> Source<COLUMNS> for Placed<'_> {
    #[inline(always)]
    fn panels(self, _steps: usize) -> usize {
        self.panels
    }

    #[inline(always)]
    fn panel(self, number: usize, steps: usize) -> Self {
        Self { first: self.first + number * COLUMNS, offsets: &self.offsets[..steps], panels: 1, ..self }
    }

    #[inline(always)]
    fn at(&self, step: usize) -> &[f32; COLUMNS] {
        self.singles.at(self.first + self.offsets[step])
    }
}
