//! What becomes of values where a plan lacks one of its waits, shown by the emulator or by machine code.
//!
//! Run is what leads to the two rTasks that the wait kept apart, once with and once without it. Without it the unit of
//! the rTask that should come first runs only while no other can. An access that nothing orders gets what memory holds,
//! as on a device.

use std::ops::Range;
use std::sync::Arc;

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
use warpweave_plan::tables::{self, Tables};

use super::Session;
use super::error::SessionError;
use super::exchange::{check_inputs, input_types, place, write_inputs};
use super::kernels::{Kernels, load};
use super::machine_code::{MachineCodeOptions, MachineCodeSession};
use super::open::OpenOptions;
use crate::bundle::{DeviceCode, TargetPlan};
use crate::sass::execute::failure::MachineCodeError;
use crate::sass::execute::grid::ExecuteOptions;

/// What is seen without the wait.
#[derive(Clone, PartialEq, Debug)]
pub struct Corruption {
    /// rTasks that were run: the two, and all that happens before them.
    pub tasks: usize,
    /// The rTask that should have come first.
    pub first: RTask,
    /// Its unit, which was held back.
    pub held_back: usize,
    /// Violations that the emulator counts, or the one fault that ends a launch of machine code.
    pub violations: u64,
    /// The first of them.
    pub example: Option<String>,
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

/// Two rTasks that nothing orders without a wait, and what leads to them.
struct Race {
    /// Those and what leads to them, with the wait.
    whole: PersistentSegment,
    /// The same without it.
    lacking: PersistentSegment,
    tasks: [RTask; 2],
    first: RTask,
    held_back: usize,
}

impl Race {
    fn of(plan: &ExecutionPlan, wait: PlannedWait, conflict: (RTask, RTask)) -> Result<Self, SessionError> {
        let Some(segment) = plan.only_persistent() else {
            return Err(SessionError::Internal("the plan is not one persistent program".to_owned()));
        };
        let polls = Polls::of(segment, &plan.memory);
        let whole = waits::leading_to(segment, &polls, &[conflict.0, conflict.1]);
        let before_one = waits::leading_to(segment, &polls, &[conflict.0]);
        let first = if unit_of(&before_one, conflict.1).is_some() { conflict.1 } else { conflict.0 };
        let held_back = unit_of(&whole, first);
        let held_back = held_back.ok_or_else(|| SessionError::Internal("an rTask does not run".to_owned()))?;
        let mut lacking = whole.clone();
        lacking.streams[wait.unit].remove(wait.position);
        Ok(Self { whole, lacking, tasks: [conflict.0, conflict.1], first, held_back })
    }

    /// What differs in the arenas that the launches with and without the wait leave.
    fn corruption(
        &self,
        memory: &MemoryPlan,
        [right, found]: [&[u8]; 2],
        (violations, example): (u64, Option<String>),
    ) -> Corruption {
        let mut tiles = Vec::new();
        for task in self.tasks {
            let regions = writes(&self.whole.operators[task.operator], memory, task);
            tiles.extend(regions.iter().filter_map(|region| corrupt_tile(memory, task, region, found, right)));
        }
        let is_run = |instruction: &&Instruction| matches!(instruction, Instruction::Run(_));
        let tasks = self.whole.streams.iter().flatten().filter(is_run).count();
        Corruption { tasks, first: self.first, held_back: self.held_back, violations, example, tiles }
    }
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
    let memory = &plan.memory;
    check_inputs(input_types(memory), inputs)?;
    let race = Race::of(plan, wait, conflict)?;
    let launch = Launch { kernels, weights, inputs, memory };
    let (report, right) = launch.run(&race.whole, &LaunchOptions::seeded(seed))?;
    if !report.is_clean() {
        return Err(SessionError::Violations { seed, report: report.to_string().trim_end().to_owned() });
    }
    let options = LaunchOptions {
        unordered: UnorderedValue::Found,
        starved: Some(race.held_back as u32),
        ..LaunchOptions::seeded(seed)
    };
    let (report, found) = launch.run(&race.lacking, &options)?;
    let example = report.violations.first().map(ToString::to_string);
    Ok(race.corruption(memory, [&right, &found], (report.total, example)))
}

/// Interleavings of machine code that are tried, the last ones with weak memory.
const INTERLEAVINGS: u64 = 8;

/// Executes machine code that follows a plan with and without a wait, as [`corruption`] emulates kernels. Tried are one
/// launch with the memory of this machine and some with weak memory, until one shows something.
pub fn machine_code_corruption(
    code: &DeviceCode,
    plan: &TargetPlan,
    weights: &Arc<[u8]>,
    inputs: &[Tensor],
    wait: PlannedWait,
    conflict: (RTask, RTask),
    seed: u64,
) -> Result<Corruption, SessionError> {
    let memory = &plan.plan.plan().memory;
    let race = Race::of(plan.plan.plan(), wait, conflict)?;
    let starved = Some(race.held_back as u32);
    let arena_after = |session: &mut MachineCodeSession| {
        let [arena, ..] = session.left_in_memory();
        arena
    };
    let open = |segment: &PersistentSegment, execute: ExecuteOptions| {
        let image = load(code)?;
        let wait_limit = OpenOptions::default().wait_limit;
        let options = MachineCodeOptions { execute, interleavings: 1, seed, wait_limit };
        let mut session = MachineCodeSession::new(image, code, plan.clone(), weights, options)?;
        session.set_streams(&tables_of(segment, plan));
        Ok::<MachineCodeSession, SessionError>(session)
    };
    let mut session = open(&race.whole, ExecuteOptions::default())?;
    session.run(inputs)?;
    let right = arena_after(&mut session);
    let mut session = open(&race.lacking, ExecuteOptions::default())?;
    let mut shown = None;
    for interleaving in 0..INTERLEAVINGS {
        let weak = interleaving.checked_sub(1).map(|number| seed.wrapping_add(number));
        session.set_execution(ExecuteOptions { starved, weak, ..ExecuteOptions::default() });
        let (found, fault) = match session.run(inputs) {
            Ok(_) => (arena_after(&mut session), None),
            // Behind a fault memory is half written.
            Err(SessionError::MachineCode(MachineCodeError::Launch(fault))) => (right.clone(), Some(fault.to_string())),
            Err(error) => (right.clone(), Some(error.to_string())),
        };
        let corruption = race.corruption(memory, [&right, &found], (fault.is_some().into(), fault));
        let shows = corruption.violations > 0 || !corruption.tiles.is_empty();
        shown = Some(corruption);
        if shows {
            break;
        }
    }
    shown.ok_or_else(|| SessionError::Internal("no interleaving was tried".to_owned()))
}

/// The tables of some of a plan's rTasks.
fn tables_of(segment: &PersistentSegment, plan: &TargetPlan) -> Tables {
    let segments = vec![Segment::Persistent(segment.clone())];
    let part = ExecutionPlan { segments, memory: MemoryPlan::default() };
    tables::encode(&part, &plan.bindings, plan.operands.clone())
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
        let tables = tables_of(segment, &kernels.plan);
        let mut device = Device::new(&kernels.program, &tables, weights, arena, counters)
            .map_err(|error| SessionError::Internal(error.to_string()))?;
        device.restart(1);
        write_inputs(memory, inputs, device.arena_mut());
        let initialised: Vec<Range<usize>> = memory.live_in().map(|tensor| place(memory, tensor)).collect();
        let report =
            device.launch(&initialised, &LaunchOptions { tensor_core: kernels.target.tensor_core(), ..*options });
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
