//! What a lane holds of one factor: from memory, or from boxes of staged values, to words of two halves.

use warpweave_plan::body::StageSource;
use warpweave_plan::template::staged::matrices::{FactorPath, MATRIX, MatrixSide, StepOrder};

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::memory::{Matrices, MemoryType};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::arithmetic::{access, quotient, remainder, scaled, set};
use crate::lower::emitter::{Emitter, StagedArray, add, binary, both, less};
use crate::lower::error::LowerError;
use crate::lower::index::Coordinates;
use crate::lower::scalar::{Point, number_in_box};
use crate::lower::staged::matrices::{Lane, StepsOf, loaded};
use crate::lower::staged::phase::Phase;
use crate::lower::staged::sums::Elements;

/// The lower half of a word.
const LOWER: i32 = 0xffff;
/// Bits of a half.
const HALF_BITS: i32 = 16;

/// One factor of a product.
pub(super) struct Factor {
    side: MatrixSide,
    order: StepOrder,
    /// The rows, or columns, that the lane loads.
    elements: Elements,
    /// What was loaded of the steps of a trip.
    loaded: ArrayId,
    /// Words of two steps of a row, or column, each: `[chunk][group][word]`.
    words: ArrayId,
}

impl Factor {
    /// A factor of which so many chunks of steps are held at a time.
    pub(super) fn new(emitter: &mut Emitter, side: &MatrixSide, order: StepOrder, chunks: usize) -> Self {
        let words = emitter.array(ScalarType::I32, chunks * side.groups * order.words());
        let (count, loaded) = match side.path {
            FactorPath::Steps => (side.groups, words),
            FactorPath::Matrices { .. } => (side.groups.div_ceil(2), words),
            FactorPath::Elements(width) => {
                let of_step = if width == 1 { side.groups } else { width / 2 };
                (side.groups / width, emitter.array(ScalarType::I32, chunks * 2 * order.words() * of_step))
            }
        };
        Self { elements: Elements::new(emitter, &side.axes, count), side: side.clone(), order, loaded, words }
    }

    /// Finds what the lane loads of the block that begins at `first`.
    pub(super) fn place(
        &mut self,
        emitter: &mut Emitter,
        phase: &Phase,
        (lane, first): (&Lane, LocalId),
        partial: bool,
    ) -> Result<(), LowerError> {
        let side = &self.side;
        let number = |at: LocalId| match side.path {
            FactorPath::Steps | FactorPath::Elements(_) => loaded(side, lane.of_eight.into(), at.into()),
            FactorPath::Matrices { transposed } => {
                let group = add(scaled(at.into(), 2), quotient(lane.number, 2 * MATRIX));
                let start = scaled(group, MATRIX);
                if transposed { start } else { add(start, remainder(lane.number, MATRIX)) }
            }
        };
        // Loads of a single group name rows of a second that does not exist.
        let partial = partial || matches!(side.path, FactorPath::Matrices { .. }) && side.groups == 1;
        self.elements.place(emitter, phase, (partial, side.run()), |at| add(first, number(at)))
    }

    /// A word of a group, of the steps of a chunk.
    pub(super) fn word(&self, chunk: LocalId, group: Expression, word: usize) -> Expression {
        Expression::Element(self.words, Box::new(self.index(chunk, group, word)))
    }

    fn index(&self, chunk: LocalId, group: Expression, word: usize) -> Expression {
        let number = add(scaled(chunk.into(), self.side.groups), group);
        add(scaled(number, self.order.words()), Expression::i32(word as i32))
    }

    /// Loads what the lane holds of a chunk, from the step `first` on.
    pub(super) fn load(
        &self,
        emitter: &mut Emitter,
        phase: &Phase,
        (lane, walk): (&Lane, &StepsOf),
        (chunk, first): (LocalId, LocalId),
    ) -> Result<(), LowerError> {
        let count = Expression::i32(self.elements.count as i32);
        emitter.repeat(count, true, |emitter, at| match self.side.path {
            FactorPath::Steps => self.load_steps(emitter, phase, (lane, walk), (chunk, first, at)),
            FactorPath::Elements(width) => self.load_elements(emitter, phase, (lane, walk), (chunk, first, at), width),
            FactorPath::Matrices { transposed } => {
                self.load_matrices(emitter, phase, (lane, walk), (chunk, first, at), transposed)
            }
        })
    }

    /// Neighbouring steps of a row, or column.
    fn load_steps(
        &self,
        emitter: &mut Emitter,
        phase: &Phase,
        (lane, walk): (&Lane, &StepsOf),
        (chunk, first, at): (LocalId, LocalId, LocalId),
    ) -> Result<(), LowerError> {
        let words = self.order.words();
        let at_once = if self.order.products() > 1 { words } else { 1 };
        for word in (0..words).step_by(at_once) {
            let step = self.step(emitter, lane, first, word, 0);
            let to = self.index(chunk, at.into(), word);
            self.load_words(emitter, phase, (walk, step), at, (self.words, to, at_once))?;
        }
        Ok(())
    }

    /// Each of the lane's steps, of a row or column alone or of neighbours.
    fn load_elements(
        &self,
        emitter: &mut Emitter,
        phase: &Phase,
        (lane, walk): (&Lane, &StepsOf),
        (chunk, first, at): (LocalId, LocalId, LocalId),
        width: usize,
    ) -> Result<(), LowerError> {
        for (word, part) in (0..self.order.words()).flat_map(|word| [(word, 0), (word, 1)]) {
            let step = self.step(emitter, lane, first, word, part);
            let to = self.loaded_index(chunk, (word, part), at.into());
            if width > 1 {
                self.load_words(emitter, phase, (walk, step), at, (self.loaded, to, width / 2))?;
                continue;
            }
            self.load_from_memory(emitter, phase, (walk, step), at, (self.loaded, to, 1), MemoryType::U16)?;
        }
        Ok(())
    }

    fn load_words(
        &self,
        emitter: &mut Emitter,
        phase: &Phase,
        steps: (&StepsOf, LocalId),
        at: LocalId,
        to: (ArrayId, Expression, usize),
    ) -> Result<(), LowerError> {
        self.load_from_memory(emitter, phase, steps, at, to, MemoryType::I32)
    }

    /// Loads words, or the bits of one half; zeros where the step or the element does not exist.
    fn load_from_memory(
        &self,
        emitter: &mut Emitter,
        phase: &Phase,
        (walk, step): (&StepsOf, LocalId),
        at: LocalId,
        (array, to, count): (ArrayId, Expression, usize),
        memory: MemoryType,
    ) -> Result<(), LowerError> {
        let mut coordinates = walk.at(emitter, walk.place(step.into()));
        self.elements.set(phase, at, &mut coordinates);
        let mut point = Point::of(phase.stage, coordinates, &[]);
        let (space, element, guard) = point.source(emitter, self.side.read)?;
        let exists = both(walk.reaches(step.into()), guard);
        if exists.is_some() {
            for word in 0..count {
                emitter.push(set(array, add(to.clone(), Expression::i32(word as i32)), Expression::i32(0)));
            }
        }
        let index = match memory {
            MemoryType::I32 => binary(BinaryOp::ShiftRight, element, Expression::i32(1)),
            _ => element,
        };
        let width = access(count);
        emitter.when(exists, |emitter| {
            emitter.push(Statement::LoadGlobal { place: Place::Element(array, to), space, memory, width, index });
            Ok(())
        })
    }

    /// Matrices of two groups from the box of a staged value, or of the only one.
    fn load_matrices(
        &self,
        emitter: &mut Emitter,
        phase: &Phase,
        (lane, walk): (&Lane, &StepsOf),
        (chunk, first, at): (LocalId, LocalId, LocalId),
        transposed: bool,
    ) -> Result<(), LowerError> {
        let body = emitter.body();
        let read = &phase.expr.reads[self.side.read];
        let StageSource::Staged(staged) = phase.stage.of(body).sources[read.operand] else {
            unreachable!("matrices come from boxes")
        };
        let mut step = add(first, scaled(remainder(quotient(lane.number, MATRIX), 2), MATRIX));
        if transposed {
            step = add(step, remainder(lane.number, MATRIX));
        }
        step = walk.place(step);
        let last = self.side.last_start(phase.expr.axes[walk.inner].extent).filter(|_| walk.limit.is_some());
        if let Some(last) = last {
            step = binary(BinaryOp::Minimum, step, emitter.operand(last as i64)?);
        }
        let mut coordinates = walk.at(emitter, step);
        self.elements.set(phase, at, &mut coordinates);
        let StagedArray { array, first: origin, spans } = &emitter.staged[staged];
        let (array, room) = (*array, spans.iter().map(|span| span.pitch));
        let dimensions: Vec<_> = origin.iter().cloned().zip(room).collect();
        let coordinates = Coordinates { axes: &coordinates, places: &Default::default() };
        let index = number_in_box(emitter, phase.expr, &read.index, dimensions.into_iter(), &coordinates)?;
        let matrices = if self.side.groups == 1 { Matrices::Two } else { Matrices::Four };
        let place = Place::Element(self.words, self.index(chunk, scaled(at.into(), 2), 0));
        emitter.push(Statement::LoadMatrices { place, array, matrices, index, transposed });
        self.clear_tail(emitter, (lane, walk), (chunk, first, at));
        Ok(())
    }

    /// Sets to zero what loads of matrices brought of steps beyond the last.
    fn clear_tail(
        &self,
        emitter: &mut Emitter,
        (lane, walk): (&Lane, &StepsOf),
        (chunk, first, at): (LocalId, LocalId, LocalId),
    ) {
        let Some(limit) = &walk.limit else { return };
        for (group, word) in (0..self.side.groups.min(2)).flat_map(|group| [(group, 0), (group, 1)]) {
            let index = self.index(chunk, add(scaled(at.into(), 2), Expression::i32(group as i32)), word);
            let value = Expression::Element(self.words, Box::new(index.clone()));
            let step = self.step(emitter, lane, first, word, 0);
            let one = binary(BinaryOp::BitAnd, value.clone(), Expression::i32(LOWER));
            let some = select(less(step, limit.clone()), one, Expression::i32(0));
            let both = less(add(step, Expression::i32(1)), limit.clone());
            emitter.push(set(self.words, index, select(both, value, some)));
        }
    }

    /// Puts what was loaded step by step into words.
    pub(super) fn arrange(&self, emitter: &mut Emitter, chunk: LocalId) {
        let FactorPath::Elements(width) = self.side.path else { return };
        for (group, word) in (0..self.side.groups).flat_map(|group| (0..self.order.words()).map(move |at| (group, at)))
        {
            let at = if width == 1 { group } else { group / 2 };
            let [first, second] = [0, 1].map(|part| {
                let index = self.loaded_index(chunk, (word, part), Expression::i32(at as i32));
                Expression::Element(self.loaded, Box::new(index))
            });
            let packed = match (width, group % 2) {
                (1, _) => binary(BinaryOp::BitOr, first, upper(second)),
                (_, 0) => binary(BinaryOp::BitOr, lower(first), upper(second)),
                _ => {
                    let first = lower(binary(BinaryOp::ShiftRight, first, Expression::i32(HALF_BITS)));
                    binary(BinaryOp::BitOr, first, binary(BinaryOp::BitAnd, second, Expression::i32(!LOWER)))
                }
            };
            let to = self.index(chunk, Expression::i32(group as i32), word);
            emitter.push(set(self.words, to, packed));
        }
    }

    /// Where a step's load begins among those of a trip, or its `at`-th word is.
    fn loaded_index(&self, chunk: LocalId, (word, part): (usize, usize), at: Expression) -> Expression {
        let of_step = match self.side.path {
            FactorPath::Elements(width) if width > 1 => width / 2,
            FactorPath::Elements(_) | FactorPath::Steps | FactorPath::Matrices { .. } => self.side.groups,
        };
        let number = add(scaled(chunk.into(), 2 * self.order.words()), Expression::i32((2 * word + part) as i32));
        add(scaled(number, of_step), at)
    }

    /// The step of a word of the lane, as [`StepOrder::step`] says.
    fn step(&self, emitter: &mut Emitter, lane: &Lane, first: LocalId, word: usize, part: usize) -> LocalId {
        let of_lane = self.order.step(1, 0);
        let step = add(first, scaled(lane.quad.into(), of_lane));
        let step = add(step, Expression::i32((self.order.step(0, word) + part) as i32));
        emitter.bind(ScalarType::I32, step)
    }
}

fn lower(word: Expression) -> Expression {
    binary(BinaryOp::BitAnd, word, Expression::i32(LOWER))
}

fn upper(half: Expression) -> Expression {
    binary(BinaryOp::ShiftLeft, half, Expression::i32(HALF_BITS))
}

fn select(condition: Expression, then: Expression, otherwise: Expression) -> Expression {
    Expression::Select(Box::new(condition), Box::new(then), Box::new(otherwise))
}
