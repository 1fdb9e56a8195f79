//! Which factors windows move over: convolutions of several taps.

use warpweave_graph::ElementType;
use warpweave_graph::expr::Read;

use super::access::Access;
use super::planes::Planes;
use crate::host::cover::MOST_PHASES;
use crate::host::window_dimension::WindowDimension;

/// Most taps of a window: those of one channel are a block of the reduction.
const MOST_TAPS: usize = 512;

/// A factor's side of the largest tile of an operator.
pub(super) struct WindowSide<'s> {
    pub(super) read: &'s Read,
    /// The extents of the operand's dimensions.
    pub(super) shape: &'s [usize],
    pub(super) access: &'s Access,
    /// The extents of all axes of the stage, of which the first `rank` are those of tiles.
    pub(super) extents: &'s [usize],
    pub(super) rank: usize,
    /// The tile axes of the side, and how many values a tile has of each.
    pub(super) axes: &'s [(usize, usize)],
}

impl WindowSide<'_> {
    /// The planes that such tiles are copied to. `None` if no windows of several taps move forwards along the last axis, or if
    /// windows leave coordinates between them out, which others may write.
    pub(super) fn planes(&self) -> Option<Planes> {
        let access = self.access;
        let [columns, rows] = self.dimensions().filter(|_| access.element == ElementType::F32)?;
        let dimensions = [&rows, &columns];
        let is_dense = dimensions.iter().all(|of| of.is_dense()) && columns.phases() as i64 == columns.step;
        let is_small = dimensions.iter().all(|of| of.phases() <= MOST_PHASES);
        let of_taps = |axis: usize| dimensions.iter().any(|of| of.taps.iter().any(|tap| tap.axis == axis));
        let of_windows = |axis: usize| dimensions.iter().any(|of| of.axis == Some(axis));
        let is_covered = self.axes.iter().all(|&(axis, count)| count == 1 || of_windows(axis));
        let all = self.extents.iter().copied().enumerate();
        let is_linear = all
            .clone()
            .all(|(axis, extent)| extent == 1 || !(of_taps(axis) || of_windows(axis)) || access.is_linear_along(axis));
        let channels = all.filter(|&(axis, extent)| axis >= self.rank && extent != 1 && !of_taps(axis)).collect();
        let count = |axis: Option<usize>| self.axes.iter().find(|of| Some(of.0) == axis).map_or(1, |(_, count)| *count);
        let (height, pitch) = (count(rows.axis) + rows.reach(), count(columns.axis) + columns.reach());
        let taps = rows.tap_count().checked_mul(columns.tap_count())?;
        let is_forwards = columns.stride == 1 && rows.stride >= 0;
        let has_taps = (2..=MOST_TAPS).contains(&taps);
        if !(has_taps && is_forwards && is_dense && is_small && is_covered && is_linear) {
            return None;
        }
        let offset = |number: usize| {
            let (row_phase, row) = rows.tap_place(number / columns.tap_count());
            let (column_phase, column) = columns.tap_place(number % columns.tap_count());
            ((row_phase * columns.phases() + column_phase) * height + row) * pitch + column
        };
        let taps = (0..taps).map(offset).collect();
        Some(Planes { access: access.clone(), rows, columns, channels, taps, height, pitch })
    }

    /// The dimension of the last axis of which a tile has several values, and that of one other axis or of other taps.
    fn dimensions(&self) -> Option<[WindowDimension; 2]> {
        let Self { read, access, axes, .. } = self;
        let last = axes.iter().rev().find(|(_, count)| *count > 1)?.0;
        let (mut columns, mut rows) = (None, None);
        for (index, &length) in read.index.iter().zip(self.shape) {
            let Some(found) = WindowDimension::new(index, length, self.extents, self.rank) else { continue };
            let own = axes.iter().find(|(axis, _)| found.axis == Some(*axis));
            let Some((axis, count)) = own else { continue };
            match (*axis == last, *count > 1 || found.tap_count() > 1) {
                (true, _) if columns.is_none() => columns = Some((index, found)),
                (false, true) if rows.is_none() => rows = Some((index, found)),
                (false, false) => {}
                _ => return None,
            }
        }
        let (column_index, mut columns) = columns?;
        let row_index = rows.as_ref().map(|(index, _)| *index);
        let mut rows = rows.map_or(WindowDimension::SINGLE, |(_, rows)| rows);
        let are_bounds = read.guard.conditions().iter().all(|condition| {
            columns.narrow(column_index, condition) || row_index.is_some_and(|index| rows.narrow(index, condition))
        });
        let along = |axis: usize| access.position.along(axis);
        let are_lines = columns.measure(along) && rows.measure(along);
        (are_bounds && are_lines).then_some([columns, rows])
    }
}

#[cfg(test)]
mod tests {
    use warpweave_graph::arena::Id;
    use warpweave_graph::expr::{AxisId, Condition, Guard, Index, Literal, Range};

    use super::*;
    use crate::host::indices::IndexFaults;
    use crate::host::memory::{Memory, SharedArena};
    use crate::host::simd::MOST_LANES;

    /// Windows of a convolution over images of two channels.
    #[derive(Clone, Copy, Debug)]
    struct Convolution {
        image: [usize; 2],
        taps: [usize; 2],
        steps: [i64; 2],
        pad: i64,
        /// From one channel to the next; negative from the last one on.
        channels: i64,
    }

    const FILL: f32 = -1.0;
    const CHANNELS: usize = 5;

    impl Convolution {
        fn windows(&self, dimension: usize) -> usize {
            let covered = self.image[dimension] as i64 + 2 * self.pad - self.taps[dimension] as i64;
            (covered / self.steps[dimension] + 1) as usize
        }

        /// Output rows and columns, channels, and taps.
        fn extents(&self) -> [usize; 5] {
            [self.windows(0), self.windows(1), CHANNELS, self.taps[0], self.taps[1]]
        }

        fn channel(&self, number: usize) -> usize {
            if self.channels < 0 { CHANNELS - 1 - number } else { number }
        }

        fn coordinate(&self, dimension: usize) -> Index {
            let axis = |axis: usize| Index::axis(AxisId::from_index(axis));
            axis(dimension).times(self.steps[dimension]).add(&axis(3 + dimension)).plus(-self.pad)
        }

        fn read(&self) -> Read {
            let channel = Index::axis(AxisId::from_index(2)).times(self.channels).plus(self.channel(0) as i64);
            let index = vec![channel, self.coordinate(0), self.coordinate(1)];
            let all = self.extents();
            let ranges = |axis: AxisId| Range { minimum: 0, maximum: all[axis.index()] as i64 - 1 };
            let guard = (0..2).fold(Guard::always(), |guard, dimension| {
                let (index, upper) = (self.coordinate(dimension), self.image[dimension] as i64);
                guard.and(Condition { index, lower: 0, upper }, &ranges)
            });
            Read { operand: 0, index, guard, fill: Literal::new(ElementType::F32, f64::from(FILL)) }
        }

        fn planes(&self, tile: [usize; 2]) -> Option<Planes> {
            let (read, extents, shape) = (self.read(), self.extents(), [CHANNELS, self.image[0], self.image[1]]);
            let index = Index::linear(&read.index, &[self.image[0] * self.image[1], self.image[1], 1], 0);
            let conditions: Vec<(Index, i64, i64)> = read
                .guard
                .conditions()
                .iter()
                .map(|Condition { index, lower, upper }| (index.clone(), *lower, *upper))
                .collect();
            let access = Access::of_weights(&index, &conditions, &extents, FILL);
            let (read, access, axes) = (&read, &access, [(0, tile[0]), (1, tile[1])]);
            WindowSide { read, shape: &shape, access, extents: &extents, rank: 2, axes: &axes }.planes()
        }

        /// The value that a tap reads; elements are their numbers.
        fn value(&self, window: [usize; 2], channel: usize, tap: [usize; 2]) -> f32 {
            let at = |dimension: usize| {
                let coordinate = window[dimension] as i64 * self.steps[dimension] + tap[dimension] as i64 - self.pad;
                usize::try_from(coordinate).ok().filter(|coordinate| *coordinate < self.image[dimension])
            };
            let number =
                |[row, column]: [usize; 2]| (self.channel(channel) * self.image[0] + row) * self.image[1] + column;
            at(0).zip(at(1)).map_or(FILL, |(row, column)| number([row, column]) as f32)
        }
    }

    /// Whether every column of a tile is where the offsets say, at every step.
    fn check(convolution: Convolution, tile: [usize; 2]) {
        let planes = convolution.planes(tile).expect("windows of several taps");
        let weights: Vec<f32> =
            (0..convolution.image.iter().product::<usize>() * CHANNELS).map(|at| at as f32).collect();
        let (arena, faults) = (SharedArena::new(0), IndexFaults::default());
        let weights = bytemuck::cast_slice(&weights);
        let memory = Memory { arena: &arena, weights, staged: Vec::new(), faults: &faults, run: 0, bases: &[0] };
        let offsets = planes.offsets(CHANNELS);
        for first in [0, tile[0]] {
            let range = |first: usize, count: usize, all: usize| {
                let maximum = (first + count).min(all) as i64 - 1;
                Range { minimum: first as i64, maximum }
            };
            let rows = range(first, tile[0], convolution.windows(0));
            let ranges = [rows, range(0, tile[1], convolution.windows(1))];
            let mut values = vec![f32::NAN; planes.channel() * CHANNELS + MOST_LANES];
            planes.copy(0..CHANNELS, &ranges, &[first as i64, 0, 0, 0, 0], &memory, &mut values);
            let [_, _, _, tap_rows, tap_columns] = convolution.extents();
            for (step, offset) in offsets.iter().enumerate() {
                let (channel, tap) = (step / (tap_rows * tap_columns), step % (tap_rows * tap_columns));
                for row in 0..ranges[0].maximum + 1 - first as i64 {
                    for column in 0..=ranges[1].maximum as usize {
                        let found = values[offset + row as usize * planes.pitch + column];
                        let window = [first + row as usize, column];
                        let expected = convolution.value(window, channel, [tap / tap_columns, tap % tap_columns]);
                        assert_eq!(found, expected, "{convolution:?}, window {window:?}, step {step}");
                    }
                }
            }
        }
        assert!(!arena.was_left(), "nothing outside of memory is read");
    }

    #[test]
    fn every_tap_finds_its_elements_in_planes() {
        let image = [9, 12];
        check(Convolution { image, taps: [3, 3], steps: [1, 1], pad: 1, channels: 1 }, [4, 12]);
        check(Convolution { image, taps: [3, 3], steps: [2, 2], pad: 1, channels: 1 }, [2, 6]);
        check(Convolution { image, taps: [3, 3], steps: [1, 2], pad: 1, channels: -1 }, [4, 6]);
        check(Convolution { image, taps: [5, 4], steps: [3, 4], pad: 2, channels: 1 }, [2, 2]);
        check(Convolution { image, taps: [1, 7], steps: [1, 5], pad: 3, channels: 1 }, [5, 2]);
        check(Convolution { image, taps: [4, 2], steps: [2, 1], pad: 0, channels: 1 }, [3, 11]);
    }

    #[test]
    fn single_taps_and_gaps_have_no_planes() {
        let image = [9, 12];
        assert!(
            Convolution { image, taps: [1, 1], steps: [1, 1], pad: 0, channels: 1 }.planes([4, 12]).is_none(),
            "one tap"
        );
        assert!(
            Convolution { image, taps: [2, 2], steps: [1, 3], pad: 0, channels: 1 }.planes([4, 4]).is_none(),
            "gaps in rows"
        );
    }

    #[test]
    fn columns_are_multiplied_in_the_shorter_runs() {
        let planes = Convolution { image: [9, 12], taps: [3, 3], steps: [1, 1], pad: 1, channels: 1 }.planes([4, 12]);
        let planes = planes.expect("windows of several taps");
        assert_eq!(planes.pitch, 14);
        let joined = planes.layout_of(4, 12, 8);
        assert_eq!((joined.runs, joined.stride()), (1, 56), "54 columns in one run");
        let layout = planes.layout_of(4, 12, 4);
        assert_eq!((layout.runs, layout.stride(), layout.row_stride), (4, 48, 12), "four rows of 12 columns");
        let mut sums: Vec<f32> = (0..56).map(|at| at as f32).collect();
        joined.close_up(&mut sums);
        let expected = (0..4).flat_map(|row| (0..12).map(move |column| (row * 14 + column) as f32));
        assert!(sums[..48].iter().copied().eq(expected));
    }
}
