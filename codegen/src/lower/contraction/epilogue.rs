//! What follows the reduction, on every element that exists.

use warpweave_graph::expr::{Index, ReadId, TensorExpr};
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::template::contraction::column_runs::ColumnRuns;

use crate::kernel_ir::expression::{Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::lower::arithmetic::scalar_type;
use crate::lower::arithmetic::{access, scaled, set};
use crate::lower::contraction::side::Side;
use crate::lower::contraction::slices::Finished;
use crate::lower::contraction::unit::Products;
use crate::lower::emitter::{Emitter, add};
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;
use crate::lower::shared_values::SharedValues;
use crate::lower::store::{bind_value, output, store, store_neighbours};
use crate::lower::tile::TileAxes;

/// Emits the group's other stages and the stores.
pub(crate) fn emit(
    emitter: &mut Emitter,
    tile: &TileAxes,
    sides: &[Side; 2],
    products: &Products,
    runs: Option<ColumnRuns>,
) -> Result<(), LowerError> {
    let [rows, columns] = sides;
    let finished = products.finish(emitter)?;
    let decoded = Columns::emit(emitter, tile, columns, (products, &finished))?;
    let run = runs.map(|runs| Run::new(emitter, runs)).transpose()?;
    let width = run.as_ref().map_or(1, |run| run.width);
    emitter.repeat(Expression::i32(finished.rows as i32), true, |emitter, row| {
        let number = emitter.bind(ScalarType::I32, products.element(&finished, 0, row));
        let (row_axes, inside) = tile.decode(emitter, &rows.axes, number, rows.load.length)?;
        emitter.when(inside, |emitter| {
            emitter.repeat(Expression::i32((finished.columns / width) as i32), true, |emitter, at| {
                let first = scaled(at.into(), width);
                let axes_of = |column: &Expression| {
                    let mut axes = tile.origin();
                    for (axis, coordinate) in rows.axes.iter().zip(&row_axes) {
                        axes[*axis] = Expression::Local(*coordinate);
                    }
                    for (axis, array) in columns.axes.iter().zip(&decoded.coordinates) {
                        axes[*axis] = Expression::Element(*array, Box::new(column.clone()));
                    }
                    axes
                };
                let reduced_of = |column: Expression| products.finished(&finished, row, column);
                let inside = decoded.inside.map(|array| Expression::Element(array, Box::new(first.clone())));
                emitter.when(inside, |emitter| match &run {
                    None => finish_element(emitter, axes_of(&first), reduced_of(first.clone())),
                    Some(run) => {
                        run.load(emitter, &axes_of(&first))?;
                        emitter.repeat(Expression::i32(width as i32), true, |emitter, part| {
                            let column = add(first.clone(), part);
                            finish(emitter, axes_of(&column), reduced_of(column.clone()), Some((run, part)))
                        })?;
                        run.store(emitter, &axes_of(&first))
                    }
                })
            })
        })
    })
}

/// What is loaded before the elements of a run of columns are computed, and what is stored when all are.
struct Run {
    width: usize,
    /// Reads of stages, and where their values are.
    loads: Vec<(usize, ReadId, ArrayId)>,
    /// Stages, and where their values are.
    stores: Vec<(usize, ArrayId)>,
}

impl Run {
    fn new(emitter: &mut Emitter, runs: ColumnRuns) -> Result<Self, LowerError> {
        let mut run = Self { width: runs.width, loads: Vec::new(), stores: Vec::new() };
        for stage in 0..emitter.body().stages.len() {
            let Stage { expr, sources, .. } = &emitter.body().stages[stage];
            let after = if expr.reducer.is_some() { expr.epilogue.as_ref() } else { Some(&expr.body) };
            for id in after.map(|after| expr.reads_of(after)).unwrap_or_default() {
                let read = &expr.reads[id];
                let StageSource::Operand(operand) = sources[read.operand] else { continue };
                let tensor = emitter.body().operands[operand];
                let layout = &emitter.memory.tensors[tensor].layout;
                let element = Index::linear(&read.index, &layout.strides, layout.offset);
                if !emitter.is_tagged(tensor) && runs.reads_neighbours(expr, read, &element) {
                    let scalar = scalar_type(emitter, expr.operands[read.operand].element)?;
                    run.loads.push((stage, id, emitter.array(scalar, runs.width)));
                }
            }
            let Some((tensor, element)) = output(emitter, stage) else { continue };
            if !emitter.is_tagged(tensor) && runs.are_neighbours(expr, &element) {
                let scalar = scalar_type(emitter, expr.element)?;
                run.stores.push((stage, emitter.array(scalar, runs.width)));
            }
        }
        Ok(run)
    }

    /// Loads what the stages read, from the first element on.
    fn load(&self, emitter: &mut Emitter, axes: &[Expression]) -> Result<(), LowerError> {
        for &(stage, read, array) in &self.loads {
            let mut point = Point::new(stage, axes.to_vec(), &[]);
            point.read_wide(emitter, (read, access(self.width)), array, Expression::i32(0))?;
        }
        Ok(())
    }

    /// Stores what the stages have left, from the first element on.
    fn store(&self, emitter: &mut Emitter, axes: &[Expression]) -> Result<(), LowerError> {
        for &(stage, array) in &self.stores {
            let value = |at: usize| Expression::Element(array, Box::new(Expression::i32(at as i32)));
            let mut point = Point::new(stage, axes.to_vec(), &[]);
            store_neighbours(emitter, &mut point, stage, (0..self.width).map(value).collect())?;
        }
        Ok(())
    }
}

/// The coordinates of the thread's columns, which all its rows share.
struct Columns {
    coordinates: Vec<ArrayId>,
    inside: Option<ArrayId>,
}

impl Columns {
    fn emit(
        emitter: &mut Emitter,
        tile: &TileAxes,
        side: &Side,
        (products, finished): (&Products, &Finished),
    ) -> Result<Self, LowerError> {
        let count = finished.columns;
        let coordinates: Vec<ArrayId> = side.axes.iter().map(|_| emitter.array(ScalarType::I32, count)).collect();
        let mut inside = None;
        emitter.repeat(Expression::i32(count as i32), true, |emitter, column: LocalId| {
            let number = emitter.bind(ScalarType::I32, products.element(finished, 1, column));
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
    finish(emitter, axes, reduced, None)
}

/// The stages of the group on one element, which may be the `part`-th of a run.
fn finish(
    emitter: &mut Emitter,
    axes: Vec<Expression>,
    reduced: Expression,
    run: Option<(&Run, LocalId)>,
) -> Result<(), LowerError> {
    let (_, lead) = emitter.body().reductions().next().expect("the group sums products");
    let reduced = emitter.bind(scalar_type(emitter, lead.expr.body_element())?, reduced);
    let mut stages: Vec<Option<LocalId>> = Vec::new();
    let mut shared = SharedValues::new(emitter.body());
    for stage in 0..emitter.body().stages.len() {
        let expr: &TensorExpr = &emitter.body().stages[stage].expr;
        let known = stages.clone();
        let mut point = Point::new(stage, axes.clone(), &known);
        if let Some((run, part)) = run {
            for &(_, read, array) in run.loads.iter().filter(|(of, ..)| *of == stage) {
                let scalar = scalar_type(emitter, expr.operands[expr.reads[read].operand].element)?;
                let loaded = emitter.bind(scalar, Expression::Element(array, Box::new(part.into())));
                point.known_read(read, loaded);
            }
        }
        if expr.reducer.is_some() {
            point.reduced = Some(reduced.into());
        }
        let result = shared.emit(emitter, &mut point, stage)?;
        let value = bind_value(emitter, stage, result)?;
        let stored = run.and_then(|(run, part)| {
            let array = run.stores.iter().find(|(of, _)| *of == stage)?.1;
            Some((array, part))
        });
        match stored {
            Some((array, part)) => emitter.push(set(array, part.into(), value.into())),
            None => store(emitter, &mut point, stage, value)?,
        }
        stages.push(Some(value));
    }
    Ok(())
}
