//! `warpweave explain`: why a model is compiled as it is.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, ValueEnum};
use warpweave::compiler::{check_kernels, check_partition, check_target, check_tasks};
use warpweave::explain::plan_code::PlanCode;
use warpweave::explain::{Clock, ExplainedPlan, LevelFigures, compare, explain, partition, picture, timeline, trace};
use warpweave::fusion::partition::search::{FusionGroup, FusionLevel, Partition};
use warpweave::fusion::schedule::memory::ArenaPolicy;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::fusion::schedule::policy::SyncPolicy;
use warpweave::graph::TensorProgram;
use warpweave::graph::legible::legible;
use warpweave::graph::pipeline::Selection;
use warpweave::graph::program::{Names, OriginId};
use warpweave::plan::plan::backend::{Backend, BackendChoice};
use warpweave::runtime::bundle::BundleTarget;
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::session::DEFAULT_KERNEL_TARGET;
use warpweave::{Build, BuildError, Model};

use super::device_compile::ChildProcess;
use super::explain_text::{self as text, Listing};
use super::{explain_code, explain_machine_code, explain_partition, explain_rejected};
use crate::arguments::import::ImportArguments;
use crate::arguments::precision::PrecisionArguments;
use crate::arguments::program::Runs;
use crate::arguments::search::{SearchArguments, note_end};
use crate::arguments::training::TrainingArguments;
use crate::error::{CliError, Passed, file_error};
use crate::output::{Output, write_file};
use crate::output_kinds::OutputKind;
use crate::output_paths::{self, OutputFile, TIMELINE_FILES, timeline_outputs};
use crate::terminal::columns_or;

/// Arguments of `explain`.
#[derive(Args)]
#[command(mut_arg("arch", |arch| arch.help(ARCH_HELP)))]
#[command(group = ArgGroup::new("planned").args(["plan", "machine_code"]).multiple(true))]
pub struct Arguments {
    /// An ONNX model
    #[arg(value_name = "MODEL")]
    path: PathBuf,
    /// Explain the plan instead of the partition: what runs where and when, as predicted from the cost model
    #[arg(long)]
    plan: bool,
    /// The group of this node of the model only, or of this statement, such as e24: its bound, what else there was, and why
    /// neighbours stay apart
    #[arg(long, value_name = "NODE|STATEMENT", conflicts_with = "plan")]
    node: Option<String>,
    /// List every group, or with --plan every rOperator of the critical path, in lines of any length
    #[arg(long, conflicts_with_all = ["node", "machine_code", "compare"])]
    all: bool,
    /// Compare, for each kernel, the search's price of an rTask with that of its machine code for sm_90a: a timing of the
    /// disassembled instructions on a model of a multiprocessor. With --plan, the bytes of the plan's code and what a unit fetches of
    /// it
    #[arg(long, conflicts_with_all = ["node", "directory", "compare"])]
    machine_code: bool,
    /// The listing of one kernel, such as k7: how often each instruction is issued, and the cycles that warps stand before it
    #[arg(long, value_name = "KERNEL", requires = "machine_code", conflicts_with = "plan")]
    kernel: Option<String>,
    /// Price so many kernels that the search did not choose instead, drawn by --seed
    #[arg(long, value_name = "N", requires = "machine_code", conflicts_with_all = ["kernel", "plan"])]
    rejected: Option<usize>,
    /// What draws them
    #[arg(long, default_value_t = 0, requires = "rejected")]
    seed: u64,
    #[command(flatten)]
    precision: PrecisionArguments,
    /// How far operators are fused: none, register or full
    #[arg(long, value_name = "LEVEL", default_value_t = FusionLevel::Full)]
    fusion: FusionLevel,
    /// Compare barriers, waits for operators and waits for tiles
    #[arg(long, requires = "plan", conflicts_with_all = ["directory", "sync"])]
    compare: bool,
    /// Virtual execution units
    #[arg(long, value_name = "N", requires = "plan", value_parser = clap::value_parser!(u32).range(1..=1024))]
    units: Option<u32>,
    /// What runs the plan; auto unless given, a persistent program with --sync
    #[arg(long, value_enum, requires = "planned", conflicts_with_all = ["compare", "sync"])]
    backend: Option<Runs>,
    /// The granularity of synchronization; the fastest by prediction unless given
    #[arg(long, value_enum, requires = "plan")]
    sync: Option<Sync>,
    /// When tensors share memory
    #[arg(long, value_enum, default_value_t = Arena::Fast)]
    arena: Arena,
    /// A folder for partition.svg, or timeline.svg and trace.json, which Chrome and Perfetto show
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    import: ImportArguments,
    #[command(flatten)]
    training: TrainingArguments,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// What `explain` takes of the constants of devices.
const ARCH_HELP: &str = "The constants of the GPU, as `doctor --calibrate` writes them; by default those of its generation. Plans for \
                         processors are not explained";

/// The granularity of synchronization.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Sync {
    /// All units meet between waves
    Barrier,
    /// Readers wait for whole operators
    Operator,
    /// Readers wait for the tiles that they read
    Tile,
}

/// When tensors share memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Arena {
    /// Whenever one is finished with before the other begins
    Small,
    /// Where that costs no time
    Fast,
    /// Never
    Separate,
}

/// The columns of text that goes to no terminal.
const COLUMNS: usize = 100;

impl Arguments {
    fn listing(&self) -> Listing {
        if self.all { Listing::Everything } else { Listing::Summary { columns: columns_or(COLUMNS) } }
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let (arch, timings) = (arguments.search.arch()?, arguments.search.timings()?);
    if arch.processor.is_some() {
        let text = "--arch gives the constants of a processor, and plans for GPUs are explained; give those of a GPU";
        return Err(CliError::Usage(text.to_owned()));
    }
    let import = arguments.import.import_options()?;
    let model = arguments.training.load(&arguments.path, &import, &Selection::default(), output)?;
    check_outputs(arguments, &model)?;
    let name = model.record.name.clone();
    let mut build = arguments.precision.store(Build::new(model)?, BundleTarget::Gpu(DEFAULT_KERNEL_TARGET), output)?;
    (build.prices, build.fusion, build.timings) = (arch.gpu, Some(arguments.fusion), timings);
    build.limit = arguments.search.limit();
    if arguments.machine_code && !arguments.plan {
        build.backend = arguments.backend.map_or(BackendChoice::Auto, Runs::choice);
        return match arguments.rejected {
            Some(count) => explain_rejected::execute(&name, &build, (count, arguments.seed), output),
            None => explain_machine_code::execute(&name, &build, arguments.kernel.as_deref(), output),
        };
    }
    check_target(&build, BundleTarget::Gpu(DEFAULT_KERNEL_TARGET))?;
    let options = build.options(BundleTarget::Gpu(DEFAULT_KERNEL_TARGET))?;
    let options = PlanOptions { units: arguments.units.map_or(options.units, |units| units as usize), ..options };
    if !arguments.plan {
        return of_partition(arguments, &name, &build, &options, output);
    }
    let (chosen, search) = build.limit.partition(build.prepared(), &options);
    note_end(output, "a partition", search.end);
    let options = PlanOptions {
        sync: arguments.sync.map(policy),
        arena: arena_policy(arguments.arena),
        backend: match arguments.backend {
            Some(backend) => backend.choice(),
            None if arguments.compare || arguments.sync.is_some() => BackendChoice::Only(Backend::Persistent),
            None => BackendChoice::Auto,
        },
        ..options
    };
    if arguments.compare {
        check_partition(&build, &chosen, &options, DEFAULT_KERNEL_TARGET)?;
        let comparison = compare(build.prepared(), &chosen, &options).map_err(BuildError::from)?;
        let (value, text) = (text::comparison_value(&name, &comparison), text::comparison(&name, &comparison));
        text::explained_by(&build, value, text, output);
        return Ok(true);
    }
    check_tasks(&build, &chosen, BundleTarget::Gpu(DEFAULT_KERNEL_TARGET))?;
    let explained = explain(build.prepared(), &chosen, &options).map_err(BuildError::from)?;
    check_kernels(&build, explained.plan.plan(), &chosen, DEFAULT_KERNEL_TARGET)?;
    if let Some(directory) = &arguments.directory {
        write_pictures(directory, &name, &explained, &build.model.program.names)?;
    }
    let names = &build.model.program.names;
    let code = plan_code(arguments, &build, &explained)?;
    let (mut value, text) =
        (text::plan_value(&name, &explained, names), text::plan(&name, &explained, names, arguments.listing()));
    value["code"] = explain_code::value(&code);
    text::explained_by(&build, value, text + &explain_code::text(&code), output);
    Ok(true)
}

/// The code of a plan, compiled if --machine-code asks for it.
fn plan_code(arguments: &Arguments, build: &Build, explained: &ExplainedPlan) -> Result<PlanCode, CliError> {
    if !arguments.machine_code {
        return Ok(PlanCode::of(explained, build, (DEFAULT_KERNEL_TARGET, None))?);
    }
    let compiler = ChildProcess::new(&Nvrtc::locate()?);
    Ok(PlanCode::of(explained, build, (DEFAULT_KERNEL_TARGET, Some(&compiler)))?)
}

fn check_outputs(arguments: &Arguments, model: &Model) -> Result<(), CliError> {
    let mut files = model.paths();
    files.extend(arguments.search.files());
    files.extend(arguments.import.inputs.files());
    let pictures = match arguments.plan {
        true => timeline_outputs().to_vec(),
        false => vec![OutputFile::new(PARTITION_FILE, OutputKind::Picture)],
    };
    output_paths::check_folder(arguments.directory.as_deref(), pictures, &files)
}

/// The picture of a partition.
const PARTITION_FILE: &str = "partition.svg";

fn of_partition(
    arguments: &Arguments,
    name: &str,
    build: &Build,
    options: &PlanOptions,
    output: &Output,
) -> Result<Passed, CliError> {
    let prepared = build.prepared();
    let found = [FusionLevel::None, FusionLevel::Register, FusionLevel::Full]
        .map(|level| partition::at_level(prepared, options, &build.limit, level));
    let levels: Vec<LevelFigures> = found.iter().map(|(_, figures)| *figures).collect();
    levels.iter().for_each(|figures| note_end(output, &format!("level {}", figures.level), figures.end));
    let chosen = found.into_iter().find(|(_, figures)| figures.level == arguments.fusion);
    let (chosen, _) = chosen.expect("every level was searched");
    check_partition(build, &chosen, options, DEFAULT_KERNEL_TARGET)?;
    if let Some(directory) = &arguments.directory {
        std::fs::create_dir_all(directory).map_err(file_error("create", directory))?;
        let microseconds: f64 = chosen.groups.iter().map(|group| group.microseconds).sum();
        let title = format!(
            "{name}: {} groups, {microseconds:.1} µs predicted, fusion {}",
            chosen.groups.len(),
            arguments.fusion
        );
        write_file(&directory.join(PARTITION_FILE), picture(&title, &prepared.program, &chosen).as_bytes())?;
    }
    let names = &prepared.program.names;
    let Some(node) = &arguments.node else {
        let (value, text) = (
            explain_partition::partition_value(name, &levels, &chosen, names),
            explain_partition::partition(name, &levels, &chosen, names, arguments.listing()),
        );
        text::explained_by(build, value, text, output);
        return Ok(true);
    };
    let position = position_of(node, &chosen, &prepared.program)?;
    let explained = partition::group(prepared, &build.prices(DEFAULT_KERNEL_TARGET).arch, options, &chosen, position);
    let group = &chosen.groups[position];
    let value = explain_partition::group_value(position, group, &explained, names);
    text::explained_by(build, value, explain_partition::group(position, group, &explained, names), output);
    Ok(true)
}

/// The group of a node of the model, named by itself or its result, or of a statement. Of several the last.
fn position_of(node: &str, chosen: &Partition, program: &TensorProgram) -> Result<usize, CliError> {
    let is_called = |origin: &OriginId| program.names.origins.get(*origin).is_some_and(|origin| origin.is_called(node));
    let of_node = |group: &FusionGroup| group.origins.iter().any(is_called);
    let of_statement = |group: &FusionGroup| group.statements.iter().any(|statement| statement.to_string() == node);
    let found = chosen.groups.iter().rposition(of_node).or_else(|| chosen.groups.iter().position(of_statement));
    found.ok_or_else(|| {
        CliError::Usage(format!(
            "no group computes `{}`: give the name of a node of the model or of its output, or a statement, e0 … e{}, as \
             `compile --emit program` writes them; concats have no group",
            legible(node),
            program.statements.len().saturating_sub(1)
        ))
    })
}

fn write_pictures(directory: &Path, name: &str, explained: &ExplainedPlan, names: &Names) -> Result<(), CliError> {
    std::fs::create_dir_all(directory).map_err(file_error("create", directory))?;
    let plan = explained.plan.plan();
    let picture = timeline(name, plan, names, &explained.simulation, Clock::Predicted);
    let trace = trace(&plan.operators(), names, &explained.simulation, Clock::Predicted);
    for (file, text) in TIMELINE_FILES.into_iter().zip([picture, trace]) {
        write_file(&directory.join(file), text.as_bytes())?;
    }
    Ok(())
}

fn policy(sync: Sync) -> SyncPolicy {
    match sync {
        Sync::Barrier => SyncPolicy::BARRIER,
        Sync::Operator => SyncPolicy::OPERATOR,
        Sync::Tile => SyncPolicy::TILE,
    }
}

fn arena_policy(arena: Arena) -> ArenaPolicy {
    match arena {
        Arena::Small => ArenaPolicy::Small,
        Arena::Fast => ArenaPolicy::Fast,
        Arena::Separate => ArenaPolicy::Separate,
    }
}
