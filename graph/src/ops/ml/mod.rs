//! Operators of the domain `ai.onnx.ml` that classical pipelines put around a network, on numbers.

mod rows;

pub mod array_feature_extractor;
pub mod binarizer;
pub mod imputer;
pub mod label_encoder;
pub mod linear_classifier;
pub mod linear_regressor;
pub mod normalizer;
pub mod scaler;

pub const DOMAIN: &str = "ai.onnx.ml";
