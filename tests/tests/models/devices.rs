//! Outputs on the reference, the host, the emulator and the printed text.

use std::path::PathBuf;

use warpweave::graph::Tensor;
use warpweave::runtime::npz;
use warpweave::runtime::session::Device;
use warpweave::{OpenOptions, Source, open};
use warpweave_tests::models::{self, Model};
use warpweave_tests::suite::Suite;

const RELATIVE: f64 = 1e-3;
const ABSOLUTE: f64 = 1e-5;

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
    let arrays = npz::read(&arrays).expect("the arrays are readable");
    let signature = source.signature();
    let inputs: Vec<Tensor> =
        signature.inputs.iter().map(|input| arrays[&format!("in_{}", input.name)].clone()).collect();
    let options = OpenOptions { units: Some(4), interleavings: 5, threads: 2, ..OpenOptions::default() };
    let mut session = open(&source, device, &options, &|| Err("no GPU is used".to_owned())).expect("the device opens");
    let outputs = session.run(&inputs).expect("the program runs");
    assert_eq!(outputs.len(), signature.outputs.len());
    for (position, found) in outputs.iter().enumerate() {
        let named = format!("out_{}", signature.outputs[position].name);
        let wanted = arrays.get(&named).unwrap_or_else(|| &arrays[&format!("out_{position}")]);
        assert_eq!(found.ty(), wanted.ty());
        for (element, (found, wanted)) in found.to_f64().into_iter().zip(wanted.to_f64()).enumerate() {
            let close = found == wanted || (found - wanted).abs() <= ABSOLUTE + RELATIVE * wanted.abs();
            assert!(close, "output {position} has {found} instead of {wanted} at {element}");
        }
    }
}
