//! The constants of a program as safetensors: tensor 7 is `t7`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use warpweave_graph::program::TensorId;
use warpweave_graph::{ElementType, Tensor, TensorProgram, TensorType};

use super::error::BundleError;
use super::name::EntryName;
use super::origin::Reader;
use super::references::References;

/// Bytes from an entry's start to the tensors are a multiple of this.
const DATA_ALIGNMENT: usize = 64;
/// A header may not be longer.
const MAX_HEADER_BYTES: u64 = 100 << 20;

/// Writes the constants of `program` that stay in no file straight from their bytes. The largest elements come first, so that
/// each tensor is aligned to its element.
pub(super) fn write(
    program: &TensorProgram,
    references: &References,
    out: &mut impl Write,
    path: &Path,
) -> Result<(), BundleError> {
    let damaged = |reason: String| BundleError::Damaged { entry: EntryName::Weights, reason };
    let mut constants: Vec<(TensorId, &Tensor)> =
        embedded(program, references).filter_map(|id| Some((id, program.stored(id)?))).collect();
    constants.sort_by_key(|(id, tensor)| (std::cmp::Reverse(tensor.element().bytes()), *id));
    let mut end = 0;
    let mut infos = Vec::with_capacity(constants.len());
    for (id, tensor) in &constants {
        let data_offsets = (end, end + tensor.bytes().len());
        end = data_offsets.1;
        let info = TensorInfo { dtype: dtype(tensor.element()), shape: tensor.shape().to_vec(), data_offsets };
        infos.push((id.to_string(), info));
    }
    let metadata = Metadata::new(None, infos).map_err(|error| damaged(error.to_string()))?;
    let mut header = serde_json::to_vec(&metadata).map_err(|error| damaged(error.to_string()))?;
    header.resize((header.len() + 8).next_multiple_of(DATA_ALIGNMENT) - 8, b' ');
    let failed = |source| BundleError::File { action: "write", path: path.to_owned(), source };
    let mut put = |bytes: &[u8]| out.write_all(bytes).map_err(failed);
    put(&(header.len() as u64).to_le_bytes())?;
    put(&header)?;
    constants.iter().try_for_each(|(_, tensor)| put(tensor.bytes()))
}

/// The constants that are in the bundle itself.
pub(super) fn embedded(program: &TensorProgram, references: &References) -> impl Iterator<Item = TensorId> {
    let is_embedded = |id: &TensorId| program.stored(*id).is_some() && !references.holds(*id);
    program.tensors.ids().filter(is_embedded)
}

/// The constants of an opened bundle, read tensor by tensor.
#[derive(Debug)]
pub struct WeightsReader {
    file: Reader,
    data_start: u64,
    metadata: Metadata,
    /// Files beside the bundle, and what stays in them.
    beside: Vec<File>,
    references: References,
}

impl WeightsReader {
    /// Reads the header of the entry at `start`, `bytes` long; `beside` are the files of the references.
    pub(super) fn open(
        mut file: Reader,
        (start, bytes): (u64, u64),
        beside: Vec<File>,
        references: References,
    ) -> Result<Self, BundleError> {
        let mut word = [0; 8];
        read_at(&mut file, start, &mut word)?;
        let header_bytes = u64::from_le_bytes(word);
        if header_bytes > MAX_HEADER_BYTES || header_bytes.saturating_add(8) > bytes {
            return Err(damaged("its header is too long"));
        }
        let mut header = vec![0; header_bytes as usize];
        read_at(&mut file, start + 8, &mut header)?;
        let metadata: Metadata = serde_json::from_slice(&header).map_err(|error| damaged(&error.to_string()))?;
        if 8 + header_bytes + metadata.data_len() as u64 != bytes {
            return Err(damaged("its tensors do not fill it"));
        }
        Ok(Self { file, data_start: start + 8 + header_bytes, metadata, beside, references })
    }

    /// Reads a constant's bytes into `out`, which is as long as its type says.
    pub fn read_into(&mut self, tensor: TensorId, ty: &TensorType, out: &mut [u8]) -> Result<(), BundleError> {
        let name = tensor.to_string();
        if let Some(place) = self.references.tensors.get(&name) {
            if place.bytes != out.len() as u64 {
                return Err(damaged(&format!("{name} is not {ty}")));
            }
            return read_at(&mut self.beside[place.file], place.offset, out);
        }
        let info = self.metadata.info(&name).ok_or_else(|| damaged(&format!("it lacks {name}")))?;
        let (start, end) = info.data_offsets;
        let same = info.dtype == dtype(ty.element) && info.shape.as_slice() == &ty.shape[..];
        if !same || end - start != out.len() {
            return Err(damaged(&format!("{name} is not {ty}")));
        }
        read_at(&mut self.file, self.data_start + start as u64, out)
    }

    /// A constant.
    pub fn read(&mut self, tensor: TensorId, ty: &TensorType) -> Result<Tensor, BundleError> {
        let mut bytes = vec![0; ty.bytes()];
        self.read_into(tensor, ty, &mut bytes)?;
        Tensor::from_bytes(ty.clone(), bytes.into()).ok_or_else(|| damaged(&format!("{tensor} is not {ty}")))
    }
}

fn read_at(file: &mut (impl Read + Seek), start: u64, out: &mut [u8]) -> Result<(), BundleError> {
    let result: io::Result<()> = file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(out));
    result.map_err(|error| damaged(&error.to_string()))
}

fn damaged(reason: &str) -> BundleError {
    BundleError::Damaged { entry: EntryName::Weights, reason: reason.to_owned() }
}

/// The element type that safetensors call so, if it is one that a model trains or keeps.
pub(crate) fn element(dtype: Dtype) -> Option<ElementType> {
    match dtype {
        Dtype::BOOL => Some(ElementType::Bool),
        Dtype::I32 => Some(ElementType::I32),
        Dtype::I64 => Some(ElementType::I64),
        Dtype::F16 => Some(ElementType::F16),
        Dtype::BF16 => Some(ElementType::BF16),
        Dtype::F32 => Some(ElementType::F32),
        Dtype::F64 => Some(ElementType::F64),
        _ => None,
    }
}

/// What safetensors call an element type.
pub(crate) fn dtype(element: ElementType) -> Dtype {
    match element {
        ElementType::Bool => Dtype::BOOL,
        ElementType::I8 => Dtype::I8,
        ElementType::I16 => Dtype::I16,
        ElementType::I32 => Dtype::I32,
        ElementType::I64 => Dtype::I64,
        ElementType::U8 => Dtype::U8,
        ElementType::U16 => Dtype::U16,
        ElementType::U32 => Dtype::U32,
        ElementType::U64 => Dtype::U64,
        ElementType::F16 => Dtype::F16,
        ElementType::BF16 => Dtype::BF16,
        ElementType::F32 => Dtype::F32,
        ElementType::F64 => Dtype::F64,
        ElementType::F8E4M3FN => Dtype::F8_E4M3,
        ElementType::F8E4M3FNUZ => Dtype::F8_E4M3FNUZ,
        ElementType::F8E5M2 => Dtype::F8_E5M2,
        ElementType::F8E5M2FNUZ => Dtype::F8_E5M2FNUZ,
        ElementType::F8E8M0 => Dtype::F8_E8M0,
        // A byte an element, where safetensors would pack them.
        ElementType::I4 | ElementType::I2 => Dtype::I8,
        ElementType::F4E2M1 | ElementType::U4 | ElementType::U2 => Dtype::U8,
    }
}
