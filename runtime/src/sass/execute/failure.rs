//! Why a run of machine code fails.

use super::grid::LaunchError;
use super::image::LoadError;
use crate::session_memory::TimedOutWait;

/// Machine code that cannot be loaded or does what it must not.
#[derive(Debug, thiserror::Error)]
pub enum MachineCodeError {
    /// It cannot be loaded.
    #[error("the machine code cannot be loaded: {0}")]
    Load(#[from] LoadError),
    /// A launch fails.
    #[error("the machine code is wrong: {0}")]
    Launch(#[from] LaunchError),
    /// A wait of the plan gave up.
    #[error(transparent)]
    Wait(#[from] TimedOutWait),
}
