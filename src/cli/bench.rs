//! `warpweave bench`: latency and throughput.

use std::fmt::Write;
use std::time::{Duration, Instant};

use clap::Args;
use warpweave::runtime::json::json;

use super::Passed;
use super::arguments::ProgramArguments;
use super::error::CliError;
use super::inputs;
use super::output::Output;

/// Arguments of `bench`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramArguments,
    /// Milliseconds of runs before the measured ones
    #[arg(long, value_name = "MS", default_value_t = 200)]
    warmup_ms: u64,
    /// Milliseconds of measured runs
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    duration_ms: u64,
    /// The seed of the random inputs
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// However long a run takes, so many are measured at least.
const LEAST_RUNS: usize = 10;
/// Above this coefficient of variation the measurement is called noisy.
const NOISY: f64 = 0.1;

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let source = arguments.program.load()?;
    let inputs = inputs::random(source.signature(), arguments.seed);
    let mut session = arguments.program.open(&source, &arguments.program.options(), output)?;
    let mut measure = |least: usize, window: Duration| -> Result<(Vec<f64>, Vec<f64>, f64), CliError> {
        let (mut latencies, mut device) = (Vec::new(), Vec::new());
        let start = Instant::now();
        while latencies.len() < least || start.elapsed() < window {
            let run = Instant::now();
            session.run(&inputs)?;
            latencies.push(run.elapsed().as_secs_f64());
            device.extend(session.device_time().map(|time| time.as_secs_f64()));
        }
        Ok((latencies, device, start.elapsed().as_secs_f64()))
    };
    measure(1, Duration::from_millis(arguments.warmup_ms))?;
    let (latencies, device_times, seconds) = measure(LEAST_RUNS, Duration::from_millis(arguments.duration_ms))?;
    let throughput = latencies.len() as f64 / seconds;
    let latency = Distribution::of(latencies);
    let on_device = (!device_times.is_empty()).then(|| Distribution::of(device_times));
    let device = arguments.program.device;
    let mut text = String::new();
    let _ = writeln!(text, "latency on {device}, with copies of inputs and outputs: {}", latency.text());
    if let Some(on_device) = &on_device {
        let _ = writeln!(text, "time on the device: {}", on_device.text());
    }
    let _ = writeln!(text, "throughput: {throughput:.2} runs a second, {} runs in {seconds:.2} s", latency.count);
    if latency.variation > NOISY {
        output.note(&format!(
            "the coefficient of variation is {:.0} %: the machine is not quiet",
            latency.variation * 1e2
        ));
    }
    let value = json!({
        "device": device.to_string(), "runs": latency.count, "seconds": seconds, "throughput": throughput,
        "latency": latency.json(), "device_time": on_device.map(|times| times.json())
    });
    output.result("bench", &value, &text);
    Ok(true)
}

/// Times in seconds.
struct Distribution {
    count: usize,
    minimum: f64,
    mean: f64,
    percentiles: [f64; 4],
    maximum: f64,
    /// Standard deviation by mean.
    variation: f64,
}

const PERCENTILES: [usize; 4] = [50, 90, 95, 99];

impl Distribution {
    fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let count = times.len();
        let mean = times.iter().sum::<f64>() / count as f64;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count as f64;
        // The nearest rank.
        let percentiles = PERCENTILES.map(|percent| times[(count * percent).div_ceil(100).max(1) - 1]);
        let (minimum, maximum) = (times[0], times[count - 1]);
        Self { count, minimum, mean, percentiles, maximum, variation: variance.sqrt() / mean }
    }

    fn text(&self) -> String {
        let ms = |seconds: f64| seconds * 1e3;
        let mut text = format!("min {:.4} ms, mean {:.4} ms", ms(self.minimum), ms(self.mean));
        for (percent, time) in PERCENTILES.iter().zip(self.percentiles) {
            let _ = write!(text, ", p{percent} {:.4} ms", ms(time));
        }
        let _ = write!(text, ", max {:.4} ms", ms(self.maximum));
        text
    }

    fn json(&self) -> warpweave::runtime::json::Value {
        let [p50, p90, p95, p99] = self.percentiles;
        json!({
            "unit": "s", "min": self.minimum, "mean": self.mean, "p50": p50, "p90": p90, "p95": p95, "p99": p99,
            "max": self.maximum, "coefficient_of_variation": self.variation
        })
    }
}
