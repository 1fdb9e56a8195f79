//! Scalars as instructions over registers.

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, BinaryOp, Condition, Index, Literal, ReadId, Reducer, Scalar, UnaryOp};

use super::arithmetic::functions::{binary, cast, select, unary};
use super::frame::{Counts, Frame, Kind, Slot};
use super::lanes::Extent;
use super::load::{At, Load};
use super::place::{Bounds, Chunk, Here, Indirect, LaneAxes, Named, Place};
use super::reduce::Combination;
use super::stage::{Source, StageReads};
use super::table::Table;
use crate::host::indices::HostIndexChecks;
use crate::host::lane_program::{LaneProgram, Step};
use crate::host::memory::Memory;

/// A scalar on the points of chunks along two axes.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    instructions: Vec<Instruction>,
    indirect: Indirect,
    lanes: LaneAxes,
    pub(crate) result: Slot,
}

#[derive(Clone, Debug)]
enum Instruction {
    Literal(Literal, Slot),
    Load(Load, Slot),
    Index(Place, Slot),
    Table(Table, Slot),
    Holds(Vec<Bounds>, Slot),
    Unary(UnaryOp, ElementType, Slot, Slot),
    Binary(BinaryOp, ElementType, [Slot; 2], Slot),
    Select([Slot; 3], Slot),
    Cast([ElementType; 2], Slot, Slot),
}

/// What programs of a stage are compiled with.
pub(crate) struct Scope<'s> {
    pub(crate) reads: &'s StageReads,
    pub(crate) lanes: LaneAxes,
    /// The axes before that of the columns that it stands for.
    pub(crate) merged: &'s [usize],
    /// The registers of the values of earlier stages.
    pub(crate) values: &'s [Option<Slot>],
    /// The register of the reduced value.
    pub(crate) reduced: Option<Slot>,
    /// Registers that hold something beyond the program.
    pub(crate) pinned: Counts,
}

impl Scope<'_> {
    /// The table of an index, if it varies with lanes and with nothing else.
    fn table(&self, index: &Index) -> Option<Table> {
        let columns: Vec<Extent> =
            self.merged.iter().rev().chain(&self.lanes.column).map(|axis| self.extent(*axis)).collect();
        Table::new(index, self.lanes.row.map(|axis| self.extent(axis)), &columns)
    }

    /// The axis of columns, with the extent of all that it stands for.
    fn column(&self) -> Option<Extent> {
        let extent = |axes: &[usize]| axes.iter().map(|axis| self.extent(*axis).1).product::<usize>();
        self.lanes.column.map(|axis| (axis, extent(&[axis]) * extent(self.merged)))
    }

    fn extent(&self, axis: usize) -> Extent {
        (axis, self.reads.expr.axes[AxisId::from_index(axis)].extent)
    }
}

/// Registers that a program may use again.
struct Free {
    counts: Counts,
    slots: Vec<Slot>,
}

impl Free {
    fn take(&mut self, kind: Kind, is_uniform: bool) -> Slot {
        match self.slots.iter().rposition(|slot| slot.kind == kind) {
            Some(at) => Slot { is_uniform, ..self.slots.swap_remove(at) },
            None => self.counts.next(kind, is_uniform),
        }
    }
}

/// A program, and its factors in place of the product that it ends with.
pub(crate) enum Ending {
    /// The program gives the value.
    Value(Program),
    /// The value is the product of two registers.
    Product(Program, [Slot; 2]),
}

impl Ending {
    /// What gives the values of a scalar that are combined, and how many registers there must be.
    pub(crate) fn new(combination: Combination, body: &Scalar, scope: &Scope) -> (Self, Counts) {
        if combination.reducer == Reducer::Sum {
            return Program::summand(body, scope);
        }
        let (program, counts) = Program::new(body, scope);
        (Self::Value(program), counts)
    }
}

impl Program {
    /// The program of a scalar, and how many registers there must be.
    pub(crate) fn new(scalar: &Scalar, scope: &Scope) -> (Self, Counts) {
        Self::of_steps(&LaneProgram::new(&scope.reads.expr, scalar), None, scope)
    }

    /// The same where the result is rounded as a store of an element type keeps it.
    pub(crate) fn stored(scalar: &Scalar, scope: &Scope) -> (Self, Counts) {
        let element = scope.reads.expr.element;
        let rounding = element.is_half().then_some(element);
        Self::of_steps(&LaneProgram::new(&scope.reads.expr, scalar), rounding, scope)
    }

    /// The program of a scalar of which a sum is taken; without its last step where that multiplies singles.
    fn summand(scalar: &Scalar, scope: &Scope) -> (Ending, Counts) {
        let mut steps = LaneProgram::new(&scope.reads.expr, scalar);
        let last = steps.steps.len() - 1;
        if let Step::Binary(BinaryOp::Multiply, element, left, right) = steps.steps[last]
            && Kind::of(element) == Kind::Single
            && steps.result == last
        {
            steps.steps.pop();
            let (program, counts, slots) = Self::translated(&steps.steps, &[left, right], None, scope);
            return (Ending::Product(program, [slots[0], slots[1]]), counts);
        }
        let (program, counts) = Self::of_steps(&steps, None, scope);
        (Ending::Value(program), counts)
    }

    fn of_steps(program: &LaneProgram, rounding: Option<ElementType>, scope: &Scope) -> (Self, Counts) {
        let (program, counts, _) = Self::translated(&program.steps, &[program.result], rounding, scope);
        (program, counts)
    }

    /// The program of these steps, and the registers of those whose values are wanted.
    fn translated(
        steps: &[Step],
        wanted: &[usize],
        rounding: Option<ElementType>,
        scope: &Scope,
    ) -> (Self, Counts, Vec<Slot>) {
        let mut translation = Translation {
            scope,
            instructions: Vec::new(),
            indirect: Indirect::new(),
            elements: Vec::new(),
            slots: Vec::new(),
            free: Free { counts: scope.pinned, slots: Vec::new() },
        };
        let uses = last_uses(steps, wanted, scope.reads);
        for (at, step) in steps.iter().enumerate() {
            translation.add(step);
            // What is used here for the last time is free from the next step on.
            for (of, _) in uses.iter().enumerate().filter(|(_, last)| **last == at) {
                translation.release(of);
            }
        }
        let mut slots: Vec<Slot> = wanted.iter().map(|&step| translation.slots[step]).collect();
        if let Some(element) = rounding {
            let to = translation.free.take(Kind::of(element), slots[0].is_uniform);
            translation.instructions.push(Instruction::Cast([element, element], slots[0], to));
            slots[0] = to;
        }
        let Translation { instructions, indirect, free, .. } = translation;
        (Self { instructions, indirect, lanes: scope.lanes, result: slots[0] }, free.counts, slots)
    }

    /// Computes the values of a chunk.
    pub(crate) fn run(
        &self,
        point: &[i64],
        chunk: Chunk,
        memory: &Memory,
        checks: &HostIndexChecks,
        frame: &mut Frame,
    ) {
        let count = chunk.lanes();
        for instruction in &self.instructions {
            match instruction {
                Instruction::Literal(literal, to) => set(*literal, *to, frame),
                Instruction::Load(load, to) => {
                    let at = At { point, lanes: self.lanes, chunk, indirect: &self.indirect, memory, checks };
                    load.run(*to, &at, frame);
                }
                Instruction::Table(table, to) => {
                    let mut out = frame.take::<i64>(*to);
                    table.copy(point, chunk, &mut out);
                    frame.put(*to, out);
                }
                Instruction::Index(place, to) => self.places(place, *to, point, chunk, frame),
                Instruction::Holds(conditions, to) => self.hold(conditions, *to, point, chunk, frame),
                Instruction::Unary(op, element, of, to) => unary(*op, *element, *of, *to, count, frame),
                Instruction::Binary(op, element, of, to) => binary(*op, *element, *of, *to, count, frame),
                Instruction::Select(of, to) => select(*of, *to, count, frame),
                Instruction::Cast(types, of, to) => cast(*types, *of, *to, count, frame),
            }
        }
    }

    fn places(&self, place: &Place, to: Slot, point: &[i64], chunk: Chunk, frame: &mut Frame) {
        let mut out = frame.take::<i64>(to);
        let here = Here { point, lanes: self.lanes, indirect: &self.indirect, frame };
        match place {
            _ if to.is_uniform => out[0] = place.at(&here, 0, 0, 0),
            Place::Line(line) => {
                let first = line.first(&here);
                for row in 0..chunk.rows {
                    let start = first + row as i64 * line.row;
                    for (column, out) in out[row * chunk.columns..][..chunk.columns].iter_mut().enumerate() {
                        *out = start + column as i64 * line.column;
                    }
                }
            }
            Place::Scattered(index) => {
                for row in 0..chunk.rows {
                    let mut rest = &mut out[row * chunk.columns..][..chunk.columns];
                    while !rest.is_empty() {
                        let column = chunk.columns - rest.len();
                        let found = here.segment(index, row, column, row * chunk.columns + column);
                        let length = found.length.min(rest.len() as i64) as usize;
                        let run = rest.split_off_mut(..length).expect("a segment is no longer than the rest");
                        run.iter_mut().enumerate().for_each(|(at, out)| *out = found.value + at as i64 * found.step);
                    }
                }
            }
        }
        frame.put(to, out);
    }

    fn hold(&self, conditions: &[Bounds], to: Slot, point: &[i64], chunk: Chunk, frame: &mut Frame) {
        let mut out = frame.take::<i32>(to);
        let here = Here { point, lanes: self.lanes, indirect: &self.indirect, frame };
        let chunk = if to.is_uniform { Chunk::POINT } else { chunk };
        if conditions.iter().all(|bounds| matches!(bounds.place, Place::Line(_))) {
            for row in 0..chunk.rows {
                let columns = (0, chunk.columns as i64);
                let (from, to) =
                    conditions.iter().fold(columns, |columns, bounds| bounds.interval(&here, row, columns));
                let out = &mut out[row * chunk.columns..][..chunk.columns];
                out.fill(0);
                if from < to {
                    out[from as usize..to as usize].fill(1);
                }
            }
        } else {
            each_point(chunk, |row, column, lane| {
                out[lane] = i32::from(conditions.iter().all(|bounds| bounds.holds(&here, row, column, lane)));
            });
        }
        frame.put(to, out);
    }
}

fn each_point(chunk: Chunk, mut body: impl FnMut(usize, usize, usize)) {
    for row in 0..chunk.rows {
        for column in 0..chunk.columns {
            body(row, column, row * chunk.columns + column);
        }
    }
}

/// Sets a uniform register.
pub(crate) fn set(literal: Literal, to: Slot, frame: &mut Frame) {
    match to.kind {
        Kind::Single => set_as(literal.to_f64() as f32, to, frame),
        Kind::Double => set_as(literal.to_f64(), to, frame),
        Kind::Word => set_as(literal.to_i64() as i32, to, frame),
        Kind::Long => set_as(literal.to_i64(), to, frame),
    }
}

/// Sets the first value of a register.
pub(crate) fn set_as<T: super::frame::Number>(value: T, to: Slot, frame: &mut Frame) {
    T::registers_mut(frame)[usize::from(to.number)][0] = value;
}

/// Per step, the last that uses it; those wanted are never freed, nor those that indices use.
fn last_uses(steps: &[Step], wanted: &[usize], reads: &StageReads) -> Vec<usize> {
    let mut uses: Vec<usize> = (0..steps.len()).collect();
    for (at, step) in steps.iter().enumerate() {
        let operands: &[usize] = match step {
            Step::Unary(_, _, of) | Step::Cast(_, _, of) => &[*of],
            Step::Binary(_, _, left, right) => &[*left, *right],
            Step::Select(condition, then, otherwise) => &[*condition, *then, *otherwise],
            Step::Read(read) if reads.is_indirect(*read) => {
                uses[at] = usize::MAX;
                &[]
            }
            Step::Literal(_) | Step::Read(_) | Step::Index(..) | Step::Holds(_) | Step::Reduced => &[],
        };
        for &operand in operands {
            uses[operand] = uses[operand].max(at);
        }
    }
    for &step in wanted {
        uses[step] = usize::MAX;
    }
    uses
}

struct Translation<'t, 's> {
    scope: &'t Scope<'s>,
    instructions: Vec<Instruction>,
    indirect: Indirect,
    elements: Vec<ElementType>,
    slots: Vec<Slot>,
    free: Free,
}

impl Translation<'_, '_> {
    fn add(&mut self, step: &Step) {
        let (element, slot) = match step {
            Step::Literal(literal) => {
                let to = self.free.take(Kind::of(literal.element()), true);
                self.instructions.push(Instruction::Literal(*literal, to));
                (literal.element(), to)
            }
            Step::Read(read) => self.read(*read),
            Step::Index(index, element) => {
                let place = Place::new(index, self.scope.lanes, &self.uniform());
                let table = Some(()).filter(|()| !self.scope.merged.is_empty() || !matches!(place, Place::Line(_)));
                let to = match table.and_then(|()| self.scope.table(index)) {
                    Some(table) => {
                        let to = self.free.take(Kind::Long, false);
                        self.instructions.push(Instruction::Table(table, to));
                        to
                    }
                    None => {
                        let to = self.free.take(Kind::Long, place.is_uniform());
                        self.instructions.push(Instruction::Index(place, to));
                        to
                    }
                };
                if *element == ElementType::I64 {
                    (*element, to)
                } else {
                    let own = self.free.take(Kind::of(*element), to.is_uniform);
                    self.instructions.push(Instruction::Cast([ElementType::I64, *element], to, own));
                    self.free.slots.push(to);
                    (*element, own)
                }
            }
            Step::Holds(guard) => {
                let bounds = |condition: &Condition| Bounds::new(condition, self.scope.lanes, &self.uniform());
                let bounds: Vec<Bounds> = guard.conditions().iter().map(bounds).collect();
                let to = self.free.take(Kind::Word, bounds.iter().all(|bounds| bounds.place.is_uniform()));
                self.instructions.push(Instruction::Holds(bounds, to));
                (ElementType::Bool, to)
            }
            Step::Reduced => {
                let slot = self.scope.reduced.expect("an epilogue runs after its reduction");
                (self.scope.reads.expr.body_element(), slot)
            }
            Step::Unary(op, element, of) => {
                let of = self.slots[*of];
                let to = self.free.take(Kind::of(*element), of.is_uniform);
                self.instructions.push(Instruction::Unary(*op, *element, of, to));
                (*element, to)
            }
            Step::Binary(op, element, left, right) => {
                let of = [self.slots[*left], self.slots[*right]];
                let result = if op.is_comparison() { ElementType::Bool } else { *element };
                let to = self.free.take(Kind::of(result), of.iter().all(|slot| slot.is_uniform));
                self.instructions.push(Instruction::Binary(*op, *element, of, to));
                (result, to)
            }
            Step::Select(condition, then, otherwise) => {
                let of = [self.slots[*condition], self.slots[*then], self.slots[*otherwise]];
                let element = self.elements[*then];
                let to = self.free.take(Kind::of(element), of.iter().all(|slot| slot.is_uniform));
                self.instructions.push(Instruction::Select(of, to));
                (element, to)
            }
            Step::Cast(from, to, of) => {
                let of = self.slots[*of];
                let own = self.free.take(Kind::of(*to), of.is_uniform);
                self.instructions.push(Instruction::Cast([*from, *to], of, own));
                (*to, own)
            }
        };
        self.elements.push(element);
        self.slots.push(slot);
    }

    /// Whether a read is the same for all points of a chunk; it has been loaded.
    fn uniform(&self) -> impl Fn(ReadId) -> bool {
        let indirect = self.indirect.clone();
        move |read| indirect.iter().any(|named| named.read == read && named.slot.is_uniform)
    }

    fn read(&mut self, read: ReadId) -> (ElementType, Slot) {
        let reads = self.scope.reads;
        let element = reads.element(read);
        let (slot, is_still) = match &reads.sources[read] {
            Source::Stage(earlier) => {
                let slot = self.scope.values[*earlier].expect("an earlier stage has its value");
                (slot, slot.is_uniform)
            }
            Source::Memory { .. } => {
                let load = reads.load(read, self.scope.lanes, &self.uniform());
                let load = load.at_named(self.scope.column(), &self.indirect);
                let to = self.free.take(Kind::of(element), load.is_uniform());
                let is_still = load.is_still();
                self.instructions.push(Instruction::Load(load, to));
                (to, is_still)
            }
        };
        if reads.is_indirect(read) {
            self.indirect.push(Named { read, slot, is_still });
        }
        (element, slot)
    }

    fn release(&mut self, step: usize) {
        let slot = self.slots[step];
        let is_own = !self.scope.values.contains(&Some(slot)) && self.scope.reduced != Some(slot);
        if is_own {
            self.free.slots.push(slot);
        }
    }
}
