//! Inputs as a model declares them.

use std::fmt;

use warpweave_graph::ops::arithmetic::cast::element_type;
use warpweave_graph::types::MAX_RANK;
use warpweave_graph::{ElementType, Shape};

use super::error::{ImportError, TensorPlace, UnsupportedTensor};
use super::options::ImportOptions;
use crate::element_name;
use crate::obstacle::Obstacle;
use crate::onnx::{Dimension, DimensionValue, TensorShapeProto, TensorTypeProto, TypeValue, ValueInfoProto};

/// An input or output as a model declares it, for people: extents, names of dimensions, and `?`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredPort {
    pub name: String,
    /// The type, such as `f32[batch, 16]`.
    pub ty: String,
}

/// A port as the model declares it.
pub(super) fn port(port: &ValueInfoProto) -> DeclaredPort {
    let tensor = port.tensor_type();
    let ty = tensor.map_or("no tensor".to_owned(), |ty| {
        let element = element_type(i64::from(ty.elem_type));
        let element = element.map_or_else(|| element_name::unsupported(ty.elem_type), |element| element.to_string());
        match describe(ty) {
            Some(dimensions) => format!("{element}[{}]", dimensions.join(", ")),
            None => format!("{element} of unknown rank"),
        }
    });
    DeclaredPort { name: port.name.clone(), ty }
}

/// An input as the model declares it.
pub(super) struct Declared {
    name: String,
    pub(super) element: ElementType,
    /// Extents, where they are known; nothing if even the rank is unknown.
    extents: Option<Vec<Option<usize>>>,
    dimensions: Option<Vec<String>>,
}

/// What the model and the caller say of an input.
pub(super) fn declared(input: &ValueInfoProto, options: &ImportOptions) -> Result<Declared, ImportError> {
    let ty = tensor(input)?;
    let extents = |shape: &TensorShapeProto| shape.dim.iter().map(|dimension| extent(input, dimension)).collect();
    let extents = ty.shape.as_ref().map(extents).transpose()?;
    let given = options.shapes.get(&input.name).map(|shape| shape.iter().copied().map(Some).collect());
    let element = element(input, ty)?;
    Ok(Declared { name: input.name.clone(), element, extents: given.or(extents), dimensions: describe(ty) })
}

impl Declared {
    /// The shape of the input if it is given something of `shape`: that, or one of a single element where both have one.
    pub(super) fn taken(&self, shape: &Shape) -> Option<Shape> {
        let Some(extents) = &self.extents else { return Some(shape.clone()) };
        let fits = extents.len() == shape.len()
            && extents.iter().zip(shape.iter()).all(|(known, extent)| known.is_none_or(|known| known == *extent));
        let single = || extents.iter().map(|extent| Some(extent.unwrap_or(1)).filter(|extent| *extent == 1)).collect();
        match fits {
            true => Some(shape.clone()),
            false if shape.elements() == 1 => single(),
            false => None,
        }
    }
}

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, element, dimensions, .. } = self;
        match dimensions {
            Some(dimensions) => write!(f, "{name} {element}[{}]", dimensions.join(", ")),
            None => write!(f, "{name} {element} of unknown rank"),
        }
    }
}

/// A choice for what the model does not have.
pub(super) fn unknown(name: &str, inputs: &[&ValueInfoProto]) -> ImportError {
    let mut dimensions: Vec<String> = Vec::new();
    for dimension in inputs.iter().filter_map(|input| Some(&tensor(input).ok()?.shape.as_ref()?.dim)).flatten() {
        if let Some(symbol) = named(dimension).filter(|symbol| dimensions.iter().all(|known| known != symbol)) {
            dimensions.push(symbol.to_owned());
        }
    }
    let inputs = inputs.iter().map(|input| input.name.clone()).collect();
    ImportError::UnknownName { name: name.to_owned(), inputs, dimensions }
}

/// An input of an unsupported type.
pub(super) fn unsupported(input: &ValueInfoProto) -> Option<UnsupportedTensor> {
    let (reason, obstacle) = match input.r#type.as_ref().and_then(|ty| ty.value.as_ref()) {
        Some(TypeValue::TensorType(ty)) => unsupported_tensor(ty)?,
        Some(TypeValue::SequenceType(_)) => ("it holds a sequence".to_owned(), Obstacle::NotTensor),
        Some(TypeValue::MapType(_)) => ("it holds a map".to_owned(), Obstacle::NotTensor),
        Some(TypeValue::OptionalType(_)) => ("it holds an optional value".to_owned(), Obstacle::NotTensor),
        Some(TypeValue::SparseTensorType(_)) => ("it holds a sparse tensor".to_owned(), Obstacle::Sparse),
        Some(TypeValue::OpaqueType(_)) | None => ("it holds no tensor".to_owned(), Obstacle::NotTensor),
    };
    Some(UnsupportedTensor { place: TensorPlace::Input, name: input.name.clone(), reason, obstacle })
}

/// Why a tensor's type is not supported, if it is not.
fn unsupported_tensor(ty: &TensorTypeProto) -> Option<(String, Obstacle)> {
    if element_type(i64::from(ty.elem_type)).is_none() {
        let holds = element_name::unsupported(ty.elem_type);
        return Some((format!("it holds {holds}"), Obstacle::of_element(ty.elem_type)));
    }
    let rank = ty.shape.as_ref().map_or(0, |shape| shape.dim.len());
    let text = || format!("it has rank {rank}, and at most {MAX_RANK} is supported");
    (rank > MAX_RANK).then(|| (text(), Obstacle::Rank))
}

pub(super) fn element(input: &ValueInfoProto, ty: &TensorTypeProto) -> Result<ElementType, ImportError> {
    let number = ty.elem_type;
    let unsupported = || ImportError::invalid(&input.name, format!("it holds {}", element_name::unsupported(number)));
    element_type(i64::from(number)).ok_or_else(unsupported)
}

pub(super) fn tensor(input: &ValueInfoProto) -> Result<&TensorTypeProto, ImportError> {
    input.tensor_type().ok_or_else(|| ImportError::invalid(&input.name, "the input is no tensor"))
}

/// The name of a dimension. Exporters write some texts for every dimension that they know nothing of: `?`, numbers, and
/// Python's `None`; such dimensions are independent.
pub(super) fn named(dimension: &Dimension) -> Option<&str> {
    match &dimension.value {
        Some(DimensionValue::DimParam(name)) => {
            Some(name.as_str()).filter(|name| name.contains(char::is_alphabetic) && *name != "None")
        }
        Some(DimensionValue::DimValue(_)) | None => None,
    }
}

pub(super) fn extent(input: &ValueInfoProto, dimension: &Dimension) -> Result<Option<usize>, ImportError> {
    match dimension.value {
        // Some exporters write −1 for a dimension that they do not know.
        Some(DimensionValue::DimValue(-1) | DimensionValue::DimParam(_)) | None => Ok(None),
        Some(DimensionValue::DimValue(extent)) => {
            let error = |_| ImportError::invalid(&input.name, format!("extent {extent} is not possible"));
            usize::try_from(extent).map(Some).map_err(error)
        }
    }
}

/// The dimensions: extents, names, or `?`.
pub(super) fn describe(ty: &TensorTypeProto) -> Option<Vec<String>> {
    let text = |dimension: &Dimension| match &dimension.value {
        Some(DimensionValue::DimValue(extent)) if *extent >= 0 => extent.to_string(),
        _ => named(dimension).unwrap_or("?").to_owned(),
    };
    ty.shape.as_ref().map(|shape| shape.dim.iter().map(text).collect())
}
