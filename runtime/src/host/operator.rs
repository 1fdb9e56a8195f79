//! Evaluation of one rTask: the group's expressions on the tile's box.

use std::collections::HashSet;
use std::sync::Arc;

use warpweave_graph::expr::Range;
use warpweave_graph::program::TensorId;
use warpweave_plan::body::Stage;
use warpweave_plan::plan::MemoryPlan;
use warpweave_plan::plan::ROperator;
use warpweave_plan::template::staged::StagedBox;

use super::contraction::{HostContraction, KnownContractions, PackedConstants};
use super::known::{Key, Known};
use super::memory::{Bases, Memory, StagedValues};
use super::opaque::HostOpaque;
use super::points::for_each_point;
use super::stage::HostStage;
use super::staged::{HostStaged, boxes};
use super::vector::{self, Counts, Frame, Group, Scratch, Shared, StageReads, Target};

/// An rOperator prepared for the host.
pub(super) struct HostOperator {
    tiles: Arc<Tiles>,
    staged: Vec<HostStaged>,
    evaluation: Evaluation,
    bases: Box<[i64]>,
}

/// What has been prepared that other operators may have in common.
#[derive(Default)]
pub(super) struct KnownOperators {
    groups: Known<Group>,
    contractions: KnownContractions,
    tiles: HashSet<Arc<Tiles>>,
}

enum Evaluation {
    /// Native matrix products.
    Contraction(Box<HostContraction>),
    /// What a procedure computes of each row.
    Opaque(Box<HostOpaque>, Box<HostStage>),
    /// Instructions over registers.
    Vector(Arc<Group>),
}

/// The boxes of an rOperator's tiles.
#[derive(PartialEq, Eq, Hash)]
struct Tiles {
    extents: Vec<usize>,
    tile: Vec<usize>,
    grid: Vec<usize>,
}

impl Tiles {
    fn new(operator: &ROperator) -> Self {
        let extents = operator.kernel.body().tile_extents();
        Self { extents, tile: operator.kernel.tile().to_vec(), grid: operator.kernel.grid() }
    }

    /// The place of a tile in the grid, and the values of its axes.
    fn find(&self, tile: u32, coordinates: &mut Vec<i64>, ranges: &mut Vec<Range>) {
        coordinates.clear();
        coordinates.resize(self.grid.len(), 0);
        ranges.clear();
        ranges.resize(self.grid.len(), Range::point(0));
        let mut rest = tile as usize;
        for axis in (0..self.grid.len()).rev() {
            let coordinate = rest % self.grid[axis];
            rest /= self.grid[axis];
            let first = coordinate * self.tile[axis];
            let last = (first + self.tile[axis]).min(self.extents[axis]) - 1;
            coordinates[axis] = coordinate as i64;
            ranges[axis] = Range { minimum: first as i64, maximum: last as i64 };
        }
    }

    fn shared(&self) -> Vec<Shared> {
        let axes = self.tile.iter().zip(&self.extents);
        axes.map(|(&tile, &extent)| Shared { most: tile.min(extent), is_whole: tile >= extent }).collect()
    }
}

/// What a thread computes rTasks in; allocated before the first.
#[derive(Default)]
pub(super) struct TaskScratch {
    vector: Scratch,
    staged: Vec<StagedValues>,
    coordinates: Vec<i64>,
    ranges: Vec<Range>,
    box_ranges: Vec<Range>,
}

impl TaskScratch {
    /// What every one of some operators needs.
    pub(super) fn new<'o>(operators: impl Iterator<Item = &'o HostOperator>) -> Self {
        let (mut counts, mut axes, mut staged) = (Counts::default(), 0, 0);
        for operator in operators {
            staged = staged.max(operator.staged.len());
            for group in operator.groups() {
                counts = counts.most(group.counts);
                axes = axes.max(group.axes());
            }
        }
        let vector = Scratch { frame: Frame::new(counts), point: vec![0; axes], plane: vec![0.0; vector::BUFFER] };
        let staged = (0..staged).map(|_| StagedValues::default()).collect();
        Self { vector, staged, ..Self::default() }
    }
}

impl KnownOperators {
    fn tiles(&mut self, tiles: Tiles) -> Arc<Tiles> {
        if let Some(known) = self.tiles.get(&tiles) {
            return Arc::clone(known);
        }
        let tiles = Arc::new(tiles);
        self.tiles.insert(Arc::clone(&tiles));
        tiles
    }

    /// How an operator of stages that share their first axes is evaluated.
    fn evaluation(
        &mut self,
        operator: &ROperator,
        stages: Vec<StageReads>,
        shared: &[Shared],
        host_stages: impl FnOnce() -> Vec<HostStage>,
    ) -> Evaluation {
        let key = Key::new(&stages, shared);
        let known = &mut self.contractions;
        match HostContraction::new(operator, key.as_ref(), (&stages, shared), known, host_stages) {
            Some(contraction) => Evaluation::Contraction(Box::new(contraction)),
            None => Evaluation::Vector(self.groups.prepared(key.as_ref(), || Group::new(stages, shared))),
        }
    }
}

impl HostOperator {
    /// Prepares an operator of a verified plan; what it has in common with others is known.
    pub(super) fn new(operator: &ROperator, memory: &MemoryPlan, known: &mut KnownOperators) -> Self {
        let boxes = boxes(&operator.kernel);
        let mut bases = Bases::default();
        let reads = |stage: &Stage, bases: &mut Bases| StageReads::new(operator, stage, memory, &boxes, bases);
        let staged = operator.kernel.body().staged.iter().zip(boxes.iter());
        let mut own = |(stage, spans): (&Stage, &StagedBox)| {
            let reads = reads(stage, &mut bases);
            HostStaged::new(reads, spans.clone(), &mut bases)
        };
        let staged = staged.map(&mut own).collect();
        let tiles = known.tiles(Tiles::new(operator));
        let host_stage = |stage: &Stage| HostStage::new(operator, stage, memory, &boxes);
        let evaluation = match HostOpaque::new(operator, memory) {
            Some(opaque) => {
                Evaluation::Opaque(Box::new(opaque), Box::new(host_stage(&operator.kernel.body().stages[0])))
            }
            None => {
                let stages = operator.kernel.body().stages.iter().map(|stage| reads(stage, &mut bases)).collect();
                let host_stages = || operator.kernel.body().stages.iter().map(host_stage).collect();
                known.evaluation(operator, stages, &tiles.shared(), host_stages)
            }
        };
        Self { tiles, staged, evaluation, bases: bases.into_boxed() }
    }

    fn groups(&self) -> impl Iterator<Item = &Group> {
        let own = match &self.evaluation {
            Evaluation::Vector(group) => Some(&**group),
            Evaluation::Contraction(_) | Evaluation::Opaque(..) => None,
        };
        self.staged.iter().map(|staged| &staged.group).chain(own)
    }

    /// Packs the constants of a contraction; returns those that are no longer read, each as often as a factor was one.
    pub(super) fn pack_constants(
        &mut self,
        operator: &ROperator,
        memory: &Memory,
        packed: &mut PackedConstants,
    ) -> Vec<TensorId> {
        let Evaluation::Contraction(contraction) = &mut self.evaluation else { return Vec::new() };
        let memory = Memory { staged: Vec::new(), bases: &self.bases, ..*memory };
        contraction.pack_constants(operator, &memory, packed)
    }

    /// Runs the rTask of a tile.
    pub(super) fn run(&self, tile: u32, memory: &Memory, scratch: &mut TaskScratch) {
        let TaskScratch { vector, staged, coordinates, ranges, box_ranges } = scratch;
        self.tiles.find(tile, coordinates, ranges);
        let mut memory = Memory { staged: std::mem::take(staged), bases: &self.bases, ..*memory };
        for (position, own) in self.staged.iter().enumerate() {
            own.compute(position, coordinates, box_ranges, &mut memory, vector);
        }
        match &self.evaluation {
            Evaluation::Vector(group) => {
                vector::run(group, ranges, &memory, vector, &mut Target::Arena(memory.arena));
            }
            Evaluation::Contraction(contraction) => contraction.run(ranges, &memory),
            Evaluation::Opaque(opaque, stage) => {
                let mut point = vec![0; ranges.len()];
                for_each_point(ranges, &mut point, &mut |point| opaque.run_row(stage, point, &memory));
            }
        }
        *staged = memory.staged;
    }
}
