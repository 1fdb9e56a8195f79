//! How much is said beside results.

use clap::Args;

use crate::output::Detail;

/// Arguments of every command.
#[derive(Args)]
pub struct Verbosity {
    /// Says nothing beside results, warnings and errors
    #[arg(short, long, global = true, display_order = 900, conflicts_with = "verbose")]
    quiet: bool,
    /// Says when each stage begins
    #[arg(short, long, global = true, display_order = 901)]
    verbose: bool,
}

impl Verbosity {
    /// What is wanted.
    pub fn detail(&self) -> Detail {
        match self {
            Self { quiet: true, .. } => Detail::Quiet,
            Self { verbose: true, .. } => Detail::Verbose,
            Self { .. } => Detail::Usual,
        }
    }
}
