//! `warpweave compile`: a model to a bundle.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use warpweave::codegen::print::cuda;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::legible::counted;
use warpweave::graph::pipeline::{Level, PassId, Selection};
use warpweave::graph::text::print as graph_text;
use warpweave::runtime::bundle::{BundleTarget, TrainingRecord};
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::sass::Sass;
use warpweave::runtime::target::Target;
use warpweave::runtime::toolkit::NoLinker;
use warpweave::training::TrainingMemory;
use warpweave::{
    Build, BuildError, BuildPhase, BundleRequest, DeviceCompiler, Model, TargetPart, Watcher, WeightsPlace,
    write_bundle,
};
use warpweave_measure::bench::StepProfile;

use super::device_compile::{COMPILER_MEBIBYTES, ChildProcess};
use super::kept_text;
use crate::arguments::import::ImportArguments;
use crate::arguments::passes::{self as pass_arguments, PassArguments};
use crate::arguments::precision::PrecisionArguments;
use crate::arguments::program::{Runs, backend_reason, parse_target};
use crate::arguments::search::{SearchArguments, note_end};
use crate::arguments::training::TrainingArguments;
use crate::diagnostic::Diagnostic;
use crate::error::{CliError, Passed, file_error};
use crate::output::{Output, Progress, write_file};
use crate::output_kinds::{OutputKind, TextMark};
use crate::output_paths::{self, OutputFile};

/// Arguments of `compile`.
#[derive(Args)]
pub struct Arguments {
    /// An ONNX model
    #[arg(value_name = "MODEL")]
    path: PathBuf,
    /// The bundle to write; beside the model and named as it is unless given, where there is no file of that name
    #[arg(short, long, value_name = "OUT.weave")]
    output: Option<PathBuf>,
    /// What to compile for, such as host,sm_90a; host and, where NVRTC is found, sm_90a unless given
    #[arg(long, value_delimiter = ',', value_name = "TARGET", value_parser = parse_target)]
    target: Vec<BundleTarget>,
    /// What runs the plan on a GPU: one persistent program, a CUDA graph of a kernel an operator, or for each stretch of the
    /// program that which is predicted to make it fastest
    #[arg(long, value_enum, default_value_t = Runs::Auto)]
    backend: Runs,
    /// Fail where the GPU that is compiled for unless --target is given would be left out
    #[arg(long, conflicts_with = "target")]
    strict: bool,
    #[command(flatten)]
    import: ImportArguments,
    #[command(flatten)]
    training: TrainingArguments,
    /// How far operators are fused: none, register or full; full for a GPU, register for the host unless given
    #[arg(long, value_name = "LEVEL")]
    fusion: Option<FusionLevel>,
    #[command(flatten)]
    precision: PrecisionArguments,
    #[command(flatten)]
    passes: PassArguments,
    #[command(flatten)]
    search: SearchArguments,
    /// Where the constants are: inside the bundle, or beside it, where they stay in the model's files, which then belong to
    /// the bundle and must lie in its folder. Those of less than 4096 bytes, and those that are computed while compiling, are
    /// inside all the same
    #[arg(long, value_enum, default_value_t = WeightsArgument::Inside)]
    weights: WeightsArgument,
    /// Intermediate results to write beside the bundle
    #[arg(long, value_delimiter = ',', value_name = "STAGE", requires = "emit_dir")]
    emit: Vec<Emit>,
    /// The folder for them
    #[arg(long, value_name = "DIR")]
    emit_dir: Option<PathBuf>,
    /// The memory that NVRTC's process may use for compiling, in MiB
    #[arg(long, value_name = "MIB", default_value_t = COMPILER_MEBIBYTES)]
    compiler_memory: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Where the constants of a bundle are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum WeightsArgument {
    /// In the bundle
    Inside,
    /// In the model's files
    Beside,
}

impl WeightsArgument {
    fn place(self) -> WeightsPlace {
        match self {
            Self::Inside => WeightsPlace::Inside,
            Self::Beside => WeightsPlace::Beside,
        }
    }
}

/// An intermediate result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Emit {
    /// The graph after the passes over graphs, as text that parses back
    Graph,
    /// The program, as text that parses back
    Program,
    /// Which statements share a kernel
    Partition,
    /// Each target's plan, as text that parses back
    Plan,
    /// Each GPU's kernels, as text that parses back
    Ir,
    /// The text without its prelude
    Cuda,
    /// NVRTC's PTX
    Ptx,
    /// The disassembled code: functions, labels, addresses and encodings
    Sass,
}

impl Emit {
    /// The name of a level that no target has a part in, as it is given.
    fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Program => "program",
            Self::Partition | Self::Plan | Self::Ir | Self::Cuda | Self::Ptx | Self::Sass => "a target's",
        }
    }

    /// How its text is recognised.
    fn mark(self) -> TextMark {
        match self {
            Self::Graph => TextMark::Begins("graph \""),
            Self::Program => TextMark::Begins("program\n"),
            Self::Partition => TextMark::Begins("partition\n"),
            Self::Plan => TextMark::Begins("memory arena "),
            Self::Ir => TextMark::Begins("threads "),
            Self::Cuda => TextMark::Holds("ww_fetched"),
            Self::Ptx => TextMark::Holds("Generated by NVIDIA NVVM Compiler"),
            Self::Sass => TextMark::Begins("\t.target\t"),
        }
    }

    /// The name of its file for a target; the graph is the same for all, and so is the program unless [`HOST_PROGRAM`] is there.
    fn file(self, target: BundleTarget) -> String {
        match self {
            Self::Graph => "graph.txt".to_owned(),
            Self::Program => "program.txt".to_owned(),
            Self::Partition => format!("partition.{target}.txt"),
            Self::Plan => format!("plan.{target}.txt"),
            Self::Ir => format!("ir.{target}.txt"),
            Self::Cuda => format!("{target}.cu"),
            Self::Ptx => format!("{target}.ptx"),
            Self::Sass => format!("{target}.sass"),
        }
    }
}

/// The file of the program that the host's plan schedules, where that is another.
const HOST_PROGRAM: &str = "program.host.txt";

const DEFAULT_TARGET: Target = Target::Sm90a;

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let start = Instant::now();
    if arguments.passes.wants_list() {
        let (value, text) = pass_arguments::list();
        output.result("compile", &value, &text);
        return Ok(true);
    }
    let passes = arguments.passes.selection()?;
    if let Some(last) = passes.last {
        return stop_after(arguments, &passes, last, output);
    }
    let bundle = bundle_path(arguments)?;
    output_paths::check_place(&bundle)?;
    let (arch, timings) = (arguments.search.arch()?, arguments.search.timings()?);
    let Chosen { targets, nvrtc, without_gpu } = targets(arguments, output)?;
    if timings.is_some() && targets == [BundleTarget::Host] {
        let text = "--timings prices kernels of GPUs, and none is compiled for; add one to --target, such as sm_90a";
        return Err(CliError::Usage(text.to_owned()));
    }
    let phases = |target: &BundleTarget| match target {
        BundleTarget::Host => 3,
        BundleTarget::Gpu(_) => 4,
    };
    let progress = Progress::new(3 + targets.iter().map(phases).sum::<usize>(), output);
    progress.step("import");
    let model = arguments.training.load(&arguments.path, &arguments.import.import_options()?, &passes, output)?;
    progress.step("prepare");
    let mut build = Build::with(model, &passes)?;
    check_outputs(arguments, Some(&bundle), &build.model, &targets)?;
    (build.fusion, build.backend) = (arguments.fusion, arguments.backend.choice());
    (build.prices, build.processor, build.timings) = (arch.gpu, arch.processor, timings);
    build.limit = arguments.search.limit();
    let storage = arguments.precision.storage(&build, first_gpu(&targets), output)?;
    let build = build.stored_in(&storage)?;
    let import = start.elapsed();
    emit_common(arguments, &build, &targets)?;
    let compiler = nvrtc.as_ref().map(|nvrtc| ChildProcess::new(nvrtc).with_memory(arguments.compiler_memory));
    let request = BundleRequest { path: &bundle, targets: &targets, weights: arguments.weights.place() };
    let mut maker = Maker::new(arguments, &build, nvrtc.as_ref(), &progress, output);
    let compiler = compiler.as_ref().map(|compiler| compiler as &dyn DeviceCompiler);
    write_bundle::<CliError>(&build, &request, compiler, &mut maker)?;
    let Maker { records, left_out, mut reasons, .. } = maker;
    drop(progress);
    reasons.extend(without_gpu);
    let bytes = std::fs::metadata(&bundle).map_err(file_error("read", &bundle))?.len();
    let seconds = start.elapsed().as_secs_f64();
    let path = bundle.display().to_string();
    let text = summary(&path, bytes, seconds, &records) + &kept_text::text(storage.precision, &build);
    let text = reasons.iter().fold(text, |text, reason| text + "  " + reason + "\n");
    let value = json!({
        "bundle": path, "bytes": bytes, "seconds": seconds, "import_seconds": import.as_secs_f64(),
        "statements": build.model.program.statements.len(), "targets": records,
        "left_out": left_out, "precision": storage.precision.name(), "kept_in_fp32": kept_text::record(&build)
    });
    output.result("compile", &value, &text);
    Ok(true)
}

/// What a precision is chosen for: a GPU, where one is compiled for.
fn first_gpu(targets: &[BundleTarget]) -> BundleTarget {
    targets.iter().copied().find(|target| *target != BundleTarget::Host).unwrap_or(BundleTarget::Host)
}

/// Where the bundle goes. A file that is there is replaced only where it is named.
fn bundle_path(arguments: &Arguments) -> Result<PathBuf, CliError> {
    if let Some(path) = &arguments.output {
        return Ok(path.clone());
    }
    let path = arguments.path.with_extension("weave");
    // A bundle in place of the model is refused as such.
    if path != arguments.path && path.symlink_metadata().is_ok() {
        let text = format!("{} is there already; name the bundle with -o, also to replace that one", path.display());
        return Err(CliError::Usage(text));
    }
    Ok(path)
}

fn check_outputs(
    arguments: &Arguments,
    bundle: Option<&Path>,
    model: &Model,
    targets: &[BundleTarget],
) -> Result<(), CliError> {
    let mut files = model.paths();
    files.extend(arguments.search.files());
    files.extend(arguments.import.inputs.files());
    files.extend(arguments.precision.files());
    if let Some(bundle) = bundle {
        let weights = match arguments.weights {
            WeightsArgument::Inside => model.program.stored_bytes(),
            WeightsArgument::Beside => 0,
        };
        let bytes = weights + BUNDLE_MARGIN;
        output_paths::check_files(&[OutputFile { bytes, ..OutputFile::new(bundle, OutputKind::Bundle) }], &files)?;
    }
    let emitted = |level: Emit, name: String| OutputFile::new(name, OutputKind::Text(level.mark()));
    let mut emits = Vec::new();
    for &level in &arguments.emit {
        emits.extend(targets.iter().map(|target| emitted(level, level.file(*target))));
        emits.extend((level == Emit::Program).then(|| emitted(level, HOST_PROGRAM.to_owned())));
    }
    output_paths::check_folder(arguments.emit_dir.as_deref(), emits, &files)
}

/// The bytes that a bundle takes at least beside its weights: its manifest, its program and its plans.
const BUNDLE_MARGIN: u64 = 16 << 10;

/// Shows how far a bundle is, writes what is emitted, and keeps what is reported.
struct Maker<'m> {
    arguments: &'m Arguments,
    build: &'m Build,
    nvrtc: Option<&'m Nvrtc>,
    progress: &'m Progress,
    output: &'m Output,
    phases: PhaseTimes,
    /// What is reported of the targets.
    records: Vec<Value>,
    /// Default targets that cannot be compiled for.
    left_out: Vec<Value>,
    /// A line of text a target of `left_out`.
    reasons: Vec<String>,
}

impl<'m> Maker<'m> {
    fn new(
        arguments: &'m Arguments,
        build: &'m Build,
        nvrtc: Option<&'m Nvrtc>,
        progress: &'m Progress,
        output: &'m Output,
    ) -> Self {
        let (phases, records, left_out) = (PhaseTimes::default(), Vec::new(), Vec::new());
        Self { arguments, build, nvrtc, progress, output, phases, records, left_out, reasons: Vec::new() }
    }
}

impl Watcher<CliError> for Maker<'_> {
    fn phase(&mut self, phase: BuildPhase) {
        self.progress.step(&describe(phase));
        self.phases.begin(phase);
    }

    fn made(&mut self, part: &TargetPart) -> Result<(), CliError> {
        let (target, output) = (part.target, self.output);
        let taken = std::mem::take(&mut self.phases).end();
        note_end(output, &target.to_string(), part.search.end);
        if let BundleTarget::Gpu(_) = target {
            self.arguments.backend.note_made(part.plan.plan.plan().backend(), output);
        }
        if let Some(choice) = part.plan.choice() {
            output.note(&format!("{target}: {choice}"));
        }
        emit_part(self.arguments, part, self.nvrtc)?;
        if let Some(compiled) = part.code.as_ref().filter(|compiled| compiled.local_bytes > 0) {
            output.note(&format!("{target}: a thread uses {} bytes of local memory: slow", compiled.local_bytes));
        }
        let step = self.build.model.training.as_ref().map(|record| StepFacts::of(part, self.build, record));
        if let Some(step) = &step {
            output.note(&format!("{target}: {}", step.memory));
        }
        self.records.push(record(part, self.build.priced_for(target), taken, step));
        Ok(())
    }

    fn unlinked(&mut self, target: Target, reason: &NoLinker) {
        let text = format!("{target}: compiled as one unit, other code than where units are linked: {reason}");
        self.output.note(&text);
    }

    /// Leaves out a default target that is refused; a target that was asked for is an error.
    fn refused(&mut self, target: BundleTarget, error: BuildError) -> Result<(), CliError> {
        let error = CliError::from(error);
        if target == BundleTarget::Host || !self.arguments.target.is_empty() {
            return Err(error);
        }
        let reason = error.to_string();
        if self.arguments.strict {
            return Err(CliError::LeftOut { target: target.to_string(), reason });
        }
        self.phases = PhaseTimes::default();
        self.output.warning(&format!("{target} is left out, the bundle is for the host alone: {reason}"));
        let folded = reason.lines().next().unwrap_or_default();
        self.reasons.push(format!("{target}: left out, the bundle is for the host alone: {folded}"));
        self.left_out.push(json!({ "target": target.to_string(), "error": Diagnostic::of(&error).value() }));
        Ok(())
    }

    fn writing(&mut self) {
        self.progress.step("write");
    }
}

/// What is known of a training step before it runs.
struct StepFacts {
    memory: TrainingMemory,
    /// The predicted run; none on the host, which no cost model of exchanges is for.
    predicted: Option<StepProfile>,
}

impl StepFacts {
    fn of(part: &TargetPart, build: &Build, record: &TrainingRecord) -> Self {
        let plan = part.plan.plan.plan();
        let program = &build.prepared_for(part.target.machine()).program;
        let memory = TrainingMemory::of(&plan.memory, program, record);
        let predicted = match part.target {
            BundleTarget::Host => None,
            BundleTarget::Gpu(gpu) => {
                Some(StepProfile::predicted(part.target, plan, program, record, &build.prices(gpu)))
            }
        };
        Self { memory, predicted }
    }
}

/// When the phases of a target began.
#[derive(Default)]
struct PhaseTimes(Vec<(BuildPhase, Instant)>);

impl PhaseTimes {
    fn begin(&mut self, phase: BuildPhase) {
        self.0.push((phase, Instant::now()));
    }

    fn end(self) -> Taken {
        let mut taken = Taken::default();
        let ends = self.0.iter().skip(1).map(|(_, start)| *start).chain([Instant::now()]);
        for ((phase, start), end) in self.0.iter().zip(ends) {
            *taken.of(*phase) += end - *start;
        }
        taken
    }
}

/// How long a target took.
#[derive(Clone, Copy, Default)]
struct Taken {
    partition: Duration,
    schedule: Duration,
    lower: Duration,
    verify: Duration,
    /// The device's compiler and the judgement of what it made, the proof of the plan beside it.
    compile: Duration,
}

impl Taken {
    fn of(&mut self, phase: BuildPhase) -> &mut Duration {
        match phase {
            BuildPhase::Partition(_) => &mut self.partition,
            BuildPhase::Schedule(_) => &mut self.schedule,
            BuildPhase::Lower(_) => &mut self.lower,
            BuildPhase::Verify(_) => &mut self.verify,
            BuildPhase::Compile(_) => &mut self.compile,
        }
    }

    fn planned(&self) -> Duration {
        self.partition + self.schedule + self.lower + self.verify
    }
}

fn summary(path: &str, bytes: u64, seconds: f64, records: &[Value]) -> String {
    let mut text = format!("{path}: {bytes} bytes, {seconds:.2} s\n");
    for record in records {
        let field = |name: &str| record[name].as_u64().unwrap_or(0);
        let _ =
            write!(text, "  {}: {}", record["target"].as_str().unwrap_or(""), counted(field("groups"), "fused group"));
        let backend = [&record["backend"], &record["backend_reason"]].map(|value| value.as_str().unwrap_or(""));
        let _ = write!(text, ", {} {}", backend[0], backend[1]);
        let _ = write!(text, ", {}, {}", counted(field("units"), "vEU"), counted(field("launches"), "launch"));
        let proved = (field("waits"), field("ordered_reads"));
        let _ = write!(text, ", {}", counted(field("tasks"), "rTask"));
        let _ = write!(text, "; proved: {} waits end, {} reads follow their writes", proved.0, proved.1);
        let _ = write!(text, "; priced for {}", record["priced_for"].as_str().unwrap_or(""));
        let _ = write!(text, "; arena {} bytes, weights {} bytes", field("arena_bytes"), field("weights_bytes"));
        if !record["registers"].is_null() {
            let _ = write!(text, ", {} registers, {} bytes of code", field("registers"), field("cubin_bytes"));
        }
        text.push('\n');
    }
    text
}

/// What to compile for, and with what.
struct Chosen {
    targets: Vec<BundleTarget>,
    nvrtc: Option<Nvrtc>,
    /// Why [`DEFAULT_TARGET`] is left out, if it is and no target was given.
    without_gpu: Option<String>,
}

fn targets(arguments: &Arguments, output: &Output) -> Result<Chosen, CliError> {
    if arguments.target.is_empty() {
        return match Nvrtc::locate() {
            Ok(nvrtc) => {
                output.note(&format!("compiling for host and {DEFAULT_TARGET}; choose with --target"));
                let targets = vec![BundleTarget::Host, BundleTarget::Gpu(DEFAULT_TARGET)];
                Ok(Chosen { targets, nvrtc: Some(nvrtc), without_gpu: None })
            }
            Err(error) if arguments.strict => {
                Err(CliError::LeftOut { target: DEFAULT_TARGET.to_string(), reason: error.to_string() })
            }
            Err(error) => {
                let reason = format!("{DEFAULT_TARGET}: left out, the bundle is for the host alone: {error}");
                Ok(Chosen { targets: vec![BundleTarget::Host], nvrtc: None, without_gpu: Some(reason) })
            }
        };
    }
    let mut targets = arguments.target.clone();
    targets.sort();
    targets.dedup();
    let gpu = targets.iter().any(|target| *target != BundleTarget::Host);
    Ok(Chosen { targets, nvrtc: if gpu { Some(Nvrtc::locate()?) } else { None }, without_gpu: None })
}

fn describe(phase: BuildPhase) -> String {
    match phase {
        BuildPhase::Partition(target) => format!("partition for {target}"),
        BuildPhase::Schedule(target) => format!("schedule for {target}"),
        BuildPhase::Verify(target) => format!("proof for {target}"),
        BuildPhase::Lower(target) => format!("kernels for {target}"),
        BuildPhase::Compile(target) => format!("NVRTC for {target}"),
    }
}

fn record(part: &TargetPart, priced_for: String, taken: Taken, step: Option<StepFacts>) -> Value {
    let plan = part.plan.plan.plan();
    let operations: u64 = part.partition.groups.iter().map(|group| group.kernel.body().operations()).sum();
    let evidence = part.plan.plan.evidence();
    let compiled = part.code.as_ref();
    json!({
        "target": part.target.to_string(), "priced_for": priced_for, "groups": part.partition.groups.len(), "units": plan.units(),
        "backend": plan.backend().to_string(), "backend_reason": backend_reason(part.target, &part.plan.reason),
        "segments": plan.segments.len(), "launches": plan.launches(), "tasks": evidence.tasks,
        "waits": evidence.waits, "operations": operations, "ordered_reads": evidence.ordered_reads,
        "arena_bytes": plan.memory.arena_bytes, "weights_bytes": plan.memory.weights_bytes,
        "training_memory": step.as_ref().map(|step| step.memory),
        "training_profile": step.and_then(|step| step.predicted),
        "kernels": part.program.as_ref().map(|program| program.kernels.len()),
        "registers": compiled.map(|compiled| compiled.registers), "local_bytes": compiled.map(|compiled| compiled.local_bytes),
        "cubin_bytes": compiled.map(|compiled| compiled.code.cubin.len()),
        "plan_seconds": taken.planned().as_secs_f64(), "partition_seconds": taken.partition.as_secs_f64(),
        "schedule_seconds": taken.schedule.as_secs_f64(),
        "code_units": compiled.map(|compiled| compiled.units),
        "unlinked": compiled.and_then(|compiled| Some(compiled.unlinked.as_ref()?.to_string())),
        "code_seconds": compiled.map(|_| taken.compile.as_secs_f64())
    })
}

fn emit_common(arguments: &Arguments, build: &Build, targets: &[BundleTarget]) -> Result<(), CliError> {
    if let Some(folder) = &arguments.emit_dir {
        std::fs::create_dir_all(folder).map_err(file_error("create", folder))?;
    }
    let graph = || Ok(build.model.graph.as_ref().map(graph_text).unwrap_or_default());
    emit(arguments, Emit::Graph, BundleTarget::Host, graph)?;
    let own = build.own_of_host().filter(|_| targets.contains(&BundleTarget::Host));
    let (own, only) = if targets == [BundleTarget::Host] { (None, own) } else { (own, None) };
    let program = only.map_or(&build.model.program, |only| &only.program);
    emit(arguments, Emit::Program, BundleTarget::Host, || Ok(program.to_string()))?;
    match (&arguments.emit_dir, own) {
        (Some(folder), Some(own)) if arguments.emit.contains(&Emit::Program) => {
            write_file(&folder.join(HOST_PROGRAM), own.program.to_string().as_bytes())
        }
        _ => Ok(()),
    }
}

/// Writes the graph and the program as they are after a pass, and makes no bundle.
fn stop_after(arguments: &Arguments, passes: &Selection, last: PassId, output: &Output) -> Result<Passed, CliError> {
    if arguments.precision.is_given() {
        let text = "--precision cannot be used with --stop-after, which shows the model before it is stored";
        return Err(CliError::Usage(text.to_owned()));
    }
    let there = match last.level() {
        Level::Graph => &[Emit::Graph][..],
        Level::Program => &[Emit::Graph, Emit::Program],
    };
    if !arguments.emit.iter().all(|level| there.contains(level)) {
        let names: Vec<&str> = there.iter().map(|level| level.name()).collect();
        let text = format!("after {last}, which rewrites {}s, there is only --emit {}", last.level(), names.join(","));
        return Err(CliError::Usage(text));
    }
    let model = arguments.training.load(&arguments.path, &arguments.import.import_options()?, passes, output)?;
    let build = Build::with(model, passes)?;
    check_outputs(arguments, None, &build.model, &[BundleTarget::Host])?;
    emit_common(arguments, &build, &[])?;
    let statements = build.model.program.statements.len();
    let value = json!({ "stopped_after": last.name(), "level": last.level().to_string(), "statements": statements });
    output.result("compile", &value, &format!("stopped after {last}: {statements} statements; no bundle is written\n"));
    Ok(true)
}

fn emit_part(arguments: &Arguments, part: &TargetPart, nvrtc: Option<&Nvrtc>) -> Result<(), CliError> {
    let target = part.target;
    emit(arguments, Emit::Partition, target, || Ok(part.partition.to_string()))?;
    emit(arguments, Emit::Plan, target, || Ok(part.plan.plan.plan().to_string()))?;
    let Some(program) = &part.program else { return Ok(()) };
    emit(arguments, Emit::Ir, target, || Ok(program.to_string()))?;
    let (Some(compiled), Some(nvrtc)) = (&part.code, nvrtc) else { return Ok(()) };
    emit(arguments, Emit::Cuda, target, || Ok(cuda(program)))?;
    let ptx = || Ok(nvrtc.compile_to_ptx(&compiled.code.source, compiled.code.target)?);
    emit(arguments, Emit::Ptx, target, ptx)?;
    emit(arguments, Emit::Sass, target, || Ok(Sass::of(&compiled.code.cubin)?.listing().to_owned()))
}

fn emit(
    arguments: &Arguments,
    level: Emit,
    target: BundleTarget,
    text: impl FnOnce() -> Result<String, CliError>,
) -> Result<(), CliError> {
    match &arguments.emit_dir {
        Some(folder) if arguments.emit.contains(&level) => {
            write_file(&folder.join(level.file(target)), text()?.as_bytes())
        }
        Some(_) | None => Ok(()),
    }
}
