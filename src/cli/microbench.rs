//! `warpweave microbench`: what a multiprocessor of a GPU does in a cycle.

use std::fmt::Write;

use clap::Args;
use warpweave::codegen::microbenchmark::Microbenchmark;
use warpweave::microbench::{Bench, Reading};
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::session::Device;

use super::Passed;
use super::arguments::child_compiler;
use super::error::CliError;
use super::output::Output;

/// Arguments of `microbench`.
#[derive(Args)]
pub struct Arguments {
    /// cuda:N
    #[arg(long, default_value = "cuda:0")]
    device: Device,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let Device::Cuda(ordinal) = arguments.device else {
        return Err(CliError::Usage(format!("{} has no cycles to count; choose cuda:N", arguments.device)));
    };
    let compiler = child_compiler().map_err(warpweave::OpenError::NoCompiler)?;
    let bench = Bench::new(compiler.as_ref(), ordinal)?;
    let readings = bench.readings()?;
    let task = bench.smallest_task()?;
    let mut text = String::new();
    for Reading { benchmark, cycles_per_round, work_per_cycle } in &readings {
        let _ = writeln!(
            text,
            "{benchmark}: {cycles_per_round:.1} cycles a round, {work_per_cycle:.1} {} a cycle",
            unit(*benchmark)
        );
    }
    let _ = writeln!(text, "smallest rTask: {task:.3} µs");
    let loops: Vec<Value> = readings
        .iter()
        .map(|reading| {
            json!({
                "loop": reading.benchmark.to_string(), "cycles_per_round": reading.cycles_per_round,
                "work_per_cycle": reading.work_per_cycle, "unit": unit(reading.benchmark),
            })
        })
        .collect();
    let device = arguments.device.to_string();
    let value = json!({"device": device, "loops": loops, "smallest_task_microseconds": task});
    output.result("microbench", &value, &text);
    Ok(true)
}

fn unit(benchmark: Microbenchmark) -> &'static str {
    match benchmark {
        Microbenchmark::MultiplyAdds | Microbenchmark::Tile(_) => "multiply-adds",
        Microbenchmark::SharedReads | Microbenchmark::Stream => "bytes",
    }
}
