//! The command line of a section.
//!
//! ```text
//! print                             the file's own level
//! lower                             the program of a graph
//! prepare [until=PASS]              the program after its passes
//! evaluate                          the values of seeded inputs
//! devices NAME=VALUE,…              the values of these inputs on every device that needs no GPU
//! partition [fusion=LEVEL]          the groups
//! plan UNITS [OPTION…] [with PARAMS; …]
//! verify, ir, cuda, emulate         likewise: of a plan, what each makes of it
//! fold UNITS to=UNITS               the plan on fewer units
//! ```
//! Options of planning: `fusion=none|register|full` of the partition alone, `backend=persistent|cuda-graph|mixed|auto`,
//! `sync=barrier|operator|tile`, `edges=counters|sums|factors`, `groups=kept|joined`, `prefetch=never|before-waits`,
//! `shared=BYTES`. What stands behind `with` are parameters of kernels: each group has the first that its body takes. A file that
//! begins with a plan or with kernels names no units.

use std::collections::BTreeMap;
use std::str::FromStr;

use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::fusion::schedule::policy::SyncPolicy;
use warpweave::fusion::schedule::streams::tagged::Tagging;
use warpweave::graph::pipeline::PassId;
use warpweave::plan::kernel::ScheduleParams;
use warpweave::plan::plan::backend::{Backend, BackendChoice};
use warpweave::plan::streams::prefetch::Prefetching;

use crate::start::told;

/// What a section shows.
#[derive(Clone, Debug)]
pub enum Command {
    /// The file's own level, printed again.
    Print,
    /// The program of a graph.
    Lower,
    /// The program after its passes, up to this one.
    Prepare(Option<PassId>),
    /// The groups.
    Partition(Choices),
    /// The plan.
    Plan(Planning),
    /// What the verifier has proved.
    Verify(Planning),
    /// The plan on so many units.
    Fold(Planning, usize),
    /// Kernels in text.
    Ir(Planning),
    /// The printed text of kernels.
    Cuda(Planning),
    /// What the emulator computes.
    Emulate(Planning),
    /// What the expressions are worth.
    Evaluate,
    /// What every device computes from these inputs.
    Devices(Vec<String>),
}

/// How a program is partitioned.
#[derive(Clone, PartialEq, Debug)]
pub struct Choices {
    /// How far operators are fused.
    pub fusion: FusionLevel,
    /// Parameters for groups that take them, the first first.
    pub params: Vec<ScheduleParams>,
}

/// How a plan is made.
#[derive(Clone, Debug)]
pub struct Planning {
    /// Its groups.
    pub choices: Choices,
    /// Everything else; `None` where the file begins behind planning.
    pub options: Option<PlanOptions>,
}

impl FromStr for Command {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        if name == "devices" {
            return Ok(Self::Devices(rest.split_whitespace().map(str::to_owned).collect()));
        }
        let mut arguments = Arguments::read(rest)?;
        let command = match name {
            "print" => Self::Print,
            "lower" => Self::Lower,
            "prepare" => Self::Prepare(arguments.take("until", |name| name.parse().map_err(told))?),
            "partition" => Self::Partition(arguments.choices()?),
            "plan" => Self::Plan(arguments.planning()?),
            "verify" => Self::Verify(arguments.planning()?),
            "fold" => {
                let to = arguments.take("to", number)?.ok_or("`to=UNITS` is missing")?;
                Self::Fold(arguments.planning()?, to)
            }
            "ir" => Self::Ir(arguments.planning()?),
            "cuda" => Self::Cuda(arguments.planning()?),
            "emulate" => Self::Emulate(arguments.planning()?),
            "evaluate" => Self::Evaluate,
            other => return Err(format!("`{other}` is no command")),
        };
        arguments.end().map(|()| command)
    }
}

/// What stands behind a command's name and has not been taken yet.
struct Arguments<'l> {
    units: Option<usize>,
    options: BTreeMap<&'l str, &'l str>,
    params: Vec<ScheduleParams>,
}

impl<'l> Arguments<'l> {
    fn read(line: &'l str) -> Result<Self, String> {
        let (options, params) = match line.split_once("with ") {
            Some((options, params)) => (options, params.split("; ").map(|text| text.parse().map_err(told)).collect()),
            None => (line, Ok(Vec::new())),
        };
        let mut found = Self { units: None, options: BTreeMap::new(), params: params? };
        for word in options.split_whitespace() {
            match word.split_once('=') {
                Some((option, value)) if !found.options.contains_key(option) => _ = found.options.insert(option, value),
                None if found.units.is_none() => found.units = Some(number(word)?),
                _ => return Err(format!("`{word}` comes twice")),
            }
        }
        Ok(found)
    }

    /// The value of an option, which is then taken.
    fn take<T>(&mut self, option: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
        self.options.remove(option).map(parse).transpose()
    }

    fn choices(&mut self) -> Result<Choices, String> {
        let fusion = self.take("fusion", str::parse)?.unwrap_or(FusionLevel::Register);
        Ok(Choices { fusion, params: std::mem::take(&mut self.params) })
    }

    fn planning(&mut self) -> Result<Planning, String> {
        let choices = self.choices()?;
        let Some(units) = self.units.take() else { return Ok(Planning { choices, options: None }) };
        let defaults = warpweave_tests::pipeline::options(units);
        let options = PlanOptions {
            sync: self.take("sync", |name| named(SyncPolicy::ALL.map(|policy| (policy.name(), policy)), name))?,
            tagging: self.take("edges", |name| named(MARKINGS, name))?.unwrap_or(defaults.tagging),
            shared_bytes: self.take("shared", number)?.unwrap_or(defaults.shared_bytes),
            fusion: self.take("groups", |name| named(GROUPS, name))?.unwrap_or(defaults.fusion),
            prefetching: self.take("prefetch", |name| named(PREFETCHING, name))?.unwrap_or(defaults.prefetching),
            backend: self.take("backend", |name| named(BACKENDS, name))?.unwrap_or(defaults.backend),
            ..defaults
        };
        Ok(Planning { choices, options: Some(options) })
    }

    fn end(self) -> Result<(), String> {
        let unused = self.options.keys().next().map(ToString::to_string);
        let unused = unused.or(self.units.map(|units| units.to_string()));
        let unused = unused.or(self.params.first().map(ToString::to_string));
        unused.map_or(Ok(()), |unused| Err(format!("the command has no use for `{unused}`")))
    }
}

const MARKINGS: [(&str, Tagging); 3] =
    [("counters", Tagging::Nothing), ("sums", Tagging::Sums), ("factors", Tagging::Factors)];

/// Whether planning may join groups of the partition.
const GROUPS: [(&str, FusionLevel); 2] = [("kept", FusionLevel::None), ("joined", FusionLevel::Full)];

const PREFETCHING: [(&str, Prefetching); 2] =
    [("never", Prefetching::Never), ("before-waits", Prefetching::BeforeWaits)];

const BACKENDS: [(&str, BackendChoice); 4] = [
    ("persistent", BackendChoice::Only(Backend::Persistent)),
    ("cuda-graph", BackendChoice::Only(Backend::CudaGraph)),
    ("mixed", BackendChoice::Mixed),
    ("auto", BackendChoice::Auto),
];

fn named<T: Copy, const N: usize>(values: [(&str, T); N], name: &str) -> Result<T, String> {
    let found = values.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
    found.ok_or_else(|| format!("`{name}` is none of {}", values.map(|(name, _)| name).join(", ")))
}

fn number(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}
