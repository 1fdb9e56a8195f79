//! Where the columns of a product lie: packed in panels, or side by side at every step.

use crate::host::memory::Singles;

/// Singles of a line of a cache.
pub(super) const LINE: usize = 16;

/// The columns that a panel of rows is multiplied with.
#[derive(Clone, Copy)]
pub(in crate::host) enum Columns<'c> {
    /// Panels one after another.
    Packed(Packed<'c>),
    /// Panels side by side where they lie.
    Placed(Placed<'c>),
    /// Half a panel where it lies.
    Half(Placed<'c>),
}

/// Panels one after another, each with the elements of every step side by side.
#[derive(Clone, Copy)]
pub(in crate::host) struct Packed<'c> {
    pub(in crate::host) panels: &'c [f32],
    /// The next panels; one cache line of them is prefetched at each step of the reduction.
    pub(in crate::host) later: &'c [f32],
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

/// A source of panels of `COLUMNS` columns.
pub(super) trait Source<const COLUMNS: usize>: Copy {
    /// The number of panels of `steps` steps.
    fn panels(self, steps: usize) -> usize;
    /// The panel with this number.
    fn panel(self, number: usize, steps: usize) -> Self;
    /// The elements of the first panel at a step.
    fn at(&self, step: usize) -> &[f32; COLUMNS];
    /// The address to prefetch at a step, if there is one.
    fn later(&self, step: usize) -> Option<*const f32>;
}

/// Packed panels, a step after another.
#[derive(Clone, Copy)]
pub(super) struct Steps<'c, const COLUMNS: usize> {
    steps: &'c [[f32; COLUMNS]],
    later: &'c [f32],
}

impl<'c, const COLUMNS: usize> From<Packed<'c>> for Steps<'c, COLUMNS> {
    #[inline(always)]
    fn from(Packed { panels, later }: Packed<'c>) -> Self {
        Self { steps: panels.as_chunks().0, later }
    }
}

impl<const COLUMNS: usize> Source<COLUMNS> for Steps<'_, COLUMNS> {
    #[inline(always)]
    fn panels(self, steps: usize) -> usize {
        self.steps.len().checked_div(steps).unwrap_or(0)
    }

    #[inline(always)]
    fn panel(self, number: usize, steps: usize) -> Self {
        Self { steps: &self.steps[number * steps..][..steps], ..self }
    }

    #[inline(always)]
    fn at(&self, step: usize) -> &[f32; COLUMNS] {
        &self.steps[step]
    }

    #[inline(always)]
    fn later(&self, step: usize) -> Option<*const f32> {
        (step * LINE < self.later.len()).then(|| self.later.as_ptr().wrapping_add(step * LINE))
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

    #[inline(always)]
    fn later(&self, _step: usize) -> Option<*const f32> {
        None
    }
}
