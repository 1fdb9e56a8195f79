//! Small models that went wrong somewhere, on every device. `model.npz`, `model.0.npz` and so on hold what goes in and comes out
//! of `model.onnx`.

use std::path::{Path, PathBuf};

use warpweave::runtime::session::Device;
use warpweave_tests::suite::{Suite, is_full};

use crate::devices::check;

/// The least number of models, so that lost files fail.
const FEWEST: usize = 18;

/// The devices, of which the last two compile.
const DEVICES: [Device; 5] = [Device::Reference, Device::Host, Device::Emulator, Device::Text, Device::MachineCode];

/// A trial a model and device; by default on one of the two devices that compile, by turns.
pub fn add(suite: &mut Suite) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reported");
    let entries = std::fs::read_dir(&folder).expect("the reported models are there");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let mut models: Vec<(PathBuf, PathBuf)> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "npz"))
        .map(|arrays| (model(&arrays), arrays))
        .collect();
    models.sort();
    assert!(models.len() >= FEWEST, "{} reported models are there", models.len());
    for (number, (path, arrays)) in models.into_iter().enumerate() {
        let name = arrays.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for (turn, device) in DEVICES.into_iter().enumerate() {
            let is_compiled = matches!(device, Device::Text | Device::MachineCode);
            if is_compiled && !is_full() && number % 2 != turn % 2 {
                continue;
            }
            let (path, arrays) = (path.clone(), arrays.clone());
            suite.trial(format!("reported {name} on {device}"), move || check(path, arrays, device));
        }
    }
}

/// The model whose arrays a file holds.
fn model(arrays: &Path) -> PathBuf {
    let name = arrays.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    arrays.with_file_name(name.split('.').next().unwrap_or_default()).with_extension("onnx")
}
