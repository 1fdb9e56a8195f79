//! `warpweave manual`: a page of the manual for the program and for each command.

use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man;
use warpweave::runtime::json::json;

use crate::commands;
use crate::error::{CliError, Passed, file_error};
use crate::output::{Output, write_file};

/// Arguments of `manual`.
#[derive(Args)]
pub struct Arguments {
    /// The folder that pages are written to, such as ~/.local/share/man/man1; pages that are there are replaced
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let folder = &arguments.output;
    std::fs::create_dir_all(folder).map_err(file_error("create", folder))?;
    let mut program = commands::described().disable_help_subcommand(true);
    program.build();
    let of_commands = program.get_subcommands().filter(|command| !command.is_hide_set());
    let mut written = Vec::new();
    for command in std::iter::once(&program).chain(of_commands) {
        let page = Man::new(command.clone());
        let path = folder.join(page.get_filename());
        let mut bytes = Vec::new();
        page.render(&mut bytes).map_err(file_error("write", &path))?;
        write_file(&path, &bytes)?;
        written.push(path.display().to_string());
    }
    let text = format!("{} pages in {}", written.len(), folder.display());
    output.result("manual", &json!({"passed": true, "pages": written}), &text);
    Ok(true)
}
