//! `warpweave check`: what is proved of a plan, and what a missing wait does.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::runtime::bundle::BundleTarget;
use warpweave::{Checked, Source, random_inputs};

use super::check_text as text;
use crate::arguments::import::ImportArguments;
use crate::arguments::precision::PrecisionArguments;
use crate::arguments::program::{ModelChoices, Runs, child_compiler, load, parse_target};
use crate::error::{CliError, Passed};
use crate::output::Output;

/// Arguments of `check`.
#[derive(Args)]
pub struct Arguments {
    /// An ONNX model or a bundle; told apart by content
    #[arg(value_name = "MODEL|BUNDLE")]
    path: PathBuf,
    /// host, or a GPU architecture such as sm_90a; sm_90a for a model and the newest part of a bundle unless given
    #[arg(long, value_parser = parse_target)]
    target: Option<BundleTarget>,
    /// Leave out a wait, by its number from 0 or `first`: what the verifier then finds, and what the device computes
    #[arg(long, value_name = "N")]
    without_wait: Option<WaitNumber>,
    /// What shows a plan without a wait
    #[arg(long, value_enum, default_value_t, requires = "without_wait")]
    device: Shows,
    /// The seed of interleavings and of random inputs
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How far a model's operators are fused: none, register or full; full on a GPU, register on the host unless given
    #[arg(long, value_name = "LEVEL")]
    fusion: Option<FusionLevel>,
    /// What runs a model's plan on a GPU; auto unless given, persistent with --without-wait
    #[arg(long, value_enum)]
    backend: Option<Runs>,
    #[command(flatten)]
    import: ImportArguments,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A device that shows what becomes of values where a wait is missing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, ValueEnum)]
pub enum Shows {
    /// The kernel IR, emulated
    #[default]
    Emulator,
    /// The cubin, executed
    MachineCode,
}

/// A wait of a plan, unit by unit in the order of the streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct WaitNumber(usize);

impl FromStr for WaitNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "first" => Ok(Self(0)),
            number => number.parse().map(Self).map_err(|_| format!("`{text}` is no wait: give a number or `first`")),
        }
    }
}

/// Runs the command. A plan that does not verify is an error of opening it.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let precision = &PrecisionArguments::default();
    let target = arguments.target.unwrap_or(BundleTarget::Host);
    let choices = ModelChoices { fusion: arguments.fusion, backend: arguments.backend, precision, target };
    let mut source = load(&arguments.path, &arguments.import.import_options()?, choices, output)?;
    if let (Source::Model(build), None, Some(_)) = (&mut source, arguments.backend, arguments.without_wait) {
        build.backend = Runs::Persistent.choice();
    }
    let checked = Checked::of(&source, arguments.target)?;
    let mut value = text::plan_value(&checked);
    let mut told = text::plan(&checked);
    if let Some(WaitNumber(number)) = arguments.without_wait {
        let without = checked.without_wait(number).ok_or_else(|| no_such_wait(&checked, number))?;
        let inputs = random_inputs(source.signature(), arguments.seed);
        let corruption = match arguments.device {
            Shows::Emulator => checked.corruption(&without, &inputs, arguments.seed)?,
            Shows::MachineCode => {
                checked.machine_code_corruption(&without, &inputs, arguments.seed, &child_compiler)?
            }
        };
        let shown = text::Shown { by: arguments.device, corruption: corruption.as_ref() };
        value["without_wait"] = text::without_value(&checked, &without, shown);
        told.push_str(&text::without(&checked, &without, shown, &source.names(checked.target.machine())?));
    }
    output.result("check", &value, &told);
    Ok(true)
}

/// A benchmark model whose plans have waits on the host and on every GPU, though it is small.
const WITH_WAITS: &str = "warpweave models export lstm_tc --reduced -o lstm_tc.onnx";

fn no_such_wait(checked: &Checked, number: usize) -> CliError {
    let waits = checked.evidence().waits;
    CliError::Usage(match checked.plan.plan.plan().only_persistent() {
        Some(_) if waits == 0 => format!(
            "the plan has no wait that could be left out: none of its rTasks needs another unit's; `{WITH_WAITS}` writes a \
             model whose plans have waits"
        ),
        Some(_) => format!("there is no wait {number}: the plan has {waits}, from 0 on"),
        None => format!(
            "waits are left out of plans that are one persistent program, and this one is not; check a model, or compile the \
             bundle, with --backend persistent, such as the model that `{WITH_WAITS}` writes"
        ),
    })
}
