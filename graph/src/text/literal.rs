//! Small tensors written out.

use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType};

/// Most elements that are written out.
const MOST: usize = 16;

/// Whether a tensor is written out: few elements, and each has a decimal form.
pub(crate) fn is_inline(tensor: &Tensor) -> bool {
    let few = tensor.shape().elements() <= MOST;
    few && (!tensor.element().is_float() || tensor.to_f64().iter().all(|element| !element.is_nan()))
}

/// The elements: one plain, several in brackets whatever the rank.
pub(crate) fn print(tensor: &Tensor) -> String {
    let elements: Vec<String> = if tensor.element().is_float() {
        tensor.to_f64().iter().map(|element| format!("{element:?}")).collect()
    } else if tensor.element() == ElementType::U64 {
        tensor.to_i64().iter().map(|&element| (element as u64).to_string()).collect()
    } else {
        tensor.to_i64().iter().map(ToString::to_string).collect()
    };
    if tensor.shape().is_empty() { elements.concat() } else { format!("[{}]", elements.join(", ")) }
}

/// The tensor of a type with these elements, as [`print`] writes them; `None` if they do not fit.
pub(crate) fn parse(ty: &TensorType, elements: &[&str]) -> Option<Tensor> {
    if ty.shape.checked_elements() != Some(elements.len()) {
        return None;
    }
    if ty.element.is_float() {
        let elements = elements.iter().map(|text| text.parse::<f64>().ok()).collect::<Option<Vec<_>>>()?;
        return Some(Tensor::from_f64(ty.clone(), &elements));
    }
    let integer = |text: &&str| match ty.element {
        ElementType::U64 => text.parse::<u64>().ok().map(|element| element as i64),
        _ => text.parse::<i64>().ok(),
    };
    let elements = elements.iter().map(integer).collect::<Option<Vec<_>>>()?;
    Some(Tensor::from_i64(ty.clone(), &elements))
}
