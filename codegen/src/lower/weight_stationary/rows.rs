//! Rows and columns of a tile.

use warpweave_plan::template::weight_stationary::passes::Passes;
use warpweave_plan::template::weight_stationary::reads::column_axes;

use super::products::Warp;
use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::LocalId;
use crate::kernel_ir::memory::WARP_SIZE;
use crate::lower::emitter::{Emitter, add, binary, both, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::row::{Row, emit_row};
use crate::lower::tile::{TileAxes, decode_box};

/// The tile axes that tell columns apart, and those that tell rows apart.
pub(super) struct RowAxes {
    pub(super) columns: Vec<usize>,
    pub(super) rows: Vec<usize>,
}

/// A row in a column, which a thread finishes.
pub(super) struct FinishingRow {
    /// Its coordinates are those of the tile.
    pub(super) row: Row,
    /// The element of shared memory where its sums begin.
    pub(super) first_sum: LocalId,
}

impl RowAxes {
    /// The axes of a kernel.
    pub(super) fn of(emitter: &Emitter) -> Self {
        let first_row = column_axes(emitter.body());
        Self { columns: (0..first_row).collect(), rows: (first_row..emitter.body().tile_rank).collect() }
    }

    /// The coordinates along the column axes of the column of this number.
    pub(super) fn column(
        &self,
        emitter: &mut Emitter,
        tile: &TileAxes,
        number: Expression,
    ) -> Result<Vec<Expression>, LowerError> {
        if self.columns.is_empty() {
            return Ok(Vec::new());
        }
        let number = emitter.bind(ScalarType::I32, number);
        let (coordinates, inside) = tile.decode(emitter, &self.columns, number, tile.volume(&self.columns))?;
        assert!(inside.is_none(), "every tile has all columns");
        Ok(coordinates.into_iter().map(Expression::Local).collect())
    }

    /// What a thread finishes: of the rows of its warp in all columns every thirty-second. Those of a column lie side by
    /// side, as do their sums.
    pub(super) fn finishing(
        &self,
        emitter: &mut Emitter,
        tile: &TileAxes,
        (warp, passes): (Warp, Passes),
    ) -> Result<Vec<FinishingRow>, LowerError> {
        let lanes = WARP_SIZE as usize;
        let numbers = passes.all * passes.columns;
        let rounds = if passes.columns == 1 { 1 } else { numbers.div_ceil(lanes) };
        (0..rounds).map(|round| self.finishing_in(emitter, tile, (warp, passes), round * lanes)).collect()
    }

    fn finishing_in(
        &self,
        emitter: &mut Emitter,
        tile: &TileAxes,
        (warp, passes): (Warp, Passes),
        first: usize,
    ) -> Result<FinishingRow, LowerError> {
        let numbers = passes.all * passes.columns;
        let (own, inside) = match passes.columns {
            1 => (warp.lane, None),
            _ => self.own_number(emitter, warp, (first, numbers)),
        };
        let (column, pass) = match passes.columns {
            1 => (Vec::new(), own.into()),
            _ => {
                let parts = decode_box(emitter, &[passes.columns, passes.all], own.into())?;
                (self.column(emitter, tile, parts[0].clone())?, parts[1].clone())
            }
        };
        let number = add(multiply(pass, Expression::i32(emitter.warps() as i32)), warp.number);
        let number = emitter.bind(ScalarType::I32, number);
        let rows = if passes.columns == 1 { emitter.threads() } else { passes.all * emitter.warps() };
        let mut row = emit_row(emitter, tile, &self.rows, (number, warp.lane), rows)?;
        let column = if passes.columns == 1 { tile.origin()[..self.columns.len()].to_vec() } else { column };
        row.coordinates.splice(0..0, column);
        if inside.is_some() {
            let real = both(row.real.take(), inside);
            row.real = real.map(|real| Expression::Local(emitter.bind(ScalarType::Bool, real)));
        }
        let of_warp = multiply(warp.number, Expression::i32(passes.sums_of_warp() as i32));
        let first_sum = add(of_warp, multiply(own, Expression::i32(passes.sums as i32)));
        let first_sum = emitter.bind(ScalarType::I32, first_sum);
        Ok(FinishingRow { row, first_sum })
    }

    /// The number of what a thread finishes, of so many in all, and the condition under which it is not another's.
    fn own_number(
        &self,
        emitter: &mut Emitter,
        warp: Warp,
        (first, numbers): (usize, usize),
    ) -> (LocalId, Option<Expression>) {
        let own = emitter.bind(ScalarType::I32, add(warp.lane, Expression::i32(first as i32)));
        if first + WARP_SIZE as usize <= numbers {
            return (own, None);
        }
        let inside = less(own, Expression::i32(numbers as i32));
        let last = binary(BinaryOp::Minimum, own, Expression::i32(numbers as i32 - 1));
        (emitter.bind(ScalarType::I32, last), Some(inside))
    }
}
