//! A phase that is a sum of products of halves on tensor cores, a block of rows and columns a warp.
//!
//! The loads of some steps stand before their products. Rows and columns beyond the box repeat its last ones and are not stored;
//! steps beyond the reduction are zeros.

mod factor;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, Read};
use warpweave_plan::body::StageSource;
use warpweave_plan::template::block::WARP;
use warpweave_plan::template::contraction::unit::mma::LANE_COLUMNS;
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::staged::matrices::{
    MATRIX, MatrixPhase, MatrixProduct, MatrixSide, WRITTEN_OUT, Walk, WarpBlock,
};

use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::LocalId;
use crate::kernel_ir::memory::Half;
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::arithmetic::{quotient, remainder, scaled};
use crate::lower::emitter::{Emitter, add, binary, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::staged::blocked::Stretch;
use crate::lower::staged::matrices::factor::Factor;
use crate::lower::staged::phase::{Phase, reduce_axes};
use crate::lower::staged::sums::{Elements, OfRow, Placed, SumOrder, Sums, axes_of, extents};
use crate::lower::tile::decode_box;

/// A sum of products whose warps have blocks.
pub(crate) struct WarpProduct<'a> {
    phase: &'a Phase<'a>,
    product: MatrixProduct,
    walk: Walk,
    half: Half,
    batch: Vec<usize>,
    /// Blocks: of all batches, down and along.
    blocks: [usize; 3],
    lane: Lane,
    factors: [Factor; 2],
    /// The rows and the columns that the lane holds sums of.
    elements: [Elements; 2],
    sums: Sums,
}

/// A lane's place in its warp.
pub(crate) struct Lane {
    number: LocalId,
    /// Which of eight rows, or columns, it loads.
    of_eight: LocalId,
    /// Which of the four lanes it is that hold parts of one row.
    quad: LocalId,
}

impl Lane {
    fn emit(emitter: &mut Emitter) -> Self {
        let thread = Expression::Builtin(Builtin::Thread);
        let mut bind = |value: Expression| emitter.bind(ScalarType::I32, value);
        let number = bind(remainder(thread, WARP));
        Self { number, of_eight: bind(quotient(number, WARP / MATRIX)), quad: bind(remainder(number, WARP / MATRIX)) }
    }
}

/// Emits the phase.
pub(crate) fn emit(emitter: &mut Emitter, phase: &Phase, block: WarpBlock) -> Result<(), LowerError> {
    let mut product = WarpProduct::new(emitter, phase, block, Walk::whole(phase.expr));
    let (blocks, warps) = (product.blocks(), emitter.warps());
    let trips = emitter.operand(blocks.div_ceil(warps) as i64)?;
    let limit = emitter.operand(blocks as i64)?;
    let warp = warp_number(emitter);
    emitter.repeat(trips, false, |emitter, trip| {
        let first = multiply(trip, Expression::i32(warps as i32));
        let number = emitter.bind(ScalarType::I32, add(first, warp));
        emitter.when(Some(less(number, limit)), |emitter| {
            let placed = product.place(emitter, number.into())?;
            product.clear(emitter)?;
            product.reduce(emitter, &placed, None)?;
            product.store(emitter, &placed)
        })
    })
}

/// The number of the thread's warp in its block.
pub(crate) fn warp_number(emitter: &mut Emitter) -> LocalId {
    let shift = Expression::i32(WARP.ilog2() as i32);
    let warp = binary(BinaryOp::ShiftRight, Expression::Builtin(Builtin::Thread), shift);
    emitter.bind(ScalarType::I32, warp)
}

impl<'a> WarpProduct<'a> {
    /// What warps with these blocks compute of a phase for which they were chosen.
    pub(crate) fn new(emitter: &mut Emitter, phase: &'a Phase<'a>, block: WarpBlock, walk: Walk) -> Self {
        let stage = phase.stage.of(emitter.body());
        let contraction = Contraction::of_expression(phase.expr).expect("only contractions are multiplied");
        let boxes: Vec<_> = emitter.staged.iter().map(|staged| staged.spans.clone()).collect();
        let plan = MatrixPhase { stage, spans: &phase.spans, boxes: &boxes, walk };
        let product = plan.product(block, &|read: &Read| element_of(emitter, phase, read));
        let product = product.expect("blocks are chosen for what tensor cores can multiply");
        let storage = emitter.memory_type(contraction.storage).ok();
        let half = Half::ALL.into_iter().find(|half| Some(half.memory()) == storage);
        let batch = axes_of(phase, &contraction, AxisClass::Batch);
        let points = |axes: &[usize]| extents(phase, axes).iter().product::<usize>();
        let blocks = [
            points(&batch),
            points(&product.sides[0].axes).div_ceil(block.rows()),
            points(&product.sides[1].axes).div_ceil(block.columns()),
        ];
        let lane = Lane::emit(emitter);
        let trip = WRITTEN_OUT / product.order.steps();
        let factors = [0, 1].map(|at| Factor::new(emitter, &product.sides[at], product.order, trip));
        let counts = [block.lane_rows(), block.lane_columns()];
        let elements = [0, 1].map(|at| Elements::new(emitter, &product.sides[at].axes, counts[at]));
        let sums = Sums::new(emitter, SumOrder::Products, counts);
        Self {
            phase,
            walk,
            half: half.expect("tensor cores multiply what is stored in 16 bits"),
            batch,
            blocks,
            lane,
            factors,
            elements,
            sums,
            product,
        }
    }

    /// The number of blocks that cover the box.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.iter().product()
    }

    /// The block of this number.
    pub(crate) fn place(&mut self, emitter: &mut Emitter, number: Expression) -> Result<Placed, LowerError> {
        let phase = self.phase;
        let parts = decode_box(emitter, &self.blocks, number)?;
        let [of_batch, row, column] = parts.try_into().expect("a position a part");
        let block = self.product.block;
        let first = [scaled(row, block.rows()), scaled(column, block.columns())];
        let first = first.map(|first| emitter.bind(ScalarType::I32, first));
        let placed = Placed::new(emitter, phase, &self.batch, of_batch)?;
        for (at, first) in first.into_iter().enumerate() {
            let (side, lane) = (&self.product.sides[at], &self.lane);
            let partial = !self.length(at).is_multiple_of([block.rows(), block.columns()][at]);
            self.factors[at].place(emitter, phase, (lane, first), partial)?;
            self.elements[at].place(emitter, phase, (partial, 1), |number| {
                let of_eight = [
                    lane.of_eight.into(),
                    add(scaled(lane.quad.into(), LANE_COLUMNS), remainder(number, LANE_COLUMNS)),
                ];
                let group = [number.into(), quotient(number, LANE_COLUMNS)];
                let [of_eight, group] = [of_eight, group].map(|both: [Expression; 2]| both[at].clone());
                add(first, loaded(side, of_eight, group))
            })?;
        }
        Ok(placed)
    }

    /// Rows, or columns, of the box.
    fn length(&self, at: usize) -> usize {
        extents(self.phase, &self.product.sides[at].axes).iter().product()
    }

    /// Sets the sums to 0.
    pub(crate) fn clear(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        self.sums.clear(emitter)
    }

    /// Adds the products along the reduction, or along a stretch of its innermost axis.
    pub(crate) fn reduce(
        &self,
        emitter: &mut Emitter,
        placed: &Placed,
        stretch: Option<&Stretch>,
    ) -> Result<(), LowerError> {
        let axes: Vec<AxisId> = self.phase.expr.reduced().collect();
        let (&inner, outer) = axes.split_last().expect("a contraction reduces");
        let limit = match (stretch, self.walk.has_tail(self.product.order)) {
            (_, false) => None,
            (Some(stretch), true) => Some(stretch.count.clone()),
            (None, true) => Some(emitter.operand(self.walk.steps as i64)?),
        };
        let first = stretch.map(|stretch| stretch.first.clone());
        reduce_axes(emitter, self.phase.expr, outer, &placed.coordinates, &mut |emitter, coordinates| {
            let walk = StepsOf { coordinates, inner, first: first.clone(), limit: limit.clone() };
            self.walk(emitter, &walk)
        })
    }

    /// The steps of the innermost axis, those of a trip together.
    fn walk(&self, emitter: &mut Emitter, walk: &StepsOf) -> Result<(), LowerError> {
        let together = self.product.order.steps();
        let (chunks, of_trip) = (self.walk.steps.div_ceil(together), WRITTEN_OUT / together);
        let (trips, rest) = (chunks / of_trip, chunks % of_trip);
        if trips > 1 {
            let count = emitter.operand(trips as i64)?;
            emitter.repeat(count, false, |emitter, trip| {
                let first = emitter.bind(ScalarType::I32, scaled(trip.into(), WRITTEN_OUT));
                self.trip(emitter, walk, first.into(), of_trip)
            })?;
        } else if trips == 1 {
            self.trip(emitter, walk, Expression::i32(0), of_trip)?;
        }
        if rest == 0 {
            return Ok(());
        }
        self.trip(emitter, walk, Expression::i32((trips * WRITTEN_OUT) as i32), rest)
    }

    /// Loads `chunks` times what is taken together, from the step `first` on, and multiplies it.
    fn trip(&self, emitter: &mut Emitter, walk: &StepsOf, first: Expression, chunks: usize) -> Result<(), LowerError> {
        let chunks = Expression::i32(chunks as i32);
        let together = self.product.order.steps();
        emitter.repeat(chunks.clone(), true, |emitter, chunk| {
            let first = emitter.bind(ScalarType::I32, add(first, scaled(chunk.into(), together)));
            self.factors
                .iter()
                .try_for_each(|factor| factor.load(emitter, self.phase, (&self.lane, walk), (chunk, first)))
        })?;
        emitter.repeat(chunks, true, |emitter, chunk| {
            self.factors.iter().for_each(|factor| factor.arrange(emitter, chunk));
            let block = self.product.block;
            for product in 0..self.product.order.products() {
                emitter.repeat(Expression::i32(block.down as i32), true, |emitter, down| {
                    emitter.repeat(Expression::i32(block.along as i32), true, |emitter, along| {
                        self.multiply(emitter, (chunk, product), (down, along));
                        Ok::<(), LowerError>(())
                    })
                })?;
            }
            Ok(())
        })
    }

    /// Adds a product to its sums.
    fn multiply(&self, emitter: &mut Emitter, (chunk, product): (LocalId, usize), (down, along): (LocalId, LocalId)) {
        let [left, right] = &self.factors;
        let down_group = |half: i32| add(scaled(down.into(), 2), Expression::i32(half));
        let left_words =
            (0..2).flat_map(|word| [0, 1].map(|half| left.word(chunk, down_group(half), 2 * product + word)));
        let right_words = (0..2).map(|word| right.word(chunk, along.into(), 2 * product + word));
        let number = add(scaled(down.into(), self.product.block.along), along);
        let (first, accumulators) = (scaled(number, 2 * LANE_COLUMNS), self.sums.accumulators);
        let sum = |at: i32| Expression::Element(accumulators, Box::new(add(first.clone(), Expression::i32(at))));
        emitter.push(Statement::MultiplyMatrices {
            place: Place::Element(accumulators, first.clone()),
            factors: self.half,
            left: left_words.collect(),
            right: right_words.collect(),
            sums: (0..4).map(sum).collect(),
        });
    }

    /// Multiplies every sum by what `of_row` gives for the coordinates of its row.
    pub(crate) fn rescale_rows(
        &self,
        emitter: &mut Emitter,
        placed: &Placed,
        of_row: &OfRow,
    ) -> Result<(), LowerError> {
        self.sums.rescale_rows(emitter, (self.phase, &self.elements[0]), placed, of_row)
    }

    /// Stores the elements that exist.
    pub(crate) fn store(&self, emitter: &mut Emitter, placed: &Placed) -> Result<(), LowerError> {
        let [rows, columns] = &self.elements;
        self.sums.store(emitter, (self.phase, [rows, columns]), placed)
    }
}

/// The steps of the innermost axis at one place of the others.
pub(crate) struct StepsOf<'w> {
    coordinates: &'w [Expression],
    inner: AxisId,
    /// The first, where it is not 0.
    first: Option<Expression>,
    /// How many there are, where what is taken together may reach beyond them.
    limit: Option<Expression>,
}

impl StepsOf<'_> {
    /// The place of a step along the axis.
    fn place(&self, step: Expression) -> Expression {
        self.first.iter().fold(step, |step, first| add(first.clone(), step))
    }

    /// The coordinates of a place along the axis.
    fn at(&self, emitter: &mut Emitter, place: Expression) -> Vec<Expression> {
        let mut coordinates = self.coordinates.to_vec();
        coordinates[self.inner.index()] = emitter.bind(ScalarType::I32, place).into();
        coordinates
    }

    /// Whether a step is one of them; absent if it always is.
    fn reaches(&self, step: Expression) -> Option<Expression> {
        self.limit.clone().map(|limit| less(step, limit))
    }
}

/// [`MatrixSide::loaded`].
fn loaded(side: &MatrixSide, of_eight: Expression, group: Expression) -> Expression {
    match side.are_neighbours() {
        true => add(scaled(of_eight, side.groups), group),
        false => add(scaled(group, MATRIX), of_eight),
    }
}

/// The element of its space that a read of an operand finds.
fn element_of(emitter: &Emitter, phase: &Phase, read: &Read) -> Index {
    let body = emitter.body();
    let StageSource::Operand(operand) = phase.stage.of(body).sources[read.operand] else {
        unreachable!("only operands lie in memory")
    };
    let tensor = body.operands[operand];
    let layout = &emitter.memory.tensors[tensor].layout;
    let (_, first) = emitter.place(tensor);
    Index::linear(&read.index, &layout.strides, layout.offset).plus(first)
}
