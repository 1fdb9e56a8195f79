//! Samples as code of both architectures, compiled as one unit and as one a kernel.

use warpweave::codegen::print::UnitSize;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::plan::plan::backend::{Backend, BackendChoice};
use warpweave::runtime::sass::execute::grid::ExecuteOptions;
use warpweave::runtime::session::Session;
use warpweave::runtime::target::Target;
use warpweave_tests::evaluate::evaluate;
use warpweave_tests::execute::Executable;
use warpweave_tests::gates;
use warpweave_tests::machine::assert_close;
use warpweave_tests::pipeline::{self, compile_under};
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples;
use warpweave_tests::suite::Suite;

/// A trial a sample, architecture and size of units.
pub fn add(suite: &mut Suite) {
    for sample in samples::all() {
        for target in [Target::Sm80, Target::Sm90a] {
            let program = sample.program.clone();
            suite.trial(format!("{} as {target} code", sample.name), move || {
                for backend in [Backend::Persistent, Backend::CudaGraph] {
                    let options = PlanOptions { backend: BackendChoice::Only(backend), ..pipeline::options(4) };
                    let compiled = compile_under(&program, FusionLevel::Full, &options);
                    let inputs = random::inputs(&mut Random::new(7), &compiled.program);
                    let expected = evaluate(&compiled.program, &inputs);
                    let compiler = gates::compiler().expect("NVRTC is there: run scripts/fetch_cuda.sh");
                    for size in [UnitSize::default(), UnitSize { kernels: 1, ..UnitSize::default() }] {
                        let executable = Executable::new(&compiled, size, target, compiler.as_ref());
                        let units =
                            compiled.lowered.program.kernels.len() + usize::from(backend == Backend::Persistent);
                        let fewest = if size.kernels == 1 { units } else { 1 };
                        let possible = if target == Target::Sm90a { fewest..=units } else { 1..=1 };
                        assert!(possible.contains(&executable.units), "{} units of {possible:?}", executable.units);
                        let mut session = executable.session(None, ExecuteOptions::default());
                        let outputs = session.run(&inputs).unwrap_or_else(|error| panic!("{backend}: {error}"));
                        assert_close(&outputs, &expected, 1e-4);
                    }
                }
            });
        }
    }
}
