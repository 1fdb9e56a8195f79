//! Bands: the tiles of an rOperator that one counter counts.
//!
//! A band is a block of the tile grid. Blocks are as fine as the readers can use. Along an axis that every reader spans
//! there is one block. Where reading would take more than a few waits, blocks are joined. Beside its bands an rOperator
//! has the band of all its tiles, for readers of most of it.

use crate::tuning::SearchTuning;
use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::typed_id;

use crate::cost::sync::SyncCosts;
use crate::schedule::dependence::edges::Edge;
use warpweave_plan::plan::{EdgeKind, OperatorId, ROperator};
use warpweave_plan::region::grid::Span;

typed_id!(
    /// A band of a segment.
    BandId, "b"
);

/// The bands of all rOperators.
#[derive(Clone, Debug)]
pub struct Bands {
    blocks: Arena<OperatorId, Blocks>,
    count: usize,
}

#[derive(Clone, Debug)]
struct Blocks {
    /// The id of the first band.
    first: usize,
    /// The band of all tiles: the last.
    whole: BandId,
    /// Tiles along each tile axis.
    grid: Vec<u32>,
    /// Tiles along each side of a block.
    sides: Vec<u32>,
}

impl Bands {
    /// The band of all tiles alone, of every rOperator.
    pub fn whole_operators(operators: &Arena<OperatorId, ROperator>) -> Self {
        Self::with_sides(operators, |_, grid| grid.to_vec())
    }

    /// Bands of the rOperators that `fine` names, as fine as their readers can use.
    pub fn of_tiles(
        operators: &Arena<OperatorId, ROperator>,
        edges: &Arena<OperatorId, Vec<Edge>>,
        fine: impl Fn(OperatorId) -> bool,
        units: usize,
        costs: &SyncCosts,
    ) -> Self {
        let mut readers: Arena<OperatorId, Vec<&Edge>> = operators.values().map(|_| Vec::new()).collect();
        for edge in edges.values().flatten().filter(|edge| edge.kind == EdgeKind::Counter) {
            readers[edge.producer].push(edge);
        }
        Self::with_sides(operators, |id, grid| {
            if !fine(id) {
                return grid.to_vec();
            }
            sides(grid, &readers[id], most_bands(&operators[id], units, costs))
        })
    }

    fn with_sides(operators: &Arena<OperatorId, ROperator>, sides: impl Fn(OperatorId, &[u32]) -> Vec<u32>) -> Self {
        let mut bands = Self { blocks: Arena::new(), count: 0 };
        for (id, operator) in operators.iter() {
            let grid: Vec<u32> = operator.kernel.grid().iter().map(|&count| count as u32).collect();
            let sides = sides(id, &grid);
            let (first, several) = (bands.count, blocks(&grid, &sides) as usize);
            // The union of several blocks is a band too.
            bands.count += if several > 1 { several + 1 } else { 1 };
            bands.blocks.push(Blocks { first, whole: BandId::from_index(bands.count - 1), grid, sides });
        }
        bands
    }

    /// The number of bands, those of whole rOperators included.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Tiles of an rOperator along each tile axis.
    pub fn grid(&self, operator: OperatorId) -> &[u32] {
        &self.blocks[operator].grid
    }

    /// The band of all tiles of an rOperator.
    pub fn whole(&self, operator: OperatorId) -> BandId {
        self.blocks[operator].whole
    }

    /// The bands that a tile belongs to: its block, and the whole if that is another.
    pub fn of(&self, operator: OperatorId, tile: u32) -> impl Iterator<Item = BandId> {
        let blocks = &self.blocks[operator];
        let (mut rest, mut number, mut factor) = (tile, 0, 1);
        for (&count, &side) in blocks.grid.iter().zip(&blocks.sides).rev() {
            number += rest % count / side * factor;
            rest /= count;
            factor *= count.div_ceil(side);
        }
        let block = BandId::from_index(blocks.first + number as usize);
        let whole = self.whole(operator);
        std::iter::once(block).chain((whole != block).then_some(whole))
    }

    /// The bands that hold a box of tiles, appended to `found`.
    pub fn holding(&self, operator: OperatorId, tiles: &[Span], found: &mut Vec<BandId>) {
        let blocks = &self.blocks[operator];
        if blocks.touched(tiles) > SearchTuning::DEFAULT.schedule.most_waits {
            found.push(self.whole(operator));
            return;
        }
        let start = found.len();
        found.push(BandId::from_index(blocks.first));
        for ((span, &side), &count) in tiles.iter().zip(&blocks.sides).zip(&blocks.grid) {
            let (first, last) = (span.first / side, span.last / side);
            let wider = count.div_ceil(side) as usize;
            let place = |band: BandId, at: u32| {
                BandId::from_index(blocks.first + (band.index() - blocks.first) * wider + at as usize)
            };
            for number in start..found.len() {
                let band = found[number];
                found[number] = place(band, first);
                found.extend((first + 1..=last).map(|at| place(band, at)));
            }
        }
    }
}

impl Blocks {
    fn touched(&self, tiles: &[Span]) -> u64 {
        touched(tiles, &self.sides)
    }
}

fn blocks(grid: &[u32], sides: &[u32]) -> u32 {
    // An empty grid has sides of no tiles.
    grid.iter().zip(sides).map(|(count, side)| count.div_ceil((*side).max(1))).product()
}

/// The number of blocks with these sides that a box meets.
fn touched(tiles: &[Span], sides: &[u32]) -> u64 {
    tiles.iter().zip(sides).map(|(span, side)| u64::from(span.last / side - span.first / side + 1)).product()
}

/// How many bands an rOperator may have before its units spend too much of their time on signals. Units that run one
/// rTask each signal once whatever the bands.
fn most_bands(operator: &ROperator, units: usize, costs: &SyncCosts) -> u32 {
    let each = f64::from(operator.tasks()) / units as f64;
    let affordable =
        SearchTuning::DEFAULT.schedule.signal_share * operator.task_microseconds / costs.signal_microseconds();
    if each <= 1.0 || affordable >= 1.0 { u32::MAX } else { ((each * affordable) as u32).max(1) }
}

/// The sides of blocks for these readers.
fn sides(grid: &[u32], readers: &[&Edge], most: u32) -> Vec<u32> {
    let all: u64 = grid.iter().map(|&count| u64::from(count)).product();
    let volume = |tiles: &[Span]| tiles.iter().map(|span| u64::from(span.length())).product::<u64>();
    let partial = |edge: &&&Edge| edge.boxes().any(|tiles| 2 * volume(tiles) <= all);
    let readers: Vec<&Edge> = readers.iter().filter(partial).copied().collect();
    if readers.is_empty() {
        return grid.to_vec();
    }
    let spanned = |axis: usize| {
        let mut boxes = readers.iter().flat_map(|edge| edge.boxes());
        boxes.all(|tiles| tiles[axis].length() == grid[axis])
    };
    let mut sides: Vec<u32> =
        grid.iter().enumerate().map(|(axis, &count)| if spanned(axis) { count } else { 1 }).collect();
    while usual_waits(&readers, &sides) > SearchTuning::DEFAULT.schedule.usual_waits || blocks(grid, &sides) > most {
        let axis = (0..grid.len()).max_by_key(|&axis| (along(&readers, axis, sides[axis]), grid[axis] / sides[axis]));
        let Some(axis) = axis else { break };
        let axis = if sides[axis] < grid[axis] {
            axis
        } else {
            match (0..grid.len()).find(|&axis| sides[axis] < grid[axis]) {
                Some(axis) => axis,
                None => break,
            }
        };
        sides[axis] = (2 * sides[axis]).min(grid[axis]);
    }
    sides
}

/// The most that any reader waits for on average.
fn usual_waits(readers: &[&Edge], sides: &[u32]) -> f64 {
    let of_edge = |edge: &&Edge| {
        let (sum, boxes) = edge.boxes().fold((0, 0), |(sum, boxes), tiles| (sum + touched(tiles, sides), boxes + 1));
        sum as f64 / f64::from(boxes.max(1))
    };
    readers.iter().map(of_edge).fold(0.0, f64::max)
}

/// The number of blocks along one axis that all boxes meet together.
fn along(readers: &[&Edge], axis: usize, side: u32) -> u64 {
    let boxes = readers.iter().flat_map(|edge| edge.boxes());
    boxes.map(|tiles| u64::from(tiles[axis].last / side - tiles[axis].first / side)).sum()
}
