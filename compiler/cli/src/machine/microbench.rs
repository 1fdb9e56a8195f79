//! `warpweave microbench`: what a multiprocessor of a GPU does in a cycle, what exchanges and launches take, and what code takes
//! that comes from afar.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use warpweave::codegen::microbenchmark::Microbenchmark;
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::session::Device;
use warpweave_measure::microbench::{Bench, CodeReading, EdgeReadings, FailedEdge, Reading};

use crate::arguments::program::child_compiler;
use crate::error::{CliError, Passed};
use crate::output::Output;

/// Arguments of `microbench`.
#[derive(Args)]
pub struct Arguments {
    /// What is measured
    #[arg(value_enum, default_value_t = Series::All)]
    series: Series,
    /// cuda:N
    #[arg(long, default_value = "cuda:0")]
    device: Device,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A series of measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Series {
    /// Loops of one kind of work, and the smallest rTask
    Loops,
    /// Signals, tagged values, barriers, and launches of kernels that do nothing
    Edges,
    /// Loops, straight code and kernels in turn, from 2 to 192 KB of code
    Code,
    /// All of these
    All,
}

impl Series {
    fn has(self, other: Self) -> bool {
        self == Self::All || self == other
    }
}

/// Runs the command. Edges that could not be measured are a failed check; all others are there.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let Device::Cuda(ordinal) = arguments.device else {
        return Err(CliError::Usage(format!("{} has no cycles to count; choose cuda:N", arguments.device)));
    };
    let compiler = child_compiler().map_err(warpweave::OpenError::NoCompiler)?;
    let bench = Bench::new(compiler.as_ref(), ordinal)?;
    let clock = bench.cycles_per_microsecond()?;
    let mut text = format!("{}\n{clock:.0} cycles a microsecond\n", bench.device().name);
    let mut value = json!({
        "device": arguments.device.to_string(), "product": bench.device().name,
        "priced_for": bench.prices().priced_for(), "cycles_per_microsecond": clock,
    });
    let mut passed = true;
    if arguments.series.has(Series::Loops) {
        value["loops"] = loops(&bench, clock, &mut text)?.into();
    }
    if arguments.series.has(Series::Edges) {
        let found = bench.edges();
        passed = found.failed.is_empty();
        edges_text(&found, &bench.prices().priced_for(), &mut text);
        value["edges"] = json!(found.times);
        value["failed"] = found.failed.iter().map(failed_value).collect::<Vec<Value>>().into();
    }
    if arguments.series.has(Series::Code) {
        let found = bench.code()?;
        code_text(&found, &mut text);
        value["code"] = found.iter().map(code_value).collect::<Vec<Value>>().into();
    }
    output.result("microbench", &value, &text);
    Ok(passed)
}

fn loops(bench: &Bench<'_>, clock: f64, text: &mut String) -> Result<Vec<Value>, CliError> {
    let (readings, task) = (bench.readings()?, bench.smallest_task()?);
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
    Ok(loops)
}

fn unit(benchmark: Microbenchmark) -> &'static str {
    match benchmark {
        Microbenchmark::MultiplyAdds | Microbenchmark::Tile(_) => "multiply-adds",
        Microbenchmark::SharedReads | Microbenchmark::Stream => "bytes",
    }
}

fn edges_text(found: &EdgeReadings, priced_for: &str, text: &mut String) {
    let _ = writeln!(text, "microseconds, beside {priced_for}");
    for time in &found.times {
        let units = time.units.map(|units| format!(", {units} units")).unwrap_or_default();
        let predicted = time.predicted_microseconds.map(|other| format!(", {other:.3} predicted")).unwrap_or_default();
        let _ = writeln!(text, "  {}{units}: {:.3}{predicted}", time.edge.words(), time.microseconds);
    }
    for FailedEdge { edge, units, reason } in &found.failed {
        let units = units.map(|units| format!(", {units} units")).unwrap_or_default();
        let _ = writeln!(text, "  {}{units}: not measured: {reason}", edge.words());
    }
}

/// An edge that could not be measured, as JSON.
pub fn failed_value(failed: &FailedEdge) -> Value {
    json!({"edge": failed.edge.name(), "units": failed.units, "reason": failed.reason})
}

fn code_text(found: &[CodeReading], text: &mut String) {
    for CodeReading { kind, kilobytes, kernels, cycles_per_instruction } in found {
        let kernels = kernels.map(|kernels| format!("{kernels} kernels of ")).unwrap_or_default();
        let _ = writeln!(
            text,
            "{}, {kernels}{kilobytes} KB: {cycles_per_instruction:.3} cycles an instruction",
            kind.name()
        );
    }
}

fn code_value(reading: &CodeReading) -> Value {
    json!({
        "kind": reading.kind.name(), "kilobytes": reading.kilobytes, "kernels": reading.kernels,
        "cycles_per_instruction": reading.cycles_per_instruction,
    })
}
