//! Extents that depend on data: a dimension of a fixed extent, of which as many elements count as a scalar says.

use serde::{Deserialize, Serialize};

use crate::tensor::Tensor;
use crate::types::{ElementType, Shape, TensorType};

/// An output of which a dimension has as many elements as another output, a scalar, says; what stands behind them is not
/// shown, nor is the scalar.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CountedOutput {
    /// The output's position.
    pub output: usize,
    pub dimension: usize,
    /// The position of the output that holds the count.
    pub count: usize,
}

/// How many of `outputs` outputs are shown: counts stand behind all others.
pub fn shown(outputs: usize, counted: &[CountedOutput]) -> usize {
    counted.iter().map(|counted| counted.count).min().unwrap_or(outputs)
}

/// The outputs that are shown, cut to what counts.
pub fn cut(outputs: Vec<Tensor>, counted: &[CountedOutput]) -> Vec<Tensor> {
    let shown = shown(outputs.len(), counted);
    let cut = |(at, output): (usize, &Tensor)| {
        let mine = counted.iter().filter(|counted| counted.output == at);
        mine.fold(output.clone(), |tensor, counted| {
            let count = outputs.get(counted.count).and_then(|count| count.to_i64().first().copied()).unwrap_or(0);
            first(&tensor, counted.dimension, usize::try_from(count).unwrap_or(0))
        })
    };
    outputs.iter().take(shown).enumerate().map(cut).collect()
}

/// The first elements along a dimension, as many as there are of `count`.
fn first(tensor: &Tensor, dimension: usize, count: usize) -> Tensor {
    let extent = tensor.shape()[dimension];
    if count >= extent {
        return tensor.clone();
    }
    let mut bytes = tensor.bytes().to_vec();
    let shape = keep_first(&mut bytes, tensor.element(), &tensor.ty().shape, (dimension, count));
    let ty = TensorType { element: tensor.element(), shape };
    bytes.truncate(ty.bytes());
    Tensor::from_bytes(ty, bytes.into()).expect("as many bytes as elements are taken")
}

/// Moves the first elements along a dimension of a tensor of this shape, `count` of them, to the front of its bytes, as a tensor
/// of the shape that is returned.
pub fn keep_first(bytes: &mut [u8], element: ElementType, shape: &Shape, (dimension, count): (usize, usize)) -> Shape {
    let mut extents = shape.to_vec();
    let inner: usize = extents[dimension + 1..].iter().product::<usize>() * element.bytes();
    let outer: usize = extents[..dimension].iter().product();
    let (block, kept) = (extents[dimension] * inner, count * inner);
    (1..outer).for_each(|number| bytes.copy_within(number * block..number * block + kept, number * kept));
    extents[dimension] = count;
    Shape::from(extents)
}
