//! The gates on a program's device code, compiled as it ships.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use warpweave::codegen::kernel_ir::Program;
use warpweave::codegen::print::{UnitSize, entry_names};
use warpweave::runtime::gates::{Subject, judge};
use warpweave::runtime::nvrtc::{Nvrtc, UnitKind};
use warpweave::runtime::sass::program::MachineCode;
use warpweave::runtime::sass::{COHERENT_CONSTANTS, Sass};
use warpweave::runtime::target::Target;
use warpweave::{DeviceCompileError, DeviceCompiler, InProcess, compile_program};

use crate::scans;

/// The device compiler of this process, for sessions that need one.
pub fn compiler() -> Result<Box<dyn DeviceCompiler>, String> {
    let nvrtc = Nvrtc::locate().map_err(|error| error.to_string())?;
    Ok(Box::new(Once(InProcess(nvrtc))))
}

/// Compiles `program` in units of `size` and asserts that its code passes the gates, and that all of it can be executed.
/// Returns how many units there were.
#[track_caller]
pub fn check(program: &Program, size: UnitSize, target: Target) -> usize {
    judged(program, size, target).0
}

/// The same, and the code's instructions.
#[track_caller]
pub fn judged(program: &Program, size: UnitSize, target: Target) -> (usize, Sass) {
    let nvrtc = Nvrtc::locate().expect("NVRTC is there: run scripts/fetch_cuda.sh");
    let compile = |compiler: &dyn DeviceCompiler| {
        compile_program(program, size, target, compiler).unwrap_or_else(|error| panic!("{error}"))
    };
    let (code, coherent) = (compile(&Once(InProcess(nvrtc))), compile(&Once(WithCoherentConstants(nvrtc))));
    let report =
        judge(Subject { code: &code.cubin, coherent: &coherent.cubin }, &entry_names(program), program.threads);
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.violations, [], "{target}");
    scans::check(&MachineCode::parse(report.sass.listing()).unwrap_or_else(|error| panic!("{error}")));
    (code.units, report.sass)
}

/// Compiles equal units once a process: both exporters' models often come to the same text.
struct Once<C>(C);

/// The kind of compiler, and what it is given.
type Unit = (&'static str, Target, String, String);

/// Per unit its code, once it has been compiled.
type Known = HashMap<Unit, Arc<OnceLock<Vec<u8>>>>;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

impl<C: DeviceCompiler> DeviceCompiler for Once<C> {
    fn version(&self) -> (u32, u32) {
        self.0.version()
    }

    fn compile(&self, source: &str, target: Target, kind: UnitKind) -> Result<Vec<u8>, DeviceCompileError> {
        let unit = (std::any::type_name::<C>(), target, format!("{kind:?}"), source.to_owned());
        let known = Arc::clone(KNOWN.lock().unwrap_or_else(PoisonError::into_inner).entry(unit).or_default());
        let compile = || self.0.compile(source, target, kind).unwrap_or_else(|error| panic!("{error}"));
        Ok(known.get_or_init(compile).clone())
    }
}

struct WithCoherentConstants(Nvrtc);

impl DeviceCompiler for WithCoherentConstants {
    fn version(&self) -> (u32, u32) {
        InProcess(self.0).version()
    }

    fn compile(&self, source: &str, target: Target, kind: UnitKind) -> Result<Vec<u8>, DeviceCompileError> {
        Ok(self.0.compile_unit(source, target, kind, &[COHERENT_CONSTANTS])?.bytes)
    }
}
