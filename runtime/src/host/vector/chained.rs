//! What follows a stage's sums as a chain of operations, up to the store of its output.

use warpweave_graph::ElementType;
use warpweave_graph::expr::ReadId;
use warpweave_plan::plan::BufferSpace;

use super::arithmetic::chain::{Chain, Laid, Operand, Sheet};
use super::frame::{Frame, Slot};
use super::place::{Chunk, Here, Indirect, LaneAxes, Line, Place};
use super::stage::{Source, StageReads};
use crate::host::lane_program::{LaneProgram, Step};
use crate::host::memory::{Base, HostSpace, Memory, SINGLE_BYTES};

/// Operations on sums of singles, and the store of what they give.
pub(super) struct Chained(Chain<Singles>);

/// Singles along the lanes of a chunk.
struct Singles {
    space: HostSpace,
    base: Base,
    line: Line,
}

impl Chained {
    /// What follows the sums of a stage on lanes along these axes; `None` if it is no chain of singles.
    pub(super) fn new(reads: &StageReads, lanes: LaneAxes) -> Option<Self> {
        let expr = &reads.expr;
        if [expr.element, expr.body_element()] != [ElementType::F32; 2] {
            return None;
        }
        let program = LaneProgram::new(expr, &reads.result());
        let (mut chain, mut value) = (Chain::default(), None);
        for (at, step) in program.steps.iter().enumerate() {
            match step {
                Step::Literal(_) | Step::Read(_) => {}
                Step::Reduced => value = Some(at),
                Step::Binary(op, ElementType::F32, left, right) => {
                    let other = match value? {
                        value if value == *left && value != *right => *right,
                        value if value == *right && value != *left => *left,
                        _ => return None,
                    };
                    chain.operate(*op, operand(reads, lanes, &program.steps[other])?)?;
                    value = Some(at);
                }
                _ => return None,
            }
        }
        let store = reads.store(lanes).filter(|store| store.element == ElementType::F32)?;
        let space = HostSpace::Plan(BufferSpace::Arena);
        chain.store(Singles { space, base: store.base, line: store.position });
        let is_all = value == Some(program.result);
        chain.finished().filter(|_| is_all).map(Self)
    }

    /// Computes and stores a chunk from the sums in a register; whether it has. Nothing is stored if it has not.
    pub(super) fn run(
        &self,
        sums: Slot,
        lanes: LaneAxes,
        point: &[i64],
        chunk: Chunk,
        memory: &Memory,
        frame: &Frame,
    ) -> bool {
        let Chunk { rows, columns } = chunk;
        let sheet = Sheet { rows, columns, stride: columns, sums: &frame.values::<f32>(sums)[..chunk.lanes()] };
        let indirect = Indirect::new();
        let here = Here { point, lanes, indirect: &indirect, frame };
        self.0.run(&sheet, memory, |Singles { space, base, line }| Laid {
            space: *space,
            byte: memory.base(*base) + line.first(&here) * SINGLE_BYTES as i64,
            step: line.column,
            row_step: line.row,
        })
    }
}

/// What an operation takes beside the value.
fn operand(reads: &StageReads, lanes: LaneAxes, step: &Step) -> Option<Operand<Singles>> {
    match step {
        Step::Literal(literal) if literal.element() == ElementType::F32 => Some(Operand::One(literal.to_f64() as f32)),
        Step::Read(read) => singles(reads, lanes, *read).map(Operand::Singles),
        _ => None,
    }
}

/// A read of singles at an index that lanes move along evenly, if it always takes place.
fn singles(reads: &StageReads, lanes: LaneAxes, read: ReadId) -> Option<Singles> {
    let Source::Memory { space, element: ElementType::F32, base, index } = &reads.sources[read] else { return None };
    let Place::Line(line) = Place::new(index, lanes, &|_| false) else { return None };
    let is_plain = line.is_affine() && reads.expr.reads[read].guard.is_always();
    is_plain.then_some(Singles { space: *space, base: *base, line })
}
