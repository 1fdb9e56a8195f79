//! What instructions take that come from afar.

use warpweave_codegen::microbenchmark::{CodeProbe, Stamped};
use warpweave_runtime::cuda::{LaunchData, Stamp};

use super::{Bench, Extent, LAUNCHES, median_of};
use warpweave::OpenError;

/// Multiply-adds of a warp in a loop, at least: many rounds, of which the first one alone is cold.
const INSTRUCTIONS: usize = 1 << 19;
/// Warp schedulers of a multiprocessor.
const SCHEDULERS: usize = 4;
/// Threads of a warp.
const WARP: usize = 32;
/// Kilobytes of code from which a single pass takes long enough to be told from the stamps around it.
const LEAST_STRAIGHT: usize = 12;
/// Passes of straight code of which the median counts.
const PASSES: usize = 7;
/// Runs between two passes of straight code, and leaves none of it in the caches of a multiprocessor.
const OTHER_CODE: CodeProbe = CodeProbe::Loop { kilobytes: 192 };

/// How code is run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CodeKind {
    /// Again and again.
    Loop,
    /// Once, after other code has taken its place in the caches of a multiprocessor.
    Straight,
    /// Kernels in turn, again and again.
    Rotation,
}

impl CodeKind {
    /// The name, as records have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Straight => "straight",
            Self::Rotation => "rotation",
        }
    }
}

/// What code of a size takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CodeReading {
    /// How it was run.
    pub kind: CodeKind,
    /// Kilobytes of a loop's body, of the straight code, or of each kernel.
    pub kilobytes: usize,
    /// Kernels that take turns.
    pub kernels: Option<usize>,
    /// Cycles of a warp scheduler for an instruction of a warp: the median over all multiprocessors.
    pub cycles_per_instruction: f64,
}

impl Bench<'_> {
    /// What loops, straight code and kernels in turn take, by size.
    pub fn code(&self) -> Result<Vec<CodeReading>, OpenError> {
        let repeated = CodeProbe::ALL.into_iter().map(|probe| self.repeated(probe));
        let straight = CodeProbe::ALL.into_iter().filter(|probe| is_straight(*probe)).map(|probe| self.once(probe));
        repeated.chain(straight).collect()
    }

    fn repeated(&self, probe: CodeProbe) -> Result<CodeReading, OpenError> {
        let rounds = INSTRUCTIONS.div_ceil(probe.instructions());
        let stamps = self.stamps(&probe, self.everywhere(0, rounds as u32), LAUNCHES)?;
        let kind = match probe {
            CodeProbe::Loop { .. } => CodeKind::Loop,
            CodeProbe::Rotation { .. } => CodeKind::Rotation,
        };
        Ok(reading(kind, probe, cycles(&stamps) / rounds as f64))
    }

    /// One pass. The code itself stays in the second-level cache: what is launched between takes far less of it.
    fn once(&self, probe: CodeProbe) -> Result<CodeReading, OpenError> {
        let extent = Extent { data: LaunchData::Kept, ..self.everywhere(0, 1) };
        let mut passes = Vec::with_capacity(PASSES);
        for _ in 0..PASSES {
            self.stamps(&OTHER_CODE, extent, 1)?;
            passes.push(cycles(&self.stamps(&probe, extent, 1)?));
        }
        Ok(reading(CodeKind::Straight, probe, median_of(passes.into_iter())))
    }
}

/// Whether a probe's code is also run once.
fn is_straight(probe: CodeProbe) -> bool {
    match probe {
        CodeProbe::Loop { kilobytes } => kilobytes >= LEAST_STRAIGHT && probe != OTHER_CODE,
        CodeProbe::Rotation { .. } => false,
    }
}

/// Cycles of the middle block.
fn cycles(stamps: &[Stamp]) -> f64 {
    median_of(stamps.iter().map(|stamp| stamp.cycles as f64))
}

/// The reading of a round of so many cycles.
fn reading(kind: CodeKind, probe: CodeProbe, cycles: f64) -> CodeReading {
    let issued = probe.instructions() * (probe.threads() / WARP / SCHEDULERS).max(1);
    CodeReading {
        kind,
        kilobytes: probe.kilobytes(),
        kernels: probe.kernels(),
        cycles_per_instruction: cycles / issued as f64,
    }
}
