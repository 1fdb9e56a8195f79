//! What follows sums, as a straight-line program over slices of singles. Halves are computed as singles, and integers are the bits of
//! them.

use std::cell::RefCell;

use warpweave_graph::ElementType;
use warpweave_graph::expr::{BinaryOp, Scalar, UnaryOp};
use warpweave_plan::template::contraction::is_word_integer;

use super::access::{Access, Linear};
use super::functions::{Value, binary_of_many, map, select, unary_of_many};
use super::integers::{
    is_of_integers, low_bytes, low_halves, narrow, of_integer, of_integers, to_integers, to_singles,
};
use crate::host::lane_program::{LaneProgram, Step};
use crate::host::memory::{Memory, SINGLE_BYTES};
use crate::host::vector::halves;
use crate::host::vector::mathematics::{bfloat_of_single, single_of_bfloat};
use crate::host::vector::processor::{Processor, vectorised};
use crate::host::vector::{Source, StageReads};
use crate::host::vector::{load_singles, load_words};

/// A position among a program's operations: its value.
pub(super) type Slot = usize;

/// Most operations of a program.
const MOST_SLOTS: usize = 128;

/// Operations of most programs.
const FEW_SLOTS: usize = 24;

/// Most registers of a program: a cache holds the values of a chunk in all of them.
const MOST_REGISTERS: usize = 40;

#[derive(Clone, Debug)]
pub(super) enum Operation {
    One(f32),
    /// The sums, in the type that they are summed in.
    Sums,
    /// Elements of memory; integers of all widths as integers of 32 bits.
    Read(Access),
    Unary(UnaryOp, Slot),
    Binary(BinaryOp, Slot, Slot),
    Select(Slot, Slot, Slot),
    /// Rounds to what halves hold.
    Round(ElementType, Slot),
    /// A function of integers.
    OfIntegers(BinaryOp, Slot, Slot),
    /// Conversion of integers.
    ToSingles(Slot),
    /// Conversion of singles to an integer type.
    ToIntegers(ElementType, Slot),
    /// Conversion of integers to a type of fewer bits.
    Narrow(ElementType, Slot),
    /// Writes a value to memory.
    Store(Slot, Access),
}

impl Operation {
    /// The values that it takes.
    fn operands(&self) -> impl Iterator<Item = Slot> {
        let operands = match *self {
            Self::One(_) | Self::Sums | Self::Read(_) => [None; 3],
            Self::Unary(_, operand)
            | Self::Round(_, operand)
            | Self::ToSingles(operand)
            | Self::ToIntegers(_, operand)
            | Self::Narrow(_, operand)
            | Self::Store(operand, _) => [Some(operand), None, None],
            Self::Binary(_, left, right) | Self::OfIntegers(_, left, right) => [Some(left), Some(right), None],
            Self::Select(condition, then, otherwise) => [condition, then, otherwise].map(Some),
        };
        operands.into_iter().flatten()
    }
}

/// All that an operator computes of its sums. Truth values are the singles 0 and 1.
#[derive(Clone, Debug)]
pub(super) struct Program {
    operations: Vec<Operation>,
    /// Per operation the register that its values may be in, which no value has that is used later.
    registers: Vec<usize>,
    /// Per axis of tiles, whether all that is read and written lies on lines along it.
    linear: Box<[bool]>,
}

/// Neighbouring elements along an axis, or rows of them.
pub(super) struct Chunk<'c> {
    /// The point of the first.
    pub(super) point: &'c [i64],
    /// The axis; none if a row has one element.
    pub(super) axis: Option<usize>,
    /// The axis along which rows follow each other; `None` for a single row.
    pub(super) row_axis: Option<usize>,
    pub(super) rows: usize,
    /// One row after another.
    pub(super) sums: &'c [f32],
}

impl Chunk<'_> {
    /// Elements of a row.
    fn columns(&self) -> usize {
        self.sums.len() / self.rows.max(1)
    }

    /// The position of the first element, and how far it is from there to the next element and to the next row.
    fn line(&self, position: &Linear) -> (i64, i64, i64) {
        let along = |axis: Option<usize>| axis.map_or(0, |axis| position.along(axis));
        (position.at(self.point), along(self.axis), along(self.row_axis))
    }
}

impl Program {
    /// That of stages of which the first sums; `None` if anything of it is no single, half or integer of at most 32 bits at a linear index.
    pub(super) fn new(stages: &[StageReads]) -> Option<Self> {
        let mut operations = Vec::new();
        let mut values: Vec<Slot> = Vec::new();
        for stage in stages {
            let expr = &stage.expr;
            if ![expr.element, expr.body_element()].into_iter().all(is_kept) {
                return None;
            }
            let scalar = match (&expr.epilogue, expr.reducer) {
                (Some(epilogue), _) => epilogue.clone(),
                (None, Some(_)) => Scalar::Reduced,
                (None, None) => expr.body.clone(),
            };
            let program = LaneProgram::new(expr, &scalar);
            let mut slots: Vec<Slot> = Vec::new();
            for step in &program.steps {
                let operation = match step {
                    Step::Literal(literal) if is_held(literal.element()) => Operation::One(literal.to_f64() as f32),
                    Step::Literal(literal) if is_word_integer(literal.element()) => {
                        Operation::One(of_integer(literal.to_i64()))
                    }
                    Step::Read(read) => match stage.sources[*read] {
                        Source::Stage(earlier) => {
                            slots.push(values[earlier]);
                            continue;
                        }
                        Source::Memory { .. } => {
                            let access = Access::new(stage, &Scalar::Read(*read))?;
                            let plain = access.conditions.is_empty() && is_kept(access.element);
                            Operation::Read(Some(access).filter(|_| plain)?)
                        }
                    },
                    Step::Reduced => Operation::Sums,
                    Step::Unary(op, element, operand) if is_held(*element) => Operation::Unary(*op, slots[*operand]),
                    Step::Binary(op, element, left, right) if is_held(*element) => {
                        Operation::Binary(*op, slots[*left], slots[*right])
                    }
                    Step::Binary(op, ElementType::I32, left, right) if is_of_integers(*op) => {
                        Operation::OfIntegers(*op, slots[*left], slots[*right])
                    }
                    Step::Select(condition, then, otherwise) => {
                        Operation::Select(slots[*condition], slots[*then], slots[*otherwise])
                    }
                    Step::Cast(from, ElementType::F32, operand) if is_word_integer(*from) => {
                        Operation::ToSingles(slots[*operand])
                    }
                    Step::Cast(from, to, operand) if is_computed(*from) && is_word_integer(*to) => {
                        Operation::ToIntegers(*to, slots[*operand])
                    }
                    // All that narrower types hold is held already.
                    Step::Cast(from, ElementType::I32, operand) if is_word_integer(*from) => {
                        slots.push(slots[*operand]);
                        continue;
                    }
                    Step::Cast(from, to, operand) if is_word_integer(*from) && is_word_integer(*to) => {
                        Operation::Narrow(*to, slots[*operand])
                    }
                    Step::Cast(from, ElementType::F32, operand) if is_computed(*from) => {
                        slots.push(slots[*operand]);
                        continue;
                    }
                    Step::Cast(from, to, operand) if is_computed(*from) && to.is_half() => {
                        Operation::Round(*to, slots[*operand])
                    }
                    _ => return None,
                };
                slots.push(operations.len());
                operations.push(operation);
            }
            let mut value = slots[program.result];
            if expr.element.is_half() {
                operations.push(Operation::Round(expr.element, value));
                value = operations.len() - 1;
            }
            values.push(value);
            if stage.output.is_some() {
                let output = Access::of_output(stage).filter(|output| is_kept(output.element))?;
                operations.push(Operation::Store(value, output));
            }
        }
        let (linear, registers) = (lines(&operations), registers(&operations));
        let fits = operations.len() <= MOST_SLOTS && registers.iter().all(|register| *register < MOST_REGISTERS);
        fits.then_some(Self { operations, registers, linear })
    }

    /// Its operations, each after those whose values it takes.
    pub(super) fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Whether an axis and the one inside of it, over `extent` values, are like one axis to all that is read and written.
    pub(super) fn merges(&self, outer: usize, inner: usize, extent: i64) -> bool {
        accesses(&self.operations).all(|access| access.merges(outer, inner, extent))
    }
}

impl Program {
    /// Whether all that is read and written lies on lines along an axis.
    pub(super) fn is_linear_along(&self, axis: usize) -> bool {
        self.linear[axis]
    }
}

/// What operations read and write.
fn accesses(operations: &[Operation]) -> impl Iterator<Item = &Access> {
    operations.iter().filter_map(|operation| match operation {
        Operation::Read(access) | Operation::Store(_, access) => Some(access),
        _ => None,
    })
}

/// Per operation the least register that is free behind it.
fn registers(operations: &[Operation]) -> Vec<usize> {
    let mut last_uses: Vec<usize> = (0..operations.len()).collect();
    for (slot, operation) in operations.iter().enumerate() {
        operation.operands().for_each(|operand| last_uses[operand] = slot);
    }
    let mut users: Vec<usize> = Vec::new();
    let mut take = |slot: usize| {
        let free = users.iter().position(|user| last_uses[*user] < slot);
        let register = free.unwrap_or(users.len());
        users.resize(users.len().max(register + 1), slot);
        users[register] = slot;
        register
    };
    (0..operations.len()).map(&mut take).collect()
}

/// Per axis that all accesses have, whether everything is linear along it.
fn lines(operations: &[Operation]) -> Box<[bool]> {
    let axes = accesses(operations).map(Access::axes).min().unwrap_or(0);
    (0..axes).map(|axis| accesses(operations).all(|access| access.is_linear_along(axis))).collect()
}

/// Whether values of an element type are computed as singles.
fn is_computed(element: ElementType) -> bool {
    element == ElementType::F32 || element.is_half()
}

/// Whether values of an element type are read and written.
fn is_kept(element: ElementType) -> bool {
    is_computed(element) || is_word_integer(element)
}

/// Whether a single holds values of an element type.
fn is_held(element: ElementType) -> bool {
    is_computed(element) || element == ElementType::Bool
}

/// Where a value is.
#[derive(Clone, Copy)]
enum Place<'m> {
    One(f32),
    Sums,
    Memory(&'m [f32]),
    Register,
}

/// What a thread computes slices in.
pub(super) struct Registers {
    /// One register after another.
    values: Vec<f32>,
    /// Sums that do not lie side by side.
    gathered: Vec<f32>,
    processor: Processor,
}

thread_local! {
    static REGISTERS: RefCell<Registers> =
        RefCell::new(Registers { values: Vec::new(), gathered: Vec::new(), processor: Processor::detect() });
}

impl Registers {
    /// Most elements of a chunk.
    pub(super) const LENGTH: usize = 512;

    /// Gives a thread's registers to a function.
    pub(super) fn with<T>(body: impl FnOnce(&mut Self) -> T) -> T {
        REGISTERS.with_borrow_mut(body)
    }

    /// Gives a function room for the sums of a chunk.
    pub(super) fn with_room(&mut self, body: impl FnOnce(&mut Self, &mut [f32])) {
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.resize(Self::LENGTH, 0.0);
        body(self, &mut gathered);
        self.gathered = gathered;
    }

    /// Runs a program on the elements of a chunk.
    pub(super) fn run(&mut self, program: &Program, chunk: &Chunk, memory: &Memory) {
        match program.operations.len() {
            ..=FEW_SLOTS => self.run_in::<FEW_SLOTS>(program, chunk, memory),
            _ => self.run_in::<MOST_SLOTS>(program, chunk, memory),
        }
    }

    /// The same of a program of at most so many operations.
    fn run_in<const SLOTS: usize>(&mut self, program: &Program, chunk: &Chunk, memory: &Memory) {
        let count = chunk.sums.len();
        let Self { values: registers, processor, .. } = self;
        let most = program.registers.iter().max().map_or(0, |most| most + 1);
        registers.resize(registers.len().max(most * Self::LENGTH), 0.0);
        let mut places = [Place::One(0.0); SLOTS];
        for (slot, operation) in program.operations.iter().enumerate() {
            let own = program.registers[slot];
            let (before, rest) = registers.split_at_mut(own * Self::LENGTH);
            let (out, after) = rest.split_at_mut(Self::LENGTH);
            let out = &mut out[..count];
            let value = |slot: Slot| match places[slot] {
                Place::One(value) => Value::One(value),
                Place::Sums => Value::Many(chunk.sums),
                Place::Memory(values) => Value::Many(values),
                Place::Register => Value::Many(match program.registers[slot] {
                    register if register < own => &before[register * Self::LENGTH..][..count],
                    register => &after[(register - own - 1) * Self::LENGTH..][..count],
                }),
            };
            let one = match operation {
                Operation::One(value) => Some(*value),
                Operation::Sums => {
                    places[slot] = Place::Sums;
                    continue;
                }
                Operation::Read(access) => match lying(access, chunk, memory) {
                    Some(values) => {
                        places[slot] = Place::Memory(values);
                        continue;
                    }
                    None => read(*processor, access, chunk, memory, out),
                },
                Operation::Round(element, operand) => {
                    of_operand(value(*operand), out, |values, out| round_many(*processor, *element, values, out))
                }
                Operation::Unary(op, operand) => {
                    of_operand(value(*operand), out, |values, out| unary_of_many(*processor, *op, values, out))
                }
                Operation::Binary(op, left, right) => {
                    of_operands(value(*left), value(*right), out, |left, right, out| {
                        binary_of_many(*processor, *op, left, right, out);
                    })
                }
                Operation::OfIntegers(op, left, right) => {
                    of_operands(value(*left), value(*right), out, |left, right, out| {
                        of_integers(*processor, *op, left, right, out);
                    })
                }
                Operation::ToSingles(operand) => {
                    of_operand(value(*operand), out, |values, out| to_singles(*processor, values, out))
                }
                Operation::ToIntegers(to, operand) => {
                    of_operand(value(*operand), out, |values, out| to_integers(*processor, *to, values, out))
                }
                Operation::Narrow(to, operand) => {
                    of_operand(value(*operand), out, |values, out| narrow(*processor, *to, values, out))
                }
                Operation::Select(condition, then, otherwise) => {
                    select(*processor, value(*condition), value(*then), value(*otherwise), out);
                    None
                }
                Operation::Store(stored, access) => {
                    let values = match value(*stored) {
                        Value::Many(values) => values,
                        Value::One(value) => {
                            out.fill(value);
                            out
                        }
                    };
                    let (first, step, row_step) = chunk.line(&access.position);
                    for (row, values) in values.chunks_exact(chunk.columns()).enumerate() {
                        let byte = access.byte(first + row as i64 * row_step, memory);
                        store(*processor, access.element, byte, step, values, memory);
                    }
                    None
                }
            };
            places[slot] = one.map_or(Place::Register, Place::One);
        }
    }
}

/// Writes values from a byte of the arena on, so many elements apart.
fn store(processor: Processor, element: ElementType, first: i64, step: i64, values: &[f32], memory: &Memory) {
    match element.bytes() {
        SINGLE_BYTES => return memory.store_singles(first, step * SINGLE_BYTES as i64, values),
        1 => {
            let mut bytes = [0u8; Registers::LENGTH];
            let bytes = &mut bytes[..values.len()];
            low_bytes(processor, values, bytes);
            return memory.store_bytes(first, step, bytes);
        }
        _ => {}
    }
    let mut codes = [0u16; Registers::LENGTH];
    let codes = &mut codes[..values.len()];
    encode_many(processor, element, values, codes);
    memory.store_codes(first, step, codes);
}

fn encode_many(processor: Processor, element: ElementType, values: &[f32], out: &mut [u16]) {
    match element {
        ElementType::F16 => halves::encode(processor, values, bytemuck::cast_slice_mut(out)),
        ElementType::I16 | ElementType::U16 => low_halves(processor, values, out),
        _ => encode_bfloats(processor, values, out),
    }
}

vectorised! {
fn encode_bfloats<I>(processor, values: &[f32], out: &mut [u16]) {
    out.iter_mut().zip(values).for_each(|(out, value)| *out = bfloat_of_single(*value));
}
}

fn round_many(processor: Processor, element: ElementType, values: &[f32], out: &mut [f32]) {
    match element {
        ElementType::F16 => halves::round(processor, values, out),
        _ => round_bfloats(processor, values, out),
    }
}

vectorised! {
fn round_bfloats<I>(processor, values: &[f32], out: &mut [f32]) {
    map(values, out, |x| single_of_bfloat(bfloat_of_single(x)));
}
}

/// The elements of a chunk where they lie; none unless they are words side by side.
fn lying<'m>(access: &Access, chunk: &Chunk, memory: &'m Memory) -> Option<&'m [f32]> {
    let (first, step, _) = chunk.line(&access.position);
    let is_word = matches!(access.element, ElementType::F32 | ElementType::I32);
    let lies = is_word && step == 1 && chunk.rows == 1;
    lies.then(|| memory.singles(access.space, access.byte(first, memory), chunk.sums.len()))?
}

/// Reads the elements of a chunk, or gives the only one that they are.
fn read(processor: Processor, access: &Access, chunk: &Chunk, memory: &Memory, out: &mut [f32]) -> Option<f32> {
    let (first, step, row_step) = chunk.line(&access.position);
    let (first, size) = (access.byte(first, memory), access.element.bytes() as i64);
    let load = |first: i64, step: i64, out: &mut [f32]| match access.element {
        ElementType::F32 | ElementType::I32 => memory.load_singles(access.space, first, step * size, out),
        element if is_word_integer(element) => {
            load_words(processor, memory, access.space, element, first, step * size, bytemuck::cast_slice_mut(out));
        }
        element => load_singles(processor, memory, access.space, element, first, step * size, out),
    };
    if step == 0 && (row_step == 0 || chunk.rows == 1) {
        let mut only = [0.0];
        load(first, 0, &mut only);
        return Some(only[0]);
    }
    let rows = || memory.singles(access.space, first, chunk.rows);
    let is_word = matches!(access.element, ElementType::F32 | ElementType::I32);
    if let Some(values) = Some(rows).filter(|_| is_word && step == 0 && row_step == 1).and_then(|rows| rows()) {
        out.chunks_exact_mut(chunk.columns()).zip(values).for_each(|(out, value)| out.fill(*value));
        return None;
    }
    for (row, out) in out.chunks_exact_mut(chunk.columns()).enumerate() {
        let first = first + row as i64 * row_step * size;
        if step == 0 {
            let (one, rest) = out.split_at_mut(1);
            load(first, 0, one);
            rest.fill(one[0]);
        } else {
            load(first, step, out);
        }
    }
    None
}

/// What a function of many values gives of an operand: one value of one, else it is in `out`.
#[inline]
fn of_operand(operand: Value, out: &mut [f32], function: impl Fn(&[f32], &mut [f32])) -> Option<f32> {
    match operand {
        Value::One(value) => {
            let mut only = [0.0];
            function(&[value], &mut only);
            Some(only[0])
        }
        Value::Many(values) => {
            function(values, out);
            None
        }
    }
}

/// The same of two operands.
#[inline]
fn of_operands(left: Value, right: Value, out: &mut [f32], function: impl Fn(Value, Value, &mut [f32])) -> Option<f32> {
    if let (Value::One(_), Value::One(_)) = (left, right) {
        let mut only = [0.0];
        function(left, right, &mut only);
        return Some(only[0]);
    }
    function(left, right, out);
    None
}
