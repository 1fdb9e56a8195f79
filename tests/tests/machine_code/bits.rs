//! Code without contractions of products and sums, and with exact division and roots, gives the emulator's bits.

use std::sync::atomic::{AtomicU64, Ordering};

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::print::UnitSize;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::TensorProgram;
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::sass::execute::grid::ExecuteOptions;
use warpweave::runtime::session::Session;
use warpweave::runtime::target::Target;
use warpweave_tests::execute::{Executable, WithOptions};
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::compile;
use warpweave_tests::random::{self, Random};
use warpweave_tests::suite::Suite;
use warpweave_tests::{models, samples};

const EXACT: &[&str] = &["--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false"];
/// Models whose outputs no approximate function decides.
const MODELS: [&str; 4] = ["densenet/dynamo", "inception/dynamo", "resnet_bottleneck/torchscript", "squeezenet/dynamo"];
/// The share of elements that must be compared bit by bit.
const LEAST_SHARE: f64 = 0.7;

/// One trial, of all that a launch leaves in the arena: the share is of all programs together.
pub fn add(suite: &mut Suite) {
    suite.trial("the emulator's bits", || {
        let (compared, all) = (AtomicU64::new(0), AtomicU64::new(0));
        for sample in samples::all() {
            check(sample.name, &sample.program, &compared, &all);
        }
        for model in models::all().into_iter().filter(|model| MODELS.contains(&model.name.as_str())) {
            check(&model.name, &model.program(), &compared, &all);
        }
        let share = compared.into_inner() as f64 / all.into_inner() as f64;
        eprintln!("{:.1} % of the elements are compared bit by bit", 100.0 * share);
        assert!(share >= LEAST_SHARE, "only {share:.3} of the elements are compared bit by bit");
    });
}

fn check(name: &str, program: &TensorProgram, compared: &AtomicU64, all: &AtomicU64) {
    let compiled = compile(program, 4, FusionLevel::Full);
    let nvrtc = Nvrtc::locate().expect("NVRTC is there: run scripts/fetch_cuda.sh");
    let executable = Executable::new(&compiled, UnitSize::default(), Target::Sm90a, &WithOptions(nvrtc, EXACT));
    let inputs = random::inputs(&mut Random::new(11), &compiled.program);
    let machine = Machine::new(&compiled);
    let mut device = machine.device();
    let (report, expected) = machine.launch_on(&mut device, &inputs, &LaunchOptions::seeded(0));
    assert!(report.is_clean(), "{name}: {report}");
    let mut session = executable.session(None, ExecuteOptions::default());
    let found = session.run(&inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_close(&found, &expected, 1e-4);
    let arena = device.arena();
    let elements = (arena.len() / size_of::<f32>()) as u64;
    all.fetch_add(elements, Ordering::Relaxed);
    if !is_approximate(program) {
        let left = session.read_arena(0..arena.len()).expect("it has run").expect("the code has an arena");
        let differs = (0..arena.len()).find(|&byte| left[byte] != arena[byte]);
        assert_eq!(differs, None, "{name}: a byte of the arena differs");
        compared.fetch_add(elements, Ordering::Relaxed);
    }
}

/// Whether a program has a function that devices approximate, each in its way.
fn is_approximate(program: &TensorProgram) -> bool {
    let text = program.to_string();
    ["exp(", "log(", "sin(", "cos(", "tanh(", "erf(", "pow(", "sigmoid("].iter().any(|function| text.contains(function))
}
