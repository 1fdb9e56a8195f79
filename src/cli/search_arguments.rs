//! How a search for a partition prices kernels, and when it ends.

use std::path::PathBuf;
use std::process::exit;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use warpweave::fusion::partition::SearchEnd;
use warpweave::fusion::partition::arch::GpuArch;
use warpweave::{SearchLimit, TimingsFile, read_arch};

use super::error::CliError;
use super::output::Output;

/// What a process ends with that is interrupted: 128 and the number of the signal.
const EXIT_INTERRUPTED: i32 = 130;

/// Arguments of commands that search.
#[derive(Args, Clone, Debug)]
pub struct SearchArguments {
    /// Recorded times of kernels, as `tune` writes them; estimates stand in, scaled, where there are none
    #[arg(long, value_name = "FILE")]
    timings: Option<PathBuf>,
    /// The constants of the GPU, as `doctor --calibrate` writes them; those of its generation unless given
    #[arg(long, value_name = "FILE")]
    arch: Option<PathBuf>,
    /// Seconds after which each search for a partition ends with the best so far, as after Ctrl-C; no limit unless given
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, allow_negative_numbers = true)]
    search_budget: Option<Duration>,
}

/// A time in seconds, as an argument.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| format!("`{text}` is no number of seconds; give one from 0, such as 2.5"))
}

impl SearchArguments {
    /// The recorded times.
    pub fn timings(&self) -> Result<Option<Arc<TimingsFile>>, CliError> {
        Ok(self.timings.as_deref().map(TimingsFile::read).transpose()?.map(Arc::new))
    }

    /// The constants of the GPU.
    pub fn arch(&self) -> Result<Option<GpuArch>, CliError> {
        Ok(self.arch.as_deref().map(read_arch).transpose()?)
    }

    /// When searches end. From here on, Ctrl-C ends the search that runs; at other times, or again, it ends the process.
    pub fn limit(&self, output: &Output) -> SearchLimit {
        let limit = SearchLimit { time: self.search_budget, ..SearchLimit::default() };
        let interrupt = limit.interrupt.clone();
        let handler = move || {
            if !interrupt.request() {
                exit(EXIT_INTERRUPTED);
            }
        };
        if let Err(error) = ctrlc::set_handler(handler) {
            output.note(&format!("Ctrl-C ends the process instead of a search: {error}"));
        }
        limit
    }
}

/// Says that a search did not come to its end.
pub fn note_end(output: &Output, search: &str, end: SearchEnd) {
    match end {
        SearchEnd::Complete => {}
        SearchEnd::BudgetSpent => {
            output.note(&format!("the search for {search} ended early; the best partition so far is kept"));
        }
    }
}
