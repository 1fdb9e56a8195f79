//! `warpweave microbench`: what a multiprocessor of a GPU does in a cycle.

use std::fmt::Write;

use clap::Args;
use warpweave::codegen::microbenchmark::Microbenchmark;
use warpweave::microbench::{Bench, Reading};
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::session::Device;

use crate::cli::arguments::program::child_compiler;
use crate::cli::error::{CliError, Passed};
use crate::cli::output::Output;

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
    let (clock, task) = (bench.cycles_per_microsecond()?, bench.smallest_task()?);
    let mut text = format!("{clock:.0} cycles a microsecond\n");
    for Reading { benchmark, cycles_per_round, work_per_cycle } in &readings {
        let unit = unit(*benchmark);
        let _ = writeln!(text, "{benchmark}: {cycles_per_round:.1} cycles a round, {work_per_cycle:.1} {unit} a cycle");
    }
    let _ = writeln!(text, "smallest rTask: {task:.3} µs, {:.0} cycles", task * clock);
    let of_loop = |reading: &Reading| {
        json!({
            "name": reading.benchmark.to_string(), "per": "round", "cycles": reading.cycles_per_round,
            "work_per_cycle": reading.work_per_cycle, "unit": unit(reading.benchmark),
        })
    };
    let mut loops: Vec<Value> = readings.iter().map(of_loop).collect();
    loops.push(json!({"name": "smallest rTask", "per": "rTask", "cycles": task * clock}));
    let device = arguments.device.to_string();
    output.result("microbench", &json!({"device": device, "cycles_per_microsecond": clock, "loops": loops}), &text);
    Ok(true)
}

fn unit(benchmark: Microbenchmark) -> &'static str {
    match benchmark {
        Microbenchmark::MultiplyAdds | Microbenchmark::Tile(_) => "multiply-adds",
        Microbenchmark::SharedReads | Microbenchmark::Stream => "bytes",
    }
}
