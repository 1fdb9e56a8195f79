//! `warpweave lab`: what scripts/gpu_lab.sh has recorded.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use warpweave::lab::{Lab, markdown};
use warpweave::runtime::json;

use crate::cli::error::{CliError, Passed};
use crate::cli::output::Output;

/// Arguments of `lab`.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Prints the tables of a record, in Markdown
    Show {
        /// The lab.json that scripts/gpu_lab.sh has written
        #[arg(value_name = "LAB.json")]
        path: PathBuf,
    },
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let Action::Show { path } = &arguments.action;
    let lab = Lab::read(path)?;
    let value = json::to_value(&lab).map_err(|error| CliError::Usage(format!("no JSON holds the record: {error}")))?;
    output.result("lab", &value, &markdown(&lab));
    Ok(true)
}
