//! Compiles a model for this machine, runs it on ones, and prints its outputs.
//!
//! ```text
//! cargo run --release -p warpweave --features ndarray --example run -- MODEL.onnx
//! ```

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::error::Error;
use std::path::Path;

use ndarray::{ArrayD, IxDyn};
use warpweave::frontend::ImportOptions;
use warpweave::graph::Tensor;
use warpweave::runtime::session::Device;
use warpweave::{OpenOptions, Source, open};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: run MODEL.onnx")?;
    let source = Source::load(Path::new(&path), &ImportOptions::default())?;
    let ones = source.signature().inputs.iter().map(|port| ArrayD::<f32>::ones(IxDyn(&port.ty.shape)));
    let inputs: Vec<Tensor> = ones.map(Tensor::from).collect();
    let mut session = open(&source, Device::Host, &OpenOptions::default(), &|| Err("the host needs none".to_owned()))?;
    for (port, output) in source.signature().outputs.iter().zip(session.run(&inputs)?) {
        println!("{} {}: {:?}", port.name, port.ty, output.view::<f32>());
    }
    Ok(())
}
