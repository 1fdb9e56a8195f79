//! Inputs of a program: from arrays by name, or made up from a seed.

use std::collections::BTreeMap;

use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave::runtime::bundle::{Port, Signature};

use super::error::CliError;

/// The inputs in the program's order, from arrays by name; every array is used and every input given.
pub fn from_arrays(
    signature: &Signature,
    mut arrays: BTreeMap<String, Tensor>,
    how: &'static str,
) -> Result<Vec<Tensor>, CliError> {
    if let Some(name) = arrays.keys().find(|name| signature.inputs.iter().all(|port| port.name != **name)) {
        let known: Vec<&str> = signature.inputs.iter().map(|port| port.name.as_str()).collect();
        return Err(CliError::UnknownInput { name: name.clone(), known: known.join(", ") });
    }
    let input = |port: &Port| {
        let missing = || CliError::MissingInput { name: port.name.clone(), ty: port.ty.clone(), how };
        let found = arrays.remove(&port.name).ok_or_else(missing)?;
        converted(found, &port.ty).map_err(|found| CliError::WrongInput {
            name: port.name.clone(),
            expected: port.ty.clone(),
            found,
        })
    };
    signature.inputs.iter().map(input).collect()
}

/// The tensor as `ty`: arrays have no bfloat16, so such tensors come as singles. The type found, if it is another.
pub fn converted(found: Tensor, ty: &TensorType) -> Result<Tensor, TensorType> {
    if found.ty() == ty {
        return Ok(found);
    }
    let stands_in = found.element() == ElementType::F32 && ty.element == ElementType::BF16;
    if stands_in && found.shape() == &ty.shape {
        return Ok(Tensor::from_f64(ty.clone(), &found.to_f64()));
    }
    Err(found.ty().clone())
}

/// Inputs from a seed: floating point in −1 … 1, integers below the smallest axis that they index, or 0 and 1.
pub fn random(signature: &Signature, seed: u64) -> Vec<Tensor> {
    let mut random = Random(seed);
    let input = |port: &Port| {
        let count = port.ty.shape.elements();
        if port.ty.element.is_float() {
            let elements: Vec<f64> = (0..count).map(|_| random.unit() * 2.0 - 1.0).collect();
            return Tensor::from_f64(port.ty.clone(), &elements);
        }
        let limit = port.index_limit.unwrap_or(2).max(1);
        let elements: Vec<i64> = (0..count).map(|_| (random.next() % limit) as i64).collect();
        Tensor::from_i64(port.ty.clone(), &elements)
    };
    signature.inputs.iter().map(input).collect()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    /// In 0 … 1, without 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
