//! Inputs of a program from arrays by name.

use std::collections::BTreeMap;

use warpweave::Source;
use warpweave::graph::{Tensor, TensorType, npy};
use warpweave::runtime::bundle::{Port, Signature};

use super::arrays::Arrays;
use crate::error::CliError;
use crate::output::Output;

/// The inputs in the program's order, from the arrays that --input names.
pub fn given(arrays: Arrays, source: &Source, output: &Output) -> Result<Vec<Tensor>, CliError> {
    let assigned = arrays.assign(source.signature(), &source.record().constants)?;
    assigned.note_fixed(output);
    from_arrays(source.signature(), assigned.inputs, "--input NAME=FILE.npy or --input FILE.npz")
}

/// The inputs in the program's order, from arrays by name; every array is used, and every input given that has no
/// default.
pub fn from_arrays(
    signature: &Signature,
    mut arrays: BTreeMap<String, Tensor>,
    how: &'static str,
) -> Result<Vec<Tensor>, CliError> {
    if let Some(name) = arrays.keys().find(|name| signature.inputs.iter().all(|port| port.name != **name)) {
        let known = signature.inputs.iter().map(|port| port.name.clone()).collect();
        return Err(CliError::UnknownInput { name: name.clone(), known });
    }
    let input = |port: &Port| {
        let missing = || CliError::MissingInput { name: port.name.clone(), ty: port.ty.clone(), how };
        let Some(found) = arrays.remove(&port.name) else { return port.default.clone().ok_or_else(missing) };
        converted(found, &port.ty).map_err(|found| CliError::WrongInput {
            name: port.name.clone(),
            expected: port.ty.clone(),
            found,
        })
    };
    signature.inputs.iter().map(input).collect()
}

/// The tensor as `ty`: arrays have other elements in the place of those that NumPy has no type for. The type found, if it is
/// another, or if an element stands for none.
pub fn converted(found: Tensor, ty: &TensorType) -> Result<Tensor, TensorType> {
    if found.ty() == ty {
        return Ok(found);
    }
    let converted = npy::stood_for(&found, ty.element).filter(|tensor| tensor.shape() == &ty.shape);
    converted.ok_or_else(|| found.ty().clone())
}
