//! `warpweave report`: a page of results.

use std::path::PathBuf;

use clap::Args;
use warpweave::runtime::json::json;
use warpweave_measure::bench::read_results;
use warpweave_measure::report;

use crate::error::{CliError, Passed};
use crate::output::{Output, write_file};
use crate::output_kinds::OutputKind;
use crate::output_paths::{self, OutputFile};

/// Arguments of `report`.
#[derive(Args)]
pub struct Arguments {
    /// Files that `bench --json` has written
    #[arg(value_name = "RESULTS", required = true)]
    results: Vec<PathBuf>,
    /// The page to write
    #[arg(short, long, value_name = "FILE.html")]
    output: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    output_paths::check_files(&[OutputFile::new(&arguments.output, OutputKind::Page)], &arguments.results)?;
    let mut results = Vec::new();
    for path in &arguments.results {
        results.extend(read_results(path)?);
    }
    let page = report::page(&results);
    write_file(&arguments.output, page.html.as_bytes())?;
    let path = arguments.output.display().to_string();
    let text = format!("{path}: {} results, {} charts", results.len(), page.charts);
    output.result("report", &json!({"path": path, "results": results.len(), "charts": page.charts}), &text);
    Ok(true)
}
