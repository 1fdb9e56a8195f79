//! Runs printed text on the host: compiles it with the host's C++ compiler against the host prelude, and launches it in
//! a child process.
//!
//! The text is the one that NVRTC compiles for a device; only the prelude differs. A launch's blocks are threads of the
//! child, all live at once, so that waits between blocks work as on a device.

mod compiler;
mod launch_files;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use warpweave_codegen::prelude::{HOST_OPTIONS, host_source};
use warpweave_plan::tables::Tables;
use warpweave_plan::tensor_core::sum::TensorCore;

use crate::cache::{Cache, CacheKey};
use crate::session_memory::{SessionMemory, TimedOutWait};
use crate::tools::{self, Ending};
use crate::unfinished::TemporaryDirectory;
use compiler::Compiler;

/// A failure to compile or to run printed text on the host.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// No C++ compiler answers.
    #[error("no C++ compiler found (tried {tried}): install g++ or clang++, or name one in CXX")]
    NoCompiler {
        /// The names tried.
        tried: String,
    },
    /// The compiler rejects the text.
    #[error("{compiler} rejects the printed text:\n{log}")]
    Compile {
        /// The compiler.
        compiler: String,
        /// The first lines of what it said.
        log: String,
    },
    /// The program ended with an error: an access out of bounds, a diverged barrier, a crash.
    #[error("the printed text failed on the host ({status}): {log}")]
    Run {
        /// How it ended.
        status: String,
        /// The first lines of what it said.
        log: String,
    },
    /// A wait of the plan gave up; the session's memory shows the state.
    #[error(transparent)]
    Wait(#[from] TimedOutWait),
    /// A process did not end in time.
    #[error("{what} did not end within {limit:?}")]
    TimeLimit {
        /// Which process.
        what: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// Files of the exchange with the child could not be written or read.
    #[error("cannot exchange files with the printed text: {0}")]
    Files(#[from] std::io::Error),
}

/// Launch parameters and what a launch only reads.
#[derive(Clone, Copy, Debug)]
pub struct TextLaunch<'a> {
    /// Threads of a block, the same as the printed program's.
    pub threads: u32,
    /// Shared-memory bytes of a block.
    pub shared_bytes: u32,
    /// The plan's tables.
    pub tables: &'a Tables,
    /// Constants.
    pub weights: &'a [u8],
    /// How many launches follow one another.
    pub launches: u32,
    /// After how long a wait of the plan gives up.
    pub wait_limit: Duration,
    /// After how long the whole run is stopped.
    pub run_limit: Duration,
    /// Whose sums products of matrices have.
    pub tensor_core: TensorCore,
}

/// Printed text, compiled for the host.
pub struct TextProgram {
    executable: PathBuf,
    // Holds the executable where no cache does.
    _directory: Option<TemporaryDirectory>,
}

const COMPILE_LIMIT: Duration = Duration::from_secs(300);
const LOG_LINES: usize = 30;

/// Name and version of the host's C++ compiler.
pub fn compiler_identity() -> Result<String, TextError> {
    Ok(Compiler::find()?.identity().to_owned())
}

impl TextProgram {
    /// Compiles `text`, which the printer wrote, or takes it from `cache`.
    pub fn compile(text: &str, cache: Option<&Cache>) -> Result<Self, TextError> {
        let compiler = Compiler::find()?;
        let source = host_source(text);
        let Some(cache) = cache else {
            let directory = TemporaryDirectory::new()?;
            let executable = directory.join("program");
            compiler.compile(&source, &executable)?;
            return Ok(Self { executable, _directory: Some(directory) });
        };
        let parts = [source.as_str(), compiler.identity()].into_iter().chain(HOST_OPTIONS);
        let key = CacheKey::new(parts.map(str::as_bytes));
        let executable = cache.path(key);
        if !executable.is_file() {
            cache.publish(key, |path| compiler.compile(&source, path))?;
        }
        Ok(Self { executable, _directory: None })
    }

    /// Runs the launches one after another on `memory`. After an error of the plan's own (a wait that timed out) the
    /// memory is what the launch left; after any other error it is as before.
    pub fn run(&self, launch: TextLaunch<'_>, memory: &mut SessionMemory) -> Result<(), TextError> {
        let directory = TemporaryDirectory::new()?;
        launch_files::write(&directory, launch, memory)?;
        let mut command = Command::new(&self.executable);
        match tools::run(command.arg(directory.path()), directory.path(), launch.run_limit)? {
            Ending::TimedOut => {
                return Err(TextError::TimeLimit { what: "the printed text", limit: launch.run_limit });
            }
            Ending::Exited(status, _) if status.success() => {}
            Ending::Exited(status, log) => {
                return Err(TextError::Run { status: status.to_string(), log: tools::first_lines(&log, LOG_LINES) });
            }
        }
        launch_files::read(&directory, memory)?;
        memory.timed_out_wait().map_or(Ok(()), |wait| Err(wait.into()))
    }
}
