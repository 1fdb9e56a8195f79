//! How a search for a partition prices kernels, and when it ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use warpweave::fusion::cost::cpu::{CpuArch, CpuKind};
use warpweave::fusion::partition::search::SearchEnd;
use warpweave::prices::GivenPrices;
use warpweave::{DeviceArch, SearchLimit, TimingsFile, read_arch};

use crate::error::CliError;
use crate::interrupt;
use crate::output::Output;

/// Arguments of commands that search.
#[derive(Args, Clone, Debug)]
pub struct SearchArguments {
    /// Recorded times of kernels, as `tune` writes them; estimates stand in, scaled, where there are none
    #[arg(long, value_name = "FILE")]
    timings: Option<PathBuf>,
    #[command(flatten)]
    arch: ArchArguments,
    /// Seconds after which each search for a partition ends with the best so far, as after one Ctrl-C; no limit unless given
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, allow_negative_numbers = true)]
    search_budget: Option<Duration>,
}

/// Whose constants predictions follow from.
#[derive(Args, Clone, Debug)]
pub struct ArchArguments {
    /// The constants of the GPU or of the host's processor, as `doctor --calibrate` writes them; of a processor also the name of what
    /// is shipped: avx2, avx512 or neon. One of each may be given; defaults: those of the GPU that is used, else of the
    /// target's generation, and those of avx2
    #[arg(long, value_name = "FILE")]
    arch: Vec<PathBuf>,
}

/// The kind of processor that an argument names in place of a file.
fn shipped(argument: &Path) -> Option<CpuKind> {
    argument.to_str()?.parse().ok()
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

    /// The constants of the devices.
    pub fn arch(&self) -> Result<GivenPrices, CliError> {
        self.arch.given()
    }

    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.timings.iter().cloned().chain(self.arch.files())
    }

    /// When searches end. From here on, Ctrl-C ends the search that runs.
    pub fn limit(&self) -> SearchLimit {
        let limit = SearchLimit { time: self.search_budget, ..SearchLimit::default() };
        interrupt::ends(&limit.interrupt);
        limit
    }
}

impl ArchArguments {
    /// The constants that are given.
    pub fn given(&self) -> Result<GivenPrices, CliError> {
        let mut found = GivenPrices::default();
        for path in &self.arch {
            let arch = match shipped(path) {
                Some(kind) => CpuArch::of(kind).into(),
                None => read_arch(path)?,
            };
            let was_given = match arch {
                DeviceArch::Gpu(arch) => found.gpu.replace(arch).is_some(),
                DeviceArch::Processor(arch) => found.processor.replace(arch).is_some(),
            };
            if was_given {
                let text =
                    "--arch names the constants of two devices of one kind; give one of a GPU and one of a processor";
                return Err(CliError::Usage(text.to_owned()));
            }
        }
        Ok(found)
    }

    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.arch.iter().filter(|path| shipped(path).is_none()).cloned()
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
