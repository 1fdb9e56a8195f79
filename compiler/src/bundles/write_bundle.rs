//! From a prepared model to a bundle in one call. The command line, tests and other interfaces go this way.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use warpweave_runtime::bundle::{BundleError, BundleTarget, BundleWriter, TargetContents};
use warpweave_runtime::target::Target;
use warpweave_runtime::toolkit::NoLinker;

use crate::build::Build;
use crate::compiler::{BuildPhase, TargetPart, check_target, compile};
use crate::device_compiler::{DeviceCompiler, check_tools};
use crate::error::BuildError;

/// Where the constants of a bundle are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WeightsPlace {
    /// In the bundle.
    Inside,
    /// In the model's files, which must not change.
    Beside,
}

/// The bundle that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct BundleRequest<'r> {
    /// Where it goes. A file that is there is replaced when the new one is complete.
    pub path: &'r Path,
    /// What it runs on.
    pub targets: &'r [BundleTarget],
    /// Where its constants are.
    pub weights: WeightsPlace,
}

/// An observer of a build, with its type of error.
pub trait Watcher<E> {
    /// A phase begins.
    fn phase(&mut self, phase: BuildPhase);

    /// A target's part is complete; a GPU's has code.
    fn made(&mut self, part: &TargetPart) -> Result<(), E>;

    /// There is no linker for the code of a target, which is then compiled as one unit.
    fn unlinked(&mut self, target: Target, reason: &NoLinker);

    /// There is no part for a target. Nothing is written if this is an error; else the bundle does without the target.
    fn refused(&mut self, target: BundleTarget, error: BuildError) -> Result<(), E>;

    /// All parts are complete, and the file is written.
    fn writing(&mut self);
}

/// Makes every target's part and writes the bundle. `compiler` compiles for GPUs. Nothing is left behind after an error. Targets
/// that cannot be compiled for, by the program or the compiler, are refused before the search for any.
///
/// # Errors
/// What the parts cannot be built for, unless the watcher does without them, and what writing fails by.
pub fn write_bundle<E: From<BuildError> + From<BundleError>>(
    build: &Build,
    request: &BundleRequest<'_>,
    compiler: Option<&dyn DeviceCompiler>,
    watcher: &mut dyn Watcher<E>,
) -> Result<(), E> {
    let targets = possible_targets(build, request.targets, compiler, watcher)?;
    thread::scope(|scope| {
        let files = match request.weights {
            WeightsPlace::Inside => &[],
            WeightsPlace::Beside => &build.model.files[..],
        };
        // Weights are written while plans are made.
        let writer = scope.spawn(|| BundleWriter::begin(&build.model.program, files, request.path));
        let parts = parts(build, &targets, compiler, watcher);
        let writer = writer.join().unwrap_or_else(|panic| resume_unwind(panic));
        let parts = parts?;
        watcher.writing();
        Ok(writer?.finish(&build.contents(parts))?)
    })
}

/// The targets of which nothing is known yet that prevents a part.
fn possible_targets<E: From<BuildError>>(
    build: &Build,
    targets: &[BundleTarget],
    compiler: Option<&dyn DeviceCompiler>,
    watcher: &mut dyn Watcher<E>,
) -> Result<Vec<BundleTarget>, E> {
    let mut possible = Vec::new();
    for &target in targets {
        let checked = check_target(build, target).and_then(|()| match target {
            BundleTarget::Host => Ok(()),
            BundleTarget::Gpu(gpu) => {
                let unlinked = check_tools(gpu, compiler.ok_or(BuildError::NoCompiler(gpu))?)?;
                unlinked.iter().for_each(|reason| watcher.unlinked(gpu, reason));
                Ok(())
            }
        });
        match checked {
            Ok(()) => possible.push(target),
            Err(error) => watcher.refused(target, error)?,
        }
    }
    Ok(possible)
}

fn parts<E: From<BuildError>>(
    build: &Build,
    targets: &[BundleTarget],
    compiler: Option<&dyn DeviceCompiler>,
    watcher: &mut dyn Watcher<E>,
) -> Result<BTreeMap<BundleTarget, TargetContents>, E> {
    let mut parts = BTreeMap::new();
    for &target in targets {
        match compile(build, target, compiler, &mut |phase| watcher.phase(phase)) {
            Ok(part) => {
                watcher.made(&part)?;
                parts.insert(target, TargetContents { plan: part.plan, code: part.code.map(|compiled| compiled.code) });
            }
            Err(error) => watcher.refused(target, error)?,
        }
    }
    Ok(parts)
}
