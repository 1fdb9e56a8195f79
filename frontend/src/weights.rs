//! Tensors of a file: raw, in typed fields, or in other files beside the model.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use warpweave_graph::legible::legible;
use warpweave_graph::ops::arithmetic::cast::element_type;
use warpweave_graph::types::MAX_RANK;
use warpweave_graph::{ElementType, Shape, Tensor, TensorType};

use crate::element_name::unsupported;
use crate::files::Files;
use crate::obstacle::Obstacle;
use crate::onnx::TensorProto;
use crate::packed::{is_packed, packed_bytes, unpacked};

/// Why a tensor cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WeightError {
    /// The element type is not supported.
    #[error("it holds {}, which are not supported", unsupported(*.0))]
    Element(i32),
    /// The extents are negative, too many, or too large.
    #[error("extents {0:?} are not possible")]
    Extents(Vec<i64>),
    /// There are more dimensions than tensors may have.
    #[error("it has rank {0}, and at most {MAX_RANK} is supported")]
    Rank(usize),
    /// The data are not as long as type and shape say.
    #[error("{found} bytes or elements of data, {expected} expected")]
    Length {
        /// What type and shape say.
        expected: usize,
        /// What is there.
        found: usize,
    },
    /// All tensors together are larger than the limit.
    #[error("the tensors take more than {0} bytes together")]
    Limit(u64),
    /// The data lie in another file, whose place is not allowed.
    #[error("external data `{}`: {reason}", legible(location))]
    Place {
        /// The path in the model.
        location: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Another file cannot be read.
    #[error("external data `{}`: {reason}", legible(location))]
    File {
        /// The path in the model.
        location: String,
        reason: String,
    },
}

impl WeightError {
    /// What stands in the way.
    pub(crate) fn obstacle(&self) -> Obstacle {
        match self {
            Self::Element(number) => Obstacle::of_element(*number),
            Self::Rank(_) => Obstacle::Rank,
            Self::Limit(_) => Obstacle::Size,
            Self::Extents(_) | Self::Length { .. } | Self::Place { .. } | Self::File { .. } => Obstacle::Contradiction,
        }
    }

    /// What a person can do about it.
    pub(crate) fn remedy(&self) -> String {
        match self {
            Self::Element(_) | Self::Rank(_) => self.obstacle().remedy(),
            Self::Limit(_) => "export a smaller model, or raise the limit if the model is trusted".to_owned(),
            Self::Extents(_) | Self::Length { .. } => "check that the file is complete, and export it again".to_owned(),
            Self::Place { .. } | Self::File { .. } => {
                "keep external data in the model's folder, without links, and export again".to_owned()
            }
        }
    }
}

/// Reads the tensors of one model.
pub(crate) struct Weights<'f> {
    folder: Option<PathBuf>,
    files: &'f dyn Files,
    budget: u64,
    limit: u64,
}

impl<'f> Weights<'f> {
    /// Reads external data in `folder` only, and at most `limit` bytes in all.
    pub(crate) fn new(folder: Option<&Path>, files: &'f dyn Files, limit: u64) -> Self {
        Self { folder: folder.map(Path::to_owned), files, budget: limit, limit }
    }

    /// The tensor that a message describes.
    pub(crate) fn read(&mut self, proto: &TensorProto) -> Result<Tensor, WeightError> {
        let element = element_type(i64::from(proto.data_type)).ok_or(WeightError::Element(proto.data_type))?;
        let extents = || WeightError::Extents(proto.dims.clone());
        if proto.dims.len() > MAX_RANK {
            return Err(WeightError::Rank(proto.dims.len()));
        }
        let shape = proto.dims.iter().map(|&extent| usize::try_from(extent)).collect::<Result<Shape, _>>();
        let shape = shape.map_err(|_| extents())?;
        let bytes = shape.checked_elements().and_then(|elements| elements.checked_mul(element.bytes()));
        let bytes = bytes.ok_or_else(extents)?;
        self.budget = self.budget.checked_sub(bytes as u64).ok_or(WeightError::Limit(self.limit))?;
        let elements = shape.elements();
        let packed = packed_bytes(element, elements).ok_or_else(extents)?;
        let ty = TensorType { element, shape };
        let data = if proto.data_location == 1 {
            self.external(proto, packed)?
        } else if !proto.raw_data.is_empty() {
            proto.raw_data.clone()
        } else {
            return typed(proto, ty);
        };
        of_bytes(ty, data)
    }

    /// `bytes` bytes of a file in the model's folder.
    fn external<'p>(&self, proto: &'p TensorProto, bytes: usize) -> Result<Bytes, WeightError> {
        let text = |value: &'p Bytes| std::str::from_utf8(value).unwrap_or_default();
        let entries: BTreeMap<&str, &str> =
            proto.external_data.iter().map(|entry| (entry.key.as_str(), text(&entry.value))).collect();
        let location = entries.get("location").copied().unwrap_or_default();
        let place = |reason| WeightError::Place { location: location.to_owned(), reason };
        let file =
            |error: std::io::Error| WeightError::File { location: location.to_owned(), reason: error.to_string() };
        let number = |key: &str| match entries.get(key) {
            None => Ok(None),
            Some(text) => text.parse::<u64>().map(Some).map_err(|_| place("offset or length is no number")),
        };
        let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
        if length.is_some_and(|length| length != bytes as u64) {
            let found = length.and_then(|length| usize::try_from(length).ok()).unwrap_or(usize::MAX);
            return Err(WeightError::Length { expected: bytes, found });
        }
        let folder = self.folder.as_deref().ok_or_else(|| place("the model has no folder to look in"))?;
        let path = inside(folder, location).map_err(place)?;
        let available = path.metadata().map_err(file)?.len();
        let end = offset.checked_add(bytes as u64).filter(|end| *end <= available);
        let end = end.ok_or_else(|| place("offset and length lie outside the file"))?;
        self.files.constant(&path, offset..end).map_err(file)
    }
}

/// The path of a regular file below `folder`, no component of which is a link.
fn inside(folder: &Path, location: &str) -> Result<PathBuf, &'static str> {
    let relative = Path::new(location);
    let plain = relative.components().all(|component| match component {
        Component::Normal(_) | Component::CurDir => true,
        Component::Prefix(_) | Component::RootDir | Component::ParentDir => false,
    });
    if location.is_empty() || !plain || location.contains(['\\', '\0']) {
        return Err("the path must be relative and stay in the model's folder");
    }
    let root = folder.canonicalize().map_err(|_| "the model's folder cannot be opened")?;
    let mut path = root.clone();
    for component in relative.components() {
        path.push(component);
        let metadata = path.symlink_metadata().map_err(|_| "there is no such file")?;
        if metadata.file_type().is_symlink() {
            return Err("the path leads over a link");
        }
    }
    let resolved = path.canonicalize().map_err(|_| "there is no such file")?;
    let regular = resolved.metadata().is_ok_and(|metadata| metadata.is_file());
    if regular && resolved.starts_with(&root) { Ok(resolved) } else { Err("the path is no file in the model's folder") }
}

/// The tensor whose elements stand one after another in bytes, as a model has them.
fn of_bytes(ty: TensorType, data: Bytes) -> Result<Tensor, WeightError> {
    let (element, elements, found) = (ty.element, ty.shape.elements(), data.len());
    let expected = packed_bytes(element, elements).unwrap_or(usize::MAX);
    let wrong = WeightError::Length { expected, found };
    if expected != found {
        return Err(wrong);
    }
    let data = if is_packed(element) { unpacked(element, elements, &data).into() } else { data };
    Tensor::from_bytes(ty, data).ok_or(wrong)
}

/// The tensor whose elements stand in the field of their type.
fn typed(proto: &TensorProto, ty: TensorType) -> Result<Tensor, WeightError> {
    let expected = ty.shape.elements();
    let check = |found: usize| match found == expected {
        true => Ok(()),
        false => Err(WeightError::Length { expected, found }),
    };
    match ty.element {
        ElementType::F32 => {
            check(proto.float_data.len())?;
            Ok(Tensor::new(ty.shape, &proto.float_data))
        }
        ElementType::F64 => {
            check(proto.double_data.len())?;
            Ok(Tensor::new(ty.shape, &proto.double_data))
        }
        ElementType::I64 => {
            check(proto.int64_data.len())?;
            Ok(Tensor::new(ty.shape, &proto.int64_data))
        }
        ElementType::U32 | ElementType::U64 => {
            check(proto.uint64_data.len())?;
            let elements: Vec<i64> = proto.uint64_data.iter().map(|&element| element as i64).collect();
            Ok(Tensor::from_i64(ty, &elements))
        }
        ElementType::F16 | ElementType::BF16 => {
            check(proto.int32_data.len())?;
            let bytes: Vec<u8> = proto.int32_data.iter().flat_map(|&bits| (bits as u16).to_le_bytes()).collect();
            let found = bytes.len();
            Tensor::from_bytes(ty, bytes.into()).ok_or(WeightError::Length { expected, found })
        }
        ElementType::F8E4M3FN
        | ElementType::F8E4M3FNUZ
        | ElementType::F8E5M2
        | ElementType::F8E5M2FNUZ
        | ElementType::F8E8M0
        | ElementType::F4E2M1
        | ElementType::I4
        | ElementType::U4
        | ElementType::I2
        | ElementType::U2 => of_bytes(ty, proto.int32_data.iter().map(|&byte| byte as u8).collect()),
        ElementType::Bool
        | ElementType::I8
        | ElementType::I16
        | ElementType::I32
        | ElementType::U8
        | ElementType::U16 => {
            check(proto.int32_data.len())?;
            let elements: Vec<i64> = proto.int32_data.iter().map(|&element| i64::from(element)).collect();
            Ok(Tensor::from_i64(ty, &elements))
        }
    }
}
