//! The commands of file tests.

use std::fmt::Write;

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::print::cuda;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::pipeline::prepare;
use warpweave::graph::program::TensorProgram;
use warpweave::graph::text;
use warpweave::graph::verify::verify as verify_graph;
use warpweave::graph::views::{inline_views, place_joins};
use warpweave::graph::{Tensor, lower};
use warpweave::plan::streams::fold::fold;
use warpweave::plan::verify::verify;
use warpweave_tests::evaluate::evaluate;
use warpweave_tests::machine::Machine;
use warpweave_tests::pipeline::{compile, plan};
use warpweave_tests::program_text::read_back;
use warpweave_tests::random::{self, Random};

use crate::devices;
use crate::weights::seeded;

/// What a command prints about the graph, or why it cannot.
pub fn run(graph: &str, command: &str) -> Result<String, String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let number = |at: usize| -> Result<usize, String> {
        let word = words.get(at).ok_or_else(|| format!("argument {at} is missing"))?;
        word.parse().map_err(|_| format!("`{word}` is no number"))
    };
    match words.first().copied() {
        Some("print") => {
            let graph = text::parse(graph, &seeded(graph)).map_err(|error| error.to_string())?;
            Ok(text::print(&graph))
        }
        Some("lower") => Ok(program(graph)?.to_string()),
        Some("views") => Ok(place_joins(&inline_views(&program(graph)?)).0.to_string()),
        Some("partition") => partition(&program(graph)?),
        Some("plan") => Ok(plan(&program(graph)?, number(1)?, FusionLevel::Register).1.to_string()),
        Some("fold") => {
            let plan = plan(&program(graph)?, number(1)?, FusionLevel::Register).1;
            Ok(fold(&plan, number(2)?).to_string())
        }
        Some("verify") => {
            let plan = plan(&program(graph)?, number(1)?, FusionLevel::Register).1;
            verify(plan).map(|verified| format!("{:?}", verified.evidence())).map_err(|found| format!("{found:?}"))
        }
        Some("ir") => Ok(compile(&program(graph)?, number(1)?, FusionLevel::Register).lowered.program.to_string()),
        Some("cuda") => Ok(cuda(&compile(&program(graph)?, number(1)?, FusionLevel::Register).lowered.program)),
        Some("emulate") => emulate(&program(graph)?, number(1)?),
        Some("evaluate") => {
            let program = program(graph)?;
            let inputs = random::inputs(&mut Random::new(1), &program);
            Ok(values(&evaluate(&program, &inputs)))
        }
        Some("devices") => devices::run(graph, &words[1..]),
        _ => Err("no such command".to_owned()),
    }
}

fn program(graph: &str) -> Result<TensorProgram, String> {
    let graph = text::parse(graph, &seeded(graph)).map_err(|error| error.to_string())?;
    let violations = verify_graph(&graph);
    if !violations.is_empty() {
        return Err(format!("{violations:?}"));
    }
    let program = lower(&graph);
    read_back(&program).and_then(|()| read_back(&prepare(&program).0))?;
    Ok(program)
}

fn partition(program: &TensorProgram) -> Result<String, String> {
    let (_, plan) = plan(program, 1, FusionLevel::Register);
    let mut text = String::new();
    for (id, operator) in plan.persistent().operators.iter() {
        let line = writeln!(text, "{id}: {}\n{}", operator.params, operator.body.to_string().trim_end());
        line.map_err(|error| error.to_string())?;
    }
    Ok(text)
}

fn emulate(program: &TensorProgram, units: usize) -> Result<String, String> {
    let inputs = random::inputs(&mut Random::new(1), program);
    let compiled = compile(program, units, FusionLevel::Register);
    let (report, outputs) = Machine::new(&compiled).launch(&inputs, &LaunchOptions::seeded(1));
    if report.is_clean() { Ok(values(&outputs)) } else { Err(report.to_string()) }
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
