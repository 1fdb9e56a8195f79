//! Types of the model's inputs, with symbolic dimensions resolved by what the caller says.

use std::collections::BTreeMap;

use warpweave_graph::{Shape, TensorType};

use super::declared::{describe, element, extent, named, tensor, unknown};
use super::error::{ImportError, MissingShape};
use super::options::ImportOptions;
use crate::onnx::{TensorTypeProto, ValueInfoProto};

/// An input with its type as the model declares it.
type Described<'a> = (&'a ValueInfoProto, &'a TensorTypeProto);

/// The types of the inputs, in order.
pub(super) fn types(inputs: &[&ValueInfoProto], options: &ImportOptions) -> Result<Vec<TensorType>, ImportError> {
    let described = inputs.iter().map(|input| Ok((*input, tensor(input)?)));
    let described = described.collect::<Result<Vec<_>, ImportError>>()?;
    let mut symbols = chosen(&described, options)?;
    let mut is_batch_taken = take_batch(&mut symbols, &described, options);
    take_arrays(&mut symbols, &described, options);
    let mut missing = Vec::new();
    let mut types = Vec::with_capacity(inputs.len());
    for (input, ty) in described {
        let element = element(input, ty)?;
        match shape((input, ty), &symbols, options)? {
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

/// Extents of named dimensions that the caller chooses: by their names, or by an input's shape.
fn chosen<'a>(inputs: &[Described<'a>], options: &'a ImportOptions) -> Result<BTreeMap<&'a str, usize>, ImportError> {
    let mut symbols = BTreeMap::new();
    let mut choose = |name: &'a str, extent: usize| match *symbols.entry(name).or_insert(extent) {
        known if known == extent => Ok(()),
        known => {
            Err(ImportError::choice(format!("dimension `{name}`"), format!("it is given as {known} and as {extent}")))
        }
    };
    let all: Vec<&ValueInfoProto> = inputs.iter().map(|(input, _)| *input).collect();
    let is_dimension = |name: &str| dimensions(inputs).any(|(.., known)| known == name);
    for (name, &extent) in &options.dimensions {
        if !is_dimension(name) {
            return Err(unknown(name, &all));
        }
        choose(name, extent)?;
    }
    for (name, shape) in options.shapes.iter().filter(|(name, _)| all.iter().all(|input| input.name != **name)) {
        match &shape[..] {
            _ if !is_dimension(name) => return Err(unknown(name, &all)),
            [extent] => choose(name, *extent)?,
            _ => return Err(ImportError::choice(format!("dimension `{name}`"), "a dimension has one extent")),
        }
    }
    for ((input, _), at, name) in dimensions(inputs) {
        if let Some(&extent) = options.shapes.get(&input.name).and_then(|shape| shape.get(at)) {
            choose(name, extent)?;
        }
    }
    Ok(symbols)
}

/// Every named dimension of every input with its position.
fn dimensions<'a>(inputs: &[Described<'a>]) -> impl Iterator<Item = (Described<'a>, usize, &'a str)> {
    let of_input = |&(input, ty): &Described<'a>| {
        let all = ty.shape.iter().flat_map(|shape| shape.dim.iter().enumerate());
        all.filter_map(move |(at, dimension)| Some(((input, ty), at, named(dimension)?)))
    };
    inputs.iter().flat_map(of_input)
}

/// Sets named first dimensions without a chosen extent to the batch; whether there are any.
fn take_batch<'a>(symbols: &mut BTreeMap<&'a str, usize>, inputs: &[Described<'a>], options: &ImportOptions) -> bool {
    let Some(batch) = options.batch else { return false };
    let open: Vec<&str> = dimensions(inputs)
        .filter(|(_, at, name)| *at == 0 && !symbols.contains_key(name))
        .map(|(.., name)| name)
        .collect();
    symbols.extend(open.iter().map(|name| (*name, batch)));
    !open.is_empty()
}

/// Sets named dimensions without a chosen extent to those of the first array that has them.
fn take_arrays<'a>(symbols: &mut BTreeMap<&'a str, usize>, inputs: &[Described<'a>], options: &ImportOptions) {
    for (input, at, name) in dimensions(inputs) {
        if let Some(&extent) = array(input, options).and_then(|shape| shape.get(at)) {
            symbols.entry(name).or_insert(extent);
        }
    }
}

/// The shape of an input's array, if it has the input's rank.
fn array<'o>((input, ty): Described<'_>, options: &'o ImportOptions) -> Option<&'o Shape> {
    let has_rank = |array: &&Shape| ty.shape.as_ref().is_none_or(|shape| shape.dim.len() == array.len());
    options.arrays.get(&input.name).filter(has_rank)
}

/// The shape of an input, if all is known, and whether the batch is a part of it in a dimension without a name.
fn shape(
    (input, ty): Described<'_>,
    symbols: &BTreeMap<&str, usize>,
    options: &ImportOptions,
) -> Result<Option<(Shape, bool)>, ImportError> {
    let (given, array) = (options.shapes.get(&input.name), array((input, ty), options));
    let Some(declared) = &ty.shape else {
        return Ok(given.or(array).map(|shape| (shape.clone(), false)));
    };
    let rank = declared.dim.len();
    if let Some(given) = given.filter(|given| given.len() != rank) {
        let reason = format!("its rank is {rank}, and the shape [{given}] has rank {}", given.len());
        return Err(ImportError::choice(culprit(input, ty), reason));
    }
    let mut extents = Vec::with_capacity(rank);
    let mut takes_batch = false;
    for (at, dimension) in declared.dim.iter().enumerate() {
        let given = given.map(|given| given[at]);
        let fixed = extent(input, dimension)?;
        if let (Some(given), Some(fixed)) = (given, fixed)
            && given != fixed
        {
            return Err(ImportError::choice(culprit(input, ty), format!("dimension {at} is {fixed}, not {given}")));
        }
        let symbol = named(dimension).and_then(|name| symbols.get(name).copied());
        let decided = fixed.or(given).or(symbol);
        let batch = options.batch.filter(|_| at == 0 && decided.is_none());
        takes_batch |= batch.is_some();
        extents.push(decided.or(batch).or(array.map(|array| array[at])));
    }
    let shape: Option<Shape> = extents.into_iter().collect();
    match options.arrays.get(&input.name) {
        Some(other) if shape.is_none() => {
            let reason = format!("its rank is {rank}, and its array is [{other}]");
            Err(ImportError::choice(culprit(input, ty), reason))
        }
        Some(_) | None => Ok(shape.map(|shape| (shape, takes_batch))),
    }
}

fn culprit(input: &ValueInfoProto, ty: &TensorTypeProto) -> String {
    let declared = MissingShape { input: input.name.clone(), dimensions: describe(ty) };
    format!("the input {declared}")
}
