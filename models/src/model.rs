//! A built model, and how it is written.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use warpweave_frontend::encode::{StreamedTensor, encoded, write_model};
use warpweave_frontend::onnx::{GraphProto, ModelProto, OperatorSetIdProto, StringStringEntryProto, TensorProto};

use crate::builder::Builder;
use crate::error::ModelError;
use crate::weight::Weight;

/// The version of the file format that opset 17 came with.
const FILE_FORMAT: i64 = 8;
const OPSET: i64 = 17;

const PRODUCER: &str = "warpweave";

/// The first bytes of every exported model: the version of the format and the producer's name.
pub fn beginning() -> Vec<u8> {
    encoded(&ModelProto { ir_version: FILE_FORMAT, producer_name: PRODUCER.into(), ..Default::default() })
}

/// Bytes of weights above which they lie in a file of their own: the format ends at 2 GiB.
const INLINE_LIMIT: u64 = (1 << 31) - (1 << 24);

/// Bytes below which a constant stays in the model's file, where tools that infer shapes need it.
const SMALL: u64 = 1 << 10;

/// Multiples of which are the places of tensors in a file of their own, so that they can be mapped.
const ALIGNMENT: u64 = 1 << 12;

/// A model: its nodes, and its weights as rules from which the elements are made when they are written.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    /// The model's name; that of a reduced one says so.
    pub name: String,
    /// The model without its constants.
    pub proto: ModelProto,
    pub weights: Vec<Weight>,
}

/// Writes what a file holds.
pub type Content<'c> = dyn Fn(&mut dyn Write) -> io::Result<()> + 'c;

/// Makes a file of a path and a content, and tells its bytes.
pub type Put<'p> = dyn FnMut(&Path, &Content<'_>) -> io::Result<u64> + 'p;

/// What was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    pub path: PathBuf,
    /// The file of the weights, beside it, if they do not fit into the model's.
    pub weights: Option<PathBuf>,
    /// Bytes of both.
    pub bytes: u64,
}

impl Model {
    pub(crate) fn new(name: String, builder: Builder) -> Self {
        let Builder { nodes, inputs, outputs, weights, .. } = builder;
        let graph =
            GraphProto { node: nodes, name: name.clone(), input: inputs, output: outputs, ..Default::default() };
        let opset = OperatorSetIdProto { domain: String::new(), version: OPSET };
        let proto = ModelProto {
            ir_version: FILE_FORMAT,
            producer_name: PRODUCER.into(),
            graph: Some(graph),
            opset_import: vec![opset],
            ..Default::default()
        };
        Self { name, proto, weights }
    }

    /// How many numbers training learns.
    pub fn parameters(&self) -> u64 {
        self.weights.iter().filter(|weight| weight.learnable).map(Weight::elements).sum()
    }

    /// How many bytes the constants take.
    pub fn weight_bytes(&self) -> u64 {
        self.weights.iter().map(Weight::bytes).sum()
    }

    /// The file beside the model's file at `path` that [`Self::write`] gives the constants, where they do not go into the model's.
    pub fn data_file(&self, path: &Path) -> Option<PathBuf> {
        (self.weight_bytes() > INLINE_LIMIT).then(|| data_path(path))
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.proto.graph.as_ref().map_or(0, |graph| graph.node.len())
    }

    /// Writes the model with its constants inside, in little memory.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let inline = |weight: &Weight| StreamedTensor { header: header(weight), bytes: weight.bytes() };
        let tensors: Vec<StreamedTensor> = self.weights.iter().map(inline).collect();
        write_model(&self.proto, &tensors, out, |at, out| self.weights[at].write(out))
    }

    /// Writes the model to a file by `put`; constants of more than 2 GB together to `<file>.data` beside it, before the model.
    pub fn write(&self, path: &Path, put: &mut Put<'_>) -> Result<Written, ModelError> {
        self.write_within(path, INLINE_LIMIT, put)
    }

    /// The same with this many bytes of constants in the model's file at most.
    pub(crate) fn write_within(&self, path: &Path, limit: u64, put: &mut Put<'_>) -> Result<Written, ModelError> {
        let mut bytes = 0;
        let mut put = |path: &Path, content: &Content<'_>| {
            let written = put(path, content).map_err(|source| ModelError::Write { path: path.to_owned(), source })?;
            bytes += written;
            Ok(())
        };
        let mut weights = None;
        if self.weight_bytes() <= limit {
            put(path, &|out| self.write_to(out))?;
        } else {
            let data = data_path(path);
            let location = data.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let tensors = self.external(&location);
            put(&data, &|out| self.write_external(out))?;
            put(path, &|out| write_model(&self.proto, &tensors, out, |at, out| self.weights[at].write(out)))?;
            weights = Some(data);
        }
        Ok(Written { path: path.to_owned(), weights, bytes })
    }

    /// The constants, the large ones as places in another file.
    fn external(&self, location: &str) -> Vec<StreamedTensor> {
        let entry = |key: &str, value: String| StringStringEntryProto { key: key.to_owned(), value: value.into() };
        let mut offset = 0;
        let tensor = |weight: &Weight| {
            let (mut header, bytes) = (header(weight), weight.bytes());
            if bytes < SMALL {
                return StreamedTensor { header, bytes };
            }
            header.data_location = 1;
            header.external_data = vec![
                entry("location", location.to_owned()),
                entry("offset", offset.to_string()),
                entry("length", bytes.to_string()),
            ];
            offset += bytes.next_multiple_of(ALIGNMENT);
            StreamedTensor { header, bytes: 0 }
        };
        self.weights.iter().map(tensor).collect()
    }

    /// Writes the elements of the large constants.
    fn write_external(&self, out: &mut dyn Write) -> io::Result<()> {
        for weight in self.weights.iter().filter(|weight| weight.bytes() >= SMALL) {
            weight.write(out)?;
            let padding = weight.bytes().next_multiple_of(ALIGNMENT) - weight.bytes();
            out.write_all(&vec![0; padding as usize])?;
        }
        Ok(())
    }
}

/// The message of a constant without its elements.
fn header(weight: &Weight) -> TensorProto {
    TensorProto {
        dims: weight.shape.iter().map(|&extent| extent as i64).collect(),
        data_type: weight.element.number(),
        name: weight.name.clone(),
        ..Default::default()
    }
}

fn data_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".data");
    name.into()
}
