//! A multiply-add for each element of a thread's micro-tile.

use warpweave_plan::template::contraction::tile_load::{RowLayout, SideLoad};

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::arithmetic::{access, quotient, remainder, scaled, set};
use crate::lower::contraction::side::Side;
use crate::lower::contraction::unit::{Meanwhile, Products, end_early};
use crate::lower::emitter::{Emitter, add, binary, multiply};
use crate::lower::error::LowerError;

/// Steps whose products are written out; the others are iterations of a loop.
const UNROLLED: usize = 32;

/// One factor of the products: its side, the registers, the first word, neighbouring elements, threads, elements.
type Operand<'o> = (&'o Side<'o>, ArrayId, LocalId, usize, usize, usize);

/// Where in a tile the thread reads its first element of each side.
pub(super) fn starts(emitter: &mut Emitter, products: &Products, sides: &[Side; 2]) -> [LocalId; 2] {
    [0, 1].map(|at| {
        let (load, (width, _, _)) = (&sides[at].load, products.sides()[at]);
        let mut start = scaled(products.threads[at].into(), width);
        if let Some(slice) = &products.slice {
            let steps = products.shape.slice_points();
            let begin = scaled(slice.number.into(), steps);
            if let Some(order) = order(load, begin.clone()).filter(|_| !is_whole_period(load, steps)) {
                start = binary(BinaryOp::BitXor, start, order);
            }
            start = add(start, scaled(begin, load.row()));
        }
        emitter.bind(ScalarType::I32, start)
    })
}

/// Adds one step's products, of tiles in which the thread reads from `firsts` on.
pub(super) fn add_step(
    emitter: &mut Emitter,
    products: &Products,
    (sides, firsts): (&[Side; 2], [LocalId; 2]),
    meanwhile: Meanwhile,
) -> Result<(), LowerError> {
    let operands: [Operand; 2] = [0, 1].map(|at| {
        let (width, threads, count) = products.sides()[at];
        (&sides[at], emitter.array(products.scalar, count), firsts[at], width, threads, count)
    });
    let unrolled = products.shape.slice_points().min(UNROLLED);
    let windows = Expression::i32((products.shape.slice_points() / unrolled) as i32);
    emitter.repeat(windows, false, |emitter, window| {
        emitter.repeat(Expression::i32(unrolled as i32), true, |emitter, step| {
            end_early(emitter, (step, unrolled), meanwhile)?;
            let step = add(scaled(window.into(), unrolled), step);
            for (side, array, first, width, threads, count) in operands {
                emitter.repeat(Expression::i32((count / width) as i32), true, |emitter, run| {
                    let row = scaled(step.clone(), side.load.row());
                    let index = add(place_of_run(&side.load, first, (run, threads * width), &step), row);
                    let place = Place::Element(array, scaled(run.into(), width));
                    let width = access(width);
                    emitter.push(Statement::LoadShared { place, array: side.shared, width, index });
                    Ok::<(), LowerError>(())
                })?;
            }
            add_products(emitter, products, operands[0].1, operands[1].1)
        })
    })
}

/// Adds the products of a step's rows in `left` and its columns in `right` to the accumulators.
fn add_products(emitter: &mut Emitter, products: &Products, left: ArrayId, right: ArrayId) -> Result<(), LowerError> {
    let Products { shape, accumulators, .. } = products;
    emitter.repeat(Expression::i32(shape.rows as i32), true, |emitter, row| {
        emitter.repeat(Expression::i32(shape.columns as i32), true, |emitter, column| {
            let at = add(multiply(row, Expression::i32(shape.columns as i32)), column);
            let old = Expression::Element(*accumulators, Box::new(at.clone()));
            let left = Expression::Element(left, Box::new(row.into()));
            let right = Expression::Element(right, Box::new(column.into()));
            let sum = match products.scalar {
                ScalarType::F32 => Expression::FusedMultiplyAdd(Box::new(left), Box::new(right), Box::new(old)),
                ScalarType::Bool | ScalarType::I32 | ScalarType::I64 => add(multiply(left, right), old),
            };
            emitter.push(set(*accumulators, at, sum));
            Ok(())
        })
    })
}

/// How far the elements of a step's row are moved, where rows have orders.
fn order(load: &SideLoad, step: Expression) -> Option<Expression> {
    match load.layout {
        RowLayout::Padded(_) => None,
        RowLayout::Swizzled { unit, turns } => Some(scaled(remainder(quotient(step, load.width), turns), unit)),
    }
}

/// Whether rows so many steps apart have the same order.
fn is_whole_period(load: &SideLoad, steps: usize) -> bool {
    match load.layout {
        RowLayout::Padded(_) => true,
        RowLayout::Swizzled { turns, .. } => steps.is_multiple_of(load.width * turns),
    }
}

/// Where a thread's run of a step's row lies, beside the row's place, from where the first run of the first row does. Runs are
/// `apart` elements apart. The thread's own part of a place lies below `apart`, so within a period of the order nothing is
/// carried.
fn place_of_run(load: &SideLoad, first: LocalId, (run, apart): (LocalId, usize), step: &Expression) -> Expression {
    let run = scaled(run.into(), apart);
    let RowLayout::Swizzled { unit, turns } = load.layout else { return add(first, run) };
    let period = unit * turns;
    let order = order(load, step.clone()).expect("a swizzle orders rows");
    if apart.is_multiple_of(period) {
        return add(binary(BinaryOp::BitXor, first, order), run);
    }
    let moved = binary(BinaryOp::BitXor, order, remainder(run.clone(), period));
    add(binary(BinaryOp::BitXor, first, moved), scaled(quotient(run, period), period))
}
