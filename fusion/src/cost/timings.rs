//! Measured times of kernels, as a value and as text: one record a line, fields between tabs, sorted.
//!
//! ```text
//! warpweave timings 1
//! ARCHITECTURE  DRIVER  COMPILER  HASH  PARAMETERS  MEASURED  ESTIMATED  SIGNATURE
//! ```
//!
//! Times are microseconds. HASH is the signature's, for people and as a check. Lines may stand in any order when they are read.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use warpweave_plan::body::signature::{NoSignature, Signature};
use warpweave_plan::kernel::ScheduleParams;
use warpweave_plan::template::text::NoParams;

/// The first line of every file.
const HEADER: &str = "warpweave timings 1";

/// The name of a device architecture, such as `sm_90a`: visible ASCII characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Architecture(String);

/// Major and minor number of a driver's or a compiler's version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

/// What a kernel was compiled with and measured on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Machine {
    pub architecture: Architecture,
    pub driver: Version,
    /// The compiler of device text.
    pub compiler: Version,
}

/// A kernel on a machine: what a time is recorded for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimedKernel {
    pub machine: Machine,
    pub signature: Signature,
    /// How.
    pub params: ScheduleParams,
}

/// The time of a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timing {
    /// Measured microseconds.
    pub measured: f64,
    /// What was estimated when it was measured, in microseconds.
    pub estimated: f64,
}

/// Times of kernels.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timings {
    /// Each kernel's time.
    pub records: BTreeMap<TimedKernel, Timing>,
}

impl Timings {
    /// The architectures that there are records of, ascending.
    pub fn architectures(&self) -> Vec<&Architecture> {
        let mut found: Vec<&Architecture> = self.records.keys().map(|kernel| &kernel.machine.architecture).collect();
        found.dedup();
        found
    }
}

/// Why a text is no timings file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TimingsError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a line of a timings file, and what to do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// It is another sort of file, or of another version.
    #[error("expected `{HEADER}`; name a file that `warpweave tune` has written, or a new one")]
    Header,
    /// There are more or fewer fields.
    #[error("a record has 8 fields between tabs, this line has {0}; remove the line and tune again")]
    Fields(usize),
    /// The architecture is no name.
    #[error("`{0}` is no architecture, such as sm_90a; remove the line and tune again")]
    Architecture(String),
    /// A version is none.
    #[error("`{0}` is no version, such as 13.0; remove the line and tune again")]
    Version(String),
    /// A time is none.
    #[error("`{0}` is no time: microseconds above 0; remove the line and tune again")]
    Time(String),
    /// The parameters are none.
    #[error("{0}; remove the line and tune again")]
    Params(#[from] NoParams),
    /// The signature is none.
    #[error("{0}; remove the line and tune again")]
    Signature(#[from] NoSignature),
    /// Hash and signature do not belong together.
    #[error("the hash `{found}` is not that of the signature, {expected}; remove the line and tune again")]
    Hash {
        /// What stands there.
        found: String,
        expected: String,
    },
    /// Another line has the same kernel.
    #[error("an earlier line has a time of the same kernel; remove one of the two")]
    Twice,
}

impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        for (TimedKernel { machine, signature, params }, Timing { measured, estimated }) in &self.records {
            let Machine { architecture, driver, compiler } = machine;
            let hash = hash_text(signature);
            writeln!(
                f,
                "{architecture}\t{driver}\t{compiler}\t{hash}\t{params}\t{measured}\t{estimated}\t{signature}"
            )?;
        }
        Ok(())
    }
}

impl FromStr for Timings {
    type Err = TimingsError;

    fn from_str(text: &str) -> Result<Self, TimingsError> {
        let mut lines = text.lines().enumerate().map(|(position, line)| (position + 1, line));
        if lines.next().is_none_or(|(_, line)| line != HEADER) {
            return Err(TimingsError { line: 1, problem: Problem::Header });
        }
        let mut records = BTreeMap::new();
        for (line, text) in lines {
            let at = |problem: Problem| TimingsError { line, problem };
            let (kernel, timing) = record(text).map_err(at)?;
            if records.insert(kernel, timing).is_some() {
                return Err(at(Problem::Twice));
            }
        }
        Ok(Self { records })
    }
}

fn record(text: &str) -> Result<(TimedKernel, Timing), Problem> {
    let fields: Vec<&str> = text.split('\t').collect();
    let &[architecture, driver, compiler, hash, params, measured, estimated, signature] = fields.as_slice() else {
        return Err(Problem::Fields(fields.len()));
    };
    let machine = Machine { architecture: architecture.parse()?, driver: driver.parse()?, compiler: compiler.parse()? };
    let signature: Signature = signature.parse()?;
    let expected = hash_text(&signature);
    if hash != expected {
        return Err(Problem::Hash { found: hash.to_owned(), expected });
    }
    let timing = Timing { measured: time(measured)?, estimated: time(estimated)? };
    Ok((TimedKernel { machine, signature, params: params.parse()? }, timing))
}

fn hash_text(signature: &Signature) -> String {
    format!("{:016x}", signature.hash())
}

fn time(text: &str) -> Result<f64, Problem> {
    let time = text.parse::<f64>().ok().filter(|time| time.is_finite() && *time > 0.0);
    time.ok_or_else(|| Problem::Time(text.to_owned()))
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Architecture {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let visible = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if visible { Ok(Self(text.to_owned())) } else { Err(Problem::Architecture(text.to_owned())) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Version {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let numbers = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let version = numbers.map(|(major, minor)| Self { major, minor });
        version.ok_or_else(|| Problem::Version(text.to_owned()))
    }
}
