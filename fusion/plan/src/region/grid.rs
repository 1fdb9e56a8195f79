//! Grids of tiles: which tiles of an rOperator write into a box of elements, without looking at each.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, Range, region};

use crate::plan::{MemoryPlan, ROperator};
use crate::region::Region;

/// An inclusive range of coordinates along one tile axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// The first coordinate.
    pub first: u32,
    /// The last coordinate.
    pub last: u32,
}

impl Span {
    /// The number of coordinates.
    pub fn length(self) -> u32 {
        self.last - self.first + 1
    }

    /// The smallest span around both.
    pub fn hull(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

/// One output of an rOperator, with the elements that each coordinate of its grid writes, a tile axis at a time.
#[derive(Clone, Debug)]
pub struct WrittenGrid {
    whole: Region,
    grid: Vec<u32>,
    limits: Vec<Limit>,
}

/// What one dimension of the output says about one tile axis.
#[derive(Clone, Debug)]
struct Limit {
    dimension: usize,
    axis: usize,
    /// Per coordinate, what is written while every other axis is whole.
    ranges: Vec<Range>,
    ascending: bool,
}

impl WrittenGrid {
    /// The grids of all outputs of an rOperator.
    pub fn of(operator: &ROperator, memory: &MemoryPlan) -> Vec<Self> {
        let grid: Vec<u32> = operator.kernel.grid().iter().map(|&count| count as u32).collect();
        let outputs = operator.kernel.body().stages.iter().filter_map(|stage| {
            let output = stage.output.as_ref()?;
            let tensor = operator.kernel.body().outputs[output.position];
            let whole = Region::whole(memory, tensor);
            let extents = region::whole(&stage.expr);
            let mut limits = Vec::new();
            for (dimension, index) in output.index.iter().enumerate() {
                let start = whole.ranges[dimension].minimum;
                for axis in tile_axes(index, operator.kernel.body().tile_rank).filter(|&axis| grid[axis] > 1) {
                    let ranges = ranges_along(index, axis, operator.kernel.tile()[axis], &extents, start);
                    let pairs = || ranges.windows(2);
                    let ascending = pairs().all(|pair| pair[0].minimum <= pair[1].minimum)
                        && pairs().all(|pair| pair[0].maximum <= pair[1].maximum);
                    limits.push(Limit { dimension, axis, ranges, ascending });
                }
            }
            Some(Self { whole, grid: grid.clone(), limits })
        });
        outputs.collect()
    }

    /// The output's place.
    pub fn whole(&self) -> &Region {
        &self.whole
    }

    /// A box of tiles outside of which no tile writes into `region`; `None` if no tile does. The box may hold tiles that
    /// do not.
    pub fn meeting(&self, region: &Region) -> Option<Vec<Span>> {
        if !self.whole.overlaps(region) {
            return None;
        }
        let mut spans: Vec<Span> = self.grid.iter().map(|&count| Span { first: 0, last: count - 1 }).collect();
        for limit in &self.limits {
            let found = limit.meeting(region.ranges[limit.dimension])?;
            let span = &mut spans[limit.axis];
            *span = Span { first: span.first.max(found.first), last: span.last.min(found.last) };
            if span.first > span.last {
                return None;
            }
        }
        Some(spans)
    }
}

impl Limit {
    /// The span around the coordinates whose ranges meet `wanted`.
    fn meeting(&self, wanted: Range) -> Option<Span> {
        let meets = |range: &Range| range.maximum >= wanted.minimum && range.minimum <= wanted.maximum;
        let (first, end) = if self.ascending {
            let first = self.ranges.partition_point(|range| range.maximum < wanted.minimum);
            (first, self.ranges.partition_point(|range| range.minimum <= wanted.maximum))
        } else {
            let first = self.ranges.iter().position(meets)?;
            (first, self.ranges.iter().rposition(meets)? + 1)
        };
        (first < end).then(|| Span { first: first as u32, last: end as u32 - 1 })
    }
}

/// The tile axes that an index depends on.
fn tile_axes(index: &Index, tile_rank: usize) -> impl Iterator<Item = usize> {
    let mut axes = Vec::new();
    index.visit(&mut |axis| axes.push(axis.index()), &mut |_| {});
    axes.sort_unstable();
    axes.dedup();
    axes.into_iter().filter(move |&axis| axis < tile_rank)
}

fn ranges_along(index: &Index, axis: usize, tile: usize, extents: &[Range], start: i64) -> Vec<Range> {
    let last = extents[axis].maximum;
    let at = |first: usize| {
        let own = Range { minimum: first as i64, maximum: (first as i64 + tile as i64 - 1).min(last) };
        let range = index.range(&|other: AxisId| if other.index() == axis { own } else { extents[other.index()] });
        Range { minimum: range.minimum + start, maximum: range.maximum + start }
    };
    (0..=last as usize).step_by(tile).map(at).collect()
}
