//! Tensors as NumPy's `.npy` files.
//!
//! NumPy has no bfloat16 and no types for storage only. Arrays have other elements in their place:
//! - singles for bfloat16;
//! - signed or unsigned bytes with the values for integers of fewer than 8 bits;
//! - unsigned bytes with the codes for floating point of 8 bits and fewer.

use bytes::Bytes;

use crate::arithmetic::{highest, lowest};
use crate::numerics::{Class, FloatFormat};
use crate::tensor::Tensor;
use crate::types::{ElementType, MAX_RANK, Shape, TensorType};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Element types with NumPy's little-endian names; bfloat16 and storage types have none.
const NAMES: [(ElementType, &str); 12] = [
    (ElementType::Bool, "|b1"),
    (ElementType::I8, "|i1"),
    (ElementType::I16, "<i2"),
    (ElementType::I32, "<i4"),
    (ElementType::I64, "<i8"),
    (ElementType::U8, "|u1"),
    (ElementType::U16, "<u2"),
    (ElementType::U32, "<u4"),
    (ElementType::U64, "<u8"),
    (ElementType::F16, "<f2"),
    (ElementType::F32, "<f4"),
    (ElementType::F64, "<f8"),
];

/// Why bytes are no `.npy` file that a tensor can hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NpyError {
    /// The bytes do not begin as they should, or end early.
    #[error("not a .npy file")]
    Format,
    /// The header lacks an entry or has one that cannot be read.
    #[error("the header's entry `{0}` cannot be read")]
    Header(&'static str),
    /// The array has more dimensions than a tensor may have.
    #[error("its rank is {0}, and at most {MAX_RANK} is supported")]
    Rank(usize),
    /// The element type is not supported.
    #[error("element type `{0}` is not supported")]
    Element(String),
    /// The data are not as long as the header says.
    #[error("{found} bytes of data for {expected}")]
    Length {
        /// What the header says.
        expected: TensorType,
        /// What is there.
        found: usize,
    },
}

/// Whether bytes begin as those of a `.npy` file.
pub fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The type of an array's elements in the place of those that NumPy has no type for; the same type where it has one.
pub fn stand_in(element: ElementType) -> ElementType {
    match element.class() {
        Class::Float(FloatFormat::BFloat16) => ElementType::F32,
        Class::Signed if element.is_storage() => ElementType::I8,
        Class::Unsigned if element.is_storage() => ElementType::U8,
        Class::Float(FloatFormat::Minifloat(_) | FloatFormat::PowerOfTwo) => ElementType::U8,
        Class::Boolean | Class::Signed | Class::Unsigned => element,
        Class::Float(FloatFormat::Half | FloatFormat::Single | FloatFormat::Double) => element,
    }
}

/// The tensor with elements that NumPy has a type for.
pub fn standing_in(tensor: &Tensor) -> Tensor {
    let ty = TensorType { element: stand_in(tensor.element()), shape: tensor.shape().clone() };
    match tensor.element() {
        element if element == ty.element => tensor.clone(),
        ElementType::BF16 => Tensor::from_f64(ty, &tensor.to_f64()),
        _ => Tensor::from_bytes(ty, tensor.bytes().clone()).expect("a byte stands for a byte"),
    }
}

/// The tensor of another type that an array stands for; `None` if it has not the elements that stand for those, or one of them
/// stands for none.
pub fn stood_for(found: &Tensor, element: ElementType) -> Option<Tensor> {
    if found.element() != stand_in(element) {
        return None;
    }
    let ty = TensorType { element, shape: found.shape().clone() };
    match element {
        element if element == found.element() => Some(found.clone()),
        ElementType::BF16 => Some(Tensor::from_f64(ty, &found.to_f64())),
        _ => {
            let inside = |value: &i64| match element.is_float() {
                true => *value < 1 << element.bits(),
                false => (lowest(element)..=highest(element)).contains(value),
            };
            let fits = found.to_i64().iter().all(inside);
            if fits { Tensor::from_bytes(ty, found.bytes().clone()) } else { None }
        }
    }
}

/// The tensor in the bytes of a `.npy` file.
pub fn parse(bytes: &Bytes) -> Result<Tensor, NpyError> {
    let version = *bytes.strip_prefix(MAGIC).and_then(|rest| rest.first()).ok_or(NpyError::Format)?;
    let field = |count: usize| bytes.get(8..8 + count).ok_or(NpyError::Format);
    let (start, length) = match version {
        1 => (10, field(2)?.iter().rev().fold(0usize, |value, &byte| value << 8 | usize::from(byte))),
        2 | 3 => (12, field(4)?.iter().rev().fold(0usize, |value, &byte| value << 8 | usize::from(byte))),
        _ => return Err(NpyError::Format),
    };
    let end = start + length;
    let header = bytes.get(start..end).and_then(|header| std::str::from_utf8(header).ok()).ok_or(NpyError::Format)?;
    let name = entry(header, "descr")?.split(['\'', '"']).nth(1).ok_or(NpyError::Header("descr"))?;
    let is_big_endian = name.starts_with('>');
    let plain = name.replace(['=', '>'], "<");
    let element = NAMES.iter().find(|(_, known)| *known == plain).map(|(element, _)| *element);
    let element = element.ok_or_else(|| NpyError::Element(name.to_owned()))?;
    let is_column_major = entry(header, "fortran_order")?.starts_with("True");
    let shape = entry(header, "shape")?.strip_prefix('(').and_then(|rest| rest.split(')').next());
    let extents = shape.ok_or(NpyError::Header("shape"))?.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let shape = extents.map(str::parse).collect::<Result<Shape, _>>().map_err(|_| NpyError::Header("shape"))?;
    if shape.len() > MAX_RANK {
        return Err(NpyError::Rank(shape.len()));
    }
    if shape.checked_elements().and_then(|elements| elements.checked_mul(element.bytes())).is_none() {
        return Err(NpyError::Header("shape"));
    }
    let ty = TensorType { element, shape };
    let data = bytes.slice(end..);
    let found = data.len();
    let data = if is_big_endian { swapped(&data, element.bytes()) } else { data };
    let data = if is_column_major && found == ty.bytes() { row_major(&ty, &data).into() } else { data };
    Tensor::from_bytes(ty.clone(), data).ok_or(NpyError::Length { expected: ty, found })
}

/// Elements of `width` bytes with their bytes in the other order.
fn swapped(data: &Bytes, width: usize) -> Bytes {
    data.chunks(width).flat_map(|element| element.iter().rev().copied()).collect::<Vec<u8>>().into()
}

/// The elements of a tensor that stand column by column, row by row.
fn row_major(ty: &TensorType, data: &Bytes) -> Vec<u8> {
    let width = ty.element.bytes();
    let mut rows = Vec::with_capacity(data.len());
    let mut place = vec![0usize; ty.shape.len()];
    for _ in 0..ty.shape.elements() {
        let column_major = place.iter().zip(ty.shape.iter()).rev().fold(0, |at, (place, extent)| at * extent + place);
        rows.extend_from_slice(&data[column_major * width..][..width]);
        for (place, extent) in place.iter_mut().zip(ty.shape.iter()).rev() {
            *place += 1;
            if *place < *extent {
                break;
            }
            *place = 0;
        }
    }
    rows
}

/// How headers begin that [`print()`] writes: with a space that every reader skips and other writers do not write.
const OWN_HEADER: &str = "{ 'descr':";

/// Whether a file's first bytes are such as [`print()`] writes, and not another program.
pub fn is_printed(bytes: &[u8]) -> bool {
    is_npy(bytes) && bytes.get(MAGIC.len() + 4..).is_some_and(|header| header.starts_with(OWN_HEADER.as_bytes()))
}

/// The bytes of a `.npy` file with the tensor; `None` if NumPy has no name for its element type.
pub fn print(tensor: &Tensor) -> Option<Vec<u8>> {
    let (_, name) = NAMES.iter().find(|(element, _)| *element == tensor.element())?;
    let extents: String = tensor.shape().iter().map(|extent| format!("{extent},")).collect();
    let mut header = format!("{OWN_HEADER} '{name}', 'fortran_order': False, 'shape': ({extents}), }}");
    // The data start at a multiple of 64 bytes; the header ends with a line feed.
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(u16::try_from(header.len()).ok()?.to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend_from_slice(tensor.bytes());
    Some(bytes)
}

/// What follows a key in the header, which is a Python dictionary.
fn entry<'a>(header: &'a str, key: &'static str) -> Result<&'a str, NpyError> {
    let (_, rest) = header.split_once(&format!("'{key}'")).ok_or(NpyError::Header(key))?;
    let (_, value) = rest.split_once(':').ok_or(NpyError::Header(key))?;
    Ok(value.trim_start())
}
