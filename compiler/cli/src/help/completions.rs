//! `warpweave completions`: what a shell completes commands by.

use clap::Args;
use clap_complete::Shell;
use warpweave::runtime::json::json;

use crate::commands;
use crate::error::{CliError, Passed};
use crate::output::Output;

/// Arguments of `completions`.
#[derive(Args)]
pub struct Arguments {
    /// The shell whose script is printed
    shell: Shell,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let mut script = Vec::new();
    let mut command = commands::described();
    clap_complete::generate(arguments.shell, &mut command, "warpweave", &mut script);
    let script = String::from_utf8_lossy(&script);
    let value = json!({"passed": true, "shell": arguments.shell.to_string(), "script": script});
    output.result("completions", &value, &script);
    Ok(true)
}
