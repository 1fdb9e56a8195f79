//! `warpweave bench`: latency and throughput.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use warpweave::graph::Tensor;
use warpweave::models::reduced_from;
use warpweave::prices;
use warpweave::runtime::cuda::{ClocksError, Driver};
use warpweave::runtime::json;
use warpweave::runtime::session::{Device, Session};
use warpweave::{DeviceArch, Source, random_inputs, samples_of};
use warpweave_measure::bench::{
    Achieved, BenchResult, Clocks, Distribution, Estimator, LowerBounds, Measured, Method, MethodRecord, ModelIdentity,
    Peer, PlanProfile, Precision, ProcessorCaches, SCHEMA, Samples, Sweep, SweepPoint, Work, compare_with_peers,
    left_out_text, measure, profile, read_peers,
};

use super::soak::{SoakArguments, complaints};
use super::{bench_text, bench_training};
use crate::arguments::arrays::{ArrayArgument, Arrays};
use crate::arguments::import::SweptImportArguments;
use crate::arguments::inputs;
use crate::arguments::program::ProgramArguments;
use crate::error::{CliError, Passed};
use crate::output::Output;

/// Arguments of `bench`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramArguments<SweptImportArguments>,
    /// Milliseconds of runs before the measured ones, at least; then until latency settles
    #[arg(long, value_name = "MS", default_value_t = 200)]
    warmup_ms: u64,
    /// Milliseconds after which the warm-up ends, settled or not [default: ten times --warmup-ms]
    #[arg(long, value_name = "MS")]
    warmup_limit_ms: Option<u64>,
    /// Milliseconds of measured runs
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    duration_ms: u64,
    /// An input's array, or an archive of arrays under the names of inputs; without any, inputs are random
    #[arg(long = "input", value_name = "NAME=FILE.npy|FILE.npz", conflicts_with = "input_sets")]
    inputs: Vec<ArrayArgument>,
    /// The seed of the random inputs
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Sets of random inputs that are taken in turn
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    input_sets: u16,
    /// Empty the caches before every run, outside the time
    #[arg(long)]
    cold_l2: bool,
    /// The name under which peers know the model [default: the model's own]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Times of other programs to compare with, as JSON lines
    #[arg(long, value_name = "F.jsonl")]
    baseline: Option<PathBuf>,
    /// Fail if the median is this many percent above that of the fastest peer
    #[arg(long, value_name = "PCT", requires = "baseline", value_parser = parse_percent)]
    fail_if_slower: Option<f64>,
    #[command(flatten)]
    soak: SoakArguments,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.trim_end_matches('%').parse().ok();
    percent
        .filter(|percent| percent.is_finite() && *percent >= 0.0)
        .ok_or_else(|| format!("`{text}` is no percentage; give a number from 0, such as 5"))
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    check_cold(arguments)?;
    let peers = arguments.baseline.as_deref().map(read_peers).transpose()?;
    let batches = &arguments.program.import.batches;
    let mut results = Vec::new();
    if batches.is_empty() {
        results.push(measure_one(arguments, None, peers.as_deref(), output)?);
    }
    for &batch in batches {
        results.push(measure_one(arguments, Some(batch), peers.as_deref(), output)?);
    }
    for result in &results {
        let of_batch = result.model.batch.filter(|_| results.len() > 1);
        let prefix = of_batch.map(|batch| format!("batch {batch}: ")).unwrap_or_default();
        result.warnings.iter().for_each(|warning| output.note(&format!("{prefix}{warning}")));
    }
    let points: Vec<SweepPoint> = results.iter().filter_map(sweep_point).collect();
    let sweep = (points.len() > 1).then(|| Sweep::new(points));
    let mut wrong: Vec<String> =
        results.iter().filter_map(|result| result.soak.as_ref()).flat_map(complaints).collect();
    wrong.extend(slower_than_peers(arguments, &results));
    let Some(mut result) = results.into_iter().next() else { return Ok(true) };
    result.sweep = sweep;
    let value =
        json::to_value(&result).map_err(|error| CliError::Usage(format!("no JSON holds the result: {error}")))?;
    output.result("bench", &value, &bench_text::text(&result));
    wrong.iter().for_each(|complaint| output.note(complaint));
    Ok(wrong.is_empty())
}

/// Whether caches can be emptied, before anything is compiled.
fn check_cold(arguments: &Arguments) -> Result<(), CliError> {
    match arguments.program.device {
        device @ (Device::Emulator | Device::MachineCode) if arguments.cold_l2 => Err(CliError::Usage(format!(
            "--cold-l2 means nothing on {device}, whose times no caches decide; leave it out"
        ))),
        Device::Emulator | Device::Reference | Device::Host | Device::Text | Device::MachineCode | Device::Cuda(_) => {
            Ok(())
        }
    }
}

fn measure_one(
    arguments: &Arguments,
    batch: Option<usize>,
    peers: Option<&[Peer]>,
    output: &Output,
) -> Result<BenchResult, CliError> {
    let arrays = Arrays::read(&arguments.inputs)?;
    let source = arguments.program.load(batch, &arrays, output)?;
    check_name(arguments, &source.record().name)?;
    arguments.soak.check(&source)?;
    let options = arguments.program.options();
    let mut session = arguments.program.open(&source, &options, output)?;
    let mut caches = cold_caches(arguments, &mut session)?;
    let mut sets =
        if arrays.is_empty() { random_sets(arguments, &source) } else { vec![inputs::given(arrays, &source, output)?] };
    if let Some(record) = source.training() {
        sets.iter_mut().for_each(|inputs| bench_training::set_learning_rate(inputs, source.signature(), record));
    }
    let limit = arguments.warmup_limit_ms.unwrap_or_else(|| arguments.warmup_ms.saturating_mul(10));
    let limit = limit.max(arguments.warmup_ms);
    let method = Method {
        warmup: Duration::from_millis(arguments.warmup_ms),
        warmup_limit: Duration::from_millis(limit),
        window: Duration::from_millis(arguments.duration_ms),
        work: if source.training().is_some() { Work::TrainingStep } else { Work::Inference },
    };
    let measured = measure(&mut session, &sets, &method, caches.as_mut())?;
    let clocks = clocks(arguments.program.device);
    let soak = arguments.soak.run(&source, &mut session, &options, &sets[0])?;
    let method = MethodRecord {
        warmup_ms: arguments.warmup_ms,
        warmup_limit_ms: limit,
        duration_ms: arguments.duration_ms,
        threads: options.threads,
        seed: arguments.seed,
        input_sets: sets.len(),
        cold_l2: arguments.cold_l2,
    };
    let mut result = describe(arguments, batch, &source, &session, &measured, method)?;
    result.soak = soak;
    let rate = result.items_per_second.unwrap_or(result.throughput);
    let given = arguments.program.arch.given()?;
    result.training =
        bench_training::training_step(&source, arguments.program.device, &options, &sets[0], rate, &given)?;
    match clocks.transpose() {
        Ok(clocks) => result.clocks = clocks,
        Err(error) => result.warnings.push(error.to_string()),
    }
    if let (Some(peers), Some(path)) = (peers, &arguments.baseline) {
        let key = result.key();
        (result.peers, result.left_out) = compare_with_peers(peers, &key, result.median_seconds());
        match (result.peers.is_empty(), arguments.fail_if_slower) {
            (true, Some(_)) => return Err(key.missing(path, peers, &result.left_out).into()),
            (true, None) => result.warnings.push(key.missing(path, peers, &result.left_out).to_string()),
            (false, _) => {
                let told = left_out_text(&result.left_out).map(|text| format!("{}: {text}", path.display()));
                result.warnings.extend(told);
            }
        }
    }
    Ok(result)
}

fn random_sets(arguments: &Arguments, source: &Source) -> Vec<Vec<Tensor>> {
    let seeds = (0..u64::from(arguments.input_sets)).map(|set| arguments.seed.wrapping_add(set));
    seeds.map(|seed| random_inputs(source.signature(), seed)).collect()
}

/// A reduced model has no full one's name.
fn check_name(arguments: &Arguments, own: &str) -> Result<(), CliError> {
    match &arguments.name {
        Some(name) if reduced_from(own).is_some() && reduced_from(name).is_none() => Err(CliError::Usage(format!(
            "--name {name} is the name of a full model, and {own} is a reduced one; give --name {name}-reduced, or leave \
             it out"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// The processor's caches, where they are to be emptied from here; a GPU does so itself.
fn cold_caches(arguments: &Arguments, session: &mut dyn Session) -> Result<Option<ProcessorCaches>, CliError> {
    if !arguments.cold_l2 {
        return Ok(None);
    }
    match arguments.program.device {
        Device::Reference | Device::Host | Device::Text => Ok(Some(ProcessorCaches::new())),
        device @ (Device::Cuda(_) | Device::Emulator | Device::MachineCode) => {
            if session.set_cold_cache(true)? {
                return Ok(None);
            }
            Err(CliError::Usage(format!("{device} cannot empty its caches; leave --cold-l2 out")))
        }
    }
}

fn describe(
    arguments: &Arguments,
    batch: Option<usize>,
    source: &Source,
    session: &dyn Session,
    measured: &Measured,
    method: MethodRecord,
) -> Result<BenchResult, CliError> {
    let device = arguments.program.device;
    let distribution = |times: &[f64]| {
        Distribution::of(times)
            .ok_or_else(|| CliError::Usage("nothing was measured; give a longer --duration-ms".to_owned()))
    };
    let latency = distribution(&measured.latencies)?;
    let device_time = Distribution::of(&measured.device_times);
    let median = device_time.unwrap_or(latency).p50;
    let product = product(device);
    let prices = prices::of_run(device, &arguments.program.arch.given()?)?;
    let estimator = match (device, &prices) {
        (Device::Cuda(_), Some(DeviceArch::Gpu(prices))) => Estimator::Gpu(prices.clone()),
        (Device::Host, _) => Estimator::Host,
        (Device::Reference | Device::Emulator | Device::Text | Device::MachineCode | Device::Cuda(_), _) => {
            Estimator::Unknown
        }
    };
    let priced_for = prices.filter(|_| estimator != Estimator::Unknown).map(|prices| priced_for(&prices, source));
    let limits = match &estimator {
        Estimator::Gpu(prices) => Some(LowerBounds::of(&prices.arch)),
        Estimator::Host | Estimator::Unknown => None,
    };
    let backend = arguments.program.plan_backend(session);
    let plan = match session.execution_plan() {
        Some(plan) => Some(PlanProfile { backend, ..profile(plan, &estimator, &source.names(device.machine())?) }),
        None => None,
    };
    let signature = source.signature();
    let ports = signature.inputs.iter().chain(&signature.outputs).map(|port| &port.ty);
    let precision = Precision::of_program(session.execution_plan(), ports);
    let program = source.skeleton(device.machine())?;
    let own_batch = match source.training() {
        Some(_) => samples_of(&program, signature),
        None => warpweave::batch(&program),
    };
    let is_batch = batch.is_none() || own_batch.is_none() || batch == own_batch;
    let batch = batch.or(own_batch);
    let record = source.record().clone();
    let name = arguments.name.clone().unwrap_or(record.name);
    let throughput = measured.throughput();
    let mut warnings = Vec::new();
    if !measured.warmup.stable {
        warnings.push(format!(
            "latency has not settled after {} runs in {:.1} s of warm-up: give a longer --warmup-limit-ms",
            measured.warmup.runs, measured.warmup.seconds
        ));
    }
    if !is_batch {
        warnings.push(
            "--batch sets the first dimension of the inputs, and the items of this model lie along another one: no items a \
             second are told"
                .to_owned(),
        );
    }
    let judged = device_time.unwrap_or(latency);
    if judged.is_noisy() {
        let percent = judged.coefficient_of_variation * 1e2;
        warnings.push(format!("the coefficient of variation is {percent:.1} %, above 2.5 %: the machine is not quiet"));
    }
    Ok(BenchResult {
        schema: SCHEMA.to_owned(),
        producer: concat!("warpweave ", env!("CARGO_PKG_VERSION")).to_owned(),
        model: ModelIdentity { name, blake3: record.blake3, precision, batch },
        device: device.to_string(),
        product,
        priced_for,
        method,
        warmup: measured.warmup,
        runs: measured.latencies.len(),
        seconds: measured.latencies.iter().sum(),
        throughput,
        items_per_second: batch.filter(|_| is_batch).map(|batch| throughput * batch as f64),
        latency,
        device_time,
        transfers: measured.transfers().and_then(|times| Distribution::of(&times)),
        samples: Samples::of(&measured.latencies, &measured.device_times),
        achieved: plan.as_ref().and_then(|plan| Achieved::of(plan, median, limits)),
        plan,
        clocks: None,
        soak: None,
        warnings,
        peers: Vec::new(),
        left_out: Vec::new(),
        sweep: None,
        training: None,
    })
}

/// Whose constants predictions follow from. The times of a bundle's rTasks are those that it was compiled with.
fn priced_for(prices: &DeviceArch, source: &Source) -> String {
    match source {
        Source::Model(_) => prices.priced_for(),
        Source::Bundle(_) => format!("{}; rTasks as the bundle was compiled", prices.priced_for()),
    }
}

/// A GPU's clocks; nothing on other devices.
fn clocks(device: Device) -> Option<Result<Clocks, ClocksError>> {
    let ordinal = match device {
        Device::Cuda(ordinal) => ordinal,
        Device::Reference | Device::Host | Device::Emulator | Device::Text | Device::MachineCode => return None,
    };
    let read = Driver::open().map_err(ClocksError::from).and_then(|driver| driver.clocks(ordinal));
    Some(read.map(|clocks| Clocks {
        multiprocessor_mhz: clocks.multiprocessor_mhz,
        memory_mhz: clocks.memory_mhz,
        throttle_reasons: clocks.throttle_reasons.into_iter().map(str::to_owned).collect(),
    }))
}

/// The product's name of a GPU.
fn product(device: Device) -> Option<String> {
    match device {
        Device::Cuda(ordinal) => Driver::open().and_then(|driver| driver.device(ordinal)).ok().map(|info| info.name),
        Device::Reference | Device::Host | Device::Emulator | Device::Text | Device::MachineCode => None,
    }
}

fn sweep_point(result: &BenchResult) -> Option<SweepPoint> {
    let batch = result.model.batch.filter(|_| result.items_per_second.is_some())?;
    Some(SweepPoint {
        batch,
        latency: result.latency,
        device_time: result.device_time,
        items_per_second: batch as f64 / result.median_seconds().max(1e-9),
        arena_bytes: result.plan.as_ref().map(|plan| plan.arena_bytes),
        peers: result.peers.clone(),
        warnings: result.warnings.clone(),
    })
}

/// Per measurement that is too slow, by how much.
fn slower_than_peers(arguments: &Arguments, results: &[BenchResult]) -> Vec<String> {
    let Some(percent) = arguments.fail_if_slower else { return Vec::new() };
    let complaint = |result: &BenchResult| {
        let fastest = result.peers.first()?;
        let slower = (result.median_seconds() / fastest.median_seconds - 1.0) * 1e2;
        (slower > percent).then(|| {
            format!(
                "{} is {slower:.1} % slower than {} ({}), more than {percent} %",
                result.model.name, fastest.peer, fastest.mode
            )
        })
    };
    results.iter().filter_map(complaint).collect()
}
