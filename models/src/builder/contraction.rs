//! Products of matrices, and look-ups in them.

use super::attribute::Attribute;
use super::elementwise::broadcast;
use super::{Builder, Value};

/// The bound of a uniform distribution with which a linear layer keeps its input's variance, times `gain`.
pub(crate) fn linear_bound(inputs: usize, gain: f32) -> f32 {
    gain * (3.0 / inputs as f32).sqrt()
}

impl Builder {
    /// The product of matrices in the last two dimensions, the others broadcast.
    pub(crate) fn matmul(&mut self, left: &Value, right: &Value) -> Value {
        let (rows, columns) = (left.shape.len() - 2, right.shape.len() - 2);
        let mut shape = broadcast(&left.shape[..rows], &right.shape[..columns]);
        shape.extend([left.shape[rows], right.features()]);
        self.node("MatMul", &[left, right], Vec::new(), shape)
    }

    /// `x · weightᵀ + bias` for `x` `[rows, inputs]` and `weight` `[outputs, inputs]`.
    pub(crate) fn gemm(&mut self, x: &Value, weight: &Value, bias: Option<&Value>) -> Value {
        let inputs: Vec<&Value> = [x, weight].into_iter().chain(bias).collect();
        self.node("Gemm", &inputs, vec![Attribute::Int("transB", 1)], vec![x.shape[0], weight.shape[0]])
    }

    /// A linear layer with bias over the last dimension. `gain` scales the outputs' deviation against the inputs'.
    pub(crate) fn linear(&mut self, name: &str, x: &Value, outputs: usize, gain: f32) -> Value {
        let inputs = x.features();
        self.scoped(name, |builder| {
            if x.shape.len() == 2 {
                let weight = builder.weight("weight", &[outputs, inputs], linear_bound(inputs, gain));
                let bias = builder.weight("bias", &[outputs], 0.05);
                return builder.gemm(x, &weight, Some(&bias));
            }
            let weight = builder.weight("weight", &[inputs, outputs], linear_bound(inputs, gain));
            let bias = builder.weight("bias", &[outputs], 0.05);
            let product = builder.matmul(x, &weight);
            builder.add(&product, &bias)
        })
    }

    /// A linear layer without bias over the last dimension.
    pub(crate) fn projection(&mut self, name: &str, x: &Value, outputs: usize, gain: f32) -> Value {
        let inputs = x.features();
        self.scoped(name, |builder| {
            let weight = builder.weight("weight", &[inputs, outputs], linear_bound(inputs, gain));
            builder.matmul(x, &weight)
        })
    }

    /// Rows of `table` at `indices`.
    pub(crate) fn gather(&mut self, table: &Value, indices: &Value) -> Value {
        let shape = indices.shape.iter().chain(&table.shape[1..]).copied().collect();
        self.node("Gather", &[table, indices], vec![Attribute::Int("axis", 0)], shape)
    }

    /// Elements of the last dimension at constant positions.
    pub(crate) fn pick(&mut self, x: &Value, positions: &[usize]) -> Value {
        let indices = self.integers(positions.iter().map(|&position| position as i64).collect());
        let mut shape = x.shape.clone();
        shape.pop();
        shape.push(positions.len());
        self.node("Gather", &[x, &indices], vec![Attribute::Axis("axis", -1)], shape)
    }
}
