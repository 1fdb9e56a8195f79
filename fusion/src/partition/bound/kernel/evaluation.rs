//! What one evaluation of a scalar by the lanes of a warp costs.

use std::collections::{BTreeSet, HashSet};

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Condition, Index, Read, ReadId, Scalar, TensorExpr};
use warpweave_graph::types::ElementType;

use super::KernelCounts;
use crate::partition::body::{GroupBody, Stage, StageSource};

/// Lanes of a warp.
pub(super) const WARP: usize = 32;
/// Bytes of a sector.
const SECTOR: i64 = 32;

/// Where each lane of a warp stands: a point of all axes of a stage, for the lanes that take part.
pub(super) struct Lanes {
    /// Lane by lane.
    points: Vec<i64>,
    rank: usize,
    active: [bool; WARP],
}

impl Lanes {
    pub(super) fn new(rank: usize) -> Self {
        Self { points: vec![0; rank * WARP], rank, active: [false; WARP] }
    }

    /// Lets a closure place every lane; it tells whether the lane takes part.
    pub(super) fn place(&mut self, mut place: impl FnMut(usize, &mut [i64]) -> bool) {
        for (lane, active) in self.active.iter_mut().enumerate() {
            *active = place(lane, &mut self.points[lane * self.rank..(lane + 1) * self.rank]);
        }
    }

    /// Moves every lane.
    pub(super) fn each(&mut self, mut move_lane: impl FnMut(&mut [i64])) {
        self.points.chunks_exact_mut(self.rank.max(1)).for_each(&mut move_lane);
    }

    pub(super) fn count(&self) -> usize {
        self.active.iter().filter(|active| **active).count()
    }

    fn active(&self) -> impl Iterator<Item = &[i64]> {
        let of_lane = |lane: usize| &self.points[lane * self.rank..(lane + 1) * self.rank];
        (0..WARP).filter(|lane| self.active[*lane]).map(of_lane)
    }
}

/// An index as coefficients of the axes where it is affine.
enum Linear {
    Affine(Vec<i64>, i64),
    General(Index),
}

impl Linear {
    fn new(index: Index, rank: usize) -> Self {
        if !index.is_affine() {
            return Self::General(index);
        }
        let coefficients = (0..rank).map(|axis| index.coefficient(AxisId::from_index(axis))).collect();
        Self::Affine(coefficients, index.offset())
    }

    fn at(&self, point: &[i64]) -> i64 {
        match self {
            Self::Affine(coefficients, offset) => {
                coefficients.iter().zip(point).map(|(coefficient, at)| coefficient * at).sum::<i64>() + offset
            }
            Self::General(index) => index.evaluate(&|axis: AxisId| point[axis.index()], &|_| 0),
        }
    }
}

/// A place in memory as a function of a point.
pub(super) struct Address {
    element: Linear,
    bytes: i64,
    conditions: Vec<(Linear, i64, i64)>,
}

impl Address {
    /// Where an operand is read.
    fn of_read(expr: &TensorExpr, read: &Read) -> Self {
        let operand = &expr.operands[read.operand];
        let rank = expr.axes.len();
        let condition =
            |condition: &Condition| (Linear::new(condition.index.clone(), rank), condition.lower, condition.upper);
        Self {
            element: Linear::new(Index::linear(&read.index, &operand.shape.strides(), 0), rank),
            bytes: operand.element.bytes() as i64,
            conditions: read.guard.conditions().iter().map(condition).collect(),
        }
    }

    /// Where a stage's value is stored, if it leaves the group.
    pub(super) fn of_output(body: &GroupBody, stage: usize) -> Option<Self> {
        let Stage { expr, output, .. } = &body.stages[stage];
        let index = &output.as_ref()?.index;
        let extent = |index: &Index| index.range(&|axis: AxisId| expr.range(axis)).maximum as usize + 1;
        let mut strides = vec![1; index.len()];
        for at in (1..index.len()).rev() {
            strides[at - 1] = strides[at] * extent(&index[at]);
        }
        let element = Linear::new(Index::linear(index, &strides, 0), expr.axes.len());
        Some(Self { element, bytes: expr.element.bytes() as i64, conditions: Vec::new() })
    }

    /// Distinct sectors of one access, `width` elements a lane, and the lanes that make it.
    pub(super) fn sectors(&self, lanes: &Lanes, width: usize) -> (usize, usize) {
        let mut touched: [i64; 2 * WARP] = [0; 2 * WARP];
        let (mut found, mut taking_part) = (0, 0);
        for point in lanes.active() {
            let holds = |(index, lower, upper): &(Linear, i64, i64)| (*lower..*upper).contains(&index.at(point));
            if !self.conditions.iter().all(holds) {
                continue;
            }
            taking_part += 1;
            let first = self.element.at(point) * self.bytes;
            let sector = first.div_euclid(SECTOR);
            let last = (first + width as i64 * self.bytes - 1).div_euclid(SECTOR);
            for sector in sector..=last.min(sector + 1) {
                if found == 0 || touched[found - 1] != sector && !touched[..found].contains(&sector) {
                    touched[found] = sector;
                    found += 1;
                }
            }
        }
        (found, taking_part)
    }
}

/// The reads and operations of evaluating a scalar once.
pub(super) struct Evaluation {
    reads: Vec<Address>,
    operations: usize,
}

impl Evaluation {
    /// Of one scalar of a stage; what the stage reads from earlier stages is in registers.
    pub(super) fn new(body: &GroupBody, stage: usize, scalar: &Scalar) -> Self {
        Self::reading(body, stage, scalar, &|_| true)
    }

    /// Of one scalar of a stage where only some of its reads are loads.
    pub(super) fn reading(body: &GroupBody, stage: usize, scalar: &Scalar, loads: &dyn Fn(ReadId) -> bool) -> Self {
        let sources = &body.stages[stage].sources;
        let expr = &body.stages[stage].expr;
        let mut reads = BTreeSet::new();
        collect(expr, scalar, &mut reads);
        reads.retain(|read| loads(*read));
        let outside = reads.iter().map(|read| &expr.reads[*read]);
        let outside = outside.filter(|read| matches!(sources[read.operand], StageSource::Operand(_)));
        Self {
            reads: outside.map(|read| Address::of_read(expr, read)).collect(),
            operations: float_operations(expr, scalar),
        }
    }

    /// Of nothing.
    pub(super) fn nothing() -> Self {
        Self { reads: Vec::new(), operations: 0 }
    }

    /// Operations of one lane.
    pub(super) fn operations(&self) -> usize {
        self.operations
    }

    /// With operations that follow each evaluation.
    pub(super) fn and_operations(mut self, operations: usize) -> Self {
        self.operations += operations;
        self
    }

    /// What the active lanes do.
    pub(super) fn counts(&self, lanes: &Lanes) -> KernelCounts {
        let mut counts =
            KernelCounts { operations: (lanes.count() * self.operations) as f64, ..KernelCounts::default() };
        for read in &self.reads {
            let (sectors, loads) = read.sectors(lanes, 1);
            counts.load_sectors += sectors as f64;
            counts.global_loads += loads as f64;
        }
        counts
    }

    /// The loads alone where each lane loads `width` neighbouring elements of a read at once.
    pub(super) fn wide_counts(&self, lanes: &Lanes, width: usize) -> KernelCounts {
        let mut counts = KernelCounts::default();
        for read in &self.reads {
            let (sectors, loads) = read.sectors(lanes, width);
            counts.load_sectors += sectors as f64;
            counts.global_loads += (loads * width) as f64;
        }
        counts
    }
}

/// The reads of a scalar, and those inside their indices.
fn collect(expr: &TensorExpr, scalar: &Scalar, found: &mut BTreeSet<ReadId>) {
    let mut open: Vec<ReadId> = Vec::new();
    scalar.visit(&mut |scalar| match scalar {
        Scalar::Read(read) => open.push(*read),
        Scalar::Index(index, _) => index.visit(&mut |_| {}, &mut |read| open.push(read)),
        Scalar::Holds(guard) => {
            let conditions = guard.conditions().iter();
            conditions.for_each(|condition| condition.index.visit(&mut |_| {}, &mut |read| open.push(read)));
        }
        _ => {}
    });
    while let Some(read) = open.pop() {
        if found.insert(read) {
            let read = &expr.reads[read];
            let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
            read.index.iter().chain(conditions).for_each(|index| index.visit(&mut |_| {}, &mut |read| open.push(read)));
        }
    }
}

/// Distinct operations on `F32`; equal scalars are computed once.
fn float_operations(expr: &TensorExpr, scalar: &Scalar) -> usize {
    let of_read = |read: ReadId| expr.operands[expr.reads[read].operand].element;
    let mut seen: HashSet<&Scalar> = HashSet::new();
    let mut open = vec![scalar];
    let mut count = 0;
    while let Some(scalar) = open.pop() {
        if !seen.insert(scalar) {
            continue;
        }
        let is_float = |operand: &Scalar| operand.element(&of_read, expr.element) == ElementType::F32;
        match scalar {
            Scalar::Unary(_, x) => {
                count += usize::from(is_float(x));
                open.push(x);
            }
            Scalar::Binary(_, x, y) => {
                count += usize::from(is_float(x));
                open.extend([&**x, &**y]);
            }
            Scalar::Select(x, y, z) => open.extend([&**x, &**y, &**z]),
            Scalar::Cast(_, x) => open.push(x),
            Scalar::Literal(_) | Scalar::Reduced | Scalar::Read(_) | Scalar::Index(..) | Scalar::Holds(_) => {}
        }
    }
    count
}

/// The counts of a store by the active lanes.
pub(super) fn stored(output: &Address, lanes: &Lanes, width: usize) -> KernelCounts {
    let (sectors, _) = output.sectors(lanes, width);
    KernelCounts { store_sectors: sectors as f64, ..KernelCounts::default() }
}

/// One combination a point if a reduction is of `F32`.
pub(super) fn combination(expr: &TensorExpr) -> usize {
    let of_read = |read: ReadId| expr.operands[expr.reads[read].operand].element;
    usize::from(expr.body.element(&of_read, expr.element) == ElementType::F32)
}
