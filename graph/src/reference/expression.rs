//! Evaluation of one expression, a block of output elements at a time.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::ReferenceError;
use super::form::{Form, Points};
use super::lanes::Lanes;
use super::values::Values;
use crate::arena::Id;
use crate::arithmetic::{round, wrap};
use crate::expr::{
    AxisId, AxisKind, BinaryOp, Condition, Guard, Index, IndirectIndex, Literal, Range, ReadId, Reducer, Scalar,
    TensorExpr, UnaryOp,
};
use crate::index_check::{FaultyElement, FaultyIndex};
use crate::types::{ElementType, Shape};

/// Of each place that an element names, the first element that names none.
pub(super) type Faults = BTreeMap<IndirectIndex, FaultyIndex>;

/// A value, and the elements of operands that name no place.
pub(super) type Evaluated = (Values, Faults);

/// Output elements that are evaluated together.
const BLOCK: usize = 512;

/// The value of an expression over its operands' values, and the elements of them that name no place, the first of each
/// place.
pub(super) fn evaluate(expr: &TensorExpr, operands: &[&Values]) -> Result<Evaluated, ReferenceError> {
    let shape = expr.output().shape;
    let elements = shape.elements();
    let mut output = Values::zeros(expr.element, elements);
    let mut machine = Machine::new(expr);
    let mut first = 0;
    while first < elements {
        let count = BLOCK.min(elements - first);
        let lanes = machine.block(operands, points(expr, &shape, first, count))?;
        store(&mut output, first, lanes, expr.element);
        first += count;
    }
    Ok((output, machine.faults.into_inner()))
}

/// One instruction of the straight-line program that an expression becomes; operands are earlier slots.
enum Step {
    Literal(Literal),
    Read(Load),
    Place(IndirectIndex),
    Index(Form, ElementType),
    Holds(Conditions),
    Unary(UnaryOp, usize, ElementType),
    Binary(BinaryOp, usize, usize, ElementType),
    Select(usize, usize, usize),
    Cast(usize, ElementType, ElementType),
}

/// A read: where it lies in the operand's elements, under which conditions.
struct Load {
    operand: usize,
    offset: Form,
    /// One index and extent a dimension, for reads that depend on the value of another read.
    checks: Vec<(Form, i64)>,
    conditions: Conditions,
    fill: Literal,
}

/// A conjunction of `lower ≤ form < upper`.
struct Conditions(Vec<(Form, i64, i64)>);

struct Slot {
    step: Step,
    /// Whether the value differs between reduced points.
    moving: bool,
}

/// An expression as straight-line code over slots.
struct Machine<'e> {
    expr: &'e TensorExpr,
    slots: Vec<Slot>,
    /// The slot of each read.
    reads: Vec<usize>,
    /// The slots of the places that reads name.
    places: BTreeMap<IndirectIndex, usize>,
    faults: RefCell<Faults>,
    values: Vec<Lanes>,
    body: usize,
    body_slots: usize,
    /// Where the epilogue finds the reduced value.
    epilogue: Option<usize>,
    element: ElementType,
}

/// Stands for the reduced value while the epilogue is compiled: the first slot after the body's.
const REDUCED: Literal = Literal::Bool(false);

impl<'e> Machine<'e> {
    fn new(expr: &'e TensorExpr) -> Self {
        let element = expr.body_element();
        let mut machine = Self {
            expr,
            slots: Vec::new(),
            reads: Vec::new(),
            places: BTreeMap::new(),
            faults: RefCell::default(),
            values: Vec::new(),
            body: 0,
            body_slots: 0,
            epilogue: None,
            element,
        };
        let indirect = expr.indirect_indices();
        for (id, read) in expr.reads.iter() {
            let load = machine.load(id);
            let moving = load.varies() || machine.reads_moving(read.index.iter().chain(bounded(&read.guard)));
            let slot = machine.push(Step::Read(load), moving);
            machine.reads.push(slot);
            for place in indirect.iter().filter(|place| place.read == id) {
                let slot = machine.push(Step::Place(*place), moving);
                machine.places.insert(*place, slot);
            }
        }
        machine.body = machine.compile(&expr.body, None);
        machine.body_slots = machine.slots.len();
        if let Some(epilogue) = &expr.epilogue {
            let reduced = machine.push(Step::Literal(REDUCED), false);
            machine.epilogue = Some(machine.compile(epilogue, Some(reduced)));
        }
        machine.values = machine.slots.iter().map(|_| Lanes::Integer(Vec::new())).collect();
        machine
    }

    fn push(&mut self, step: Step, moving: bool) -> usize {
        self.slots.push(Slot { step, moving });
        self.slots.len() - 1
    }

    fn load(&self, id: ReadId) -> Load {
        let read = &self.expr.reads[id];
        let shape = &self.expr.operands[read.operand].shape;
        let strides = shape.strides();
        let flat = read
            .index
            .iter()
            .zip(&strides)
            .fold(Index::constant(0), |flat, (index, &stride)| flat.add(&index.times(stride as i64)));
        let form = |index: &Index| Form::new(index, &self.expr.axes);
        let dimensions = read.index.iter().zip(shape.iter().map(|&extent| extent as i64));
        let checked = dimensions.filter(|(index, extent)| !self.is_inside(index, *extent, &read.guard));
        Load {
            operand: read.operand,
            offset: form(&flat),
            checks: checked.map(|(index, extent)| (form(index), extent)).collect(),
            conditions: self.conditions(&read.guard),
            fill: read.fill,
        }
    }

    /// Whether the ranges of axes, or a condition of the guard on the same index, prove that an index stays inside a dimension.
    fn is_inside(&self, index: &Index, extent: i64, guard: &Guard) -> bool {
        let axis = |axis: AxisId| Range { minimum: 0, maximum: self.expr.axes[axis].extent as i64 - 1 };
        let bounds =
            |condition: &Condition| condition.index == *index && condition.lower >= 0 && condition.upper <= extent;
        index.range(&axis).within(0, extent) || guard.conditions().iter().any(bounds)
    }

    fn conditions(&self, guard: &Guard) -> Conditions {
        let condition =
            |condition: &Condition| (Form::new(&condition.index, &self.expr.axes), condition.lower, condition.upper);
        Conditions(guard.conditions().iter().map(condition).collect())
    }

    /// The slot of a scalar's value; `reduced` is the slot of the reduced value in an epilogue.
    fn compile(&mut self, scalar: &Scalar, reduced: Option<usize>) -> usize {
        match scalar {
            Scalar::Literal(literal) => self.push(Step::Literal(*literal), false),
            Scalar::Read(read) => self.reads[read.index()],
            Scalar::Index(index, element) => {
                let form = Form::new(index, &self.expr.axes);
                let moving = form.varies() || self.reads_moving([index]);
                self.push(Step::Index(form, *element), moving)
            }
            Scalar::Holds(guard) => {
                let conditions = self.conditions(guard);
                let moving = conditions.varies() || self.reads_moving(bounded(guard));
                self.push(Step::Holds(conditions), moving)
            }
            Scalar::Reduced => reduced.expect("only an epilogue names the reduced value"),
            Scalar::Unary(op, operand) => {
                let element = self.element_of(operand);
                let operand = self.compile(operand, reduced);
                self.push(Step::Unary(*op, operand, element), self.slots[operand].moving)
            }
            Scalar::Binary(op, left, right) => {
                let element = self.element_of(left);
                let (left, right) = (self.compile(left, reduced), self.compile(right, reduced));
                let moving = self.slots[left].moving || self.slots[right].moving;
                self.push(Step::Binary(*op, left, right, element), moving)
            }
            Scalar::Select(condition, then, otherwise) => {
                let condition = self.compile(condition, reduced);
                let (then, otherwise) = (self.compile(then, reduced), self.compile(otherwise, reduced));
                let moving = [condition, then, otherwise].iter().any(|&slot| self.slots[slot].moving);
                self.push(Step::Select(condition, then, otherwise), moving)
            }
            Scalar::Cast(to, operand) => {
                let from = self.element_of(operand);
                let operand = self.compile(operand, reduced);
                self.push(Step::Cast(operand, from, *to), self.slots[operand].moving)
            }
        }
    }

    /// Whether an index depends on a read that differs between reduced points.
    fn reads_moving<'a>(&self, indices: impl IntoIterator<Item = &'a Index>) -> bool {
        let mut moving = false;
        for index in indices {
            index.visit(&mut |_| {}, &mut |read| moving |= self.slots[self.reads[read.index()]].moving);
        }
        moving
    }

    fn element_of(&self, scalar: &Scalar) -> ElementType {
        self.expr.element_of(scalar)
    }

    /// The values at a block of output elements.
    fn block(&mut self, operands: &[&Values], mut points: Points) -> Result<&Lanes, ReferenceError> {
        for slot in &mut self.slots {
            slot.step.start(&points);
        }
        self.run(0..self.body_slots, false, operands, &points)?;
        let Some(reducer) = self.expr.reducer else {
            return Ok(&self.values[self.body]);
        };
        let total = self.reduce(reducer, operands, &mut points)?;
        let Some(epilogue) = self.epilogue else {
            self.values[self.body] = total;
            return Ok(&self.values[self.body]);
        };
        self.values[self.body_slots] = total;
        self.run(self.body_slots + 1..self.slots.len(), false, operands, &points)?;
        Ok(&self.values[epilogue])
    }

    fn reduce(&mut self, reducer: Reducer, operands: &[&Values], points: &mut Points) -> Result<Lanes, ReferenceError> {
        let reduced: Vec<(usize, i64)> =
            self.expr.reduced().map(|axis| (axis.index(), self.expr.axes[axis].extent as i64)).collect();
        let mut total = Lanes::identity(reducer, self.element, points.count);
        let mut more = reduced.iter().all(|(_, extent)| *extent > 0);
        while more {
            self.run(0..self.body_slots, true, operands, points)?;
            total.combine(reducer, &self.values[self.body], self.element);
            more = advance(&mut points.reduced, &reduced);
        }
        Ok(total)
    }

    /// Runs the slots of a range that are moving, or those that are not.
    fn run(
        &mut self,
        range: std::ops::Range<usize>,
        moving: bool,
        operands: &[&Values],
        points: &Points,
    ) -> Result<(), ReferenceError> {
        for slot in range {
            if self.slots[slot].moving == moving {
                let reusable = std::mem::replace(&mut self.values[slot], Lanes::Integer(Vec::new()));
                self.values[slot] = self.step(slot, reusable, operands, points)?;
            }
        }
        Ok(())
    }

    fn step(
        &self,
        slot: usize,
        reusable: Lanes,
        operands: &[&Values],
        points: &Points,
    ) -> Result<Lanes, ReferenceError> {
        let value = |slot: usize| &self.values[slot];
        let indirect = |place: IndirectIndex| self.values[self.places[&place]].integers();
        Ok(match &self.slots[slot].step {
            Step::Literal(literal) => Lanes::filled(*literal, points.count),
            Step::Read(load) => load.read(operands[load.operand], points, &indirect, reusable)?,
            Step::Place(place) => Lanes::Integer(self.places(*place, points)),
            Step::Index(form, element) => {
                let mut lanes = vec![0; points.count];
                form.each(points, &indirect, |point, index| lanes[point] = wrap(*element, index));
                Lanes::Integer(lanes)
            }
            Step::Holds(conditions) => Lanes::Integer(conditions.hold(points, &indirect)),
            Step::Unary(op, operand, element) => value(*operand).unary(*op, *element),
            Step::Binary(op, left, right, element) => value(*left).binary(*op, value(*right), *element),
            Step::Select(condition, then, otherwise) => value(*condition).select(value(*then), value(*otherwise)),
            Step::Cast(operand, from, to) => value(*operand).cast(*from, *to),
        })
    }
}

impl Machine<'_> {
    /// The places that a read names, the nearest where there is none; that is noted.
    fn places(&self, place: IndirectIndex, points: &Points) -> Vec<i64> {
        let read = self.reads[place.read.index()];
        let values = self.values[read].integers();
        if values.iter().any(|value| place.place(*value).is_none())
            && let Step::Read(load) = &self.slots[read].step
        {
            let elements = self.elements(load, points);
            let faulty = values.iter().zip(elements).filter(|(value, _)| place.place(**value).is_none());
            let first = faulty.map(|(&value, element)| FaultyIndex { element, value }).min();
            let mut faults = self.faults.borrow_mut();
            let known = faults.get(&place).copied();
            faults.extend(first.into_iter().chain(known).min().map(|first| (place, first)));
        }
        values.iter().map(|value| place.nearest(*value)).collect()
    }

    /// Which elements a read reads.
    fn elements(&self, load: &Load, points: &Points) -> Vec<FaultyElement> {
        let indirect = |place: IndirectIndex| self.values[self.places[&place]].integers();
        let holds = load.conditions.hold(points, &indirect);
        let mut elements = Vec::with_capacity(points.count);
        load.offset.each(points, &indirect, |point, offset| {
            let element = usize::try_from(offset).ok().filter(|_| holds[point] != 0);
            elements.push(element.map_or(FaultyElement::Padding, FaultyElement::Element));
        });
        elements
    }
}

impl Step {
    fn start(&mut self, points: &Points) {
        match self {
            Self::Read(load) => {
                load.offset.start(points);
                load.checks.iter_mut().for_each(|(form, _)| form.start(points));
                load.conditions.0.iter_mut().for_each(|(form, ..)| form.start(points));
            }
            Self::Index(form, _) => form.start(points),
            Self::Holds(conditions) => conditions.0.iter_mut().for_each(|(form, ..)| form.start(points)),
            Self::Literal(_)
            | Self::Place(_)
            | Self::Unary(..)
            | Self::Binary(..)
            | Self::Select(..)
            | Self::Cast(..) => {}
        }
    }
}

impl Load {
    fn varies(&self) -> bool {
        self.offset.varies() || self.conditions.varies()
    }

    fn read<'v>(
        &self,
        operand: &Values,
        points: &Points,
        indirect: &impl Fn(IndirectIndex) -> &'v [i64],
        reusable: Lanes,
    ) -> Result<Lanes, ReferenceError> {
        let holds = if self.conditions.0.is_empty() { None } else { Some(self.conditions.hold(points, indirect)) };
        let mut inside = true;
        for (form, extent) in &self.checks {
            form.each(points, indirect, |point, index| {
                let read = holds.as_ref().is_none_or(|holds| holds[point] != 0);
                inside &= !read || (0..*extent).contains(&index);
            });
        }
        let lanes = match operand {
            Values::Float(data) => {
                let mut lanes = match reusable {
                    Lanes::Float(lanes) => lanes,
                    Lanes::Integer(_) => Vec::new(),
                };
                lanes.clear();
                inside &= self.gather(data, self.fill.to_f64(), holds.as_deref(), points, indirect, &mut lanes);
                Lanes::Float(lanes)
            }
            Values::Integer(data) => {
                let mut lanes = Vec::with_capacity(points.count);
                inside &= self.gather(data, self.fill.to_i64(), holds.as_deref(), points, indirect, &mut lanes);
                Lanes::Integer(lanes)
            }
        };
        if inside { Ok(lanes) } else { Err(ReferenceError::OutOfBounds { operand: self.operand }) }
    }

    /// Appends the element at each point, or the fill; false if one lies outside the data.
    fn gather<'v, T: Copy>(
        &self,
        data: &[T],
        fill: T,
        holds: Option<&[i64]>,
        points: &Points,
        indirect: &impl Fn(IndirectIndex) -> &'v [i64],
        lanes: &mut Vec<T>,
    ) -> bool {
        let mut inside = true;
        let mut fetch = |offset: i64| {
            let element = usize::try_from(offset).ok().and_then(|offset| data.get(offset));
            inside &= element.is_some();
            element.copied().unwrap_or(fill)
        };
        match holds {
            None => self.offset.each(points, indirect, |_, offset| lanes.push(fetch(offset))),
            Some(holds) => self.offset.each(points, indirect, |point, offset| {
                lanes.push(if holds[point] != 0 { fetch(offset) } else { fill });
            }),
        }
        inside
    }
}

impl Conditions {
    fn varies(&self) -> bool {
        self.0.iter().any(|(form, ..)| form.varies())
    }

    fn hold<'v>(&self, points: &Points, indirect: &impl Fn(IndirectIndex) -> &'v [i64]) -> Vec<i64> {
        let mut holds = vec![1; points.count];
        for (form, lower, upper) in &self.0 {
            form.each(points, indirect, |point, index| holds[point] &= i64::from(*lower <= index && index < *upper));
        }
        holds
    }
}

/// What a guard bounds.
fn bounded(guard: &Guard) -> impl Iterator<Item = &Index> {
    guard.conditions().iter().map(|condition| &condition.index)
}

/// The points `first … first + count − 1` of the output in row-major order.
fn points(expr: &TensorExpr, shape: &Shape, first: usize, count: usize) -> Points {
    let strides = shape.strides();
    let mut dimension = 0;
    let parallel = expr.axes.values().map(|axis| match axis.kind {
        AxisKind::Reduced => Vec::new(),
        AxisKind::Parallel => {
            let (stride, extent) = (strides[dimension], shape[dimension]);
            dimension += 1;
            (first..first + count).map(|element| (element / stride % extent) as i64).collect()
        }
    });
    Points { count, parallel: parallel.collect(), reduced: vec![0; expr.axes.len()] }
}

/// Moves to the next point of the given axes, the last one fastest; false after the last point.
fn advance(values: &mut [i64], axes: &[(usize, i64)]) -> bool {
    for (axis, extent) in axes.iter().rev() {
        values[*axis] += 1;
        if values[*axis] < *extent {
            return true;
        }
        values[*axis] = 0;
    }
    false
}

fn store(output: &mut Values, first: usize, lanes: &Lanes, element: ElementType) {
    match (output, lanes) {
        (Values::Float(output), Lanes::Float(lanes)) => {
            output[first..].iter_mut().zip(lanes).for_each(|(output, lane)| *output = round(element, *lane));
        }
        (Values::Integer(output), Lanes::Integer(lanes)) => {
            output[first..].iter_mut().zip(lanes).for_each(|(output, lane)| *output = wrap(element, *lane));
        }
        _ => unreachable!("an expression's result is of its element type"),
    }
}
