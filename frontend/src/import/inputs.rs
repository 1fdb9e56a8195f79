//! Types of the model's inputs, with symbolic dimensions resolved by what the caller says.

use std::collections::BTreeMap;

use warpweave_graph::ops::cast::element_type;
use warpweave_graph::types::MAX_RANK;
use warpweave_graph::{Shape, TensorType};

use super::error::{ImportError, MissingShape};
use super::options::ImportOptions;
use crate::onnx::{DimensionProto, DimensionValue, TensorTypeProto, ValueInfoProto};

/// The types of the inputs, in order.
pub(super) fn types(inputs: &[&ValueInfoProto], options: &ImportOptions) -> Result<Vec<TensorType>, ImportError> {
    for name in options.shapes.keys() {
        if !inputs.iter().any(|input| input.name == *name) {
            return Err(ImportError::invalid(name, "a shape is given for an input that the model does not have"));
        }
    }
    let described = inputs.iter().map(|input| Ok((*input, tensor(input)?)));
    let described = described.collect::<Result<Vec<_>, ImportError>>()?;
    let symbols = symbols(&described, options)?;
    let mut missing = Vec::new();
    let mut is_batch_taken = false;
    let mut types = Vec::with_capacity(inputs.len());
    for (input, ty) in described {
        let number = ty.elem_type;
        let element = element_type(i64::from(number));
        let unsupported =
            || ImportError::invalid(&input.name, format!("element type number {number} is not supported"));
        let element = element.ok_or_else(unsupported)?;
        match shape(input, ty, &symbols, options)? {
            Some((shape, takes_batch)) => {
                is_batch_taken |= takes_batch;
                types.push(TensorType { element, shape });
            }
            None => missing.push(MissingShape { input: input.name.clone(), dimensions: describe(ty) }),
        }
    }
    if !missing.is_empty() {
        return Err(ImportError::Shapes(missing));
    }
    match options.batch.filter(|_| !is_batch_taken) {
        Some(batch) => check_batch(batch, inputs, &types).map(|()| types),
        None => Ok(types),
    }
}

/// Whether inputs whose shapes are decided without the batch have it all the same.
fn check_batch(batch: usize, inputs: &[&ValueInfoProto], types: &[TensorType]) -> Result<(), ImportError> {
    let mut first = types.iter().filter_map(|ty| ty.shape.first()).peekable();
    if first.peek().is_some() && first.all(|extent| *extent == batch) {
        return Ok(());
    }
    let inputs = inputs.iter().zip(types).map(|(input, ty)| format!("{} {ty}", input.name)).collect();
    Err(ImportError::Batch { batch, inputs })
}

fn tensor(input: &ValueInfoProto) -> Result<&TensorTypeProto, ImportError> {
    let ty = input.r#type.as_ref().and_then(|ty| ty.tensor_type.as_ref());
    ty.ok_or_else(|| ImportError::invalid(&input.name, "the input is no tensor"))
}

/// Extents of named dimensions: what the caller says of them, directly or by an input's shape.
fn symbols<'a>(
    inputs: &[(&'a ValueInfoProto, &'a TensorTypeProto)],
    options: &'a ImportOptions,
) -> Result<BTreeMap<&'a str, usize>, ImportError> {
    let mut symbols: BTreeMap<&str, usize> =
        options.dimensions.iter().map(|(name, &extent)| (name.as_str(), extent)).collect();
    for (input, ty) in inputs {
        let (Some(given), Some(shape)) = (options.shapes.get(&input.name), &ty.shape) else { continue };
        for (&extent, dimension) in given.iter().zip(&shape.dim) {
            if let Some(DimensionValue::Symbol(name)) = &dimension.value
                && is_named(name)
                && *symbols.entry(name).or_insert(extent) != extent
            {
                return Err(ImportError::invalid(&input.name, format!("dimension `{name}` is given two extents")));
            }
        }
    }
    Ok(symbols)
}

/// Whether a symbol names a dimension: one without letters and digits, such as `?`, may stand for several.
fn is_named(symbol: &str) -> bool {
    symbol.contains(char::is_alphanumeric)
}

/// The shape of an input, if all is known, and whether the batch is a part of it.
fn shape(
    input: &ValueInfoProto,
    ty: &TensorTypeProto,
    symbols: &BTreeMap<&str, usize>,
    options: &ImportOptions,
) -> Result<Option<(Shape, bool)>, ImportError> {
    let given = options.shapes.get(&input.name);
    let Some(declared) = &ty.shape else {
        return Ok(given.map(|given| (given.clone(), false)));
    };
    let rank = declared.dim.len();
    if rank > MAX_RANK {
        return Err(ImportError::invalid(
            &input.name,
            format!("it has rank {rank}, and at most {MAX_RANK} is supported"),
        ));
    }
    if let Some(given) = given.filter(|given| given.len() != rank) {
        return Err(ImportError::invalid(&input.name, format!("it has rank {rank}, not {}", given.len())));
    }
    let mut extents = Vec::with_capacity(declared.dim.len());
    let mut takes_batch = false;
    for (at, dimension) in declared.dim.iter().enumerate() {
        let given = given.map(|given| given[at]);
        let fixed = extent(input, dimension)?;
        if let (Some(given), Some(fixed)) = (given, fixed)
            && given != fixed
        {
            return Err(ImportError::invalid(&input.name, format!("dimension {at} is {fixed}, not {given}")));
        }
        let symbol = match &dimension.value {
            Some(DimensionValue::Symbol(name)) => symbols.get(name.as_str()).copied().filter(|_| is_named(name)),
            Some(DimensionValue::Extent(_)) | None => None,
        };
        let decided = fixed.or(given).or(symbol);
        let batch = options.batch.filter(|_| at == 0 && decided.is_none());
        takes_batch |= batch.is_some();
        extents.push(decided.or(batch));
    }
    let shape: Option<Shape> = extents.into_iter().collect();
    Ok(shape.map(|shape| (shape, takes_batch)))
}

fn extent(input: &ValueInfoProto, dimension: &DimensionProto) -> Result<Option<usize>, ImportError> {
    match dimension.value {
        // Some exporters write −1 for a dimension that they do not know.
        Some(DimensionValue::Extent(-1) | DimensionValue::Symbol(_)) | None => Ok(None),
        Some(DimensionValue::Extent(extent)) => {
            let error = |_| ImportError::invalid(&input.name, format!("extent {extent} is not possible"));
            usize::try_from(extent).map(Some).map_err(error)
        }
    }
}

fn describe(ty: &TensorTypeProto) -> Option<Vec<String>> {
    let text = |dimension: &DimensionProto| match &dimension.value {
        Some(DimensionValue::Extent(extent)) => extent.to_string(),
        Some(DimensionValue::Symbol(name)) if !name.is_empty() => name.clone(),
        Some(DimensionValue::Symbol(_)) | None => "?".to_owned(),
    };
    ty.shape.as_ref().map(|shape| shape.dim.iter().map(text).collect())
}
