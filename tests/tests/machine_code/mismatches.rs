//! Code that does not belong to its plan is refused when it is opened, by the name of what differs.

use warpweave::codegen::print::{ENTRY_NAME, UnitSize};
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::plan::plan::backend::{Backend, BackendChoice};
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::sass::execute::failure::MachineCodeError;
use warpweave::runtime::sass::execute::image::LoadError;
use warpweave::runtime::session::SessionError;
use warpweave::runtime::target::Target;
use warpweave_tests::execute::Executable;
use warpweave_tests::gates;
use warpweave_tests::pipeline::{self, compile_under};
use warpweave_tests::samples;
use warpweave_tests::suite::Suite;

/// A trial of a program of either back end.
pub fn add(suite: &mut Suite) {
    suite.trial("code that does not belong to its plan", || {
        let executable = |backend, target| {
            let options = PlanOptions { backend: BackendChoice::Only(backend), ..pipeline::options(4) };
            let sample = samples::all().into_iter().next().expect("there are samples");
            let compiled = compile_under(&sample.program, FusionLevel::Full, &options);
            let compiler = gates::compiler().expect("NVRTC is there: run scripts/fetch_cuda.sh");
            Executable::new(&compiled, UnitSize::default(), target, compiler.as_ref())
        };
        let persistent = executable(Backend::Persistent, Target::Sm90a);
        let graph = executable(Backend::CudaGraph, Target::Sm90a);
        let older = executable(Backend::Persistent, Target::Sm80);
        assert!(persistent.open_with(persistent.cubin().to_vec()).is_ok());
        let refused = |own: &Executable, cubin: &[u8]| match own.open_with(cubin.to_vec()) {
            Err(SessionError::MachineCode(MachineCodeError::Load(error))) => error,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it is opened"),
        };
        match refused(&persistent, graph.cubin()) {
            LoadError::NoEntry { entry, .. } => assert_eq!(entry, ENTRY_NAME),
            error => panic!("{error}"),
        }
        match refused(&graph, persistent.cubin()) {
            LoadError::NoEntry { found, .. } => assert_eq!(found, format!("`{ENTRY_NAME}`")),
            error => panic!("{error}"),
        }
        match refused(&persistent, older.cubin()) {
            LoadError::Target { stated: Target::Sm90a, found: 80 } => {}
            error => panic!("{error}"),
        }
        let text =
            format!("extern \"C\" __global__ void {ENTRY_NAME}(int* first, int second) {{ first[second] = 1; }}");
        let nvrtc = Nvrtc::locate().expect("NVRTC is there: run scripts/fetch_cuda.sh");
        let other = nvrtc.compile(&text, Target::Sm90a).expect("it compiles");
        match refused(&persistent, &other.bytes) {
            LoadError::Parameters { entry, takes: 12, given: 72 } => assert_eq!(entry, ENTRY_NAME),
            error => panic!("{error}"),
        }
    });
}
