//! `warpweave explain`: why a model is compiled as it is.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use warpweave::compiler::CompileOptions;
use warpweave::explain::{ExplainedPlan, compare, explain, timeline, trace};
use warpweave::fusion::schedule::{self, PlanOptions, SyncPolicy};
use warpweave::{Build, BuildError, Model};

use super::Passed;
use super::arguments::Shapes;
use super::error::CliError;
use super::explain_text as text;
use super::file_error;
use super::output::{Output, write_file};

/// Arguments of `explain`.
#[derive(Args)]
pub struct Arguments {
    /// An ONNX model
    #[arg(value_name = "MODEL")]
    path: PathBuf,
    /// Explain the plan: what runs where and when, as predicted from the cost model
    #[arg(long, required = true)]
    plan: bool,
    /// Compare barriers, waits for operators and waits for tiles
    #[arg(long, conflicts_with_all = ["directory", "sync"])]
    compare: bool,
    /// Virtual execution units
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    units: Option<u32>,
    /// How fine dependencies are; the fastest by prediction unless given
    #[arg(long, value_enum)]
    sync: Option<Sync>,
    /// When tensors share memory
    #[arg(long, value_enum, default_value_t = Arena::Fast)]
    arena: Arena,
    /// A folder for timeline.svg and trace.json, which Chrome and Perfetto show
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    shapes: Shapes,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// How fine dependencies are.
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

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let model = Model::import(&arguments.path, &arguments.shapes.import_options())?;
    let name = model.record.name.clone();
    let build = Build::new(model, &mut |_| {});
    let compile = CompileOptions::default();
    let compile = CompileOptions { units: arguments.units.map_or(compile.units, |units| units as usize), ..compile };
    let options = PlanOptions {
        sync: arguments.sync.map(policy),
        arena: arena_policy(arguments.arena),
        ..PlanOptions::new(compile.units)
    };
    let partition = build.prepared().partition(&compile);
    if arguments.compare {
        let comparison = compare(build.prepared(), &partition, &compile, &options).map_err(BuildError::from)?;
        output.result("explain", &text::comparison_value(&name, &comparison), &text::comparison(&name, &comparison));
        return Ok(true);
    }
    let explained = explain(build.prepared(), &partition, &compile, &options).map_err(BuildError::from)?;
    if let Some(directory) = &arguments.directory {
        write_pictures(directory, &name, &explained)?;
    }
    output.result("explain", &text::plan_value(&name, &explained), &text::plan(&name, &explained));
    Ok(true)
}

fn write_pictures(directory: &Path, name: &str, explained: &ExplainedPlan) -> Result<(), CliError> {
    std::fs::create_dir_all(directory).map_err(file_error("create", directory))?;
    let segment = explained.plan.plan().persistent();
    let makespan = explained.simulation.makespan;
    let title = format!("{name}: {makespan:.1} µs predicted on {} units", segment.units());
    let picture = timeline(&title, segment, &explained.simulation);
    write_file(&directory.join("timeline.svg"), picture.as_bytes())?;
    write_file(&directory.join("trace.json"), trace(segment, &explained.simulation).as_bytes())
}

fn policy(sync: Sync) -> SyncPolicy {
    match sync {
        Sync::Barrier => SyncPolicy::Barrier,
        Sync::Operator => SyncPolicy::Operator,
        Sync::Tile => SyncPolicy::Tile,
    }
}

fn arena_policy(arena: Arena) -> schedule::ArenaPolicy {
    match arena {
        Arena::Small => schedule::ArenaPolicy::Small,
        Arena::Fast => schedule::ArenaPolicy::Fast,
        Arena::Separate => schedule::ArenaPolicy::Separate,
    }
}
