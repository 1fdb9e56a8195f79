//! Chains of products by a permutation.

use warpweave_graph::ops::products::matmul::MatMul;
use warpweave_graph::program::{ProgramBuilder, TensorProgram};
use warpweave_graph::{ElementType, Tensor, TensorType};

/// The size of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chain {
    /// Rows, which stay apart.
    pub rows: usize,
    /// Columns, which every step puts in another order.
    pub columns: usize,
    /// Products one after another; of an odd number, values of both kinds come to lie in the same bytes.
    pub steps: usize,
}

impl Chain {
    /// For a GPU.
    pub const LARGE: Self = Self { rows: 128, columns: 256, steps: 17 };
    /// For emulator and printed text.
    pub const SMALL: Self = Self { rows: 32, columns: 128, steps: 9 };

    /// The program: one input, one output.
    pub fn program(self) -> TensorProgram {
        let mut builder = ProgramBuilder::new();
        let mut value = builder.input(self.ty());
        let permutation = builder.constant(self.permutation());
        for _ in 0..self.steps {
            value = builder.apply(&MatMul, &[Some(value), Some(permutation)], 1)[0];
        }
        builder.finish(vec![value])
    }

    /// What a launch is given, and what it has to give.
    pub fn exchange(self, launch: u64) -> (Tensor, Vec<f32>) {
        // Numbers that singles hold exactly, none 0: a product by a permutation is exact in whatever order it is summed.
        let value = |at: usize| (1 + (launch as usize * 7919 + at * 31) % 65_521) as f32;
        let sent: Vec<f32> = (0..self.rows * self.columns).map(value).collect();
        let input = Tensor::from_f64(self.ty(), &sent.iter().map(|&value| f64::from(value)).collect::<Vec<_>>());
        let mut expected = sent;
        for _ in 0..self.steps {
            let mut next = vec![0.0; expected.len()];
            for (at, &value) in expected.iter().enumerate() {
                let (row, column) = (at / self.columns, at % self.columns);
                next[row * self.columns + self.moved(column)] = value;
            }
            expected = next;
        }
        (input, expected)
    }

    fn ty(self) -> TensorType {
        TensorType::new(ElementType::F32, [self.rows, self.columns])
    }

    /// Where a step puts a column: far from its neighbours.
    fn moved(self, column: usize) -> usize {
        (column * STRIDE + 1) % self.columns
    }

    fn permutation(self) -> Tensor {
        let mut elements = vec![0.0; self.columns * self.columns];
        for column in 0..self.columns {
            elements[column * self.columns + self.moved(column)] = 1.0;
        }
        Tensor::from_f64(TensorType::new(ElementType::F32, [self.columns, self.columns]), &elements)
    }
}

/// Odd, so that it has no common divisor with a number of columns that is a power of two.
const STRIDE: usize = 37;
