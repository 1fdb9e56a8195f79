//! What the machine code of a plan's kernels costs, beside what the search took it to cost.

use std::collections::BTreeMap;

use warpweave_codegen::print::ENTRY_NAME;
use warpweave_fusion::cost::arch::GpuArch;
use warpweave_plan::plan::backend::Backend;
use warpweave_plan::plan::{OperatorId, Segment};
use warpweave_plan::tables::node_name;
use warpweave_runtime::cubin::{CubinError, CubinInfo};
use warpweave_runtime::sass::error::CodeError;
use warpweave_runtime::sass::machine::MachineModel;
use warpweave_runtime::sass::price::{PriceError, Runner, Subject, Task, TaskPrice, price};
use warpweave_runtime::sass::program::MachineCode;
use warpweave_runtime::sass::simulate::Surroundings;
use warpweave_runtime::sass::{Sass, SassError};

use crate::build::{CompiledCode, Part};

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

/// A kernel's prices.
#[derive(Debug)]
pub struct KernelPrice {
    /// Position among the program's kernels.
    pub kernel: u32,
    /// The rOperator whose rTask was priced: of those with this kernel the one that takes longest by the search.
    pub operator: OperatorId,
    /// rOperators with this kernel.
    pub operators: usize,
    /// Their rTasks.
    pub tasks: u64,
    /// What the search takes one rTask to cost, in microseconds.
    pub searched: f64,
    /// What one rTask's code costs.
    pub price: Result<TaskPrice, PriceError>,
    /// What one rTask's code costs, in microseconds.
    pub priced: Option<f64>,
    /// Registers of a thread of the entry that runs it.
    pub registers: u32,
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
}

/// The prices of a part's kernels: of one rTask each, in the middle of the grid, that finds its operands in the second-level
/// cache while the other multiprocessors are silent.
pub fn price_kernels(part: &Part, compiled: &CompiledCode, arch: &GpuArch) -> Result<PricedCode, MachineCodeError> {
    let cubin = &compiled.code.cubin;
    let code = MachineCode::parse(Sass::of(cubin)?.listing())?;
    let info = CubinInfo::read(cubin)?;
    let machine = MachineModel::h200();
    let subject = Subject {
        cubin,
        code: &code,
        operands: &part.plan.operands,
        threads: compiled.code.threads,
        entry: ENTRY_NAME,
        machine: &machine,
        surroundings: Surroundings { cached: true, crowded: false },
    };
    let plan = part.plan.plan.plan();
    let operators = plan.operators();
    let runners = plan.segments.iter().flat_map(|segment| vec![segment.backend(); operators_of(segment)]);
    let mut kernels: BTreeMap<u32, KernelPrice> = BTreeMap::new();
    let mut runner_of: BTreeMap<u32, Backend> = BTreeMap::new();
    for ((id, operator), backend) in operators.iter().zip(runners) {
        let kernel = part.plan.bindings[id].kernel;
        runner_of.insert(kernel, backend);
        let fresh = || KernelPrice {
            kernel,
            operator: id,
            operators: 0,
            tasks: 0,
            searched: operator.task_microseconds,
            price: Err(CodeError::Function(node_name(kernel)).into()),
            priced: None,
            registers: 0,
        };
        let entry = kernels.entry(kernel).or_insert_with(fresh);
        entry.operators += 1;
        entry.tasks += u64::from(operator.tasks());
        if operator.task_microseconds > entry.searched {
            (entry.operator, entry.searched) = (id, operator.task_microseconds);
        }
    }
    let mut kernels: Vec<KernelPrice> = kernels.into_values().collect();
    for kernel in &mut kernels {
        let runner = match runner_of[&kernel.kernel] {
            Backend::Persistent => Runner::Stream,
            Backend::CudaGraph => Runner::Node,
        };
        let task = Task {
            kernel: kernel.kernel,
            operands: part.plan.bindings[kernel.operator].operands,
            tile: operators[kernel.operator].tasks() / 2,
            runner,
        };
        let name = match runner {
            Runner::Stream => ENTRY_NAME.to_owned(),
            Runner::Node => node_name(kernel.kernel),
        };
        kernel.registers = info.entry(&name).map_or(0, |entry| entry.registers);
        kernel.price = price(&subject, task);
        let cycles = kernel.price.as_ref().ok().map(|price| price.cycles as f64);
        kernel.priced = cycles.map(|cycles| cycles / arch.cycles_per_microsecond.value);
    }
    Ok(PricedCode { code, machine, kernels })
}

fn operators_of(segment: &Segment) -> usize {
    segment.operators().len()
}
