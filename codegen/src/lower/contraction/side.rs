//! One of the two factors: which elements each thread fetches, and where they go in shared memory.

use warpweave_graph::expr::{AxisId, Index, ReadId, Scalar};
use warpweave_plan::body::{GroupBody, StageSource};
use warpweave_plan::template::contraction::joined::JoinedReduction;
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::contraction::tile_load::{Fetch, RowLayout, SideLoad, TileRows, plain_read};
use warpweave_plan::template::contraction::unit::ComputeUnit;
use warpweave_plan::template::contraction::{AxisClass, Contraction};

use crate::kernel_ir::expression::{BinaryOp, Constant, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId, SharedId};
use crate::kernel_ir::memory::MemoryType;
use crate::kernel_ir::statement::Statement;
use crate::lower::arithmetic::scalar_type;
use crate::lower::arithmetic::set;
use crate::lower::arithmetic::{access, quotient, remainder, scaled, zero};
use crate::lower::contraction::part::{Part, parts};
use crate::lower::emitter::{Emitter, add, binary, both, less};
use crate::lower::error::LowerError;
use crate::lower::index::bind_comparisons;
use crate::lower::scalar::Point;
use crate::lower::tile::{TileAxes, decode_box};

/// Rows or columns of the block tile.
pub(crate) struct Side<'a> {
    factor: &'a Scalar,
    pub(crate) axes: Vec<usize>,
    /// What its elements are.
    scalar: ScalarType,
    pub(crate) load: SideLoad,
    /// Its buffers in shared memory, `[buffer][step][element]`.
    pub(crate) shared: SharedId,
    /// The factor's values that the thread has fetched, or computed of `parts`, and not stored yet; or codes that it moves.
    fetched: ArrayId,
    /// What the thread has loaded of a factor that is computed, or moved as it is, when it is stored; else empty.
    parts: Vec<Part>,
    /// Whether its tiles hold codes of the 16 bits that memory holds, which are moved without conversion.
    are_codes: bool,
    /// Whether asynchronous copies bring it, if the shape has some.
    pub(crate) is_copied: bool,
    /// The coordinates of the elements that the thread fetches, an array an axis.
    coordinates: Vec<ArrayId>,
    /// Whether each of those elements exists; absent if all do.
    inside: Option<ArrayId>,
    /// Whether it is read from a box.
    pub(crate) stages_operands: bool,
    /// The thread's number among those that fetch together.
    thread: LocalId,
    /// The first of its slice's points in a step; absent where the block fetches together.
    slice: Option<LocalId>,
    /// The reduction as it walks it.
    reduction: JoinedReduction,
}

/// A step along the reduction.
pub(crate) struct Step<'s> {
    pub(crate) axes: &'s [AxisId],
    /// Its first point.
    pub(crate) first: LocalId,
    /// The coordinates of its first point, where its points differ in the innermost axis alone.
    pub(crate) origin: Option<Vec<Expression>>,
    /// Whether its points exist, where all do or none; absent if they do.
    pub(crate) exists: Option<Expression>,
    /// Points of the reduction, where some of the step's may lie beyond them.
    pub(crate) length: Option<&'s Expression>,
    pub(crate) tile: &'s TileAxes,
}

impl Step<'_> {
    /// The coordinates along the reduction of the point that is `in_step` behind the first, for a factor that walks it so.
    fn coordinates(
        &self,
        emitter: &mut Emitter,
        reduction: &JoinedReduction,
        in_step: &Expression,
    ) -> Result<Vec<Expression>, LowerError> {
        let mut found = vec![Expression::i32(0); self.axes.len()];
        match &self.origin {
            Some(origin) if reduction.extents.len() > 1 => {
                found.clone_from(origin);
                if let Some(innermost) = found.last_mut() {
                    *innermost = add(innermost.clone(), in_step.clone());
                }
            }
            _ => {
                let parts = decode_box(emitter, &reduction.extents, add(self.first, in_step.clone()))?;
                reduction.positions.iter().zip(parts).for_each(|(position, part)| found[*position] = part);
            }
        }
        Ok(found)
    }

    /// Whether that point is one of the reduction; absent if it is whenever the step's first is.
    fn reaches(&self, in_step: &Expression) -> Option<Expression> {
        self.length.map(|length| less(add(self.first, in_step.clone()), length.clone()))
    }
}

impl<'a> Side<'a> {
    pub(crate) fn emit(
        emitter: &mut Emitter,
        contraction: &'a Contraction,
        tile: &TileAxes,
        class: AxisClass,
        shape: &ContractionShape,
        thread: LocalId,
    ) -> Result<Self, LowerError> {
        let factor = contraction.factor(class);
        let body = emitter.body();
        let load = SideLoad::new(body, contraction, class, shape, emitter.kernel().tile());
        let load = load.narrowed(|width| are_aligned(emitter, factor, width));
        let is_copied = load.is_copied(body, contraction, (class, shape));
        let axes = contraction.tile_axes(body, class);
        let scalar = scalar_type(emitter, contraction.numerics().storage)?;
        let (thread, slice) = match load.slices {
            1 => (thread, None),
            _ => {
                let first = scaled(quotient(thread, load.threads), load.step);
                let own = emitter.bind(ScalarType::I32, remainder(thread, load.threads));
                (own, Some(emitter.bind(ScalarType::I32, first)))
            }
        };
        let parts = if is_copied { Vec::new() } else { parts(emitter, contraction, class, &load)? };
        let are_codes = !parts.is_empty() && plain_read(&body.stages[0].expr, factor).is_some();
        let memory = if are_codes { MemoryType::U16 } else { emitter.memory_type(load.storage)? };
        let fetched = match &parts[..] {
            [part] if are_codes => part.loaded,
            _ => emitter.array(scalar, load.trips() * load.width),
        };
        let mut side = Self {
            factor,
            shared: emitter.shared(memory, load.words() * shape.buffers()),
            fetched,
            parts,
            are_codes,
            is_copied,
            coordinates: axes.iter().map(|_| emitter.array(ScalarType::I32, load.elements())).collect(),
            axes,
            scalar,
            load,
            inside: None,
            stages_operands: stages_operands(body, factor),
            thread,
            slice,
            reduction: reduction_of(emitter, contraction, class),
        };
        side.inside = side.decode(emitter, tile)?;
        Ok(side)
    }

    /// Fills the coordinates.
    fn decode(&self, emitter: &mut Emitter, tile: &TileAxes) -> Result<Option<ArrayId>, LowerError> {
        let elements = self.load.elements();
        let mut inside = None;
        emitter.repeat(Expression::i32(elements as i32), true, |emitter, slot| {
            let number = self.element(slot.into());
            let number = emitter.bind(ScalarType::I32, number);
            let (coordinates, holds) = tile.decode(emitter, &self.axes, number, self.load.covered())?;
            for (array, coordinate) in self.coordinates.iter().zip(coordinates) {
                emitter.push(set(*array, slot.into(), coordinate.into()));
            }
            if let Some(holds) = holds {
                let array = emitter.array(ScalarType::Bool, elements);
                emitter.push(set(array, slot.into(), holds));
                inside = Some(array);
            }
            Ok(())
        })?;
        Ok(inside)
    }

    /// The row or column of the block tile of the thread's `slot`-th element.
    fn element(&self, slot: Expression) -> Expression {
        let SideLoad { width, fetch, .. } = self.load;
        let along = self.load.along();
        match fetch {
            Fetch::Elements if self.load.elements() > 1 => {
                scaled(add(self.thread, scaled(slot, self.load.threads)), width)
            }
            Fetch::Elements => scaled(remainder(self.thread, along), width),
            Fetch::Reduction if self.load.elements() == 1 => {
                remainder(quotient(self.thread, along), self.load.covered())
            }
            Fetch::Reduction => add(quotient(self.thread, along), scaled(slot, self.load.threads / along)),
        }
    }

    /// Where the step `in_step` of the thread's `slot`-th element lies in the buffer that begins at `base`.
    fn place_in_tile(&self, base: LocalId, in_step: Expression, slot: Expression) -> Expression {
        match self.load.rows {
            TileRows::Steps => add(add(base, scaled(in_step, self.load.row())), self.place_in_row(slot)),
            TileRows::Elements => add(add(base, scaled(self.element(slot), self.load.row())), in_step),
        }
    }

    /// Where the thread's `slot`-th element lies in its row of the tile. All fetches of a thread have one order.
    fn place_in_row(&self, slot: Expression) -> Expression {
        let RowLayout::Swizzled { unit, turns } = self.load.layout else { return self.element(slot) };
        let order = scaled(remainder(self.thread, self.load.along().min(turns)), unit);
        let apart = self.load.threads / self.load.along();
        if self.load.elements() == 1 || !apart.is_multiple_of(unit * turns) {
            return binary(BinaryOp::BitXor, self.element(slot), order);
        }
        add(binary(BinaryOp::BitXor, self.element(Expression::i32(0)), order), scaled(slot, apart))
    }

    /// The slot and the step in the tile of the thread's `trip`-th fetch.
    fn place_of(&self, trip: LocalId) -> (Expression, Expression) {
        let SideLoad { width, fetch, window, .. } = self.load;
        let (along, elements) = (self.load.along(), self.load.elements());
        let outer = self.load.covered() * along;
        let (slot, in_step) = match fetch {
            Fetch::Elements if elements > 1 => (remainder(trip, elements), quotient(trip, elements)),
            Fetch::Elements => {
                let in_step = add(quotient(self.thread, along), scaled(trip.into(), self.load.threads / along));
                (Expression::i32(0), in_step)
            }
            Fetch::Reduction => {
                let inner = scaled(remainder(self.thread, along), width);
                let windows = if outer >= self.load.threads {
                    quotient(trip, elements)
                } else {
                    add(quotient(self.thread, outer), scaled(trip.into(), self.load.threads / outer))
                };
                (remainder(trip, elements), add(inner, scaled(windows, window)))
            }
        };
        (slot, self.slice.map_or(in_step.clone(), |first| add(first, in_step)))
    }

    /// Whether the thread has a fetch at all; absent if all have.
    fn has_unit(&self) -> Option<Expression> {
        let units = self.load.units();
        (units < self.load.threads).then(|| less(self.thread, Expression::i32(units as i32)))
    }

    /// Whether the thread's `slot`-th element is one of the block tile; absent if all are.
    fn is_in_tile(&self, slot: &Expression) -> Option<Expression> {
        let length = self.load.length;
        (self.load.covered() > length).then(|| less(self.element(slot.clone()), Expression::i32(length as i32)))
    }

    /// Whether the thread's `slot`-th element exists; absent if all do.
    fn is_inside(&self, slot: &Expression) -> Option<Expression> {
        self.inside.map(|array| Expression::Element(array, Box::new(slot.clone())))
    }

    /// The arrays that the thread fetches into.
    pub(crate) fn fetched(&self) -> Vec<ArrayId> {
        match &self.parts[..] {
            _ if self.is_copied_alone() => Vec::new(),
            [] => vec![self.fetched],
            parts => parts.iter().map(|part| part.loaded).collect(),
        }
    }

    /// Whether copies bring it even where the other side goes through registers.
    pub(crate) fn is_copied_alone(&self) -> bool {
        self.is_copied && self.load.unit == ComputeUnit::Mma
    }

    /// Sets what the thread fetches to zero.
    pub(crate) fn clear(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        for part in &self.parts {
            let count = Expression::i32((self.load.trips() * part.registers) as i32);
            emitter.repeat(count, true, |emitter, at| {
                emitter.push(set(part.loaded, at.into(), zero(part.scalar)));
                Ok::<(), LowerError>(())
            })?;
        }
        if !self.parts.is_empty() {
            return Ok(());
        }
        let width = self.load.width;
        emitter.repeat(Expression::i32(self.load.trips() as i32), true, |emitter, trip| {
            for part in 0..width {
                let at = add(scaled(trip.into(), width), Expression::i32(part as i32));
                emitter.push(set(self.fetched, at, zero(self.scalar)));
            }
            Ok(())
        })
    }

    /// Evaluates the factor on the thread's elements of a step that exists, where they do; or loads its parts.
    pub(crate) fn fetch(&self, emitter: &mut Emitter, step: &Step) -> Result<(), LowerError> {
        let inside = if self.load.elements() == 1 { self.is_inside(&Expression::i32(0)) } else { None };
        emitter.when(both(self.has_unit(), inside), |emitter| {
            emitter.repeat(Expression::i32(self.load.trips() as i32), true, |emitter, trip| {
                self.fetch_trip(emitter, step, trip)
            })
        })
    }

    fn fetch_trip(&self, emitter: &mut Emitter, step: &Step, trip: LocalId) -> Result<(), LowerError> {
        let (slot, in_step) = self.place_of(trip);
        let inside = if self.load.elements() == 1 { None } else { self.is_inside(&slot) };
        let exists = both(step.reaches(&in_step), inside).map(|exists| self.bound(emitter, exists));
        emitter.when(exists, |emitter| {
            let mut point = Point::new(0, self.point(emitter, step, &in_step, &slot)?, &[]);
            if !self.parts.is_empty() {
                return self.parts.iter().try_for_each(|part| part.load(emitter, &mut point, trip));
            }
            let at = scaled(trip.into(), self.load.width);
            if self.load.width > 1 {
                let read =
                    plain_read(&emitter.body().stages[0].expr, self.factor).expect("wide fetches are of plain reads");
                return point.read_wide(emitter, (read, access(self.load.width)), self.fetched, at);
            }
            let value = point.emit(emitter, self.factor)?;
            emitter.push(set(self.fetched, at, value));
            Ok(())
        })
    }

    /// Begins to copy the thread's elements of a step to a buffer; zeros where there is nothing.
    pub(crate) fn copy(&self, emitter: &mut Emitter, step: &Step, buffer: &Expression) -> Result<(), LowerError> {
        let base = self.base(emitter, buffer);
        let read = plain_read(&emitter.body().stages[0].expr, self.factor).expect("copies are of plain reads");
        emitter.when(self.has_unit(), |emitter| {
            emitter.repeat(Expression::i32(self.load.trips() as i32), true, |emitter, trip| {
                let (slot, in_step) = self.place_of(trip);
                emitter.when(self.is_in_tile(&slot), |emitter| {
                    let mut point = Point::new(0, self.point(emitter, step, &in_step, &slot)?, &[]);
                    let (space, source, guard) = point.source(emitter, read)?;
                    let reached = both(step.exists.clone(), step.reaches(&in_step));
                    let exists = both(both(reached, self.is_inside(&slot)), guard);
                    let exists = exists.unwrap_or(Expression::Constant(Constant::Bool(true)));
                    let exists = self.bound(emitter, exists);
                    let index = self.place_in_tile(base, in_step, slot);
                    let width = access(self.load.width);
                    emitter.push(Statement::AsyncCopy { array: self.shared, index, space, source, width, exists });
                    Ok(())
                })
            })
        })
    }

    /// A condition as a kernel on tensor cores takes it: no operand is loaded under a part of it, and a copy takes no branch.
    fn bound(&self, emitter: &mut Emitter, exists: Expression) -> Expression {
        match self.load.unit {
            ComputeUnit::Simt => exists,
            ComputeUnit::Mma => bind_comparisons(emitter, exists),
        }
    }

    /// The coordinates of all axes at one element.
    fn point(
        &self,
        emitter: &mut Emitter,
        step: &Step,
        in_step: &Expression,
        slot: &Expression,
    ) -> Result<Vec<Expression>, LowerError> {
        let rank = emitter.body().stages[0].expr.axes.len();
        let mut axes = step.tile.origin();
        axes.resize(rank, Expression::i32(0));
        for (axis, array) in self.axes.iter().zip(&self.coordinates) {
            axes[*axis] = Expression::Element(*array, Box::new(slot.clone()));
        }
        let inner = step.coordinates(emitter, &self.reduction, in_step)?;
        for (axis, coordinate) in step.axes.iter().zip(inner) {
            axes[warpweave_graph::arena::Id::index(*axis)] = coordinate;
        }
        Ok(axes)
    }

    /// Stores what was fetched of a step to a buffer.
    pub(crate) fn place(&self, emitter: &mut Emitter, step: &Step, buffer: &Expression) -> Result<(), LowerError> {
        if !self.parts.is_empty() && !self.are_codes {
            self.compute(emitter, step)?;
        }
        let width = self.load.width;
        let base = self.base(emitter, buffer);
        emitter.when(self.has_unit(), |emitter| {
            emitter.repeat(Expression::i32(self.load.trips() as i32), true, |emitter, trip| {
                let (slot, in_step) = self.place_of(trip);
                let first = self.place_in_tile(base, in_step, slot.clone());
                let value = |part: usize| {
                    if self.are_codes {
                        return self.parts[0].code(trip, part);
                    }
                    let at = add(scaled(trip.into(), width), Expression::i32(part as i32));
                    Expression::Element(self.fetched, Box::new(at))
                };
                emitter.when(self.is_in_tile(&slot), |emitter| {
                    if self.load.stores() == 1 {
                        let values = (0..width).map(value).collect();
                        emitter.push(Statement::StoreShared { array: self.shared, index: first, values });
                        return Ok(());
                    }
                    for part in 0..width {
                        let index = add(first.clone(), Expression::i32((part * self.load.row()) as i32));
                        let values = vec![value(part)];
                        emitter.push(Statement::StoreShared { array: self.shared, index, values });
                    }
                    Ok(())
                })
            })
        })
    }

    /// Computes the factor of what was loaded for a step; zero where there is nothing.
    fn compute(&self, emitter: &mut Emitter, step: &Step) -> Result<(), LowerError> {
        let mut depends = false;
        self.factor.visit(&mut |scalar| depends |= matches!(scalar, Scalar::Index(..) | Scalar::Holds(_)));
        emitter.repeat(Expression::i32(self.load.trips() as i32), true, |emitter, trip| {
            let (slot, in_step) = self.place_of(trip);
            let reached = both(step.exists.clone(), step.reaches(&in_step));
            let exists = both(reached, self.is_inside(&slot));
            let at = |element: usize| add(scaled(trip.into(), self.load.width), Expression::i32(element as i32));
            if exists.is_some() {
                (0..self.load.width)
                    .for_each(|element| emitter.push(set(self.fetched, at(element), zero(self.scalar))));
            }
            emitter.when(exists, |emitter| {
                for element in 0..self.load.width {
                    let axes = if depends { self.point(emitter, step, &in_step, &slot)? } else { Vec::new() };
                    let mut point = Point::new(0, axes, &[]);
                    for part in &self.parts {
                        point.known_read(part.read, emitter.bind(part.value_type(), part.value(trip, element)));
                    }
                    let value = point.emit(emitter, self.factor)?;
                    emitter.push(set(self.fetched, at(element), value));
                }
                Ok(())
            })
        })
    }

    /// The first word of a buffer.
    pub(crate) fn base(&self, emitter: &mut Emitter, buffer: &Expression) -> LocalId {
        let base = scaled(buffer.clone(), self.load.words());
        emitter.bind(ScalarType::I32, base)
    }
}

/// The reduction as a factor walks it in memory.
fn reduction_of(emitter: &Emitter, contraction: &Contraction, class: AxisClass) -> JoinedReduction {
    let body = emitter.body();
    JoinedReduction::new(body, contraction, class, |operand, read| {
        let layout = &emitter.memory.tensors[body.operands[operand]].layout;
        Index::linear(&read.index, &layout.strides, 0)
    })
}

/// Whether a factor of the first stage reads from shared memory.
fn stages_operands(body: &GroupBody, factor: &Scalar) -> bool {
    let stage = &body.stages[0];
    let from = |read| stage.sources[stage.expr.reads[read].operand];
    stage.expr.reads_of(factor).into_iter().any(|read| matches!(from(read), StageSource::Staged(_)))
}

/// Whether so many neighbours, from an aligned element on, are neighbours in the memory of all that a factor reads.
fn are_aligned(emitter: &Emitter, factor: &Scalar, width: usize) -> bool {
    emitter.body().stages[0].expr.reads_of(factor).into_iter().all(|read| is_aligned(emitter, read, width))
}

fn is_aligned(emitter: &Emitter, read: ReadId, width: usize) -> bool {
    let stage = &emitter.body().stages[0];
    let read = &stage.expr.reads[read];
    let StageSource::Operand(operand) = stage.sources[read.operand] else { return false };
    let tensor = emitter.body().operands[operand];
    let layout = &emitter.memory.tensors[tensor].layout;
    let (_, first) = emitter.place(tensor);
    let shape = &stage.expr.operands[read.operand].shape;
    let linear = |strides: &[usize]| Index::linear(&read.index, strides, 0);
    let width = stage.expr.operands[read.operand].element.access_elements().min(width);
    // Runs of a part of a larger tensor lie in its rows.
    let rows = layout.strides.split_last().zip(shape.last());
    let are_whole = rows.is_some_and(|((innermost, outer), length)| {
        *innermost == 1 && outer.iter().chain([length]).all(|elements| elements.is_multiple_of(width))
    });
    let aligned = (first + layout.offset as i64) % width as i64 == 0 && !emitter.is_tagged(tensor);
    aligned && (are_whole || linear(&layout.strides) == linear(&shape.strides()))
}
