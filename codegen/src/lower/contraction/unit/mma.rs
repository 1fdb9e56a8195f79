//! Products of matrices that the lanes of a warp hold together.

use warpweave_plan::template::contraction::tile_load::{SideLoad, TileRows};
use warpweave_plan::template::contraction::unit::mma::{DEPTH, LANE_COLUMNS, LANE_ROWS};
use warpweave_plan::tensor_core::fragment::MatrixOperand;

use crate::kernel_ir::expression::{Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::memory::{Half, Matrices};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::arithmetic::{quotient, remainder, scaled};
use crate::lower::contraction::side::Side;
use crate::lower::contraction::unit::{Meanwhile, Products, end_early, first_of_warp};
use crate::lower::emitter::{Emitter, add};
use crate::lower::error::LowerError;

/// Rows, and elements of a row, of a matrix that is loaded.
const MATRIX: usize = 8;

/// Which of a thread's sums is that of a row and a column of its tile; see
/// [`warpweave_plan::template::contraction::unit::mma::sum`].
pub(crate) fn sum(row: Expression, column: Expression, columns: usize) -> Expression {
    let product =
        add(scaled(quotient(row.clone(), LANE_ROWS), columns / LANE_COLUMNS), quotient(column.clone(), LANE_COLUMNS));
    let register = add(scaled(remainder(row, LANE_ROWS), LANE_COLUMNS), remainder(column, LANE_COLUMNS));
    add(scaled(product, LANE_ROWS * LANE_COLUMNS), register)
}

/// Where the rows that the thread names begin in the tile of each side, of the first matrices that its warp loads.
///
/// Four matrices are loaded at once. Of the left factor they are the upper and the lower half of a product's rows, then the same
/// further along the reduction. Of the right factor they are both parts along the reduction of a product's columns, then of the
/// next's.
pub(super) fn starts(emitter: &mut Emitter, products: &Products, sides: &[Side; 2]) -> [LocalId; 2] {
    let thread = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
    let of_slice = products.slice.as_ref().map_or(thread, |slice| slice.thread);
    let bit = |bit: usize| remainder(quotient(thread, bit * MATRIX), 2);
    let row = || remainder(thread, MATRIX);
    let [first_row, first_column] = first_of_warp(&products.shape, of_slice);
    let first = [first_row, scaled(first_column, LANE_COLUMNS)];
    let (across, along) = ([bit(1), bit(2)], [bit(2), bit(1)]);
    [0, 1].map(|at| {
        let load = &sides[at].load;
        let mut element = add(first[at].clone(), scaled(across[at].clone(), apart(products, at)));
        let mut step = scaled(along[at].clone(), MATRIX);
        match load.rows {
            TileRows::Elements => element = add(element, row()),
            TileRows::Steps => step = add(step, row()),
        }
        if let Some(slice) = &products.slice {
            step = add(step, scaled(slice.number.into(), products.shape.slice_points()));
        }
        emitter.bind(ScalarType::I32, place(load, element, step))
    })
}

/// Adds one step's products, of tiles in which the thread names rows from `firsts` on.
pub(super) fn add_step(
    emitter: &mut Emitter,
    products: &Products,
    (sides, firsts): (&[Side; 2], [LocalId; 2]),
    meanwhile: Meanwhile,
) -> Result<(), LowerError> {
    let factors = Factors::new(emitter, sides, products);
    let steps = products.shape.slice_points() / DEPTH;
    emitter.repeat(Expression::i32(steps as i32), true, |emitter, step| {
        end_early(emitter, (step, steps), meanwhile)?;
        factors.load(emitter, sides, firsts, step.into())?;
        factors.multiply_all(emitter, products)
    })
}

/// The products of all steps, whose factors are loaded a product along the reduction ahead of where they are multiplied: the first
/// of a step are there when the step begins.
pub(crate) struct Ahead<'p> {
    products: &'p Products,
    sides: &'p [Side<'p>; 2],
    starts: [LocalId; 2],
    /// Those of even, and of odd products along the reduction.
    factors: [Factors; 2],
}

impl<'p> Ahead<'p> {
    /// None where the shape loads nothing ahead.
    pub(crate) fn of(
        emitter: &mut Emitter,
        products: &'p Products,
        (sides, starts): (&'p [Side<'p>; 2], [LocalId; 2]),
    ) -> Option<Self> {
        let is_ahead = products.shape.points_ahead() > 0;
        let factors = is_ahead.then(|| [0, 1].map(|_| Factors::new(emitter, sides, products)))?;
        Some(Self { products, sides, starts, factors })
    }

    /// Products of a step along the reduction, an even number.
    pub(crate) fn steps(&self) -> usize {
        self.products.shape.slice_points() / DEPTH
    }

    /// Loads the factors of one product along the reduction, of the tiles in a buffer.
    pub(crate) fn load(&self, emitter: &mut Emitter, buffer: &Expression, step: usize) -> Result<(), LowerError> {
        let firsts = self.products.firsts(emitter, (self.sides, self.starts), buffer);
        self.factors[step % 2].load(emitter, self.sides, firsts, Expression::i32(step as i32))
    }

    /// Adds a step's products, the first factors of which are loaded, of the tiles in the first buffer; and loads the first factors of
    /// the next step from the second buffer. `beside` emits what stands where the first products are added, and before the next
    /// step's factors are loaded.
    pub(crate) fn add(
        &self,
        emitter: &mut Emitter,
        [own, next]: [Expression; 2],
        mut beside: impl FnMut(&mut Emitter, StepPlace) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let last = self.steps() - 1;
        for step in 0..last {
            self.load(emitter, &own, step + 1)?;
            self.factors[step % 2].multiply_all(emitter, self.products)?;
            if step == 0 {
                beside(emitter, StepPlace::First)?;
            }
        }
        beside(emitter, StepPlace::Last)?;
        self.load(emitter, &next, 0)?;
        self.factors[last % 2].multiply_all(emitter, self.products)
    }
}

/// Where in a step something stands beside its products.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StepPlace {
    /// Behind the first.
    First,
    /// Before the last, and before the next step's factors are loaded.
    Last,
}

/// What a warp holds of both factors.
struct Factors {
    half: Half,
    /// Words of each lane, product by product.
    words: [ArrayId; 2],
    /// Products down and along.
    products: [usize; 2],
    /// Rows, or columns, of the tile from one matrix to the next.
    apart: [usize; 2],
}

impl Factors {
    fn new(emitter: &mut Emitter, sides: &[Side; 2], products: &Products) -> Self {
        let shape = &products.shape;
        let memory = emitter.memory_type(sides[0].load.storage);
        let half = Half::ALL.into_iter().find(|half| memory.as_ref().is_ok_and(|memory| half.memory() == *memory));
        let half = half.expect("the unit multiplies what is stored in 16 bits");
        let counts = [shape.rows / LANE_ROWS, shape.columns / LANE_COLUMNS];
        let words = [0, 1].map(|at| emitter.array(ScalarType::I32, counts[at] * registers(half, at)));
        Self { half, words, products: counts, apart: [apart(products, 0), apart(products, 1)] }
    }

    /// Loads both factors of the products of a place along the reduction.
    fn load(
        &self,
        emitter: &mut Emitter,
        sides: &[Side; 2],
        firsts: [LocalId; 2],
        step: Expression,
    ) -> Result<(), LowerError> {
        [0, 1].into_iter().try_for_each(|at| self.load_side(emitter, (&sides[at], at), (firsts[at], step.clone())))
    }

    /// Loads one factor, four matrices at a time.
    fn load_side(
        &self,
        emitter: &mut Emitter,
        (side, at): (&Side, usize),
        (first, step): (LocalId, Expression),
    ) -> Result<(), LowerError> {
        let words = registers(self.half, at);
        let of_all = self.products[at] * words;
        // Products of the left factor have two matrices down, those of the right one have one along.
        let moved = |matrices: Expression| scaled(matrices, self.apart[at] * 2);
        let statement = |at_once: Expression, matrices: Matrices| {
            let index = add(first, place(&side.load, moved(at_once.clone()), scaled(step.clone(), DEPTH)));
            let place = Place::Element(self.words[at], scaled(at_once, Matrices::Four.count() as usize));
            let transposed = side.load.rows == TileRows::Steps;
            Statement::LoadMatrices { place, array: side.shared, matrices, index, transposed }
        };
        let fours = of_all / Matrices::Four.count() as usize;
        emitter.repeat(Expression::i32(fours as i32), true, |emitter, four| {
            emitter.push(statement(four.into(), Matrices::Four));
            Ok::<(), LowerError>(())
        })?;
        if !of_all.is_multiple_of(Matrices::Four.count() as usize) {
            emitter.push(statement(Expression::i32(fours as i32), Matrices::Two));
        }
        Ok(())
    }

    /// Adds all products of what is loaded.
    fn multiply_all(&self, emitter: &mut Emitter, products: &Products) -> Result<(), LowerError> {
        let [down, along] = self.products.map(|count| Expression::i32(count as i32));
        emitter.repeat(down, true, |emitter, down| {
            emitter.repeat(along.clone(), true, |emitter, along| {
                self.multiply(emitter, products, (down, along));
                Ok(())
            })
        })
    }

    /// Adds a product to its sums.
    fn multiply(&self, emitter: &mut Emitter, products: &Products, (down, along): (LocalId, LocalId)) {
        let number = add(scaled(down.into(), self.products[1]), along);
        let first = scaled(number, LANE_ROWS * LANE_COLUMNS);
        let of = |array: ArrayId, first: Expression, count: usize| -> Vec<Expression> {
            let register =
                |at: usize| Expression::Element(array, Box::new(add(first.clone(), Expression::i32(at as i32))));
            (0..count).map(register).collect()
        };
        let factor = |at: usize, number: LocalId| {
            let words = registers(self.half, at);
            of(self.words[at], scaled(number.into(), words), words)
        };
        emitter.push(Statement::MultiplyMatrices {
            place: Place::Element(products.accumulators, first.clone()),
            factors: self.half,
            left: factor(0, down),
            right: factor(1, along),
            sums: of(products.accumulators, first, LANE_ROWS * LANE_COLUMNS),
        });
    }
}

/// Registers of a lane that hold one factor of a product.
fn registers(half: Half, side: usize) -> usize {
    half.product().registers([MatrixOperand::Left, MatrixOperand::Right][side])
}

/// Rows, or columns, of the tile from one matrix of a thread to its next.
fn apart(products: &Products, side: usize) -> usize {
    let shape = &products.shape;
    [shape.row_threads, shape.column_threads() * LANE_COLUMNS][side]
}

/// Where the step `step` of the row, or column, `element` lies.
fn place(load: &SideLoad, element: Expression, step: Expression) -> Expression {
    match load.rows {
        TileRows::Elements => add(scaled(element, load.row()), step),
        TileRows::Steps => add(scaled(step, load.row()), element),
    }
}
