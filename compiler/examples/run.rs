//! Compiles a model for this machine, runs it on ones, and prints its outputs.
//!
//! ```text
//! cargo run --release -p warpweave --features ndarray --example run -- MODEL.onnx
//! ```

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::error::Error;

use ndarray::{ArrayD, IxDyn};
use warpweave::Source;
use warpweave::graph::Tensor;
use warpweave::runtime::session::Device;

fn main() -> Result<(), Box<dyn Error>> {
    let model = Source::open(std::env::args().nth(1).ok_or("usage: run MODEL.onnx")?)?;
    let ones = model.signature().inputs.iter().map(|port| ArrayD::<f32>::ones(IxDyn(&port.ty.shape)));
    let inputs: Vec<Tensor> = ones.map(Tensor::from).collect();
    let mut session = model.session(Device::Host)?;
    for (port, output) in model.signature().outputs.iter().zip(session.run(&inputs)?) {
        println!("{} {}: {:?}", port.name, port.ty, output.view::<f32>());
    }
    Ok(())
}
