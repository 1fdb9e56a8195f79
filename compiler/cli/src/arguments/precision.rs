//! What a model's floating point is stored in, as a person asks for it.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use warpweave::graph::Tensor;
use warpweave::graph::program::precision::Precision;
use warpweave::precision::{Candidate, Choice, beyond_range, fastest};
use warpweave::runtime::bundle::{BundleTarget, Signature};
use warpweave::{Build, KeepList, PrecisionChoice, Storage};

use super::arrays::Arrays;
use super::inputs;
use crate::error::{CliError, file_error};
use crate::output::Output;

/// Arguments of commands that compile a model.
#[derive(Args, Clone, Debug, Default)]
pub struct PrecisionArguments {
    /// What a model's floating point is stored in: fp32, fp16 or bf16, computed in FP32 in any case; or auto, the fastest of them by
    /// prediction whose outputs stay within --max-error on the arrays of --calibrate-io. FP32 as it is unless given. Inputs and
    /// outputs keep their types
    #[arg(long, value_name = "PRECISION")]
    precision: Option<PrecisionChoice>,
    /// What stays in FP32: a tensor, or the results of a node, by its name, in which `*` stands for any characters; @FILE has a name
    /// a line
    #[arg(long, value_name = "NAME|@FILE", requires = "precision")]
    keep_f32: Vec<String>,
    /// Arrays for the inputs, a sample each: what leaves the range of 16 bits on them stays in FP32
    #[arg(long, value_name = "FILE.npz|DIR", requires = "precision")]
    calibrate_io: Vec<PathBuf>,
    /// With --precision auto, the largest error of an output that is accepted, over its largest value
    #[arg(long, value_name = "ERROR", requires = "precision", value_parser = parse_error, allow_negative_numbers = true)]
    max_error: Option<f64>,
}

/// The error that auto accepts.
const MOST_ERROR: f64 = 1e-2;

/// An error over a largest value.
fn parse_error(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(error) if error >= 0.0 => Ok(error),
        _ => Err("an error is a number of 0 or more, such as 1e-2".to_owned()),
    }
}

impl PrecisionArguments {
    /// Whether a person chooses.
    pub fn is_given(&self) -> bool {
        self.precision.is_some()
    }

    /// What a person chooses, if anything.
    pub fn choice(&self) -> Option<PrecisionChoice> {
        self.precision
    }

    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let lists = self.keep_f32.iter().filter_map(|name| name.strip_prefix('@')).map(PathBuf::from);
        lists.chain(self.calibrate_io.iter().cloned())
    }

    /// How the singles of a model in FP32 are stored; with `auto` as is fastest on `target`.
    pub fn storage(&self, build: &Build, target: BundleTarget, output: &Output) -> Result<Storage, CliError> {
        let choice = self.precision.unwrap_or_default();
        if choice != PrecisionChoice::Auto && self.max_error.is_some() {
            return Err(CliError::Usage("--max-error is for --precision auto, which chooses by it".to_owned()));
        }
        let keep = self.keep_list()?;
        let samples = self.samples(&build.model.signature, build)?;
        let precision = match choice {
            PrecisionChoice::Only(precision) => precision,
            PrecisionChoice::Auto if samples.is_empty() || build.model.training.is_some() => {
                output.note(match samples.is_empty() {
                    true => "--precision auto measures errors on samples, and none is given: fp32; add --calibrate-io FILE.npz",
                    false => "--precision auto stores a training step in fp32",
                });
                Precision::Fp32
            }
            PrecisionChoice::Auto => {
                let most_error = self.max_error.unwrap_or(MOST_ERROR);
                let (candidates, chosen) = fastest(build, &keep, Choice { target, samples: &samples, most_error })?;
                output.note(&chosen_note(&candidates, chosen, most_error, target));
                return Ok(candidates.into_iter().nth(chosen).map_or_else(Storage::default, |chosen| chosen.storage));
            }
        };
        let Some(storage) = precision.storage() else {
            if choice == PrecisionChoice::Only(Precision::Fp32)
                && !(self.keep_f32.is_empty() && self.calibrate_io.is_empty())
            {
                let text =
                    "--keep-f32 and --calibrate-io say what stays in FP32, and --precision fp32 stores nothing else";
                return Err(CliError::Usage(text.to_owned()));
            }
            return Ok(Storage::from(precision));
        };
        Ok(Storage { precision, keep, beyond: beyond_range(build, &samples, storage)? })
    }

    /// A model whose singles are stored so.
    pub fn store(&self, build: Build, target: BundleTarget, output: &Output) -> Result<Build, CliError> {
        if !self.is_given() {
            return Ok(build);
        }
        let storage = self.storage(&build, target, output)?;
        Ok(build.stored_in(&storage)?)
    }

    fn keep_list(&self) -> Result<KeepList, CliError> {
        let mut patterns = Vec::new();
        for name in &self.keep_f32 {
            let Some(path) = name.strip_prefix('@') else {
                patterns.push(name.clone());
                continue;
            };
            let text = fs::read_to_string(path).map_err(file_error("read", path.as_ref()))?;
            let before = patterns.len();
            patterns.extend(KeepList::lines(&text).map(str::to_owned));
            if patterns.len() == before {
                return Err(CliError::Usage(format!("{path} names nothing that stays in FP32: a name a line")));
            }
        }
        Ok(KeepList::new(patterns))
    }

    fn samples(&self, signature: &Signature, build: &Build) -> Result<Vec<Vec<Tensor>>, CliError> {
        let sample = |path: &PathBuf| {
            let assigned = Arrays::of_archive(path)?.assign(signature, &build.model.record.constants)?;
            inputs::from_arrays(signature, assigned.inputs, "an array of its name in the --calibrate-io file")
        };
        self.calibrate_io.iter().map(sample).collect()
    }
}

/// Which precision was taken, and why not another.
fn chosen_note(candidates: &[Candidate], chosen: usize, most_error: f64, target: BundleTarget) -> String {
    let described = |candidate: &Candidate| {
        let Candidate { storage, microseconds, error } = candidate;
        format!("{} {microseconds:.1} us with an error of {error:.1e}", storage.precision)
    };
    let all: Vec<String> = candidates.iter().map(described).collect();
    let taken = candidates.get(chosen).map_or(Precision::Fp32, |candidate| candidate.storage.precision);
    format!("--precision auto takes {taken}, of {} on {target}, where {most_error:.1e} is accepted", all.join(", "))
}
