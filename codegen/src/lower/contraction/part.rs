//! What a side for tensor cores loads of tensors in memory, apart from what is computed of it.
//!
//! Floating point of 16 bits is loaded as codes: singly, or two to a word. Nothing waits for a load before the codes are stored or
//! widened, behind the products that hide it.

use warpweave_graph::expr::{Index, ReadId};
use warpweave_graph::types::ElementType;
use warpweave_plan::body::StageSource;
use warpweave_plan::template::contraction::tile_load::{ComputedRun, SideLoad, plain_read};
use warpweave_plan::template::contraction::unit::ComputeUnit;
use warpweave_plan::template::contraction::{AxisClass, Contraction};

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType, UnaryOp};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::memory::MemoryType;
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::arithmetic::{access, emit_literal, scalar_type, scaled, set};
use crate::lower::emitter::{Emitter, add, binary};
use crate::lower::error::LowerError;
use crate::lower::index::bind_comparisons;
use crate::lower::scalar::{Point, code_of};

/// Elements of 16 bits in a register.
const PAIR: usize = 2;
/// Bits of a half.
const HALF_BITS: i32 = 16;

/// What one read has loaded, trip by trip.
pub(super) struct Part {
    pub(super) read: ReadId,
    pub(super) loaded: ArrayId,
    /// What the array's registers are.
    pub(super) scalar: ScalarType,
    /// How many registers of the array a trip fills; trip `n` begins with register `n * registers`.
    pub(super) registers: usize,
    /// Elements of a trip: as many as are fetched at once, or one for all of them.
    elements: usize,
    /// Registers that are loaded at once.
    width: usize,
    /// What a register is loaded as.
    memory: MemoryType,
    element: ElementType,
}

impl Part {
    fn new(emitter: &mut Emitter, load: &SideLoad, (read, is_wide): (ReadId, bool)) -> Result<Self, LowerError> {
        let expr = &emitter.body().stages[0].expr;
        let element = expr.operands[expr.reads[read].operand].element;
        let elements = if is_wide { load.width } else { 1 };
        let (memory, scalar) = match is_half(element) {
            true if elements == 1 => (MemoryType::U16, ScalarType::I32),
            true => (MemoryType::I32, ScalarType::I32),
            false => (emitter.memory_type(element)?, scalar_type(emitter, element)?),
        };
        let registers = if is_half(element) { elements.div_ceil(PAIR) } else { elements };
        let loaded = emitter.array(scalar, load.trips() * registers);
        let width = registers.min(4);
        Ok(Self { read, loaded, scalar, registers, elements, width, memory, element })
    }

    /// Loads what one trip takes from a point on.
    pub(super) fn load(&self, emitter: &mut Emitter, point: &mut Point, trip: LocalId) -> Result<(), LowerError> {
        let first = scaled(trip.into(), self.registers);
        if self.elements == 1 {
            return match is_half(self.element) {
                true => point.read_code_into(emitter, self.read, self.loaded, first),
                false => point.read_into(emitter, self.read, self.loaded, first),
            };
        }
        let (space, index, guard) = point.source(emitter, self.read)?;
        let guard = guard.map(|holds| bind_comparisons(emitter, holds));
        if guard.is_some() {
            let fill = self.fill(emitter)?;
            for register in 0..self.registers {
                emitter.push(set(self.loaded, add(first.clone(), Expression::i32(register as i32)), fill.clone()));
            }
        }
        emitter.when(guard, |emitter| {
            let index = match is_half(self.element) {
                true => binary(BinaryOp::ShiftRight, index, Expression::i32(1)),
                false => index,
            };
            let index = emitter.bind(ScalarType::I32, index);
            for behind in (0..self.registers).step_by(self.width).map(|at| Expression::i32(at as i32)) {
                let place = Place::Element(self.loaded, add(first.clone(), behind.clone()));
                let (width, index) = (access(self.width), add(index, behind));
                emitter.push(Statement::LoadGlobal { place, space, memory: self.memory, width, index });
            }
            Ok(())
        })
    }

    /// A register of several elements that are not read.
    fn fill(&self, emitter: &Emitter) -> Result<Expression, LowerError> {
        let fill = emitter.body().stages[0].expr.reads[self.read].fill;
        if !is_half(self.element) {
            return emit_literal(emitter, fill);
        }
        let code = i32::from(code_of(fill));
        Ok(Expression::i32(code | code << HALF_BITS))
    }

    /// The code of an element of floating point of 16 bits, in the lower half of a word; the upper half is anything.
    pub(super) fn code(&self, trip: LocalId, element: usize) -> Expression {
        let element = element.min(self.elements - 1);
        let word = self.register(trip, element / PAIR);
        if element.is_multiple_of(PAIR) { word } else { binary(BinaryOp::ShiftRight, word, Expression::i32(HALF_BITS)) }
    }

    /// An element that was loaded, a half widened to a single.
    pub(super) fn value(&self, trip: LocalId, element: usize) -> Expression {
        match self.element {
            ElementType::F16 => Expression::Unary(UnaryOp::OfF16, Box::new(self.code(trip, element))),
            ElementType::BF16 => {
                let upper = binary(BinaryOp::ShiftLeft, self.code(trip, element), Expression::i32(HALF_BITS));
                Expression::Unary(UnaryOp::OfBits, Box::new(upper))
            }
            _ => self.register(trip, element.min(self.elements - 1)),
        }
    }

    fn register(&self, trip: LocalId, number: usize) -> Expression {
        let at = add(scaled(trip.into(), self.registers), Expression::i32(number as i32));
        Expression::Element(self.loaded, Box::new(at))
    }

    /// Singles for halves; other elements as they are loaded.
    pub(super) fn value_type(&self) -> ScalarType {
        if is_half(self.element) { ScalarType::F32 } else { self.scalar }
    }
}

fn is_half(element: ElementType) -> bool {
    matches!(element, ElementType::F16 | ElementType::BF16)
}

/// What a side for tensor cores loads apart, of tensors in memory at places that no data name. Nothing of other sides, and of those that
/// copies bring.
pub(super) fn parts(
    emitter: &mut Emitter,
    contraction: &Contraction,
    class: AxisClass,
    load: &SideLoad,
) -> Result<Vec<Part>, LowerError> {
    let (body, tile) = (emitter.body(), emitter.kernel().tile());
    let (expr, factor) = (&body.stages[0].expr, contraction.factor(class));
    if load.unit != ComputeUnit::Mma {
        return Ok(Vec::new());
    }
    let reads: Vec<(ReadId, bool)> = match plain_read(expr, factor) {
        Some(read) => {
            let moves = expr.operands[expr.reads[read].operand].element == load.storage;
            if moves && is_direct(emitter, read) { vec![(read, load.width > 1)] } else { Vec::new() }
        }
        None if load.width == 1 => {
            let reads = expr.reads_of(factor);
            let all = reads.iter().all(|read| is_direct(emitter, *read));
            if all { reads.into_iter().map(|read| (read, false)).collect() } else { Vec::new() }
        }
        None => {
            let run = ComputedRun::of(body, contraction, class, tile, load.fetch, load.width);
            run.expect("factors that are computed are fetched together in runs").reads
        }
    };
    reads.into_iter().map(|read| Part::new(emitter, load, read)).collect()
}

/// Whether a read of the first stage is of a tensor in memory that is not polled, at a place that no data name.
fn is_direct(emitter: &Emitter, read: ReadId) -> bool {
    let (body, stage) = (emitter.body(), &emitter.body().stages[0]);
    let read = &stage.expr.reads[read];
    let mut indices = read.index.iter().chain(read.guard.conditions().iter().map(|condition| &condition.index));
    match stage.sources[read.operand] {
        StageSource::Operand(operand) => {
            !emitter.is_tagged(body.operands[operand]) && indices.all(Index::is_free_of_reads)
        }
        StageSource::Stage(_) | StageSource::Staged(_) => false,
    }
}
