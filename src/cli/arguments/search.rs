//! How a search for a partition prices kernels, and when it ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use warpweave::fusion::cost::arch::GpuArch;
use warpweave::fusion::partition::search::SearchEnd;
use warpweave::{SearchLimit, TimingsFile, read_arch};

use crate::cli::error::CliError;
use crate::cli::interrupt;
use crate::cli::output::Output;

/// Arguments of commands that search.
#[derive(Args, Clone, Debug)]
pub struct SearchArguments {
    /// Recorded times of kernels, as `tune` writes them; estimates stand in, scaled, where there are none
    #[arg(long, value_name = "FILE")]
    timings: Option<PathBuf>,
    /// The constants of the GPU, as `doctor --calibrate` writes them; those of its generation unless given
    #[arg(long, value_name = "FILE")]
    arch: Option<PathBuf>,
    /// Seconds after which each search for a partition ends with the best so far, as after one Ctrl-C; no limit unless given
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

    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        [&self.timings, &self.arch].into_iter().flatten().cloned()
    }

    /// When searches end. From here on, Ctrl-C ends the search that runs.
    pub fn limit(&self) -> SearchLimit {
        let limit = SearchLimit { time: self.search_budget, ..SearchLimit::default() };
        interrupt::ends(&limit.interrupt);
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
