//! Models whose singles are stored in 16 bits, against their exporters' outputs in singles.

use warpweave::graph::program::precision::Precision;
use warpweave::runtime::session::Device;
use warpweave::{OpenOptions, Source, open};
use warpweave_tests::gates::compiler;
use warpweave_tests::models::{self, Model};
use warpweave_tests::stored::Stored;
use warpweave_tests::suite::{Suite, is_full};

const DEVICES: [Device; 4] = [Device::Host, Device::Emulator, Device::Text, Device::MachineCode];
/// Of so many models one is compiled as C++ in a run that is not full.
const TEXTS: usize = 2;

/// Adds a trial a model and precision; by default for one precision of each, by turns.
pub fn add(suite: &mut Suite) {
    for (number, model) in models::by_turns_from(0, 2).into_iter().enumerate() {
        for (turn, precision) in [Precision::Fp16, Precision::Bf16].into_iter().enumerate() {
            if is_full() || number % 2 == turn {
                let (model, has_text) = (model.clone(), is_full() || number.is_multiple_of(TEXTS));
                suite.trial(format!("{} in {precision}", model.name), move || check(&model, precision, has_text));
            }
        }
    }
}

/// The largest error over the largest value, and the correlation, that a precision keeps.
fn bounds(precision: Precision) -> (f64, f64) {
    match precision {
        Precision::Fp32 => (1e-4, 1.0 - 1e-8),
        Precision::Fp16 => (4e-3, 0.9999),
        Precision::Bf16 => (3e-2, 0.999),
    }
}

fn check(model: &Model, precision: Precision, has_text: bool) {
    let Source::Model(build) = Source::load(&model.path, &Default::default()).expect("the model imports") else {
        panic!("a model is no bundle");
    };
    let build = build.stored_in(&precision.into()).expect("it is no training step");
    let storage = precision.storage().expect("16 bits");
    let stored = build.prepared().program.tensors.values().filter(|tensor| tensor.ty.element == storage).count();
    assert!(stored > build.kept_in_singles().len(), "{stored} tensors are stored in {storage}");
    let source = Source::Model(Box::new(build));
    let arrays = Stored::read(source.signature(), &model.arrays());
    let options = OpenOptions { units: Some(4), threads: 2, ..OpenOptions::default() };
    for device in DEVICES.into_iter().filter(|device| has_text || *device != Device::Text) {
        let mut session = open(&source, device, &options, &compiler).expect("the device opens");
        let outputs = session.run(&arrays.inputs()).unwrap_or_else(|error| panic!("{device}: {error}"));
        let (most, least) = bounds(precision);
        for (position, fit) in arrays.fits(&outputs).into_iter().enumerate() {
            let holds = fit.error <= most && fit.correlation >= least;
            assert!(holds, "{device}: output {position} is off by {} of its largest, {}", fit.error, fit.correlation);
        }
    }
}
