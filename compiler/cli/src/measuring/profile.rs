//! `warpweave profile`: when every rTask ran, beside what was predicted.

use std::path::PathBuf;

use clap::Args;
use warpweave::explain::{timeline, trace};
use warpweave::{OpenOptions, Source, random_inputs};
use warpweave_measure::profile::profile;

use super::profile_text as text;
use crate::arguments::arrays::Arrays;
use crate::arguments::program::{ProgramArguments, child_compiler, parse_units};
use crate::error::{CliError, Passed, file_error};
use crate::output::{Output, write_file};
use crate::output_paths::{self, TIMELINE_FILES, timeline_outputs};

/// Arguments of `profile`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramArguments,
    /// The most vEUs of emulator, text, machine code and GPU
    #[arg(long, value_name = "N", value_parser = parse_units)]
    veus: Option<usize>,
    /// The seed of random inputs and of the emulator's interleaving
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// A folder for timeline.svg and trace.json, which Chrome and Perfetto show
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let source = arguments.program.load(&Arrays::default(), output)?;
    let mut files = source.files();
    files.extend(arguments.program.import.inputs.files());
    output_paths::check_folder(arguments.directory.as_deref(), timeline_outputs(), &files)?;
    let name = match &source {
        Source::Model(build) => &build.model.record.name,
        Source::Bundle(bundle) => &bundle.manifest().model.name,
    };
    let names = source.names(arguments.program.device.machine())?;
    let options = OpenOptions { units: arguments.veus, seed: arguments.seed, ..arguments.program.options() };
    let given = arguments.program.arch.given()?;
    let inputs = random_inputs(source.signature(), arguments.seed);
    let profile = profile(&source, arguments.program.device, &options, &child_compiler, &inputs, &given)?;
    arguments.program.note_backend(output);
    profile.notes.iter().for_each(|note| output.note(note));
    if let Some(directory) = &arguments.directory {
        std::fs::create_dir_all(directory).map_err(file_error("create", directory))?;
        let picture = timeline(name, &profile.plan, &names, &profile.recorded, profile.clock);
        let trace = trace(profile.plan.segment().operators(), &names, &profile.recorded, profile.clock);
        for (file, text) in TIMELINE_FILES.into_iter().zip([picture, trace]) {
            write_file(&directory.join(file), text.as_bytes())?;
        }
    }
    let device = arguments.program.device;
    output.result("profile", &text::value(name, device, &profile, &names), &text::text(name, device, &profile, &names));
    Ok(true)
}
