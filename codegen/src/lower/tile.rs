//! From the tile index to coordinates: of the tile axes, and of the axes of staged boxes.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::Literal;
use warpweave_plan::template::pointwise::runs::Runs;
use warpweave_plan::template::staged::StagedSpan;

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::LocalId;
use crate::lower::emitter::{Emitter, add, binary, both, less, multiply};
use crate::lower::error::LowerError;

/// The tile axes as a kernel sees them.
pub(crate) struct TileAxes {
    /// Per axis, the tile's coordinate in the grid; absent where one tile covers the axis.
    coordinates: Vec<Option<LocalId>>,
    /// Per axis, the first coordinate of the tile; absent where one tile covers the axis.
    origins: Vec<Option<LocalId>>,
    /// Per axis, its extent; present where a tile may reach beyond it.
    limits: Vec<Option<Expression>>,
    extents: Vec<usize>,
    tile: Vec<usize>,
    /// The runs that points are divided into: what is numbered is a run.
    runs: Option<Runs>,
}

impl TileAxes {
    /// Decodes the tile index.
    pub(crate) fn emit(emitter: &mut Emitter) -> Result<Self, LowerError> {
        let extents = emitter.body().tile_extents();
        let tile = emitter.kernel().tile();
        let grid = emitter.kernel().params().grid(emitter.body());
        let mut origins = vec![None; extents.len()];
        let mut coordinates = vec![None; extents.len()];
        let mut rest = Expression::Tile;
        let last_split = grid.iter().position(|&tiles| tiles > 1);
        for axis in (0..extents.len()).rev().filter(|&axis| grid[axis] > 1) {
            let coordinate = if Some(axis) == last_split {
                rest.clone()
            } else {
                let (coordinate, quotient) = split(emitter, rest, grid[axis])?;
                rest = quotient;
                coordinate
            };
            let length = emitter.operand(tile[axis] as i64)?;
            let coordinate = emitter.bind(ScalarType::I32, coordinate);
            coordinates[axis] = Some(coordinate);
            origins[axis] = Some(emitter.bind(ScalarType::I32, multiply(coordinate, length)));
        }
        let mut limits = Vec::with_capacity(extents.len());
        for axis in 0..extents.len() {
            let ragged = !extents[axis].is_multiple_of(tile[axis]);
            limits.push(if ragged { Some(emitter.operand(extents[axis] as i64)?) } else { None });
        }
        Ok(Self { coordinates, origins, limits, extents, tile: tile.to_vec(), runs: None })
    }

    /// Per axis, the tile's coordinate in the grid; absent where one tile covers the axis.
    pub(crate) fn coordinates(&self) -> &[Option<LocalId>] {
        &self.coordinates
    }

    /// The extent of a tile along an axis, and the axis' own extent where a tile may reach beyond it.
    pub(crate) fn span(&self, axis: usize) -> (usize, Option<Expression>) {
        (self.tile[axis], self.limits[axis].clone())
    }

    /// The first coordinates of the tile.
    pub(crate) fn origin(&self) -> Vec<Expression> {
        self.origins.iter().map(|origin| origin.map_or(Expression::i32(0), Expression::Local)).collect()
    }

    /// The same with runs of points in the place of points.
    pub(crate) fn in_runs(self, runs: Runs) -> Self {
        Self { tile: runs.grid(&self.tile), runs: Some(runs), ..self }
    }

    /// The number of points of the tile along some axes.
    pub(crate) fn volume(&self, axes: &[usize]) -> usize {
        axes.iter().map(|&axis| self.tile[axis]).product()
    }

    /// Coordinates along `axes` of the point with this number in their box, the last axis fastest. With them comes the
    /// condition under which the point lies in the box and inside the extents. `points` numbers are given out.
    pub(crate) fn decode(
        &self,
        emitter: &mut Emitter,
        axes: &[usize],
        number: LocalId,
        points: usize,
    ) -> Result<(Vec<LocalId>, Option<Expression>), LowerError> {
        let volume = self.volume(axes);
        let mut inside = None;
        if volume < points {
            let volume = emitter.operand(volume as i64)?;
            inside = Some(less(number, volume));
        }
        let long: Vec<usize> = axes.iter().copied().filter(|&axis| self.tile[axis] > 1).collect();
        let mut rest = Expression::Local(number);
        let mut coordinates = vec![None; self.extents.len()];
        for (position, &axis) in long.iter().enumerate().rev() {
            let local = if position == 0 {
                rest.clone()
            } else {
                let (local, quotient) = split(emitter, rest, self.tile[axis])?;
                rest = quotient;
                local
            };
            let run = self.runs.filter(|runs| runs.axis.index() == axis);
            coordinates[axis] = Some(match run {
                Some(run) => multiply(local, Expression::i32(run.length as i32)),
                None => local,
            });
        }
        let mut found = Vec::with_capacity(axes.len());
        for &axis in axes {
            let value = match (self.origins[axis], coordinates[axis].take()) {
                (Some(origin), Some(local)) => add(origin, local),
                (Some(origin), None) => Expression::Local(origin),
                (None, Some(local)) => local,
                (None, None) => Expression::i32(0),
            };
            let coordinate = emitter.bind(ScalarType::I32, value);
            if let Some(limit) = &self.limits[axis] {
                inside = both(inside, Some(less(coordinate, limit.clone())));
            }
            found.push(coordinate);
        }
        Ok((found, inside))
    }
}

/// `value mod extent` and `⌊value / extent⌋` as locals.
pub(crate) fn split(
    emitter: &mut Emitter,
    value: Expression,
    extent: usize,
) -> Result<(Expression, Expression), LowerError> {
    let value = emitter.bind(ScalarType::I32, value);
    let position = emitter.divisor(extent as i64)?;
    let quotient = emitter.bind(ScalarType::I32, Expression::FastDivide(Box::new(value.into()), position));
    let extent = emitter.operand(extent as i64)?;
    let rest = binary(BinaryOp::Subtract, value, multiply(quotient, extent));
    Ok((Expression::Local(emitter.bind(ScalarType::I32, rest)), quotient.into()))
}

/// Coordinates of the point with this number in a box of these extents, the last fastest.
pub(crate) fn decode_box(
    emitter: &mut Emitter,
    extents: &[usize],
    number: Expression,
) -> Result<Vec<Expression>, LowerError> {
    let mut rest = number;
    let mut found = vec![Expression::i32(0); extents.len()];
    for position in (0..extents.len()).rev() {
        if position == 0 {
            found[position] = rest.clone();
        } else {
            let (coordinate, quotient) = split(emitter, rest, extents[position])?;
            found[position] = coordinate;
            rest = quotient;
        }
    }
    Ok(found)
}

/// A parallel axis of a phase.
#[derive(Clone)]
pub(crate) struct PhaseAxis {
    pub(crate) first: Expression,
    pub(crate) extent: usize,
    pub(crate) bounds: Bounds,
}

/// Where an axis' box may leave the axis.
#[derive(Clone)]
pub(crate) enum Bounds {
    /// Nowhere.
    Inside,
    /// Beyond the end, in the grid's last tile.
    Ragged(Expression),
    /// At both ends, where windows overlap the edge: the largest coordinate. What lies beyond is not meant.
    Windowed(Expression),
    /// The same where padding lies beyond.
    Padded(Expression),
}

/// A coordinate along an axis, at the edge where the position lies beyond it.
pub(crate) struct Coordinate {
    pub(crate) value: Expression,
    /// Whether the element is to be stored; absent if it always is.
    pub(crate) kept: Option<Expression>,
    /// Whether it is no padding; absent if it never is.
    pub(crate) exists: Option<Expression>,
}

pub(crate) fn staged_axis(
    emitter: &mut Emitter,
    tile: &TileAxes,
    span: &StagedSpan,
    inside: bool,
    padding: Option<Literal>,
) -> Result<PhaseAxis, LowerError> {
    let mut first: Option<Expression> = None;
    for (coordinate, &step) in tile.coordinates().iter().zip(&span.steps) {
        let Some(coordinate) = coordinate.filter(|_| step != 0) else { continue };
        let step = emitter.operand(step)?;
        let moved = multiply(coordinate, step);
        first = Some(first.map_or(moved.clone(), |sum| add(sum, moved)));
    }
    let start = emitter.operand(span.first)?;
    let first = first.map_or(start.clone(), |moved| add(moved, start));
    let first = Expression::Local(emitter.bind(ScalarType::I32, first));
    let bounds = match (inside, padding) {
        (true, _) => Bounds::Inside,
        (false, None) => Bounds::Windowed(emitter.operand(span.whole as i64 - 1)?),
        (false, Some(_)) => Bounds::Padded(emitter.operand(span.whole as i64 - 1)?),
    };
    Ok(PhaseAxis { first, extent: span.extent, bounds })
}

pub(crate) fn main_axis(tile: &TileAxes, axis: usize) -> PhaseAxis {
    let (extent, limit) = tile.span(axis);
    let bounds = limit.map_or(Bounds::Inside, Bounds::Ragged);
    PhaseAxis { first: tile.origin()[axis].clone(), extent, bounds }
}

impl PhaseAxis {
    /// The coordinate of a position in the box.
    pub(crate) fn coordinate(&self, emitter: &mut Emitter, position: Expression) -> Coordinate {
        let plain = Expression::Local(emitter.bind(ScalarType::I32, add(self.first.clone(), position)));
        match &self.bounds {
            Bounds::Inside => Coordinate { value: plain, kept: None, exists: None },
            Bounds::Ragged(limit) => {
                let last = binary(BinaryOp::Subtract, limit.clone(), Expression::i32(1));
                let clamped = binary(BinaryOp::Minimum, plain.clone(), last);
                let value = emitter.bind(ScalarType::I32, clamped).into();
                Coordinate { value, kept: Some(less(plain, limit.clone())), exists: None }
            }
            Bounds::Windowed(last) => Coordinate { value: between(emitter, plain, last), kept: None, exists: None },
            Bounds::Padded(last) => {
                let value = between(emitter, plain.clone(), last);
                let exists = Some(binary(BinaryOp::Equal, plain, value.clone()));
                Coordinate { value, kept: None, exists }
            }
        }
    }
}

/// The coordinate between 0 and `last` that is nearest.
pub(crate) fn between(emitter: &mut Emitter, plain: Expression, last: &Expression) -> Expression {
    let above = binary(BinaryOp::Maximum, plain, Expression::i32(0));
    emitter.bind(ScalarType::I32, binary(BinaryOp::Minimum, above, last.clone())).into()
}
