//! Operators that only move elements.

use super::attribute::Attribute;
use super::{Builder, Value};

impl Builder {
    /// The same elements under another shape.
    pub(crate) fn reshape(&mut self, x: &Value, shape: &[usize]) -> Value {
        let target = self.integers(shape.iter().map(|&extent| extent as i64).collect());
        self.node("Reshape", &[x, &target], Vec::new(), shape.to_vec())
    }

    /// All dimensions but the first made one.
    pub(crate) fn flatten(&mut self, x: &Value) -> Value {
        let shape = vec![x.shape[0], x.shape[1..].iter().product()];
        self.node("Flatten", &[x], vec![Attribute::Int("axis", 1)], shape)
    }

    /// Dimensions in another order.
    pub(crate) fn transpose(&mut self, x: &Value, order: &[usize]) -> Value {
        let shape = order.iter().map(|&at| x.shape[at]).collect();
        self.node("Transpose", &[x], vec![Attribute::Ints("perm", order.to_vec())], shape)
    }

    /// Values one after another along a dimension.
    pub(crate) fn concat(&mut self, parts: &[&Value], axis: usize) -> Value {
        let mut shape = parts[0].shape.clone();
        shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
        self.node("Concat", parts, vec![Attribute::Int("axis", axis)], shape)
    }

    /// A dimension cut into `count` equal parts.
    pub(crate) fn split(&mut self, x: &Value, axis: usize, count: usize) -> Vec<Value> {
        let part = x.shape[axis] / count;
        let extents = self.integers(vec![part as i64; count]);
        let mut shape = x.shape.clone();
        shape[axis] = part;
        self.nodes("Split", &[Some(x), Some(&extents)], vec![Attribute::Int("axis", axis)], vec![shape; count])
    }

    /// The elements of a dimension from `start` to before `end`.
    pub(crate) fn slice(&mut self, x: &Value, axis: usize, start: usize, end: usize) -> Value {
        let starts = self.integers(vec![start as i64]);
        let ends = self.integers(vec![end as i64]);
        let axes = self.integers(vec![axis as i64]);
        let mut shape = x.shape.clone();
        shape[axis] = end - start;
        self.node("Slice", &[x, &starts, &ends, &axes], Vec::new(), shape)
    }

    /// An image with `count` rows and columns of zeros after its last ones.
    pub(crate) fn pad_after(&mut self, x: &Value, count: usize) -> Value {
        let pads = self.integers(vec![0, 0, 0, 0, 0, 0, count as i64, count as i64]);
        let [batch, channels, height, width] = x.shape[..] else { return x.clone() };
        self.node("Pad", &[x, &pads], Vec::new(), vec![batch, channels, height + count, width + count])
    }

    /// Without a dimension of extent 1.
    pub(crate) fn squeeze(&mut self, x: &Value, axis: usize) -> Value {
        let axes = self.integers(vec![axis as i64]);
        let mut shape = x.shape.clone();
        shape.remove(axis);
        self.node("Squeeze", &[x, &axes], Vec::new(), shape)
    }

    /// With a new dimension of extent 1.
    pub(crate) fn unsqueeze(&mut self, x: &Value, axis: usize) -> Value {
        let axes = self.integers(vec![axis as i64]);
        let mut shape = x.shape.clone();
        shape.insert(axis, 1);
        self.node("Unsqueeze", &[x, &axes], Vec::new(), shape)
    }

    /// Dimensions of extent 1 repeated to a shape.
    pub(crate) fn expand(&mut self, x: &Value, shape: &[usize]) -> Value {
        let target = self.integers(shape.iter().map(|&extent| extent as i64).collect());
        self.node("Expand", &[x, &target], Vec::new(), shape.to_vec())
    }
}
