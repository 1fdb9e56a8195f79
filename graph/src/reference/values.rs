//! Elements of a tensor as the oracle holds them.

use crate::tensor::Tensor;
use crate::types::{ElementType, Shape, TensorType};

/// The elements of a tensor, row-major: floating point as doubles, everything else as 64-bit integers.
#[derive(Clone, Debug)]
pub(super) enum Values {
    Float(Vec<f64>),
    Integer(Vec<i64>),
}

impl Values {
    pub(super) fn from_tensor(tensor: &Tensor) -> Self {
        if tensor.element().is_float() { Self::Float(tensor.to_f64()) } else { Self::Integer(tensor.to_i64()) }
    }

    pub(super) fn to_tensor(&self, ty: &TensorType) -> Tensor {
        match self {
            Self::Float(elements) => Tensor::from_f64(ty.clone(), elements),
            Self::Integer(elements) => Tensor::from_i64(ty.clone(), elements),
        }
    }

    /// `count` elements of a type, all zero.
    pub(super) fn zeros(element: ElementType, count: usize) -> Self {
        if element.is_float() { Self::Float(vec![0.0; count]) } else { Self::Integer(vec![0; count]) }
    }

    /// Whether an element is floating point of this kind.
    pub(super) fn any(&self, is: impl Fn(f64) -> bool) -> bool {
        match self {
            Self::Float(elements) => elements.iter().any(|&element| is(element)),
            Self::Integer(_) => false,
        }
    }

    /// The parts, of these shapes, laid end to end along an axis.
    pub(super) fn concat(parts: &[&Self], shapes: &[&Shape], axis: usize) -> Self {
        let outer: usize = shapes.first().map_or(0, |shape| shape[..axis].iter().product());
        let runs: Vec<usize> = shapes.iter().map(|shape| shape[axis..].iter().product()).collect();
        let floats = parts.iter().map(|part| match part {
            Self::Float(elements) => Some(elements.as_slice()),
            Self::Integer(_) => None,
        });
        if let Some(floats) = floats.collect::<Option<Vec<_>>>() {
            return Self::Float(interleave(&floats, &runs, outer));
        }
        let integers = parts.iter().map(|part| match part {
            Self::Integer(elements) => elements.as_slice(),
            Self::Float(_) => unreachable!("the parts of a concat have one element type"),
        });
        Self::Integer(interleave(&integers.collect::<Vec<_>>(), &runs, outer))
    }
}

fn interleave<T: Copy>(parts: &[&[T]], runs: &[usize], outer: usize) -> Vec<T> {
    let mut whole = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    for row in 0..outer {
        for (part, &run) in parts.iter().zip(runs) {
            whole.extend_from_slice(&part[row * run..(row + 1) * run]);
        }
    }
    whole
}
