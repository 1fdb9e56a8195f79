//! Scalar bodies at one point of a stage's axes.

use crate::lower::arithmetic::emit_literal;
use crate::lower::arithmetic::scalar_type;
use std::collections::HashMap;

use warpweave_graph::ElementType;
use warpweave_graph::expr::{Index, IndirectIndex, Literal, Read, ReadId, Scalar, TensorExpr};
use warpweave_graph::halves::{bf16_of_single, f16_of_single};
use warpweave_graph::text::reader::Word;
use warpweave_plan::body::{GroupBody, Stage, StageSource};
use warpweave_plan::template::staged::blocked::is_wide;
use warpweave_plan::template::staged::is_wide_in_box;

use crate::kernel_ir::expression::{BinaryOp, Constant, Expression, ScalarType, UnaryOp};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::memory::{GlobalSpace, MemoryType, Width};
use crate::kernel_ir::statement::{Place, Statement};
use crate::kernel_ir::typing::{binary_result, unary_result};
use crate::lower::convert::{binary_wrapped, converted, unary_wrapped};
use crate::lower::emitter::{Emitter, StagedArray, add, multiply};
use crate::lower::error::LowerError;
use crate::lower::index::{Coordinates, bind_comparisons, bind_guard, emit_guard, emit_index};
use crate::lower::unsupported::{binary, check_function, unary};

/// Which stage of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StageName {
    /// One of [`GroupBody::stages`].
    Main(usize),
    /// One of [`GroupBody::staged`].
    Staged(usize),
}

impl StageName {
    pub(crate) fn of(self, body: &GroupBody) -> &Stage {
        match self {
            Self::Main(stage) => &body.stages[stage],
            Self::Staged(stage) => &body.staged[stage],
        }
    }
}

/// Evaluates scalars of one stage at one point; equal scalars are computed once.
pub(crate) struct Point<'p> {
    pub(crate) stage: StageName,
    /// One coordinate an axis of the stage.
    pub(crate) axes: Vec<Expression>,
    /// The values of earlier stages at this point of the tile axes.
    pub(crate) stages: &'p [Option<LocalId>],
    /// The reduced value, for epilogues.
    pub(crate) reduced: Option<Expression>,
    known: HashMap<Scalar, Expression>,
    reads: HashMap<ReadId, LocalId>,
    /// Which elements reads without a guard read.
    pub(crate) elements: HashMap<ReadId, Expression>,
    /// The places that reads name.
    pub(crate) places: HashMap<IndirectIndex, LocalId>,
}

impl<'p> Point<'p> {
    pub(crate) fn new(stage: usize, axes: Vec<Expression>, stages: &'p [Option<LocalId>]) -> Self {
        Self::of(StageName::Main(stage), axes, stages)
    }

    pub(crate) fn of(stage: StageName, axes: Vec<Expression>, stages: &'p [Option<LocalId>]) -> Self {
        Self {
            stage,
            axes,
            stages,
            reduced: None,
            known: HashMap::new(),
            reads: HashMap::new(),
            elements: HashMap::new(),
            places: HashMap::new(),
        }
    }

    /// The value of a scalar of the stage, as a local or a literal.
    pub(crate) fn emit(&mut self, emitter: &mut Emitter, scalar: &Scalar) -> Result<Expression, LowerError> {
        if let Some(known) = self.known.get(scalar) {
            return Ok(known.clone());
        }
        let expr = &self.stage.of(emitter.body()).expr;
        let value = self.compute(emitter, expr, scalar)?;
        let value = match value {
            Expression::Constant(_) | Expression::Local(_) => value,
            computed => {
                let scalar = scalar_type(emitter, expr.element_of(scalar))?;
                Expression::Local(emitter.bind(scalar, computed))
            }
        };
        self.known.insert(scalar.clone(), value.clone());
        Ok(value)
    }

    fn compute(&mut self, emitter: &mut Emitter, expr: &TensorExpr, scalar: &Scalar) -> Result<Expression, LowerError> {
        if let Some(argument) = logistic_argument(expr, scalar) {
            let argument = self.emit(emitter, argument)?;
            return Ok(Expression::Unary(UnaryOp::Logistic, Box::new(argument)));
        }
        match scalar {
            Scalar::Literal(literal) => emit_literal(emitter, *literal),
            Scalar::Reduced => Ok(self.reduced.clone().expect("an epilogue runs after its reduction")),
            Scalar::Read(read) => self.read(emitter, *read).map(Expression::Local),
            Scalar::Index(index, element) => {
                let value = self.index(emitter, expr, index)?;
                converted(emitter, ElementType::I32, *element, value)
            }
            Scalar::Holds(guard) => {
                self.load_indirect(emitter, guard.conditions().iter().map(|condition| &condition.index))?;
                let holds = bind_guard(emitter, expr, guard, &self.coordinates())?;
                Ok(holds.unwrap_or(Expression::Constant(Constant::Bool(true))))
            }
            Scalar::Unary(op, operand) => {
                let (function, element) = (unary(*op), expr.element_of(operand));
                let checked = check_function(op.word(), element, |scalar| unary_result(function, scalar));
                checked.map_err(|what| emitter.unsupported(what))?;
                let value = self.emit(emitter, operand)?;
                Ok(unary_wrapped(element, function, value))
            }
            Scalar::Binary(op, left, right) => {
                let (function, element) = (binary(*op), expr.element_of(left));
                let checked = check_function(op.word(), element, |scalar| binary_result(function, scalar));
                checked.map_err(|what| emitter.unsupported(what))?;
                let (left, right) = (self.emit(emitter, left)?, self.emit(emitter, right)?);
                Ok(binary_wrapped(element, function, left, right))
            }
            Scalar::Select(condition, then, otherwise) => {
                let condition = self.emit(emitter, condition)?;
                let (then, otherwise) = (self.emit(emitter, then)?, self.emit(emitter, otherwise)?);
                Ok(Expression::Select(Box::new(condition), Box::new(then), Box::new(otherwise)))
            }
            Scalar::Cast(element, operand) => {
                let value = self.emit(emitter, operand)?;
                converted(emitter, expr.element_of(operand), *element, value)
            }
        }
    }

    /// The local that holds a read's value.
    pub(crate) fn read(&mut self, emitter: &mut Emitter, id: ReadId) -> Result<LocalId, LowerError> {
        if let Some(&known) = self.reads.get(&id) {
            return Ok(known);
        }
        let body = emitter.body();
        let stage = self.stage.of(body);
        let read = &stage.expr.reads[id];
        let local = match stage.sources[read.operand] {
            StageSource::Stage(earlier) => self.stages[earlier].expect("an earlier stage has its value"),
            StageSource::Staged(earlier) => self.read_staged(emitter, &stage.expr, read, earlier)?,
            StageSource::Operand(operand) => {
                let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
                self.load_indirect(emitter, read.index.iter().chain(conditions))?;
                let element = emitter.memory.tensors[body.operands[operand]].ty.element;
                let value = emitter.declare(scalar_type(emitter, element)?);
                let guard = bind_guard(emitter, &stage.expr, &read.guard, &self.coordinates())?;
                let is_unguarded = guard.is_none();
                if guard.is_some() {
                    let fill = emit_literal(emitter, read.fill)?;
                    emitter.assign(value, fill);
                }
                let mut element = None;
                emitter.when(guard, |emitter| {
                    let (space, memory, index) = self.address(emitter, operand, read)?;
                    element = is_unguarded.then(|| index.clone());
                    let (place, tag) = (Place::Local(value), emitter.mark(body.operands[operand])?);
                    emitter.push(match tag {
                        Some(tag) => Statement::LoadTagged { place, count: 1, index, apart: None, tag },
                        None => Statement::LoadGlobal { place, space, memory, width: Width::One, index },
                    });
                    Ok(())
                })?;
                self.elements.extend(element.map(|element| (id, element)));
                value
            }
        };
        self.reads.insert(id, local);
        Ok(local)
    }

    /// Whether four steps of the innermost reduced axis can be loaded at once by [`Self::read_wide`].
    pub(crate) fn is_wide(&self, emitter: &Emitter, id: ReadId) -> bool {
        let body = emitter.body();
        let stage = self.stage.of(body);
        let read = &stage.expr.reads[id];
        match stage.sources[read.operand] {
            StageSource::Stage(_) => false,
            StageSource::Operand(operand) => {
                let tensor = body.operands[operand];
                let layout = &emitter.memory.tensors[tensor].layout;
                !emitter.is_tagged(tensor)
                    && is_wide(&stage.expr, read, &Index::linear(&read.index, &layout.strides, layout.offset))
            }
            StageSource::Staged(earlier) => is_wide_in_box(&stage.expr, read, &emitter.staged[earlier].spans),
        }
    }

    /// The local that holds a read's value, if it has been read.
    pub(crate) fn loaded(&self, id: ReadId) -> Option<LocalId> {
        self.reads.get(&id).copied()
    }

    /// The value of a scalar, if it has been computed.
    pub(crate) fn known(&self, scalar: &Scalar) -> Option<&Expression> {
        self.known.get(scalar)
    }

    /// Takes the value of a scalar from an expression.
    pub(crate) fn known_scalar(&mut self, scalar: Scalar, value: Expression) {
        self.known.insert(scalar, value);
    }

    /// Takes the value of a read from a local.
    pub(crate) fn known_read(&mut self, id: ReadId, local: LocalId) {
        self.reads.insert(id, local);
    }

    /// Loads neighbours from this point on into an array; the read is an affine one without a guard.
    pub(crate) fn read_wide(
        &mut self,
        emitter: &mut Emitter,
        (id, width): (ReadId, Width),
        to: ArrayId,
        at: Expression,
    ) -> Result<(), LowerError> {
        let stage = self.stage.of(emitter.body());
        let read = &stage.expr.reads[id];
        let place = Place::Element(to, at);
        let statement = match stage.sources[read.operand] {
            StageSource::Stage(_) => unreachable!("a wide read is of a tensor in memory or of a staged value"),
            StageSource::Operand(operand) => {
                let (space, memory, index) = self.address(emitter, operand, read)?;
                Statement::LoadGlobal { place, space, memory, width, index }
            }
            StageSource::Staged(earlier) => {
                let index = self.slot(emitter, &stage.expr, read, earlier)?;
                Statement::LoadShared { place, array: emitter.staged[earlier].array, width, index }
            }
        };
        emitter.push(statement);
        Ok(())
    }

    /// Loads the value of a read of a tensor in memory into an element of an array; the read's fill where its guard does not hold.
    pub(crate) fn read_into(
        &mut self,
        emitter: &mut Emitter,
        id: ReadId,
        to: ArrayId,
        at: Expression,
    ) -> Result<(), LowerError> {
        self.load_into(emitter, id, (to, at), None)
    }

    /// The same with the code of floating point of 16 bits instead of the value.
    pub(crate) fn read_code_into(
        &mut self,
        emitter: &mut Emitter,
        id: ReadId,
        to: ArrayId,
        at: Expression,
    ) -> Result<(), LowerError> {
        self.load_into(emitter, id, (to, at), Some(MemoryType::U16))
    }

    /// Loads a read's value, or what its memory holds as another type: then fills of 16 bits are codes.
    fn load_into(
        &mut self,
        emitter: &mut Emitter,
        id: ReadId,
        (to, at): (ArrayId, Expression),
        loaded_as: Option<MemoryType>,
    ) -> Result<(), LowerError> {
        let read = &self.stage.of(emitter.body()).expr.reads[id];
        let StageSource::Operand(operand) = self.stage.of(emitter.body()).sources[read.operand] else {
            unreachable!("what is fetched ahead is a tensor in memory")
        };
        let place = Place::Element(to, at);
        let guard = emit_guard(emitter, &self.stage.of(emitter.body()).expr, &read.guard, &self.coordinates())?;
        let guard = match loaded_as {
            Some(_) => guard.map(|holds| bind_comparisons(emitter, holds)),
            None => guard,
        };
        if guard.is_some() {
            let value = match loaded_as {
                Some(_) => Expression::i32(i32::from(code_of(read.fill))),
                None => emit_literal(emitter, read.fill)?,
            };
            emitter.push(Statement::Assign { place: place.clone(), value });
        }
        emitter.when(guard, |emitter| {
            let (space, memory, index) = self.address(emitter, operand, read)?;
            let memory = loaded_as.unwrap_or(memory);
            emitter.push(Statement::LoadGlobal { place, space, memory, width: Width::One, index });
            Ok(())
        })
    }

    /// Polls `count` values from a read's on, neighbours or `apart` from one another, into an array.
    pub(crate) fn poll(
        &mut self,
        emitter: &mut Emitter,
        id: ReadId,
        to: ArrayId,
        (count, apart): (u32, Option<Expression>),
    ) -> Result<(), LowerError> {
        let stage = self.stage.of(emitter.body());
        let StageSource::Operand(operand) = stage.sources[stage.expr.reads[id].operand] else {
            unreachable!("what is polled is a tensor in memory")
        };
        let tag = emitter.mark(emitter.body().operands[operand])?.expect("what is polled carries tags");
        let (_, index, _) = self.source(emitter, id)?;
        let place = Place::Element(to, Expression::i32(0));
        emitter.push(Statement::LoadTagged { place, count, index, apart, tag });
        Ok(())
    }

    /// Where a read of a tensor in memory finds its value, and under which condition it has one there.
    pub(crate) fn source(
        &mut self,
        emitter: &mut Emitter,
        id: ReadId,
    ) -> Result<(GlobalSpace, Expression, Option<Expression>), LowerError> {
        let stage = self.stage.of(emitter.body());
        let read = &stage.expr.reads[id];
        let StageSource::Operand(operand) = stage.sources[read.operand] else {
            unreachable!("a copied read is of a tensor in memory")
        };
        let guard = emit_guard(emitter, &stage.expr, &read.guard, &self.coordinates())?;
        let (space, _, index) = self.address(emitter, operand, read)?;
        Ok((space, index, guard))
    }

    /// Where a read of a tensor in memory finds its value.
    pub(crate) fn address(
        &self,
        emitter: &mut Emitter,
        operand: usize,
        read: &Read,
    ) -> Result<(GlobalSpace, MemoryType, Expression), LowerError> {
        let body = emitter.body();
        let tensor = body.operands[operand];
        let planned = &emitter.memory.tensors[tensor];
        let (space, _) = emitter.place(tensor);
        let memory = emitter.memory_type(planned.ty.element)?;
        let offset = Index::linear(&read.index, &planned.layout.strides, planned.layout.offset);
        let base = emitter.element(tensor, offset.offset())?;
        let relative = offset.plus(-offset.offset());
        let index = match relative.terms() {
            [] => base,
            _ => {
                let expr = &self.stage.of(body).expr;
                add(emit_index(emitter, expr, &relative, &self.coordinates())?, base)
            }
        };
        Ok((space, memory, index))
    }

    /// The local that holds an element of a staged value.
    fn read_staged(
        &mut self,
        emitter: &mut Emitter,
        expr: &TensorExpr,
        read: &Read,
        staged: usize,
    ) -> Result<LocalId, LowerError> {
        let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
        self.load_indirect(emitter, read.index.iter().chain(conditions))?;
        let value = emitter.declare(ScalarType::F32);
        let guard = emit_guard(emitter, expr, &read.guard, &self.coordinates())?;
        if guard.is_some() {
            let fill = emit_literal(emitter, read.fill)?;
            emitter.assign(value, fill);
        }
        let array = emitter.staged[staged].array;
        emitter.when(guard, |emitter| {
            let index = self.slot(emitter, expr, read, staged)?;
            let place = Place::Local(value);
            emitter.push(Statement::LoadShared { place, array, width: Width::One, index });
            Ok(())
        })?;
        Ok(value)
    }

    /// The number of an element of a staged value in its box.
    fn slot(
        &self,
        emitter: &mut Emitter,
        expr: &TensorExpr,
        read: &Read,
        staged: usize,
    ) -> Result<Expression, LowerError> {
        let StagedArray { first, spans, .. } = &emitter.staged[staged];
        let dimensions: Vec<_> = first.iter().cloned().zip(spans.iter().map(|span| span.pitch)).collect();
        number_in_box(emitter, expr, &read.index, dimensions.into_iter(), &self.coordinates())
    }

    /// The value of an index at this point.
    pub(crate) fn index(
        &mut self,
        emitter: &mut Emitter,
        expr: &TensorExpr,
        index: &Index,
    ) -> Result<Expression, LowerError> {
        self.load_indirect(emitter, std::iter::once(index))?;
        emit_index(emitter, expr, index, &self.coordinates())
    }

    /// Checks the indices that other indices use.
    pub(crate) fn load_indirect<'i>(
        &mut self,
        emitter: &mut Emitter,
        indices: impl Iterator<Item = &'i Index>,
    ) -> Result<(), LowerError> {
        self.load_places(emitter, indices.flat_map(Index::indirect_indices).collect())
    }

    /// Finds these places. The loads of all of them are under way before the first is waited for.
    pub(crate) fn load_places(
        &mut self,
        emitter: &mut Emitter,
        mut places: Vec<IndirectIndex>,
    ) -> Result<(), LowerError> {
        places.retain(|place| !self.places.contains_key(place));
        places.iter().try_for_each(|place| self.read(emitter, place.read).map(|_| ()))?;
        places.into_iter().try_for_each(|place| self.check(emitter, place))
    }

    pub(crate) fn coordinates(&self) -> Coordinates<'_> {
        Coordinates { axes: &self.axes, places: &self.places }
    }
}

/// The code of a literal of floating point of 16 bits.
pub(crate) fn code_of(literal: Literal) -> u16 {
    let single = literal.to_f64() as f32;
    if literal.element() == ElementType::BF16 { bf16_of_single(single) } else { f16_of_single(single) }
}

/// x of 1 / (1 + e⁻ˣ) in singles.
fn logistic_argument<'s>(expr: &TensorExpr, scalar: &'s Scalar) -> Option<&'s Scalar> {
    scalar.logistic_argument().filter(|_| expr.element_of(scalar).is_single())
}

/// The number in a box, whose dimensions have these first coordinates and room for so many, of the element at an index.
pub(crate) fn number_in_box(
    emitter: &mut Emitter,
    expr: &TensorExpr,
    index: &[Index],
    dimensions: impl Iterator<Item = (Expression, usize)>,
    coordinates: &Coordinates,
) -> Result<Expression, LowerError> {
    let mut number: Option<Expression> = None;
    for (index, (first, extent)) in index.iter().zip(dimensions) {
        if extent == 1 {
            continue;
        }
        let coordinate = emit_index(emitter, expr, index, coordinates)?;
        let relative = Expression::binary(BinaryOp::Subtract, coordinate, first);
        number = Some(match number {
            None => relative,
            Some(outer) => {
                let extent = emitter.operand(extent as i64)?;
                add(multiply(outer, extent), relative)
            }
        });
    }
    Ok(number.unwrap_or_else(|| Expression::i32(0)))
}
