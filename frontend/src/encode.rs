//! Models written as files, the elements of their tensors streamed.

use std::io::{self, Write};

use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

use crate::onnx::{GraphProto, ModelProto, TensorProto};

/// Numbers of the fields that are written by hand.
const MODEL_GRAPH: u32 = 7;
const GRAPH_INITIALIZER: u32 = 5;
const TENSOR_RAW_DATA: u32 = 9;

/// A tensor whose elements are written later.
#[derive(Clone, Debug)]
pub struct StreamedTensor {
    /// Everything but the elements.
    pub header: TensorProto,
    /// How many bytes of elements the file holds; 0 where the elements lie elsewhere.
    pub bytes: u64,
}

/// Serialises a model that holds its tensors, as Protocol Buffers.
pub fn encoded(model: &ModelProto) -> Vec<u8> {
    model.encode_to_vec()
}

/// Writes a model whose graph has `tensors` as initializers, after those that it holds itself.
///
/// `elements` is called once for every tensor that has bytes, in order, and must write exactly as many as announced.
/// Readers of the format accept at most 2 GiB of it.
pub fn write_model(
    model: &ModelProto,
    tensors: &[StreamedTensor],
    out: &mut dyn Write,
    mut elements: impl FnMut(usize, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let head = ModelProto { graph: None, ..model.clone() }.encode_to_vec();
    let graph = model.graph.as_ref().map(GraphProto::encode_to_vec).unwrap_or_default();
    let headers: Vec<Vec<u8>> = tensors.iter().map(tensor_head).collect();
    let lengths: Vec<u64> =
        headers.iter().zip(tensors).map(|(header, tensor)| header.len() as u64 + tensor.bytes).collect();
    let initializer = |length: u64| (key_len(GRAPH_INITIALIZER) + encoded_len_varint(length)) as u64 + length;
    let total = graph.len() as u64 + lengths.iter().map(|&length| initializer(length)).sum::<u64>();
    out.write_all(&head)?;
    out.write_all(&field(MODEL_GRAPH, total))?;
    out.write_all(&graph)?;
    for (at, (header, tensor)) in headers.iter().zip(tensors).enumerate() {
        out.write_all(&field(GRAPH_INITIALIZER, lengths[at]))?;
        out.write_all(header)?;
        if tensor.bytes > 0 {
            let mut counted = Counted { out, written: 0 };
            elements(at, &mut counted)?;
            if counted.written != tensor.bytes {
                let text = format!("tensor `{}` has {} bytes of data", tensor.header.name, counted.written);
                return Err(io::Error::other(format!("{text}, {} were announced", tensor.bytes)));
            }
        }
    }
    Ok(())
}

/// The tensor's message up to the elements.
fn tensor_head(tensor: &StreamedTensor) -> Vec<u8> {
    let mut head = tensor.header.encode_to_vec();
    if tensor.bytes > 0 {
        head.extend(field(TENSOR_RAW_DATA, tensor.bytes));
    }
    head
}

/// Key and length of a field of bytes.
fn field(number: u32, length: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut bytes);
    encode_varint(length, &mut bytes);
    bytes
}

/// A writer that counts.
struct Counted<'a> {
    out: &'a mut dyn Write,
    written: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
