//! Outputs on the reference, the host, the emulator and the printed text.

use std::path::PathBuf;

use warpweave::runtime::session::Device;
use warpweave::{OpenOptions, Source, open};
use warpweave_tests::gates::compiler;
use warpweave_tests::models::{self, Model};
use warpweave_tests::stored::Stored;
use warpweave_tests::suite::Suite;

/// A trial a model and device: five interleavings of four units on the emulator. The printed text says what the emulator runs,
/// so that each takes one exporter's model unless every bar is asked for.
pub fn add(suite: &mut Suite) {
    add_models(suite, models::all(), Device::Reference);
    add_models(suite, models::all(), Device::Host);
    add_models(suite, models::by_turns(), Device::Emulator);
    add_models(suite, models::by_other_turns(), Device::Text);
}

fn add_models(suite: &mut Suite, models: Vec<Model>, device: Device) {
    for model in models {
        let arrays = model.arrays();
        suite.trial(format!("{} on {device}", model.name), move || check(model.path, arrays, device));
    }
}

/// Compares the outputs of stored inputs with stored outputs.
pub fn check(path: PathBuf, arrays: PathBuf, device: Device) {
    let source = Source::load(&path, &Default::default()).expect("the model imports");
    let stored = Stored::read(source.signature(), &arrays);
    let options = OpenOptions { units: Some(4), interleavings: 5, threads: 2, ..OpenOptions::default() };
    let mut session = open(&source, device, &options, &compiler).expect("the device opens");
    stored.assert_outputs(&session.run(&stored.inputs()).expect("the program runs"));
}
