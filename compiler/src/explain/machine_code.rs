//! What the machine code of a plan's kernels costs, beside what the search took it to cost.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use warpweave_codegen::print::ENTRY_NAME;
use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::schedule::simulation::plan::simulate_plan;
use warpweave_fusion::schedule::simulation::{Jitter, Simulation};
use warpweave_graph::arena::{Arena, Id};
use warpweave_plan::plan::backend::Backend;
use warpweave_plan::plan::{ExecutionPlan, Instruction, OperatorId, Segment};
use warpweave_plan::tables::{Binding, INSTRUCTION_WORDS, OPCODE_END, OPCODE_RUN, STREAM_WORDS, Tables, node_name};
use warpweave_plan::template::product_work::ProductWork;
use warpweave_runtime::bundle::TargetPlan;
use warpweave_runtime::cubin::{CubinError, CubinInfo};
use warpweave_runtime::sass::error::CodeError;
use warpweave_runtime::sass::machine::MachineModel;
use warpweave_runtime::sass::price::{Dispatch, PriceError, Runner, Subject, Task, TaskPrice, dispatch_cycles, price};
use warpweave_runtime::sass::program::MachineCode;
use warpweave_runtime::sass::simulate::Surroundings;
use warpweave_runtime::sass::{Sass, SassError};

use crate::compiler::CompiledCode;
use crate::error::BuildError;
use crate::explain::code_fetches::{CodeFetches, kernel_bytes};
use crate::explain::kernel_text::KernelText;
use crate::prices::machine_model;

/// Why machine code is not priced.
#[derive(Debug, thiserror::Error)]
pub enum MachineCodeError {
    /// The code cannot be disassembled.
    #[error(transparent)]
    Disassemble(#[from] SassError),
    /// The listing cannot be read.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// The cubin cannot be read.
    #[error(transparent)]
    Cubin(#[from] CubinError),
}

/// Why kernels that are compiled to be explained have no code that can be read.
#[derive(Debug, thiserror::Error)]
pub enum CompiledCodeError {
    /// There is no kernel, or it cannot be compiled.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Its code cannot be read.
    #[error(transparent)]
    MachineCode(#[from] MachineCodeError),
}

/// A kernel's prices.
#[derive(Debug)]
pub struct KernelPrice {
    /// Position among the program's kernels.
    pub kernel: u32,
    /// Of the rOperators with this kernel, the one whose rTask takes longest by the search; of these, one whose call runs
    /// most rTasks.
    pub operator: OperatorId,
    /// All rOperators with this kernel.
    pub operators: Vec<OperatorId>,
    /// Their rTasks.
    pub tasks: u64,
    /// Units that run an rTask at the same time as one of that rOperator's does, the unit of that one included.
    pub active: u64,
    /// What the search takes one rTask of that rOperator to cost, in microseconds.
    pub searched: f64,
    /// What its code costs.
    pub price: Result<TaskPrice, PriceError>,
    /// The same in microseconds.
    pub priced: Option<f64>,
    /// What the search takes all rTasks of the kernel to cost, in microseconds.
    pub searched_all: f64,
    /// What their code costs.
    pub priced_all: Option<f64>,
    /// Registers of a thread of the entry that runs it.
    pub registers: u32,
    /// Registers of a thread that its own function uses.
    pub own_registers: u32,
    /// Its instructions.
    pub text: KernelText,
    /// Multiply-adds of the products of all rOperators.
    pub products: ProductWork,
    /// Bytes of local memory of its own that a thread uses in it: not 0 where registers were spilled.
    pub local_bytes: u32,
    /// What a stream takes between such an rTask and the next; `None` as [`dispatch_cycles`] has it.
    pub dispatch: Option<Dispatch>,
}

/// The code of a plan and the prices of its kernels.
#[derive(Debug)]
pub struct PricedCode {
    /// The instructions.
    pub code: MachineCode,
    /// The multiprocessor.
    pub machine: MachineModel,
    /// The prices, by kernel.
    pub kernels: Vec<KernelPrice>,
    /// Microseconds of the plan with the search's prices, launch left out.
    pub searched: f64,
    /// Microseconds of the same schedule if rTasks take what their code costs, where every kernel has a price.
    pub priced: Option<f64>,
    /// The code of its kernels, and what the busiest unit fetches of it.
    pub fetches: CodeFetches,
}

/// The prices of a plan's kernels: of one rTask of each rOperator, in the middle of its grid. Its data are in the second-level
/// cache, whose bandwidth it shares with the units that run an rTask at the same time.
pub fn price_kernels(
    plan: &TargetPlan,
    compiled: &CompiledCode,
    prices: &GpuPrices,
) -> Result<PricedCode, MachineCodeError> {
    let cubin = &compiled.code.cubin;
    let code = MachineCode::parse(Sass::of(cubin)?.listing())?;
    let info = CubinInfo::read(cubin)?;
    let GpuPrices { arch, sync: costs, .. } = prices;
    let machine = machine_model(prices);
    let subject = Subject {
        cubin,
        code: &code,
        operands: &plan.operands,
        threads: compiled.code.threads,
        entry: ENTRY_NAME,
        machine: &machine,
        surroundings: Surroundings { cached: true, active: 1 },
    };
    let TargetPlan { plan: verified, bindings, .. } = plan;
    let searched = simulate_plan(verified.plan(), costs, Jitter::None);
    let active = active_units(verified.plan(), &searched);
    let (priced, plan) = (price_operators(plan, &subject, &active), verified.plan());
    let microseconds = |price: &Price| {
        price.as_ref().as_ref().ok().map(|price| price.cycles as f64 / arch.cycles_per_microsecond.value)
    };
    let mut kernels: BTreeMap<u32, KernelPrice> = BTreeMap::new();
    let mut longest: BTreeMap<u32, usize> = BTreeMap::new();
    for ((id, operator), Priced { price, runner, call, active }) in plan.operators().iter().zip(&priced) {
        let kernel = bindings[id].kernel;
        let entry = kernels.entry(kernel).or_insert_with(|| KernelPrice {
            kernel,
            operator: id,
            operators: Vec::new(),
            tasks: 0,
            active: *active,
            searched: f64::NEG_INFINITY,
            price: price.as_ref().clone(),
            priced: None,
            searched_all: 0.0,
            priced_all: Some(0.0),
            registers: info.entry(&entry_of(*runner, kernel)).map_or(0, |entry| entry.registers),
            own_registers: info.registers(&function_of(*runner, kernel)).unwrap_or(0),
            text: code
                .function(&function_of(*runner, kernel))
                .map_or_else(|_| KernelText::default(), |own| KernelText::of(&code, own)),
            products: ProductWork::default(),
            local_bytes: info.frame_bytes(&function_of(*runner, kernel)).unwrap_or(0),
            dispatch: None,
        });
        let (own, tasks) = (microseconds(price), f64::from(operator.tasks()));
        entry.operators.push(id);
        entry.tasks += u64::from(operator.tasks());
        entry.products += ProductWork::of(&operator.kernel);
        entry.searched_all += operator.task_microseconds * tasks;
        entry.priced_all = entry.priced_all.zip(own).map(|(all, own)| all + own * tasks);
        let longest = longest.entry(kernel).or_default();
        let is_longer = operator.task_microseconds == entry.searched && call > longest;
        if operator.task_microseconds > entry.searched || is_longer {
            *longest = *call;
            (entry.operator, entry.searched, entry.priced) = (id, operator.task_microseconds, own);
            entry.active = *active;
            entry.price = price.as_ref().clone();
        }
    }
    for price in kernels.values_mut() {
        let Priced { runner, call, active, .. } = priced[price.operator.index()];
        let subject = beside(&subject, active);
        let Binding { kernel, operands, .. } = bindings[price.operator];
        let tile = plan.operators()[price.operator].tasks() / 2;
        let task = Task { kernel, operands, tile, runner, call: &[] };
        price.dispatch = if call > 1 { None } else { dispatch_cycles(&subject, task).ok().flatten() };
    }
    let functions = kernels.iter().map(|(kernel, price)| {
        let runner = priced[price.operator.index()].runner;
        (*kernel, function_of(runner, *kernel))
    });
    let fetches = CodeFetches::of(&searched, bindings, &kernel_bytes(&code, &functions.collect()));
    let times: Option<Vec<f64>> = priced.iter().map(|priced| microseconds(&priced.price)).collect();
    let priced = times.map(|times| simulate_plan(&with_times(plan, &times), costs, Jitter::None).makespan);
    Ok(PricedCode {
        code,
        machine,
        kernels: kernels.into_values().collect(),
        searched: searched.makespan,
        priced,
        fetches,
    })
}

/// A price that several rOperators may share.
type Price = Rc<Result<TaskPrice, PriceError>>;

/// What tells the rTasks of one rOperator from those of another: the kernel, what runs it, how many there are, what the search
/// takes them to cost, and how many a call runs.
type Kind = (u32, Runner, u32, u64, usize);

/// The price of an rOperator.
struct Priced {
    /// Of one of its rTasks.
    price: Price,
    /// What runs it.
    runner: Runner,
    /// RTasks that its call runs, where these are several.
    call: usize,
    /// Units that run an rTask at the same time.
    active: u64,
}

/// The subject beside so many units that load, its own included.
fn beside<'a>(subject: &Subject<'a>, active: u64) -> Subject<'a> {
    Subject { surroundings: Surroundings { active, ..subject.surroundings }, ..*subject }
}

/// The price of each rOperator of a plan, beside the units that are active meanwhile. Those of one kind have one price, beside
/// the mean of theirs.
fn price_operators(target: &TargetPlan, subject: &Subject<'_>, active: &[u64]) -> Vec<Priced> {
    let plan = target.plan.plan();
    let operators = plan.operators();
    let calls = calls(&target.tables(), &target.bindings);
    let tasks: Vec<(Kind, Task<'_>)> = operators
        .iter()
        .zip(runners(plan))
        .map(|((id, operator), runner)| {
            let Binding { kernel, operands, .. } = target.bindings[id];
            let tile = operator.tasks() / 2;
            let call = calls.get(&(operands, tile)).map_or(&[][..], |call| call);
            let kind = (kernel, runner, operator.tasks(), operator.task_microseconds.to_bits(), call.len());
            (kind, Task { kernel, operands, tile, runner, call })
        })
        .collect();
    let mut sums: BTreeMap<Kind, (u64, u64)> = BTreeMap::new();
    for ((kind, _), active) in tasks.iter().zip(active) {
        let (sum, count) = sums.entry(*kind).or_default();
        (*sum, *count) = (*sum + active, *count + 1);
    }
    let mut known: BTreeMap<Kind, Price> = BTreeMap::new();
    let of_task = |(kind, task): (Kind, Task<'_>)| {
        let (sum, count) = sums[&kind];
        let active = (sum + count / 2) / count;
        let own = known.entry(kind).or_insert_with(|| Rc::new(price(&beside(subject, active), task)));
        Priced { price: Rc::clone(own), runner: task.runner, call: task.call.len(), active }
    };
    tasks.into_iter().map(of_task).collect()
}

/// What runs each rOperator of a plan, numbered through the segments.
pub(crate) fn runners(plan: &ExecutionPlan) -> Vec<Runner> {
    let of_segment = plan.segments.iter().flat_map(|segment| {
        let runner = match segment.backend() {
            Backend::Persistent => Runner::Stream,
            Backend::CudaGraph => Runner::Node,
        };
        vec![runner; segment.operators().len()]
    });
    of_segment.collect()
}

/// By rOperator of a plan, the units that run an rTask in the middle of that of its middle tile, its own included.
fn active_units(plan: &ExecutionPlan, run: &Simulation) -> Vec<u64> {
    let operators = plan.operators();
    let mut middles = vec![0.0; operators.len()];
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for event in run.units.iter().flatten() {
        let Instruction::Run(task) = event.instruction else { continue };
        let start = event.start + event.polled;
        starts.push(start);
        ends.push(event.end);
        if task.tile == operators[task.operator].tasks() / 2 {
            middles[task.operator.index()] = f64::midpoint(start, event.end);
        }
    }
    starts.sort_by(f64::total_cmp);
    ends.sort_by(f64::total_cmp);
    let active = |middle: f64| {
        let begun = starts.partition_point(|start| *start <= middle);
        let ended = ends.partition_point(|end| *end <= middle);
        begun.saturating_sub(ended).max(1) as u64
    };
    middles.into_iter().map(active).collect()
}

/// By first operand and tile of an rTask, the first operands of the rTasks that its call runs, where these are several.
fn calls(tables: &Tables, bindings: &Arena<OperatorId, Binding>) -> BTreeMap<(u32, u32), Rc<[u32]>> {
    let stepping: BTreeSet<u32> =
        bindings.values().filter(|own| own.shared_operands.is_some()).map(|own| own.kernel).collect();
    let instructions: Vec<&[i32]> = tables.instructions.chunks_exact(INSTRUCTION_WORDS).collect();
    let mut found = BTreeMap::new();
    for start in tables.stream_start.chunks_exact(STREAM_WORDS) {
        let (mut position, mut operands) = (start[0] as usize, start[1] as u32);
        while instructions[position][0] != OPCODE_END {
            let words = instructions[position];
            let own = if words[0] >= OPCODE_RUN { words[3] as usize } else { 0 };
            let further = instructions[position + 1..=position + own].iter().filter(|words| words[0] >= OPCODE_RUN);
            if own > 0 && stepping.contains(&((words[0] - OPCODE_RUN) as u32)) {
                let call: Rc<[u32]> = std::iter::once(operands).chain(further.map(|words| words[1] as u32)).collect();
                found.extend(call.iter().map(|operands| ((*operands, words[2] as u32), Rc::clone(&call))));
            }
            if words[0] >= OPCODE_RUN {
                operands = words[1] as u32;
            }
            position += own + 1;
        }
    }
    found
}

fn entry_of(runner: Runner, kernel: u32) -> String {
    match runner {
        Runner::Stream => ENTRY_NAME.to_owned(),
        Runner::Node => node_name(kernel),
    }
}

/// The function whose frame is the kernel's own.
pub(crate) fn function_of(runner: Runner, kernel: u32) -> String {
    match runner {
        Runner::Stream => format!("k{kernel}"),
        Runner::Node => node_name(kernel),
    }
}

/// A plan whose rTasks take these times, by rOperator.
fn with_times(plan: &ExecutionPlan, times: &[f64]) -> ExecutionPlan {
    let mut plan = plan.clone();
    let mut times = times.iter();
    for segment in &mut plan.segments {
        let operators = match segment {
            Segment::Persistent(segment) => &mut segment.operators,
            Segment::CudaGraph(segment) => &mut segment.operators,
        };
        for (operator, time) in operators.values_mut().zip(&mut times) {
            operator.task_microseconds = *time;
            operator.prologue_microseconds = operator.prologue_microseconds.min(*time);
        }
    }
    plan
}
