//! The benchmark models: published architectures written as ONNX (opset 17, standard operators), with weights from a
//! seed.
//!
//! Weights are made while a file is written, so that a model of any size is built and written in little memory. The
//! same name and options give the same bytes on every machine.

mod blocks;
mod builder;
mod error;
mod info;
mod model;
mod nearest;
mod options;
mod waves;
mod weight;
mod zoo;

pub use error::ModelError;
pub use info::{Family, ModelInfo, reduced_from};
pub use model::{Content, Model, Put, Written, beginning};
pub use options::{BuildOptions, Form, Precision, Scale};
pub use weight::{Element, Weight};

/// All models, convolutional ones first.
pub fn all() -> &'static [ModelInfo] {
    zoo::ALL
}

/// What hand-written programs compute that were measured on a GPU: built by name, but no benchmark models.
pub fn measured() -> &'static [ModelInfo] {
    zoo::MEASURED
}

/// The model of a name, a benchmark model or another one.
pub fn find(name: &str) -> Result<&'static ModelInfo, ModelError> {
    all().iter().chain(measured()).find(|model| model.name == name).ok_or_else(|| {
        let nearest = nearest::nearest(name, all().iter().map(|model| model.name), 3);
        ModelError::Unknown { name: name.to_owned(), nearest }
    })
}

/// Builds the model of a name.
pub fn build(name: &str, options: &BuildOptions) -> Result<Model, ModelError> {
    find(name)?.build(options)
}

#[cfg(test)]
mod tests;
