//! Stand-in.
use super::{Passed, error::CliError, output::Output};
/// Arguments.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub program: super::arguments::ProgramArguments,
    #[arg(long = "json2")]
    pub json: bool,
}
pub fn execute(_: &Arguments, _: &Output) -> Result<Passed, CliError> {
    Ok(true)
}
