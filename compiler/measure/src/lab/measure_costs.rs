//! Measures what compiling and running the benchmark models takes, for the plans of later runs of the lab.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use warpweave_graph::legible::file_remedy;
use warpweave_runtime::new_file;

use super::costs::{BundleCosts, Costs, FixtureCosts, ModelCosts, bundle_of};
use super::run::bundles::export_arguments;
use super::run::child::{Children, Ended};
use super::run::fixtures::{Fixture, Fixtures};
use super::run::options::{Backend, Scale};
use super::run::step::{ZooModel, models_of};

/// What bundles are compiled for.
const TARGET: &str = "sm_90a";
const TARGETS: &str = "host,sm_90a";
/// Seconds that one command may take.
const LIMIT: Duration = Duration::from_secs(1200);
/// The parts of a second in which the system counts processor time.
const TICKS: f64 = 100.0;
/// Fields of /proc/self/stat behind the name: user and system time of children that have ended.
const CHILDREN_TIMES: [usize; 2] = [13, 14];

/// Why costs cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum CostsError {
    /// A file cannot be read or written.
    #[error("cannot use {}: {source}; {}", path.display(), file_remedy(source))]
    File {
        /// Which.
        path: PathBuf,
        source: io::Error,
    },
    /// A command failed.
    #[error("{command} failed, and what it takes is not known: {tail}")]
    Command {
        /// Its words.
        command: String,
        /// The end of what it printed.
        tail: String,
    },
    /// There are no small models.
    #[error("tests/models is not here: run this in the repository")]
    NoFixtures,
    /// The system does not tell processor times.
    #[error("/proc/self/stat does not tell the processor time of child processes")]
    NoTimes,
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> CostsError {
    let path = path.to_owned();
    move |source| CostsError::File { path, source }
}

#[derive(Deserialize)]
struct Compiled {
    bytes: u64,
    targets: Vec<CompiledTarget>,
}

#[derive(Deserialize)]
struct CompiledTarget {
    target: String,
    backend: String,
}

#[derive(Deserialize)]
struct Checked {
    backend: String,
}

/// Measures every model with this program, one command at a time, and writes the costs to `path` after each model. Models
/// whose costs of the same version are there already are kept.
pub fn measure_costs(binary: &Path, path: &Path, work: &Path, say: &mut dyn FnMut(&str)) -> Result<Costs, CostsError> {
    let fixtures = Fixtures::find();
    if fixtures.is_empty() {
        return Err(CostsError::NoFixtures);
    }
    let meter = Meter { binary: binary.to_owned(), children: Children::default() };
    let version = meter.run(&["--version".to_owned()])?.0.out.trim().to_owned();
    let known = Costs::read(path).filter(|costs| costs.version == version);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut costs = known.unwrap_or(Costs { version, cores, ..Costs::default() });
    let folder = work.join("costs");
    for model in models_of(Scale::Full) {
        if costs.model(&model.name, model.is_unrolled).is_none() {
            costs.models.push(meter.model(&model, &folder)?);
            write(&costs, path)?;
            say(&format!("measured {}", model.label()));
        }
    }
    for fixture in fixtures.all() {
        if costs.fixture(&fixture.name).is_none() {
            costs.fixtures.push(meter.fixture(fixture, &folder)?);
            write(&costs, path)?;
            say(&format!("measured {}", fixture.name));
        }
    }
    Ok(costs)
}

fn write(costs: &Costs, path: &Path) -> Result<(), CostsError> {
    new_file::write(path, costs.text().as_bytes()).map_err(file_error(path))
}

/// Runs commands, and reads what they take.
struct Meter {
    binary: PathBuf,
    children: Children,
}

impl Meter {
    /// A command with the seconds of processor time that it and its children took.
    fn run(&self, arguments: &[String]) -> Result<(Ended, f64), CostsError> {
        let before = children_seconds()?;
        let ended = self.children.run(&self.binary, arguments, LIMIT);
        let seconds = children_seconds()? - before;
        if ended.is_ok() {
            return Ok((ended, (seconds * TICKS).round() / TICKS));
        }
        Err(CostsError::Command { command: ended.command.join(" "), tail: ended.tail() })
    }

    fn model(&self, model: &ZooModel, folder: &Path) -> Result<ModelCosts, CostsError> {
        let folder = folder.join(model.label());
        fs::create_dir_all(&folder).map_err(file_error(&folder))?;
        let path = folder.join("model.onnx");
        let (_, export_seconds) = self.run(&export_arguments(model, &path, Scale::Full))?;
        let files = fs::read_dir(&folder).map_err(file_error(&folder))?.flatten();
        let bytes = files.filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum();
        let mut bundles = Vec::new();
        for backend in [Backend::Persistent, Backend::CudaGraph] {
            bundles.push(self.bundle(&path, &folder, backend, "beside")?);
        }
        let first = folder.join(format!("{}.weave", Backend::Persistent));
        let words = ["bench", &first.to_string_lossy(), "--device", "host", "--warmup-ms", "0", "--duration-ms", "0"];
        let words = words.into_iter().chain(["--input-sets", "1", "--json"]).map(str::to_owned);
        let (_, host_seconds) = self.run(&words.collect::<Vec<String>>())?;
        let words = ["check", &path.to_string_lossy(), "--target", TARGET, "--backend", "auto", "--json"];
        let (checked, _) = self.run(&words.map(str::to_owned))?;
        let made = checked.parsed::<Checked>().map(|checked| checked.backend).unwrap_or_default();
        // The plan of one back end alone is compiled already.
        let same = bundle_of(&bundles, &made).cloned();
        let auto = match same {
            Some(same) => BundleCosts { backend: Backend::Auto.to_string(), ..same },
            None => self.bundle(&path, &folder, Backend::Auto, "beside")?,
        };
        bundles.push(auto);
        fs::remove_dir_all(&folder).map_err(file_error(&folder))?;
        let host_seconds = Some(host_seconds);
        let ZooModel { name, is_unrolled } = model.clone();
        Ok(ModelCosts { model: name, is_unrolled, export_seconds, bytes, host_seconds, bundles })
    }

    fn fixture(&self, fixture: &Fixture, folder: &Path) -> Result<FixtureCosts, CostsError> {
        let folder = folder.join("fixture");
        fs::create_dir_all(&folder).map_err(file_error(&folder))?;
        let mut bundles = Vec::new();
        for backend in [Backend::Persistent, Backend::CudaGraph, Backend::Mixed] {
            bundles.push(self.bundle(&fixture.path, &folder, backend, "inside")?);
        }
        fs::remove_dir_all(&folder).map_err(file_error(&folder))?;
        Ok(FixtureCosts { model: fixture.name.clone(), bundles })
    }

    fn bundle(&self, model: &Path, folder: &Path, backend: Backend, weights: &str) -> Result<BundleCosts, CostsError> {
        let bundle = folder.join(format!("{backend}.weave"));
        let words = ["compile", &model.to_string_lossy(), "-o", &bundle.to_string_lossy()].map(str::to_owned);
        let choices = ["--target", TARGETS, "--backend", backend.word(), "--weights", weights, "--json"];
        let arguments: Vec<String> = words.into_iter().chain(choices.map(str::to_owned)).collect();
        let (ended, processor_seconds) = self.run(&arguments)?;
        let unread = || CostsError::Command { command: ended.command.join(" "), tail: ended.tail() };
        let compiled: Compiled = ended.parsed().ok_or_else(unread)?;
        let made = compiled.targets.into_iter().find(|part| part.target == TARGET).ok_or_else(unread)?.backend;
        Ok(BundleCosts { backend: backend.to_string(), made, processor_seconds, bytes: compiled.bytes })
    }
}

/// Processor seconds of all children that have ended, and of theirs.
fn children_seconds() -> Result<f64, CostsError> {
    let stat = fs::read_to_string("/proc/self/stat").map_err(file_error(Path::new("/proc/self/stat")))?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = CHILDREN_TIMES.map(|at| fields.get(at).and_then(|field| field.parse::<f64>().ok()));
    let [Some(user), Some(system)] = ticks else { return Err(CostsError::NoTimes) };
    Ok((user + system) / TICKS)
}
