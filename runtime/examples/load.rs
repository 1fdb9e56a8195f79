//! Runs a bundle on this machine, with what a deployment needs and nothing else.
//!
//! ```text
//! cargo run --profile deployment -p warpweave-runtime --no-default-features --example load -- MODEL.weave INPUTS.npz OUTPUTS.npz
//! ```
//! The archive of inputs has an array for each input of the model that has no default, by its name or by `in_` and its name. That of
//! outputs is a new file, never one that is there. `scripts/loader_size.sh` builds it as a deployment would and
//! holds its size against a bar.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use warpweave_graph::Tensor;
use warpweave_runtime::bundle::Bundle;
use warpweave_runtime::npz;
use warpweave_runtime::session::{Device, OpenOptions, open_bundle};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bundle, inputs, outputs] = arguments.as_slice() else {
        eprintln!("usage: load MODEL.weave INPUTS.npz OUTPUTS.npz");
        return ExitCode::from(2);
    };
    match run(Path::new(bundle), Path::new(inputs), Path::new(outputs)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(bundle: &Path, inputs: &Path, outputs: &Path) -> Result<(), Box<dyn Error>> {
    let bundle = Bundle::open(bundle)?;
    let signature = &bundle.manifest().signature;
    let mut arrays: BTreeMap<String, Tensor> = npz::read(inputs)?;
    let mut given = Vec::new();
    for port in &signature.inputs {
        let array = arrays.remove(&port.name).or_else(|| arrays.remove(&format!("in_{}", port.name)));
        let array = array.or_else(|| port.default.clone());
        given.push(array.ok_or_else(|| format!("{} lacks an array `{}`", inputs.display(), port.name))?);
    }
    let mut session = open_bundle(&bundle, Device::Host, &OpenOptions::default())?;
    let results = session.run(&given)?;
    let named = signature.outputs.iter().map(|port| port.name.as_str()).zip(&results);
    let archive = npz::print(named).ok_or("NumPy has no name for the element type of an output")?;
    let mut file = File::create_new(outputs).map_err(|error| format!("{}: {error}", outputs.display()))?;
    file.write_all(&archive)?;
    Ok(())
}
