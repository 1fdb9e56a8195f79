//! Costs from the architecture model alone: what the kernel does against what the device can do, the latencies that a
//! block waits for one after another, and the cost of a dependent step.

use crate::cost::instructions::COMBINE_LATENCY;
use crate::cost::instructions::MEETING;
use crate::cost::instructions::work;
use crate::template::contraction::split::SPLITS;
use crate::template::contraction::split::may_split;
use warpweave_graph::ElementType;
use warpweave_graph::expr::TensorExpr;
use warpweave_graph::program::TensorProgram;

use warpweave_graph::arena::Id;
use warpweave_graph::program::TensorId;

use crate::cost::KernelCost;
use crate::cost::arch::GpuArch;
use crate::cost::counts::{KernelCounts, Sampling};
use crate::cost::traffic::{bytes, moved_bytes};
use crate::template::contraction::shortlist::shortlist;
use crate::template::contraction::split::{SplitBodies, split, split_params};
use crate::template::kernel_counts;
use crate::template::staged::cost as phase_cost;
use crate::template::staged::cost::staged_tile_cycles;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::contraction::operand_staging as boxed;
use warpweave_plan::template::contraction::operand_staging::{Filling, is_boxed, unboxed};
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::resident::{kept_elements, shuffles};
use warpweave_plan::template::row::rounds::{Round, rounds};
use warpweave_plan::template::staged;
use warpweave_plan::template::{
    BLOCK_THREADS, BLOCK_WARPS, ContractionShape, Pipeline, RowThreads, ScheduleParams, Template,
};

/// 32-bit integer multiply-adds that a multiprocessor of any generation since Volta starts a cycle (CUDA C++ Programming
/// Guide, throughput of native arithmetic instructions).
const INTEGER_MULTIPLY_ADDS: f64 = 64.0;
/// Instructions for an element's index and store after a contraction's reduction, beside its own operations.
const STORE_INSTRUCTIONS: f64 = 8.0;

/// Cycles that a reduction beside another adds to combining the lanes of a block's warps: five shuffles a warp.
const SHUFFLE_CYCLES: f64 = 5.0 * BLOCK_WARPS as f64;

/// Cycles an operation, one after another, of a thread that finishes a row: functions count several.
const FINISH_CYCLES: f64 = 10.0;
/// Instructions that fetch a run of neighbours: an address and a load.
const FETCH_INSTRUCTIONS: f64 = 2.0;

/// Tiles of a staged group whose loads are counted.
const MOST_COUNTED: usize = 4;

/// Bytes of shared memory that are left to a program's entry.
const ENTRY_BYTES: usize = 4 << 10;
/// Bytes of a mark.
const MARK_BYTES: f64 = 4.0;

/// Prices kernels for a device.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EstimatedCost {
    /// The device.
    pub arch: GpuArch,
}

impl KernelCost for EstimatedCost {
    fn microseconds(&self, program: &TensorProgram, body: &GroupBody, params: &ScheduleParams) -> f64 {
        if !body.staged.is_empty() {
            return self.staged_price(program, body, params);
        }
        let count = params.parts();
        if count > 1
            && let Some(bodies) = split(body, count, TensorId::from_index(program.tensors.len()))
            && let Some(params) = split_params(params, &bodies)
        {
            return self.split_price(program, &bodies, &params);
        }
        self.price(bytes(program, body), body, params, &counts(body, params))
    }

    fn task_microseconds(&self, body: &GroupBody, params: &ScheduleParams) -> f64 {
        if is_boxed(body, params) {
            let cycles = self.filling_cycles(body, params) / self.arch.cycles_per_microsecond.value;
            return cycles + self.task_microseconds(&unboxed(body, params), params);
        }
        if !body.staged.is_empty() {
            return staged_tile_cycles(body, params, &self.arch) / self.arch.cycles_per_microsecond.value;
        }
        let kernel = Kernel { arch: &self.arch, body, params, counts: counts(body, params) };
        kernel.tile_cycles() / self.arch.cycles_per_microsecond.value
    }

    fn early_microseconds(&self, body: &GroupBody, params: &ScheduleParams, sides: &[AxisClass]) -> f64 {
        let Template::Contraction(shape) = params.template else { return 0.0 };
        if sides.is_empty() {
            return 0.0;
        }
        let body = &*unboxed(body, params);
        let kernel = Kernel { arch: &self.arch, body, params, counts: counts(body, params) };
        let elements = |sides: &[AxisClass]| sides.iter().map(|side| shape.length(*side)).sum::<usize>() as f64;
        let share = elements(sides) / elements(&[AxisClass::Row, AxisClass::Column]);
        share * kernel.step_fetch(&shape) / self.arch.cycles_per_microsecond.value
    }

    fn marks_microseconds(&self, values: f64, tasks: u32) -> f64 {
        self.arch.cycles_of_bytes(values * MARK_BYTES, tasks as usize) / self.arch.cycles_per_microsecond.value
    }

    fn best(&self, program: &TensorProgram, body: &GroupBody) -> Option<(ScheduleParams, f64)> {
        self.choices(program, body).into_iter().min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn variants(&self, program: &TensorProgram, body: &GroupBody, shapes: &[ContractionShape]) -> Vec<ScheduleParams> {
        self.best_on_shares(program, body, shapes)
    }
}

impl EstimatedCost {
    /// All that there is to choose from for a body with estimated microseconds: what was left of the rules' parameters in
    /// one part, then for every number of parts the cheapest. Empty if no kernel takes the body.
    pub fn choices(&self, program: &TensorProgram, body: &GroupBody) -> Vec<(ScheduleParams, f64)> {
        let mut found: Vec<(ScheduleParams, f64)> = self.priced(program, body).collect();
        let cheapest = found.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(params, _)| params.clone());
        if let Some(whole) = cheapest.filter(|_| body.staged.is_empty()) {
            found.extend(SPLITS.into_iter().filter_map(|count| self.best_split(program, body, &whole, count)));
        }
        found
    }

    /// Cycles that filling the boxes of a contraction takes beyond fetching its factors step by step: the first round takes
    /// the place of the first step's fetch, and all that is fetched later comes from shared memory. Without end where the
    /// device has not so much of that.
    fn filling_cycles(&self, body: &GroupBody, params: &ScheduleParams) -> f64 {
        let (arch, grid) = (&self.arch, params.grid(body));
        let boxes = boxed::boxes(body, params).expect("a contraction has boxes only where they fit");
        let tiles = match params.template {
            Template::Contraction(shape) => shape.shared_bytes(),
            Template::Pointwise { .. }
            | Template::Row(_)
            | Template::Kept
            | Template::Staged
            | Template::Attention { .. }
            | Template::Opaque => unreachable!("contractions read from boxes"),
        };
        if tiles + staged::bytes(&boxes) + ENTRY_BYTES > arch.shared_bytes_per_block.value {
            return f64::INFINITY;
        }
        let rounds: usize = boxes.iter().map(|spans| Filling::of(spans, &grid).rounds).sum();
        let bytes = arch.cycles_of_bytes(staged::bytes(&boxes) as f64, params.tiles(body));
        (rounds as f64 - 1.0) * arch.load_latency_cycles.value + bytes + MEETING + arch.shared_latency_cycles.value
    }

    /// The staged kernels of a body with their prices: those that cost least before their loads are counted.
    pub(crate) fn staged_choices(&self, program: &TensorProgram, body: &GroupBody) -> Vec<(ScheduleParams, f64)> {
        let price = |params: ScheduleParams| {
            let time = self.staged_price(program, body, &params);
            (params, time)
        };
        phase_cost::shortlist(body, MOST_COUNTED, &self.arch).into_iter().map(price).collect()
    }

    fn staged_price(&self, program: &TensorProgram, body: &GroupBody, params: &ScheduleParams) -> f64 {
        let arch = &self.arch;
        let traffic = bytes(program, body) as f64 / arch.memory_bytes_per_microsecond.value;
        let waves = params.tiles(body).div_ceil(arch.multiprocessors.value) as f64;
        let tiles = waves * staged_tile_cycles(body, params, arch) / arch.cycles_per_microsecond.value;
        arch.step_microseconds.value + traffic.max(tiles)
    }

    /// What was left to choose from for a body, in one part, cheapest first.
    pub fn ranked(&self, program: &TensorProgram, body: &GroupBody) -> Vec<(ScheduleParams, f64)> {
        let mut priced: Vec<(ScheduleParams, f64)> = self.priced(program, body).collect();
        priced.sort_by(|a, b| a.1.total_cmp(&b.1));
        priced
    }

    fn priced<'b>(
        &'b self,
        program: &'b TensorProgram,
        body: &'b GroupBody,
    ) -> Box<dyn Iterator<Item = (ScheduleParams, f64)> + 'b> {
        if body.staged.is_empty() {
            return Box::new(self.shortlisted(bytes(program, body), body));
        }
        Box::new(self.staged_choices(program, body).into_iter())
    }

    fn shortlisted<'b>(&'b self, moved: u64, body: &'b GroupBody) -> impl Iterator<Item = (ScheduleParams, f64)> + 'b {
        shortlist(body, &self.arch).into_iter().map(move |(params, counts)| {
            let time = self.price(moved, body, &params, &counts);
            (params, time)
        })
    }

    fn cheapest(&self, moved: u64, body: &GroupBody) -> Option<(ScheduleParams, f64)> {
        self.shortlisted(moved, body).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The cheapest choice in `count` parts, where the whole leaves most of the device idle.
    fn best_split(
        &self,
        program: &TensorProgram,
        body: &GroupBody,
        whole: &ScheduleParams,
        count: usize,
    ) -> Option<(ScheduleParams, f64)> {
        if !may_split(body, whole.tiles(body), count, self.arch.multiprocessors.value) {
            return None;
        }
        Contraction::of(body)?;
        let bodies = split(body, count, TensorId::from_index(program.tensors.len()))?;
        let (parts, _) = self.cheapest(moved_parts(program, &bodies).0, &bodies.parts)?;
        let Template::Contraction(shape) = parts.template else { return None };
        let template = Template::Contraction(ContractionShape { parts: count, ..shape });
        let params = ScheduleParams { template, tile: parts.tile[1..].to_vec() };
        let time = self.split_price(program, &bodies, &split_params(&params, &bodies)?);
        Some((params, time))
    }

    /// Both rOperators of a split group.
    fn split_price(&self, program: &TensorProgram, bodies: &SplitBodies, params: &[ScheduleParams; 2]) -> f64 {
        let moved = moved_parts(program, bodies);
        let of = |body: &GroupBody, params: &ScheduleParams, moved: u64| {
            self.price(moved, body, params, &kernel_counts(body, params, Sampling::COARSE))
        };
        of(&bodies.parts, &params[0], moved.0) + of(&bodies.sum, &params[1], moved.1)
    }

    fn price(&self, moved: u64, body: &GroupBody, params: &ScheduleParams, counts: &KernelCounts) -> f64 {
        let arch = &self.arch;
        let traffic = moved as f64 / arch.memory_bytes_per_microsecond.value;
        let waves = params.tiles(body).div_ceil(arch.multiprocessors.value) as f64;
        let kernel = Kernel { arch, body, params, counts: *counts };
        let tiles = waves * kernel.tile_cycles() / arch.cycles_per_microsecond.value;
        arch.step_microseconds.value + traffic.max(tiles)
    }
}

/// What a kernel does, where its price follows from that.
fn counts(body: &GroupBody, params: &ScheduleParams) -> KernelCounts {
    match params.template {
        Template::Kept | Template::Staged | Template::Attention { .. } => KernelCounts::default(),
        Template::Pointwise { .. } | Template::Row(_) | Template::Contraction(_) | Template::Opaque => {
            kernel_counts(body, params, Sampling::COARSE)
        }
    }
}

/// Bytes that both rOperators of a split group move; the parts themselves stay in the second-level cache.
fn moved_parts(program: &TensorProgram, bodies: &SplitBodies) -> (u64, u64) {
    let ty = |tensor: TensorId| program.tensors.get(tensor).map_or(&bodies.ty, |known| &known.ty);
    let parts = bodies.ty.bytes() as u64;
    (moved_bytes(&bodies.parts, ty) - parts, moved_bytes(&bodies.sum, ty) - parts)
}

/// A kernel whose tiles are priced.
struct Kernel<'k> {
    arch: &'k GpuArch,
    body: &'k GroupBody,
    params: &'k ScheduleParams,
    counts: KernelCounts,
}

impl Kernel<'_> {
    /// Cycles of one tile on a multiprocessor of its own, while the others that have tiles run theirs.
    fn tile_cycles(&self) -> f64 {
        match self.params.template {
            Template::Pointwise { per_thread } => self.pointwise(per_thread),
            Template::Row(threads) => self.row(threads),
            Template::Kept => self.kept(),
            Template::Opaque => {
                let transfer = self.transfer(self.counts.load_sectors + self.counts.store_sectors);
                crate::template::opaque::row_cycles(self.body, self.arch, MEETING).max(transfer)
            }
            Template::Contraction(shape) => self.contraction(&shape),
            Template::Staged | Template::Attention { .. } => staged_tile_cycles(self.body, self.params, self.arch),
        }
    }

    fn tiles(&self) -> f64 {
        self.params.tiles(self.body).max(1) as f64
    }

    /// Cycles that sectors take into, or out of, one multiprocessor; all sectors of the grid are given.
    fn transfer(&self, sectors: f64) -> f64 {
        let tiles = self.params.tiles(self.body).max(1);
        self.arch.cycles_of_bytes(sectors / self.tiles() * self.arch.transaction_bytes.value as f64, tiles)
    }

    fn pointwise(&self, per_thread: usize) -> f64 {
        let (lanes, latency) = (self.arch.multiply_adds_per_cycle.value, self.arch.load_latency_cycles.value);
        let stages = &self.body.stages;
        let points = per_thread as f64 * BLOCK_THREADS as f64;
        let per_point: f64 = stages.iter().map(|stage| reduced(&stage.expr) * work(&stage.expr)).sum();
        let serial: f64 = stages.iter().map(|stage| reduced(&stage.expr) * latency / 8.0).sum();
        let traffic = self.transfer(self.counts.load_sectors + self.counts.store_sectors);
        latency + (serial + points * per_point / lanes).max(traffic)
    }

    fn row(&self, threads: RowThreads) -> f64 {
        let latency = self.arch.load_latency_cycles.value;
        let passes = match threads {
            RowThreads::Warp => self.params.tile.iter().product::<usize>().div_ceil(BLOCK_WARPS),
            RowThreads::Block => 1,
        };
        let pass: f64 = rounds(self.body).iter().map(|round| self.round(round, threads)).sum();
        let transfer = self.transfer(self.counts.load_sectors + self.counts.store_sectors);
        (passes as f64 * pass).max(latency + transfer)
    }

    /// Rows whose constants are on chip: the other factors arrive, every row is multiplied and combined across lanes, then a
    /// thread a row finishes all rows at once.
    fn kept(&self) -> f64 {
        let (arch, latency) = (self.arch, self.arch.load_latency_cycles.value);
        let rows = self.params.tile.iter().product::<usize>();
        let passes = rows.div_ceil(BLOCK_WARPS) as f64;
        let bytes = 4.0 * kept_elements(self.body, self.params) as f64;
        let read = bytes / arch.shared_bytes_per_cycle.value as f64;
        let of_round = |round: &Round| {
            let lead = &self.body.stages[round.stages.start].expr;
            let (points, sums) = (rows as f64 * reduced(lead), round.stages.len());
            let arithmetic = points * self.round_work(round) / arch.multiply_adds_per_cycle.value;
            (arithmetic, passes * (shuffles(sums) * BLOCK_WARPS) as f64)
        };
        let reducing = |round: &Round| self.body.stages[round.stages.start].expr.reducer.is_some();
        let rounds: Vec<(f64, f64)> = rounds(self.body).iter().filter(|round| reducing(round)).map(of_round).collect();
        let (arithmetic, combined) = rounds.iter().fold((0.0, 0.0), |sum, round| (sum.0 + round.0, sum.1 + round.1));
        let operations = |expr: &TensorExpr| expr.result().operations() as f64;
        let longest = self.body.stages.iter().map(|stage| operations(&stage.expr)).fold(0.0, f64::max);
        latency + (read + combined).max(arithmetic) + COMBINE_LATENCY + 2.0 * MEETING + FINISH_CYCLES * longest
    }

    /// Cycles of one round on the rows that a block takes at once.
    fn round(&self, round: &Round, threads: RowThreads) -> f64 {
        let (lanes, latency) = (self.arch.multiply_adds_per_cycle.value, self.arch.load_latency_cycles.value);
        let (rows, width, combine) = match threads {
            RowThreads::Warp => (BLOCK_WARPS as f64, 32.0, 150.0),
            RowThreads::Block => (1.0, BLOCK_THREADS as f64, 350.0),
        };
        let first = round.stages.start;
        let lead = &self.body.stages[first].expr;
        let extra = self.body.extra_axes(first).into_iter().map(|axis| lead.axes[axis].extent as f64);
        let length = reduced(lead) * extra.product::<f64>();
        let trips = (length / (width * round.run as f64)).ceil();
        let arithmetic = rows * length * self.round_work(round) / lanes;
        let beside = (round.stages.len() - 1) as f64 * SHUFFLE_CYCLES;
        combine + beside + (trips * latency / 4.0).max(arithmetic) + latency
    }

    /// Instructions a point of a round.
    fn round_work(&self, round: &Round) -> f64 {
        if round.run == 1 {
            return self.body.stages[round.stages.clone()].iter().map(|stage| work(&stage.expr)).sum();
        }
        let own = self.body.stages[round.stages.clone()].iter().map(|stage| stage.expr.body.operations() as f64);
        let fetched = round.reads(self.body).len() as f64 * FETCH_INSTRUCTIONS / round.run as f64;
        own.sum::<f64>() + fetched
    }

    fn contraction(&self, shape: &ContractionShape) -> f64 {
        let (arch, latency) = (self.arch, self.arch.load_latency_cycles.value);
        let lead = &self.body.stages[0].expr;
        let steps = self.steps(shape);
        let fetch = self.step_fetch(shape);
        let compute = self.step_cycles(shape, work(lead)) + arch.shared_latency_cycles.value;
        let loop_cycles = match shape.pipeline {
            Pipeline::InTurn => steps * (latency + fetch + compute + 2.0 * MEETING),
            Pipeline::Registers => latency + fetch + steps * (compute + MEETING).max(latency + fetch),
            Pipeline::Asynchronous { stages } => {
                let ahead = (latency + fetch) / (stages as f64 - 1.0);
                latency + fetch + steps * (compute + MEETING).max(fetch).max(ahead)
            }
        };
        let elements = (shape.rows * shape.columns * BLOCK_THREADS) as f64;
        let after = elements * STORE_INSTRUCTIONS / arch.lanes.value as f64;
        loop_cycles + after.max(self.transfer(self.counts.store_sectors)) + latency
    }

    fn steps(&self, shape: &ContractionShape) -> f64 {
        (reduced(&self.body.stages[0].expr) / shape.step as f64).ceil().max(1.0)
    }

    /// Cycles in which both factors of one step arrive, the latency left out.
    fn step_fetch(&self, shape: &ContractionShape) -> f64 {
        self.transfer(self.counts.load_sectors) / self.steps(shape)
    }

    /// Cycles of the products of one step, and of what brings the next: the slowest of multiply-adds, shared memory and
    /// instructions.
    fn step_cycles(&self, shape: &ContractionShape, work: f64) -> f64 {
        let multiply_adds = (shape.rows * shape.columns * shape.step * BLOCK_THREADS) as f64;
        let reads = shape.rows / shape.row_width() + shape.columns / shape.column_width;
        let loads = (reads * shape.step * BLOCK_THREADS) as f64;
        let fetched = ((shape.length(AxisClass::Row) + shape.length(AxisClass::Column)) * shape.step) as f64;
        let wavefronts = self.wavefronts(shape) * shape.step as f64;
        let instructions = multiply_adds + loads + fetched * work;
        let lanes = self.arch.lanes.value as f64;
        let rate = match self.body.stages[0].expr.body_element() {
            ElementType::I32 => INTEGER_MULTIPLY_ADDS.min(self.arch.multiply_adds_per_cycle.value),
            _ => self.arch.multiply_adds_per_cycle.value,
        };
        (multiply_adds / rate).max(wavefronts).max(instructions / lanes)
    }

    /// Wavefronts of a block's reads from shared memory a point of the reduction.
    fn wavefronts(&self, shape: &ContractionShape) -> f64 {
        (BLOCK_WARPS * (shape.rows + shape.columns)) as f64 * self.counts.conflict_degree()
    }
}

fn reduced(expr: &TensorExpr) -> f64 {
    expr.reduced().map(|axis| expr.axes[axis].extent as f64).product()
}
