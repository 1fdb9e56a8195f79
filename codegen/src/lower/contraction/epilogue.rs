//! What follows the reduction, on every element that exists.

use warpweave_graph::expr::TensorExpr;

use crate::kernel_ir::expression::{Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::lower::arithmetic::set;
use crate::lower::contraction::products::Products;
use crate::lower::contraction::side::Side;
use crate::lower::emitter::{Emitter, add, multiply};
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;
use crate::lower::store::store;
use crate::lower::tile::TileAxes;
use crate::lower::types::scalar_type;

/// Emits the group's other stages and the stores.
pub(crate) fn emit(
    emitter: &mut Emitter,
    tile: &TileAxes,
    sides: &[Side; 2],
    products: &Products,
) -> Result<(), LowerError> {
    let [rows, columns] = sides;
    let decoded = Columns::emit(emitter, tile, columns, products)?;
    emitter.repeat(Expression::i32(products.shape.rows as i32), true, |emitter, row| {
        let number = emitter.bind(ScalarType::I32, products.element(0, row));
        let (row_axes, inside) = tile.decode(emitter, &rows.axes, number, rows.load.length)?;
        emitter.when(inside, |emitter| {
            emitter.repeat(Expression::i32(products.shape.columns as i32), true, |emitter, column| {
                let inside = decoded.inside.map(|array| Expression::Element(array, Box::new(column.into())));
                emitter.when(inside, |emitter| {
                    let mut axes = tile.origin();
                    for (axis, coordinate) in rows.axes.iter().zip(&row_axes) {
                        axes[*axis] = Expression::Local(*coordinate);
                    }
                    for (axis, array) in columns.axes.iter().zip(&decoded.coordinates) {
                        axes[*axis] = Expression::Element(*array, Box::new(column.into()));
                    }
                    let at = add(multiply(row, Expression::i32(products.shape.columns as i32)), column);
                    let reduced = Expression::Element(products.accumulators, Box::new(at));
                    finish_element(emitter, axes, reduced)
                })
            })
        })
    })
}

/// The coordinates of the thread's columns, which all its rows share.
struct Columns {
    coordinates: Vec<ArrayId>,
    inside: Option<ArrayId>,
}

impl Columns {
    fn emit(emitter: &mut Emitter, tile: &TileAxes, side: &Side, products: &Products) -> Result<Self, LowerError> {
        let count = products.shape.columns;
        let coordinates: Vec<ArrayId> = side.axes.iter().map(|_| emitter.array(ScalarType::I32, count)).collect();
        let mut inside = None;
        emitter.repeat(Expression::i32(count as i32), true, |emitter, column: LocalId| {
            let number = emitter.bind(ScalarType::I32, products.element(1, column));
            let (found, holds) = tile.decode(emitter, &side.axes, number, side.load.length)?;
            for (array, coordinate) in coordinates.iter().zip(found) {
                emitter.push(set(*array, column.into(), coordinate.into()));
            }
            if let Some(holds) = holds {
                let array = emitter.array(ScalarType::Bool, count);
                emitter.push(set(array, column.into(), holds));
                inside = Some(array);
            }
            Ok::<(), LowerError>(())
        })?;
        Ok(Self { coordinates, inside })
    }
}

/// The stages of the group on one element.
pub(crate) fn finish_element(
    emitter: &mut Emitter,
    axes: Vec<Expression>,
    reduced: Expression,
) -> Result<(), LowerError> {
    let (_, lead) = emitter.body().reductions().next().expect("the group sums products");
    let reduced = emitter.bind(scalar_type(emitter, lead.expr.body_element())?, reduced);
    let mut stages: Vec<Option<LocalId>> = Vec::new();
    for stage in 0..emitter.body().stages.len() {
        let expr: &TensorExpr = &emitter.body().stages[stage].expr;
        let known = stages.clone();
        let mut point = Point::new(stage, axes.clone(), &known);
        let result = match (&expr.reducer, &expr.epilogue) {
            (Some(_), epilogue) => {
                point.reduced = Some(reduced.into());
                match epilogue {
                    Some(epilogue) => point.emit(emitter, epilogue)?,
                    None => reduced.into(),
                }
            }
            (None, _) => point.emit(emitter, &expr.body)?,
        };
        let value = emitter.bind(scalar_type(emitter, expr.element)?, result);
        store(emitter, &mut point, stage, value)?;
        stages.push(Some(value));
    }
    Ok(())
}
