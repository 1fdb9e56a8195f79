//! Errors that tests plant in what a device runs, so that there is something to reduce.

use std::process::abort;
use std::str::FromStr;
use std::time::Duration;

use warpweave_codegen::emulate::mutate::ProgramMutation;
use warpweave_graph::program::text;
use warpweave_runtime::session::{Device, OpenOptions, Session, SessionError};

use crate::build::Build;
use crate::check::Checked;
use crate::model::Model;
use crate::open::{CompilerSource, OpenError, Source, open};
use crate::program_file::{input_names, output_names};

/// An error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// In the text of the program that the device runs, one thing stands for another.
    Replace {
        /// What is replaced.
        from: String,
        /// What replaces it.
        to: String,
    },
    /// Kernels wait without acquiring what they wait for.
    RelaxedWaits,
    /// The process ends in the middle of a run, where the program's text has this.
    Abort(String),
    /// A run takes a tenth of a second more, where the program's text has this.
    Delay(String),
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name == "relaxed-waits" {
            return Ok(Self::RelaxedWaits);
        }
        let unknown = || format!("`{name}` is no fault: relaxed-waits, abort:TEXT, delay:TEXT or replace:TEXT=>TEXT");
        let (kind, what) = name.split_once(':').ok_or_else(unknown)?;
        match (kind, what.split_once("=>")) {
            ("replace", Some((from, to))) => Ok(Self::Replace { from: from.to_owned(), to: to.to_owned() }),
            ("abort", _) => Ok(Self::Abort(what.to_owned())),
            ("delay", _) => Ok(Self::Delay(what.to_owned())),
            _ => Err(unknown()),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Replace { from, to } => write!(f, "replace:{from}=>{to}"),
            Self::RelaxedWaits => f.write_str("relaxed-waits"),
            Self::Abort(text) => write!(f, "abort:{text}"),
            Self::Delay(text) => write!(f, "delay:{text}"),
        }
    }
}

impl Fault {
    /// A session that has the error.
    pub fn open(
        &self,
        source: &Source,
        device: Device,
        options: &OpenOptions,
        compiler: CompilerSource<'_>,
    ) -> Result<Box<dyn Session>, OpenError> {
        match (self, source) {
            (Self::RelaxedWaits, _) => {
                let checked = Checked::of(source, None)?;
                checked.open_changed(&|program| ProgramMutation::RelaxWait.apply(program), device, options)
            }
            (Self::Replace { from, to }, Source::Model(build)) => {
                let program = &build.model.program;
                let changed = text::parse(&text::print(program).replace(from, to), &text::tensors(program));
                let changed = changed.map_err(|error| SessionError::Internal(error.to_string()))?;
                let (inputs, outputs) = (input_names(&changed), output_names(&changed));
                let build = Build::new(Model::new("changed", changed, &inputs, &outputs))?;
                Ok(Box::new(open(&Source::Model(Box::new(build)), device, options, compiler)?))
            }
            (Self::Abort(has), Source::Model(build)) if text::print(&build.model.program).contains(has) => abort(),
            (Self::Abort(_) | Self::Delay(_) | Self::Replace { .. }, _) => {
                Ok(Box::new(open(source, device, options, compiler)?))
            }
        }
    }

    /// How much longer a run of the program of this text takes.
    pub fn delay(&self, program: &str) -> Duration {
        match self {
            Self::Delay(has) if program.contains(has) => Duration::from_millis(100),
            Self::Delay(_) | Self::Replace { .. } | Self::RelaxedWaits | Self::Abort(_) => Duration::ZERO,
        }
    }
}
