//! What one evaluation of a scalar by the lanes of a warp costs.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Condition, Index, IndirectIndex, Read, ReadId, Scalar, TensorExpr};
use warpweave_graph::numerics::WORD_BYTES;

use crate::cost::counts::KernelCounts;
use crate::cost::counts::operations::float_operations;
use warpweave_plan::body::{GroupBody, Stage, StageSource};
use warpweave_plan::shared_memory::{SharedWidth, lanes_together};
use warpweave_plan::template::staged::{StagedBox, slot, strides};

/// Lanes of a warp.
pub(crate) const WARP: usize = 32;
/// Bytes of a sector.
pub(crate) const SECTOR: i64 = 32;
/// Bytes of the widest access of a lane.
const WIDEST_ACCESS: usize = 16;

/// Where each lane of a warp stands: a point of all axes of a stage, for the lanes that take part.
pub(crate) struct Lanes {
    /// Lane by lane.
    points: Vec<i64>,
    rank: usize,
    active: [bool; WARP],
}

impl Lanes {
    pub(crate) fn new(rank: usize) -> Self {
        Self { points: vec![0; rank * WARP], rank, active: [false; WARP] }
    }

    /// Lets a closure place every lane; it tells whether the lane takes part.
    pub(crate) fn place(&mut self, mut place: impl FnMut(usize, &mut [i64]) -> bool) {
        for (lane, active) in self.active.iter_mut().enumerate() {
            *active = place(lane, &mut self.points[lane * self.rank..(lane + 1) * self.rank]);
        }
    }

    /// Moves every lane.
    pub(crate) fn each(&mut self, mut move_lane: impl FnMut(&mut [i64])) {
        self.points.chunks_exact_mut(self.rank.max(1)).for_each(&mut move_lane);
    }

    /// Those of the lanes whose point passes.
    pub(crate) fn retained(&self, passes: impl Fn(&[i64]) -> bool) -> Self {
        let mut active = self.active;
        for (lane, active) in active.iter_mut().enumerate() {
            *active &= passes(&self.points[lane * self.rank..(lane + 1) * self.rank]);
        }
        Self { points: self.points.clone(), rank: self.rank, active }
    }

    pub(crate) fn count(&self) -> usize {
        self.active.iter().filter(|active| **active).count()
    }

    fn active(&self) -> impl Iterator<Item = &[i64]> {
        self.numbered().map(|(_, point)| point)
    }

    /// The lanes that take part, with their numbers.
    fn numbered(&self) -> impl Iterator<Item = (usize, &[i64])> {
        let of_lane = |lane: usize| (lane, &self.points[lane * self.rank..(lane + 1) * self.rank]);
        (0..WARP).filter(|lane| self.active[*lane]).map(of_lane)
    }
}

/// How far apart the places lie that neighbouring elements of data name: what data decide is not known, so they are taken
/// to name different places, none beside another.
const SCATTER: i64 = 7919;

/// An index as coefficients of the axes where it is affine.
enum Linear {
    Affine(Vec<i64>, i64),
    /// Any other, with the elements of data inside it.
    General(Index, Vec<(ReadId, Self)>),
}

impl Linear {
    fn new(expr: &TensorExpr, index: &Index) -> Self {
        if !index.is_affine() {
            let mut data = Vec::new();
            index.visit(&mut |_| {}, &mut |read| data.push(read));
            let element = |read: ReadId| {
                let of = &expr.reads[read];
                (read, Self::new(expr, &Index::linear(&of.index, &expr.operands[of.operand].shape.strides(), 0)))
            };
            return Self::General(index.clone(), data.into_iter().map(element).collect());
        }
        let coefficients = expr.axes.ids().map(|axis| index.coefficient(axis)).collect();
        Self::Affine(coefficients, index.offset())
    }

    fn at(&self, point: &[i64]) -> i64 {
        match self {
            Self::Affine(coefficients, offset) => {
                coefficients.iter().zip(point).map(|(coefficient, at)| coefficient * at).sum::<i64>() + offset
            }
            Self::General(index, data) => {
                let value = |place: IndirectIndex| {
                    let element =
                        data.iter().find(|(other, _)| *other == place.read).expect("every read has its element");
                    (element.1.at(point) * SCATTER).rem_euclid(place.extent)
                };
                index.evaluate(&|axis: AxisId| point[axis.index()], &value)
            }
        }
    }
}

/// Sectors of a line of the first-level cache.
const SECTORS_OF_LINE: i64 = 4;

/// What one access of a warp to global memory touches.
pub(crate) struct Touched {
    /// Distinct sectors.
    pub(crate) sectors: usize,
    /// Distinct lines.
    lines: usize,
    /// Lanes that take part.
    lanes: usize,
}

impl Touched {
    /// The counts of a load of `width` elements a lane.
    pub(crate) fn loaded(&self, width: usize) -> KernelCounts {
        KernelCounts {
            load_sectors: self.sectors as f64,
            global_loads: (self.lanes * width) as f64,
            warp_loads: 1.0,
            load_lines: self.lines as f64,
            ..KernelCounts::default()
        }
    }
}

/// A place in memory as a function of a point.
pub(crate) struct Address {
    element: Linear,
    bytes: i64,
    conditions: Vec<(Linear, i64, i64)>,
}

impl Address {
    /// Where an operand is read.
    pub(crate) fn of_read(expr: &TensorExpr, read: &Read) -> Self {
        let operand = &expr.operands[read.operand];
        Self::at(expr, read, &Index::linear(&read.index, &operand.shape.strides(), 0))
    }

    /// Where a staged value is read, relative to where its box starts in the first tile of the grid: which elements share a word
    /// depends on it.
    fn of_staged(expr: &TensorExpr, read: &Read, spans: &StagedBox) -> Self {
        let start = spans.iter().zip(strides(spans)).map(|(span, stride)| span.first * stride as i64);
        Self::at(expr, read, &slot(read, spans).plus(-start.sum::<i64>()))
    }

    /// Where a word of shared memory lies whose number is an index.
    pub(crate) fn of_word(expr: &TensorExpr, number: &Index) -> Self {
        Self { element: Linear::new(expr, number), bytes: WORD_BYTES as i64, conditions: Vec::new() }
    }

    fn at(expr: &TensorExpr, read: &Read, element: &Index) -> Self {
        let linear = |index: &Index| Linear::new(expr, index);
        let condition = |condition: &Condition| (linear(&condition.index), condition.lower, condition.upper);
        Self {
            element: linear(element),
            bytes: expr.operands[read.operand].element.bytes() as i64,
            conditions: read.guard.conditions().iter().map(condition).collect(),
        }
    }

    /// Where a stage's value is stored, if it leaves the group.
    pub(crate) fn of_output(body: &GroupBody, stage: usize) -> Option<Self> {
        let expr = &body.stages[stage].expr;
        let element = Linear::new(expr, &element_of_output(body, stage)?);
        Some(Self { element, bytes: expr.element.bytes() as i64, conditions: Vec::new() })
    }

    /// Whether the place moves along an axis.
    fn lies_along(&self, axis: AxisId) -> bool {
        match &self.element {
            Linear::Affine(coefficients, _) => coefficients[axis.index()] != 0,
            Linear::General(..) => true,
        }
    }

    /// Whether lanes make the access only under a condition.
    pub(crate) fn is_guarded(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// What one access of `width` elements a lane touches.
    pub(crate) fn sectors(&self, lanes: &Lanes, width: usize) -> Touched {
        self.sectors_behind(lanes, 0, width)
    }

    /// What the accesses touch that load `count` neighbours a lane, each of the widest. Those of 16 bits are loaded as words of two.
    fn neighbours(&self, lanes: &Lanes, count: usize) -> KernelCounts {
        let width = count.min(WIDEST_ACCESS / self.bytes as usize);
        let mut counts = KernelCounts::default();
        for start in (0..count).step_by(width) {
            let words = (width * self.bytes as usize).div_ceil(WORD_BYTES);
            counts += self.sectors_behind(lanes, start as i64, width).loaded(width.min(words));
        }
        counts
    }

    /// What one access of `width` elements a lane touches, so many elements behind the place of each.
    fn sectors_behind(&self, lanes: &Lanes, behind: i64, width: usize) -> Touched {
        let mut touched: [i64; 2 * WARP] = [0; 2 * WARP];
        let (mut found, mut taking_part) = (0, 0);
        for point in lanes.active() {
            let holds = |(index, lower, upper): &(Linear, i64, i64)| (*lower..*upper).contains(&index.at(point));
            if !self.conditions.iter().all(holds) {
                continue;
            }
            taking_part += 1;
            let first = (self.element.at(point) + behind) * self.bytes;
            let sector = first.div_euclid(SECTOR);
            let last = (first + width as i64 * self.bytes - 1).div_euclid(SECTOR);
            for sector in sector..=last.min(sector + 1) {
                if found == 0 || touched[found - 1] != sector && !touched[..found].contains(&sector) {
                    touched[found] = sector;
                    found += 1;
                }
            }
        }
        let mut lines = touched;
        let lines = &mut lines[..found];
        lines.iter_mut().for_each(|sector| *sector = sector.div_euclid(SECTORS_OF_LINE));
        lines.sort_unstable();
        let lines = lines.chunk_by(|left, right| left == right).count();
        Touched { sectors: found, lines, lanes: taking_part }
    }

    /// The loads of `width` words a lane from shared memory: 32 banks of a word, and lanes as [`lanes_together`] says.
    pub(crate) fn wavefronts(&self, lanes: &Lanes, width: usize) -> KernelCounts {
        let mut counts = KernelCounts::default();
        let mut places: [Option<i64>; WARP] = [None; WARP];
        for (lane, point) in lanes.numbered() {
            let holds = |(index, lower, upper): &(Linear, i64, i64)| (*lower..*upper).contains(&index.at(point));
            if self.conditions.iter().all(holds) {
                places[lane] = Some((self.element.at(point) * self.bytes).div_euclid(WORD_BYTES as i64));
                counts.shared_loads += width as f64;
            }
        }
        let words = ((width as i64 * self.bytes) as usize).div_ceil(WORD_BYTES);
        let takes_part = |lanes: &&[Option<i64>]| lanes.iter().any(Option::is_some);
        for lanes in places.chunks(lanes_together(&places, SharedWidth::of(words))).filter(takes_part) {
            let mut words: Vec<i64> = lanes.iter().flatten().flat_map(|&first| first..first + words as i64).collect();
            words.sort_unstable();
            words.dedup();
            let mut banks = [0u32; WARP];
            words.iter().for_each(|word| banks[word.rem_euclid(WARP as i64) as usize] += 1);
            counts.shared_wavefronts += f64::from(banks.into_iter().max().unwrap_or(0));
        }
        counts.shared_ideal += places.chunks(WARP / words).filter(takes_part).count() as f64;
        counts
    }
}

/// The reads and operations of evaluating a scalar once.
#[derive(Default)]
pub(crate) struct Evaluation {
    reads: Vec<Address>,
    /// Reads of staged values.
    staged: Vec<Address>,
    operations: usize,
}

impl Evaluation {
    /// Of one scalar of a stage; what the stage reads from earlier stages is in registers, staged values are in these boxes.
    pub(crate) fn new(stage: &Stage, scalar: &Scalar, boxes: &[StagedBox]) -> Self {
        Self::without(stage, scalar, boxes, &[])
    }

    /// The same where some reads have been made before.
    pub(crate) fn without(stage: &Stage, scalar: &Scalar, boxes: &[StagedBox], known: &[ReadId]) -> Self {
        let mut reads = stage.expr.reads_of(scalar);
        reads.retain(|read| !known.contains(read));
        Self { operations: float_operations(&stage.expr, scalar), ..Self::of_reads(stage, boxes, reads) }
    }

    /// Of reads alone.
    pub(crate) fn of_reads(stage: &Stage, boxes: &[StagedBox], reads: impl IntoIterator<Item = ReadId>) -> Self {
        let mut found = Self::default();
        for read in reads {
            let read = &stage.expr.reads[read];
            match stage.sources[read.operand] {
                StageSource::Operand(_) => found.reads.push(Address::of_read(&stage.expr, read)),
                StageSource::Staged(staged) => {
                    found.staged.push(Address::of_staged(&stage.expr, read, &boxes[staged]));
                }
                StageSource::Stage(_) => {}
            }
        }
        found
    }

    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// Operations of one lane.
    pub(crate) fn operations(&self) -> usize {
        self.operations
    }

    /// With operations that follow each evaluation.
    pub(crate) fn and_operations(mut self, operations: usize) -> Self {
        self.operations += operations;
        self
    }

    /// What the active lanes do.
    pub(crate) fn counts(&self, lanes: &Lanes) -> KernelCounts {
        let mut counts =
            KernelCounts { operations: (lanes.count() * self.operations) as f64, ..KernelCounts::default() };
        counts += self.loads(lanes, 1);
        counts
    }

    /// What the active lanes do that evaluate so many neighbours each, which lie along an axis. Those of a read are loaded together.
    pub(crate) fn of_neighbours(&self, lanes: &Lanes, (count, axis): (usize, AxisId)) -> KernelCounts {
        let operations = (lanes.count() * self.operations * count) as f64;
        let mut counts = KernelCounts { operations, ..KernelCounts::default() };
        for read in &self.reads {
            counts += read.neighbours(lanes, if read.lies_along(axis) { count } else { 1 });
        }
        counts
    }

    /// What the reads alone take where each lane loads `width` neighbouring elements at once.
    pub(crate) fn loads(&self, lanes: &Lanes, width: usize) -> KernelCounts {
        let mut counts = KernelCounts::default();
        for read in &self.staged {
            counts += read.wavefronts(lanes, width);
        }
        for read in &self.reads {
            counts += read.sectors(lanes, width).loaded(width);
        }
        counts
    }
}

/// The number of the element that a stage's value is in its output, laid out row by row, if it leaves the group.
pub(crate) fn element_of_output(body: &GroupBody, stage: usize) -> Option<Index> {
    let Stage { expr, output, .. } = &body.stages[stage];
    let index = &output.as_ref()?.index;
    let extent = |index: &Index| index.range(&|axis: AxisId| expr.range(axis)).maximum as usize + 1;
    let mut strides = vec![1; index.len()];
    for at in (1..index.len()).rev() {
        strides[at - 1] = strides[at] * extent(&index[at]);
    }
    Some(Index::linear(index, &strides, 0))
}

/// The counts of a store by the active lanes.
pub(crate) fn stored(output: &Address, lanes: &Lanes, width: usize) -> KernelCounts {
    KernelCounts { store_sectors: output.sectors(lanes, width).sectors as f64, ..KernelCounts::default() }
}

/// One combination a point if a reduction is of singles.
pub(crate) fn combination(expr: &TensorExpr) -> usize {
    usize::from(expr.body_element().is_single())
}
