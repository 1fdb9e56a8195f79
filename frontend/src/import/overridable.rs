//! Initializers that stand among the inputs, too: which of them the caller can give instead.

use std::collections::HashSet;

use warpweave_graph::ops::arithmetic::cast::element_type;
use warpweave_graph::{ElementType, Shape};

use super::error::ImportError;
use super::options::{ImportOptions, Overridable, Variables};
use crate::onnx::{ModelProto, TensorProto};

/// The first version of the format in which an initializer need not stand among the inputs.
const OPTIONAL_INPUTS: i64 = 4;

/// Most initializers that stay inputs where a model lists all of its initializers among them, and most elements of one of these.
const MOST_OF_ALL: (usize, i64) = (8, 1024);

/// The initializers that are inputs with a default, in the order in which they are to be tried: where operators need to know
/// some of them, fewer are. The last has only those that the caller gives.
pub(super) fn candidates<'m>(
    model: &'m ModelProto,
    options: &ImportOptions,
) -> Result<Vec<HashSet<&'m str>>, ImportError> {
    let listed = listed(model, options);
    check(&listed, options)?;
    let given =
        |tensor: &&TensorProto| options.variables == Variables::None && options.arrays.contains_key(&tensor.name);
    let names =
        |tensors: &mut dyn Iterator<Item = &'m TensorProto>| tensors.map(|tensor| tensor.name.as_str()).collect();
    let chosen: Vec<&TensorProto> = match (&options.variables, &options.overridable) {
        (Variables::Floating(_), _) => Vec::new(),
        (Variables::None, Overridable::Matching(patterns)) => {
            listed.iter().copied().filter(|tensor| patterns.fits(&tensor.name)).collect()
        }
        (Variables::None, Overridable::Declared) if declares(model, &listed) => listed.clone(),
        (Variables::None, Overridable::Declared | Overridable::None) => Vec::new(),
    };
    let is_number =
        |tensor: &&TensorProto| element_type(i64::from(tensor.data_type)).is_some_and(ElementType::is_float);
    let mut candidates: Vec<HashSet<&str>> = vec![
        names(&mut listed.iter().copied().filter(|tensor| given(tensor) || chosen.contains(tensor))),
        names(
            &mut listed.iter().copied().filter(|tensor| given(tensor) || chosen.contains(tensor) && is_number(tensor)),
        ),
        names(&mut listed.iter().copied().filter(given)),
    ];
    candidates.dedup();
    Ok(candidates)
}

/// Whether nothing of an initializer that is an input remains: the input is fixed otherwise, or given an array of another shape.
pub(super) fn is_replaced(tensor: &TensorProto, options: &ImportOptions) -> bool {
    let is_own = |shape: &Shape| shape.iter().map(|&extent| extent as i64).eq(tensor.dims.iter().copied());
    let given = options.arrays.get(&tensor.name).filter(|_| options.variables == Variables::None);
    options.constants.contains_key(&tensor.name) || given.is_some_and(|shape| !is_own(shape))
}

/// The initializers that stand among the inputs and are not replaced.
fn listed<'m>(model: &'m ModelProto, options: &ImportOptions) -> Vec<&'m TensorProto> {
    let Some(graph) = &model.graph else { return Vec::new() };
    let inputs: HashSet<&str> = graph.input.iter().map(|input| input.name.as_str()).collect();
    let is_listed = |tensor: &&TensorProto| inputs.contains(tensor.name.as_str()) && !is_replaced(tensor, options);
    graph.initializer.iter().filter(is_listed).collect()
}

/// Whether the model lists initializers among its inputs to have them given: exporters of old list them all, whatever they are.
fn declares(model: &ModelProto, listed: &[&TensorProto]) -> bool {
    let all = model.graph.as_ref().map_or(0, |graph| graph.initializer.len());
    let (most, elements) = MOST_OF_ALL;
    let is_small =
        |tensor: &&TensorProto| tensor.dims.iter().fold(1i64, |all, &extent| all.saturating_mul(extent)) <= elements;
    let are_few = listed.len() <= most && listed.iter().all(is_small);
    model.ir_version >= OPTIONAL_INPUTS && (listed.len() < all || are_few)
}

/// Refuses patterns that fit no initializer that is an input.
fn check(listed: &[&TensorProto], options: &ImportOptions) -> Result<(), ImportError> {
    let Overridable::Matching(patterns) = &options.overridable else { return Ok(()) };
    let names: Vec<&str> = listed.iter().map(|tensor| tensor.name.as_str()).collect();
    let Some(idle) = patterns.idle(&names) else { return Ok(()) };
    let reason = match &names[..] {
        [] => "the model has no initializer that is also an input".to_owned(),
        names => format!("the initializers that are also inputs are {}", names.join(", ")),
    };
    Err(ImportError::choice(format!("the overridable initializer `{idle}`"), reason))
}
