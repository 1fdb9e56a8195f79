//! What becomes of values where a plan lacks one of its waits, shown by the emulator.
//!
//! Run is what leads to the two rTasks that the wait kept apart, once with and once without it. Without it the unit of
//! the rTask that should come first runs only while no other can. An access that nothing orders gets what memory holds,
//! as on a device.

use std::ops::Range;

use warpweave_codegen::emulate::report::LaunchReport;
use warpweave_codegen::emulate::{Device, LaunchOptions, UnorderedValue};
use warpweave_graph::program::TensorId;
use warpweave_graph::{Tensor, TensorType};
use warpweave_plan::plan::RTask;
use warpweave_plan::plan::{ExecutionPlan, Instruction, MemoryPlan, PersistentSegment, Segment};
use warpweave_plan::region::{Region, writes};
use warpweave_plan::streams::polls::Polls;
use warpweave_plan::streams::waits;
use warpweave_plan::streams::waits::PlannedWait;
use warpweave_plan::tables;

use super::error::SessionError;
use super::exchange::{check_inputs, input_types, place, write_inputs};
use super::kernels::Kernels;

/// What the emulator saw.
#[derive(Clone, PartialEq, Debug)]
pub struct Corruption {
    /// rTasks that were run: the two, and all that happens before them.
    pub tasks: usize,
    /// The rTask that should have come first.
    pub first: RTask,
    /// Its unit, which was held back.
    pub held_back: usize,
    /// What the emulator reports without the wait.
    pub report: LaunchReport,
    /// What the two rTasks write, where some of it is wrong.
    pub tiles: Vec<CorruptTile>,
}

/// What an rTask writes into a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct CorruptTile {
    /// The rTask.
    pub task: RTask,
    /// The tensor.
    pub tensor: TensorId,
    /// Its type.
    pub ty: TensorType,
    /// Elements that the rTask writes, or a few more.
    pub elements: usize,
    /// The wrong ones.
    pub wrong: Vec<WrongElement>,
}

/// An element that is not what it is with the wait.
#[derive(Clone, PartialEq, Debug)]
pub struct WrongElement {
    /// Its position in the tensor, a number a dimension.
    pub index: Vec<usize>,
    /// Its value.
    pub found: f64,
    /// Its value with the wait.
    pub right: f64,
}

/// Emulates the plan of `kernels` with and without a wait, as far as two rTasks that are not ordered without it.
pub fn corruption(
    kernels: &Kernels,
    weights: &[u8],
    inputs: &[Tensor],
    wait: PlannedWait,
    conflict: (RTask, RTask),
    seed: u64,
) -> Result<Corruption, SessionError> {
    let plan = kernels.plan.plan.plan();
    let Some(segment) = plan.only_persistent() else {
        return Err(SessionError::Internal("the plan is not one persistent program".to_owned()));
    };
    let memory = &plan.memory;
    check_inputs(input_types(memory), inputs)?;
    let polls = Polls::of(segment, memory);
    let part = waits::leading_to(segment, &polls, &[conflict.0, conflict.1]);
    let before_one = waits::leading_to(segment, &polls, &[conflict.0]);
    let first = if unit_of(&before_one, conflict.1).is_some() { conflict.1 } else { conflict.0 };
    let held_back = unit_of(&part, first).ok_or_else(|| SessionError::Internal("an rTask does not run".to_owned()))?;

    let launch = Launch { kernels, weights, inputs, memory };
    let (report, right) = launch.run(&part, &LaunchOptions::seeded(seed))?;
    if !report.is_clean() {
        return Err(SessionError::Violations { seed, report: report.to_string().trim_end().to_owned() });
    }
    let mut lacking = part.clone();
    lacking.streams[wait.unit].remove(wait.position);
    let options = LaunchOptions {
        unordered: UnorderedValue::Found,
        starved: Some(held_back as u32),
        ..LaunchOptions::seeded(seed)
    };
    let (report, found) = launch.run(&lacking, &options)?;

    let mut tiles = Vec::new();
    for task in [conflict.0, conflict.1] {
        let regions = writes(&segment.operators[task.operator], memory, task);
        tiles.extend(regions.iter().filter_map(|region| corrupt_tile(memory, task, region, &found, &right)));
    }
    let is_run = |instruction: &&Instruction| matches!(instruction, Instruction::Run(_));
    let tasks = part.streams.iter().flatten().filter(is_run).count();
    Ok(Corruption { tasks, first, held_back, report, tiles })
}

/// The unit that runs an rTask, if one does.
fn unit_of(segment: &PersistentSegment, task: RTask) -> Option<usize> {
    segment.streams.iter().position(|stream| stream.contains(&Instruction::Run(task)))
}

struct Launch<'a> {
    kernels: &'a Kernels,
    weights: &'a [u8],
    inputs: &'a [Tensor],
    memory: &'a MemoryPlan,
}

impl Launch<'_> {
    /// The report of a session's first launch, and the arena after it.
    fn run(
        &self,
        segment: &PersistentSegment,
        options: &LaunchOptions,
    ) -> Result<(LaunchReport, Vec<u8>), SessionError> {
        let Self { kernels, weights, inputs, memory } = self;
        let (arena, counters) = (memory.arena_bytes as usize, segment.counters.len());
        let segments = vec![Segment::Persistent(segment.clone())];
        let plan = ExecutionPlan { segments, memory: MemoryPlan::default() };
        let tables = tables::encode(&plan, &kernels.plan.bindings, kernels.plan.operands.clone());
        let mut device = Device::new(&kernels.program, &tables, weights, arena, counters)
            .map_err(|error| SessionError::Internal(error.to_string()))?;
        device.restart(1);
        write_inputs(memory, inputs, device.arena_mut());
        let initialised: Vec<Range<usize>> = memory.live_in().map(|tensor| place(memory, tensor)).collect();
        let report = device.launch(&initialised, options);
        Ok((report, device.arena().to_vec()))
    }
}

/// What of a region differs in two arenas, if anything does.
fn corrupt_tile(memory: &MemoryPlan, task: RTask, region: &Region, found: &[u8], right: &[u8]) -> Option<CorruptTile> {
    let planned = &memory.tensors[region.root];
    let (start, pitch) = (place(memory, region.root).start, planned.pitch());
    let strides = planned.ty.shape.strides();
    let bytes = planned.ty.element.bytes();
    let value = |arena: &[u8], at: usize| {
        let single = TensorType::new(planned.ty.element, Vec::new());
        let bytes = arena[at..at + bytes].to_vec();
        Tensor::from_bytes(single, bytes.into()).map_or(f64::NAN, |tensor| tensor.to_f64()[0])
    };
    let mut wrong = Vec::new();
    for index in points(region) {
        let element: usize = index.iter().zip(&strides).map(|(at, stride)| at * stride).sum();
        let at = start + element * pitch;
        if found[at..at + bytes] != right[at..at + bytes] {
            wrong.push(WrongElement { index, found: value(found, at), right: value(right, at) });
        }
    }
    let elements = region.elements() as usize;
    (!wrong.is_empty()).then(|| CorruptTile { task, tensor: region.root, ty: planned.ty.clone(), elements, wrong })
}

/// The points of a box, row-major.
fn points(region: &Region) -> Vec<Vec<usize>> {
    region.ranges.iter().fold(vec![Vec::new()], |points, range| {
        let along = range.minimum as usize..=range.maximum as usize;
        points.iter().flat_map(|point| along.clone().map(move |at| [&point[..], &[at]].concat())).collect()
    })
}
