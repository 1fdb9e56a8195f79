//! What the commands of file tests print.

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::kernel_ir::text::parse as parse_kernels;
use warpweave::codegen::print::cuda;
use warpweave::codegen::verify::verify as verify_kernels;
use warpweave::graph::pipeline::{self, Selection};
use warpweave::graph::program::TensorId;
use warpweave::graph::{Tensor, TensorType, text};
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::streams::fold::{Merging, fold};
use warpweave_tests::evaluate::evaluate;
use warpweave_tests::machine::Machine;
use warpweave_tests::random::{self, Random};

use crate::command::{Command, Planning};
use crate::devices;
use crate::start::{Start, told};

/// What a command prints about what a file begins with, or why it cannot.
pub fn run(start: &Start, command: &Command) -> Result<String, String> {
    match command {
        Command::Print => Ok(print(start)),
        Command::Lower => {
            start.graph()?;
            Ok(start.program()?.to_string())
        }
        Command::Prepare(last) => {
            let passes = Selection { last: *last, ..Selection::default() };
            Ok(pipeline::rewrite(&start.program()?, &passes, pipeline::Machine::Gpu).map_err(told)?.to_string())
        }
        Command::Partition(choices) => Ok(start.partition(&start.prepared()?, choices)?.to_string()),
        Command::Plan(planning) => Ok(start.plan(planning)?.plan().to_string()),
        Command::Verify(planning) => verified(start, planning),
        Command::Fold(planning, units) => Ok(fold(start.plan(planning)?.plan(), *units, Merging::Turns).to_string()),
        Command::Ir(planning) => {
            let program = start.kernels(planning)?;
            match parse_kernels(&program.to_string()) {
                Ok(read) if read == program => Ok(program.to_string()),
                read => Err(format!("{program}reads back as {read:?}")),
            }
        }
        Command::Cuda(planning) => Ok(cuda(&start.kernels(planning)?)),
        Command::Emulate(planning) => emulate(start, planning),
        Command::Evaluate => {
            let program = start.program()?;
            let inputs = random::inputs(&mut Random::new(1), &program);
            Ok(values(&evaluate(&program, &inputs)))
        }
        Command::Devices(inputs) => devices::run(start.graph()?, inputs),
    }
}

fn print(start: &Start) -> String {
    match start {
        Start::Graph(graph) => text::print(graph),
        Start::Program(program) => program.to_string(),
        Start::Partition(program, partition) => format!("{program}\n{partition}"),
        Start::Plan(plan) => plan.to_string(),
        Start::KernelIr(program) => program.to_string(),
    }
}

fn verified(start: &Start, planning: &Planning) -> Result<String, String> {
    let violations = match start {
        Start::KernelIr(program) => verify_kernels(program),
        _ => return Ok(format!("{:?}", start.plan(planning)?.evidence())),
    };
    let lines: Vec<String> = violations.iter().map(|violation| format!("{violation:?}")).collect();
    Ok(if lines.is_empty() { "the kernels are sound".to_owned() } else { lines.join("\n") })
}

fn emulate(start: &Start, planning: &Planning) -> Result<String, String> {
    let (plan, lowered) = start.lowered(planning)?;
    let plan = plan.plan();
    let (machine, inputs) = match start {
        Start::Plan(_) => (Machine::with_constants(plan, &lowered, |id| seeded(plan, id)), seeded_inputs(plan)),
        _ => {
            let program = start.prepared()?.program;
            let inputs = random::inputs(&mut Random::new(1), &program);
            (Machine::with_plan(plan, &lowered, &program), inputs)
        }
    };
    let (report, outputs) = machine.launch(&inputs, &LaunchOptions::seeded(1));
    if report.is_clean() { Ok(values(&outputs)) } else { Err(report.to_string()) }
}

/// A constant of a plan whose program is not there.
fn seeded(plan: &ExecutionPlan, id: TensorId) -> Tensor {
    random::tensor(&mut Random::new(2), &plan.memory.tensors[id].ty)
}

/// The inputs of a plan whose program is not there: integers are 0 or 1, for they may be places.
fn seeded_inputs(plan: &ExecutionPlan) -> Vec<Tensor> {
    let mut random = Random::new(1);
    let mut input = |ty: &TensorType| match ty.element.is_float() {
        true => random::tensor(&mut random, ty),
        false => {
            let elements: Vec<i64> = (0..ty.shape.elements()).map(|_| random.below(2) as i64).collect();
            Tensor::from_i64(ty.clone(), &elements)
        }
    };
    plan.memory.inputs.iter().map(|id| input(&plan.memory.tensors[*id].ty)).collect()
}

/// Type and first elements of each tensor, in few digits.
fn values(tensors: &[Tensor]) -> String {
    const SHOWN: usize = 8;
    let mut lines = String::new();
    for tensor in tensors {
        let elements: Vec<String> =
            tensor.to_f64().iter().take(SHOWN).map(|value| format!("{:.4}", value + 0.0)).collect();
        lines.push_str(&format!("{}: {}\n", tensor.ty(), elements.join(" ")));
    }
    lines
}
