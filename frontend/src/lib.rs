//! ONNX files to graphs. The file format's types stop here.

pub mod import;

mod attributes;
mod element_name;
pub mod encode;
pub mod files;
mod obstacle;
pub mod onnx;
mod packed;
mod replace;
mod weights;

pub use bytes::Bytes;
pub use files::Files;
pub use import::declared::DeclaredPort;
pub use import::error::{ImportError, MissingShape, TensorPlace, Unsupported, UnsupportedNode, UnsupportedTensor};
pub use import::fixed::{Constant, Number};
pub use import::options::{ImportOptions, Limits, NameFilter, Overridable, Variables};
pub use import::{declared_ports, import, import_bytes, import_from, input_names, named_tensor, tensor};
pub use obstacle::Obstacle;
pub use replace::{replace_initializers, trained_mark};
