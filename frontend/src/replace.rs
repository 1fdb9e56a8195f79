//! Initializers of a model file replaced, everything else kept byte for byte, and an entry of metadata that says so.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use warpweave_graph::legible::legible;
use warpweave_graph::{ElementType, Tensor};

use crate::onnx::{StringStringEntryProto, TensorProto};

/// Numbers of the fields that are looked at.
const MODEL_GRAPH: u32 = 7;
const GRAPH_INITIALIZER: u32 = 5;
const MODEL_METADATA: u32 = 14;
/// Numbers of the element types that are trained.
const SINGLES: i32 = 1;
const DOUBLES: i32 = 11;

/// The last field of every model that [`replace_initializers`] makes: an entry of the model's metadata.
pub fn trained_mark() -> Vec<u8> {
    let entry = StringStringEntryProto { key: "warpweave.weights".to_owned(), value: "trained".into() };
    let mut field = Vec::new();
    prost::encoding::message::encode(MODEL_METADATA, &entry, &mut field);
    field
}

/// The model with these tensors in the place of the initializers of their names, and how many there are. It ends with
/// [`trained_mark`].
///
/// Every name must be that of an initializer of the same type.
pub fn replace_initializers(model: &[u8], tensors: &BTreeMap<String, Tensor>) -> Result<(Vec<u8>, usize), String> {
    let mut replaced = BTreeSet::new();
    let mut written = rewritten(model, MODEL_GRAPH, &mut |graph| {
        rewritten(graph, GRAPH_INITIALIZER, &mut |initializer| replacement(initializer, tensors, &mut replaced))
    })?;
    let mark = trained_mark();
    if !written.ends_with(&mark) {
        written.extend(mark);
    }
    match tensors.keys().find(|name| !replaced.contains(*name)) {
        Some(name) => Err(format!("it has no initializer `{}`", legible(name))),
        None => Ok((written, replaced.len())),
    }
}

/// An initializer, or the tensor that takes its place.
fn replacement(
    initializer: &[u8],
    tensors: &BTreeMap<String, Tensor>,
    replaced: &mut BTreeSet<String>,
) -> Result<Vec<u8>, String> {
    let old = TensorProto::decode(initializer).map_err(|error| error.to_string())?;
    let Some(tensor) = tensors.get(&old.name) else { return Ok(initializer.to_vec()) };
    let dims: Vec<i64> = tensor.shape().iter().map(|&extent| extent as i64).collect();
    let data_type = match tensor.element() {
        ElementType::F32 => Some(SINGLES),
        ElementType::F64 => Some(DOUBLES),
        _ => None,
    };
    if old.dims != dims || Some(old.data_type) != data_type {
        return Err(format!("its `{}` is no {}", legible(&old.name), tensor.ty()));
    }
    replaced.insert(old.name.clone());
    let new = TensorProto {
        dims,
        data_type: old.data_type,
        name: old.name,
        raw_data: tensor.bytes().clone(),
        ..TensorProto::default()
    };
    Ok(new.encode_to_vec())
}

/// What becomes of a field's bytes.
type Rewrite<'r> = dyn FnMut(&[u8]) -> Result<Vec<u8>, String> + 'r;

/// A message whose fields of a number are what `rewrite` makes of them.
fn rewritten(message: &[u8], number: u32, rewrite: &mut Rewrite<'_>) -> Result<Vec<u8>, String> {
    let damaged = || "it is no ONNX model".to_owned();
    let mut written = Vec::with_capacity(message.len());
    let mut rest = message;
    while !rest.is_empty() {
        let start = rest;
        let (tag, kind) = decode_key(&mut rest).map_err(|_| damaged())?;
        let skip = match kind {
            WireType::Varint => {
                decode_varint(&mut rest).map_err(|_| damaged())?;
                0
            }
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::LengthDelimited => decode_varint(&mut rest).map_err(|_| damaged())? as usize,
            WireType::StartGroup | WireType::EndGroup => return Err(damaged()),
        };
        let (payload, after) = rest.split_at_checked(skip).ok_or_else(damaged)?;
        rest = after;
        if kind == WireType::LengthDelimited && tag == number {
            let payload = rewrite(payload)?;
            encode_key(tag, WireType::LengthDelimited, &mut written);
            encode_varint(payload.len() as u64, &mut written);
            written.extend(payload);
        } else {
            written.extend(&start[..start.len() - after.len()]);
        }
    }
    Ok(written)
}
