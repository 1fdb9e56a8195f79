//! Stages of a group, prepared for evaluation on boxes of their axes.

use warpweave_graph::ElementType;
use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::expr::{Atom, AxisId, Index, IndirectIndex, Literal, ReadId, Scalar, TensorExpr};
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::plan::MemoryPlan;
use warpweave_plan::plan::ROperator;
use warpweave_plan::template::staged::StagedBox;

use super::indices::HostIndexChecks;
use super::lane_program::{LaneProgram, Step};
use super::lanes::{LANES, Lanes, binary, cast, copy_lane, select, shifted, splat, stored, unary};
use super::memory::{HostSpace, Memory, address};

/// An index that is linear in the axes, or any other.
pub(super) enum Position {
    Affine { constant: i64, coefficients: Vec<(usize, i64)> },
    General(Index),
}

impl Position {
    fn new(index: &Index) -> Self {
        let axis = |(atom, coefficient): &(Atom, i64)| match atom {
            Atom::Axis(axis) => Some((axis.index(), *coefficient)),
            Atom::FloorDiv(..) | Atom::Mod(..) | Atom::Clamp(..) | Atom::Indirect(_) => None,
        };
        match index.terms().iter().map(axis).collect() {
            Some(coefficients) => Self::Affine { constant: index.offset(), coefficients },
            None => Self::General(index.clone()),
        }
    }

    /// The value at a point and its step along the lane axis; `None` if it is not linear.
    fn line(&self, run: &Run) -> Option<(i64, i64)> {
        let Self::Affine { constant, coefficients } = self else { return None };
        let mut line = (*constant, 0);
        for &(axis, coefficient) in coefficients {
            line.0 += coefficient * run.point[axis];
            line.1 += if run.axis == Some(axis) { coefficient } else { 0 };
        }
        Some(line)
    }

    /// The coefficient of an axis; `None` if the index is not linear.
    pub(super) fn coefficient(&self, axis: usize) -> Option<i64> {
        let Self::Affine { coefficients, .. } = self else { return None };
        Some(coefficients.iter().find(|(other, _)| *other == axis).map_or(0, |(_, coefficient)| *coefficient))
    }
}

/// Neighbouring points: `count` of them along `axis`, the first at `point`.
pub(super) struct Run<'r> {
    pub(super) point: &'r [i64],
    pub(super) axis: Option<usize>,
    pub(super) count: usize,
}

impl Run<'_> {
    fn at(&self, lane: usize, axis: AxisId) -> i64 {
        let step = if self.axis == Some(axis.index()) { lane as i64 } else { 0 };
        self.point[axis.index()] + step
    }
}

/// A read of memory or of an earlier stage.
pub(super) struct HostRead {
    pub(super) source: ReadSource,
    guard: Vec<(Position, i64, i64)>,
    fill: Literal,
}

/// What a read reads.
pub(super) enum ReadSource {
    /// Elements of a buffer; positions are in elements from `offset` bytes on.
    Memory { space: HostSpace, element: ElementType, offset: i64, position: Position },
    /// The value of an earlier stage.
    Stage(usize),
}

impl HostRead {
    /// Whether the read always takes place.
    pub(super) fn is_unguarded(&self) -> bool {
        self.guard.is_empty()
    }
}

/// A stage's expression with its addresses.
pub(super) struct HostStage {
    pub(super) expr: TensorExpr,
    pub(super) reads: Arena<ReadId, HostRead>,
    pub(super) body: LaneProgram,
    pub(super) epilogue: Option<LaneProgram>,
    pub(super) output: Option<HostOutput>,
    checks: HostIndexChecks,
}

/// Where a stage writes.
pub(super) struct HostOutput {
    element: ElementType,
    offset: i64,
    position: Position,
}

impl HostStage {
    /// Prepares a stage of an operator whose tensors are placed.
    pub(super) fn new(operator: &ROperator, stage: &Stage, memory: &MemoryPlan, boxes: &[StagedBox]) -> Self {
        let place = |tensor, index: &[Index]| {
            let planned = &memory.tensors[tensor];
            let buffer = planned.buffer.expect("a verified plan places every tensor that is used");
            let element = planned.ty.element;
            let linear = Index::linear(index, &planned.layout.strides, planned.layout.offset);
            (HostSpace::Plan(buffer.space), element, address(buffer, element, 0), Position::new(&linear))
        };
        let read = |read: &warpweave_graph::expr::Read| {
            let source = match stage.sources[read.operand] {
                StageSource::Stage(earlier) => ReadSource::Stage(earlier),
                StageSource::Staged(earlier) => {
                    let position = Position::new(&Index::linear(&read.index, &strides(&boxes[earlier]), 0));
                    let space = HostSpace::Staged(earlier);
                    ReadSource::Memory { space, element: ElementType::F32, offset: 0, position }
                }
                StageSource::Operand(operand) => {
                    let (space, element, offset, position) =
                        place(operator.kernel.body().operands[operand], &read.index);
                    ReadSource::Memory { space, element, offset, position }
                }
            };
            let condition = |condition: &warpweave_graph::expr::Condition| {
                (Position::new(&condition.index), condition.lower, condition.upper)
            };
            HostRead { source, guard: read.guard.conditions().iter().map(condition).collect(), fill: read.fill }
        };
        let output = stage.output.as_ref().map(|output| {
            let (_, element, offset, position) = place(operator.kernel.body().outputs[output.position], &output.index);
            HostOutput { element, offset, position }
        });
        Self {
            reads: stage.expr.reads.values().map(read).collect(),
            body: LaneProgram::new(&stage.expr, &stage.expr.body),
            epilogue: stage.expr.epilogue.as_ref().map(|epilogue| LaneProgram::new(&stage.expr, epilogue)),
            output,
            checks: HostIndexChecks::new(operator.kernel.body(), stage),
            expr: stage.expr.clone(),
        }
    }

    /// The program of another scalar of the stage.
    pub(super) fn program(&self, scalar: &Scalar) -> LaneProgram {
        LaneProgram::new(&self.expr, scalar)
    }

    /// The values of a program along a run; `stages` holds the values of earlier stages, `reduced` the reduced value.
    pub(super) fn evaluate(
        &self,
        program: &LaneProgram,
        memory: &Memory,
        run: &Run,
        stages: &[Option<Lanes>],
        reduced: Option<&Lanes>,
    ) -> Lanes {
        let mut registers: Vec<Lanes> = Vec::with_capacity(program.steps.len());
        let mut reads: Vec<(ReadId, usize)> = Vec::new();
        for step in &program.steps {
            let value = match step {
                Step::Literal(literal) => splat(*literal),
                Step::Read(read) => {
                    let indirect = Indirect { registers: &registers, reads: &reads };
                    let value = self.read(*read, memory, run, stages, &indirect);
                    if let Lanes::Integer(values) = &value {
                        let at = |index: &Index, lane| position_at(&Position::new(index), run, lane, &indirect);
                        self.checks.check(*read, &values[..run.count], at, memory.faults);
                    }
                    reads.push((*read, registers.len()));
                    value
                }
                Step::Index(index, element) => {
                    let indirect = Indirect { registers: &registers, reads: &reads };
                    let values = self.indices(index, run, &indirect);
                    cast(ElementType::I64, *element, &Lanes::Integer(values))
                }
                Step::Holds(guard) => {
                    let indirect = Indirect { registers: &registers, reads: &reads };
                    let mut holds = [1i64; LANES];
                    for condition in guard.conditions() {
                        let values = self.indices(&condition.index, run, &indirect);
                        for (holds, value) in holds.iter_mut().zip(values) {
                            *holds &= i64::from(condition.lower <= value && value < condition.upper);
                        }
                    }
                    Lanes::Integer(holds)
                }
                Step::Reduced => reduced.expect("an epilogue runs after its reduction").clone(),
                Step::Unary(op, element, operand) => unary(*op, *element, &registers[*operand]),
                Step::Binary(op, element, left, right) => binary(*op, *element, &registers[*left], &registers[*right]),
                Step::Select(condition, then, otherwise) => {
                    select(&registers[*condition], &registers[*then], &registers[*otherwise])
                }
                Step::Cast(from, to, operand) => cast(*from, *to, &registers[*operand]),
            };
            registers.push(value);
        }
        registers.swap_remove(program.result)
    }

    /// The stage's value, as a store keeps it: its epilogue on the reduced value, the reduced value, or its body.
    pub(super) fn finish(&self, memory: &Memory, run: &Run, values: &[Option<Lanes>], reduced: Option<Lanes>) -> Lanes {
        let value = match (&self.epilogue, reduced) {
            (Some(epilogue), reduced) => self.evaluate(epilogue, memory, run, values, reduced.as_ref()),
            (None, Some(reduced)) => reduced,
            (None, None) => self.evaluate(&self.body, memory, run, values, None),
        };
        stored(self.expr.element, value)
    }

    /// Stores values along a run.
    pub(super) fn store(&self, memory: &Memory, run: &Run, values: &Lanes) {
        let Some(output) = &self.output else { return };
        let size = output.element.bytes() as i64;
        match output.position.line(run) {
            Some((first, step)) => {
                memory.store(output.element, output.offset + first * size, step * size, values, run.count);
            }
            None => unreachable!("verified outputs are linear in the axes"),
        }
    }

    fn read(&self, id: ReadId, memory: &Memory, run: &Run, stages: &[Option<Lanes>], indirect: &Indirect) -> Lanes {
        let read = &self.reads[id];
        let ReadSource::Memory { space, element, offset, position } = &read.source else {
            let ReadSource::Stage(earlier) = read.source else { unreachable!("the other source") };
            return stages[earlier].clone().expect("an earlier stage has its value");
        };
        let size = element.bytes() as i64;
        if let (Some((first, step)), Some((from, to))) = (position.line(run), read.interval(run)) {
            if from >= to {
                return splat(read.fill);
            }
            let start = offset + (first + from as i64 * step) * size;
            let loaded = memory.load(*space, *element, start, step * size, to - from);
            return if (from, to) == (0, run.count) { loaded } else { shifted(&loaded, read.fill, from, to) };
        }
        let mut values = splat(read.fill);
        for lane in 0..run.count {
            let value = |position: &Position| position_at(position, run, lane, indirect);
            if read.guard.iter().all(|(position, lower, upper)| (*lower..*upper).contains(&value(position))) {
                let start = offset + value(position) * size;
                copy_lane(&memory.load(*space, *element, start, 0, 1), &mut values, lane);
            }
        }
        values
    }

    fn indices(&self, index: &Index, run: &Run, indirect: &Indirect) -> [i64; LANES] {
        let position = Position::new(index);
        let mut values = [0; LANES];
        for (lane, value) in values[..run.count].iter_mut().enumerate() {
            *value = position_at(&position, run, lane, indirect);
        }
        values
    }
}

impl HostRead {
    /// The lanes for which the guard holds, if they form one interval that is plain to see.
    fn interval(&self, run: &Run) -> Option<(usize, usize)> {
        let (mut from, mut to) = (0i64, run.count as i64);
        for (position, lower, upper) in &self.guard {
            let (first, step) = position.line(run)?;
            let ceil = |value: i64, by: i64| value.div_euclid(by) + i64::from(value.rem_euclid(by) != 0);
            match step {
                0 if (*lower..*upper).contains(&first) => {}
                0 => return Some((0, 0)),
                step if step > 0 => {
                    from = from.max(ceil(lower - first, step));
                    to = to.min(ceil(upper - first, step));
                }
                step => {
                    from = from.max((first - upper).div_euclid(-step) + 1);
                    to = to.min((first - lower).div_euclid(-step) + 1);
                }
            }
        }
        Some(if from < to { (from as usize, to as usize) } else { (0, 0) })
    }
}

/// The values of reads that indices use.
struct Indirect<'i> {
    registers: &'i [Lanes],
    reads: &'i [(ReadId, usize)],
}

impl Indirect<'_> {
    fn place(&self, index: IndirectIndex, lane: usize) -> i64 {
        let found = self.reads.iter().find(|(other, _)| *other == index.read);
        let &(_, register) = found.expect("indirect reads are loaded before the indices that use them");
        let Lanes::Integer(values) = &self.registers[register] else { unreachable!("indices are integers") };
        index.nearest(values[lane])
    }
}

fn position_at(position: &Position, run: &Run, lane: usize, indirect: &Indirect) -> i64 {
    match position {
        Position::Affine { .. } => {
            let (first, step) = position.line(run).expect("the position is linear");
            first + step * lane as i64
        }
        Position::General(index) => index.evaluate(&|axis| run.at(lane, axis), &|index| indirect.place(index, lane)),
    }
}

/// Elements from one coordinate to the next along each dimension of a box.
pub(super) fn strides(spans: &StagedBox) -> Vec<usize> {
    (0..spans.len()).map(|at| spans[at + 1..].iter().map(|span| span.extent).product()).collect()
}
