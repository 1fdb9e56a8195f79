//! The operators of the thesis' tables as tensor expressions.

use warpweave_fusion::cost::bound::OperandLevel;
use warpweave_graph::expr::{BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar, TensorExpr};
use warpweave_graph::types::{ElementType, TensorType};

pub const F32: ElementType = ElementType::F32;

pub fn tensor(shape: &[usize]) -> TensorType {
    TensorType { element: F32, shape: shape.iter().copied().collect() }
}

/// What stands for padding.
pub fn zero() -> Literal {
    Literal::new(F32, 0.0)
}

/// A square window of a convolution or pooling.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub taps: usize,
    pub stride: usize,
    pub padding: usize,
    pub dilation: usize,
}

impl Window {
    pub fn new(taps: usize, stride: usize, padding: usize) -> Self {
        Self { taps, stride, padding, dilation: 1 }
    }

    fn place(self, output: Index, tap: Index) -> Index {
        output.times(self.stride as i64).add(&tap.times(self.dilation as i64)).plus(-(self.padding as i64))
    }

    /// Input extent that gives this output extent.
    pub fn input(self, output: usize) -> usize {
        (output - 1) * self.stride + (self.taps - 1) * self.dilation + 1 - 2 * self.padding
    }
}

/// `[N, K, H, W]` from `[N, C, …]` and `[K, C, F, F]`; with a residual `[N, K, H, W]` if asked for.
pub fn convolution([n, c, k, h, w]: [usize; 5], window: Window, residual: bool) -> TensorExpr {
    let mut expr = ExprBuilder::new();
    let [batch, channel, row, column] = [n, k, h, w].map(|extent| expr.parallel(extent));
    let [input, tap_row, tap_column] = [c, window.taps, window.taps].map(|extent| expr.reduced(extent));
    let x = expr.operand(&tensor(&[n, c, window.input(h), window.input(w)]));
    let filter = expr.operand(&tensor(&[k, c, window.taps, window.taps]));
    let places = [(row, tap_row), (column, tap_column)].map(|(o, t)| window.place(Index::axis(o), Index::axis(t)));
    let [place_row, place_column] = places;
    let x = expr.padded_read(x, vec![Index::axis(batch), Index::axis(input), place_row, place_column], zero());
    let filter = expr.read(filter, [channel, input, tap_row, tap_column].map(Index::axis).to_vec());
    let epilogue = residual.then(|| {
        let other = expr.operand(&tensor(&[n, k, h, w]));
        let other = expr.read(other, [batch, channel, row, column].map(Index::axis).to_vec());
        Scalar::Reduced.binary(BinaryOp::Add, other)
    });
    expr.reduce(F32, Reducer::Sum, x.binary(BinaryOp::Multiply, filter), epilogue)
}

/// `[N, K]` from `[N, C]` and `[C, K]`.
pub fn matmul([n, c, k]: [usize; 3]) -> TensorExpr {
    let mut expr = ExprBuilder::new();
    let [row, column] = [n, k].map(|extent| expr.parallel(extent));
    let inner = expr.reduced(c);
    let (left, right) = (expr.operand(&tensor(&[n, c])), expr.operand(&tensor(&[c, k])));
    let left = expr.read(left, vec![Index::axis(row), Index::axis(inner)]);
    let right = expr.read(right, vec![Index::axis(inner), Index::axis(column)]);
    expr.reduce(F32, Reducer::Sum, left.binary(BinaryOp::Multiply, right), None)
}

/// `(x − mean) · scale + shift` with a parameter a channel each: three operations and three parameters.
pub fn batch_norm(shape: [usize; 4]) -> TensorExpr {
    let mut expr = ExprBuilder::new();
    let axes = shape.map(|extent| expr.parallel(extent));
    let x = expr.operand(&tensor(&shape));
    let parameters: Vec<usize> = (0..3).map(|_| expr.operand(&tensor(&[shape[1]]))).collect();
    let x = expr.read(x, axes.map(Index::axis).to_vec());
    let value = [BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Add].into_iter().zip(parameters);
    let value = value.fold(x, |value, (op, parameter)| {
        let parameter = expr.read(parameter, vec![Index::axis(axes[1])]);
        value.binary(op, parameter)
    });
    expr.map(F32, value)
}

/// The maximum of a window a channel.
pub fn pooling([n, k, h, w]: [usize; 4], window: Window) -> TensorExpr {
    let mut expr = ExprBuilder::new();
    let [batch, channel, row, column] = [n, k, h, w].map(|extent| expr.parallel(extent));
    let [tap_row, tap_column] = [window.taps; 2].map(|extent| expr.reduced(extent));
    let x = expr.operand(&tensor(&[n, k, window.input(h), window.input(w)]));
    let places = [(row, tap_row), (column, tap_column)].map(|(o, t)| window.place(Index::axis(o), Index::axis(t)));
    let [place_row, place_column] = places;
    let x = expr.padded_read(x, vec![Index::axis(batch), Index::axis(channel), place_row, place_column], zero());
    expr.reduce(F32, Reducer::Maximum, x, None)
}

/// An elementwise operation of one operand (against a literal) or two.
pub fn elementwise(shape: &[usize], operands: usize) -> TensorExpr {
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(shape);
    let index: Vec<Index> = axes.into_iter().map(Index::axis).collect();
    let mut values: Vec<Scalar> = Vec::new();
    for _ in 0..operands {
        let operand = expr.operand(&tensor(shape));
        values.push(expr.read(operand, index.clone()));
    }
    let last = values.pop().expect("there is an operand");
    let other = values.pop().unwrap_or(Scalar::literal(F32, 0.0));
    expr.map(F32, last.binary(BinaryOp::Maximum, other))
}

/// Through shared memory in slices along the reduced axes, fetched and computed with in turn.
pub fn shared(slice: &[usize]) -> OperandLevel {
    OperandLevel::Shared { slice: slice.to_vec(), overlapped: false, conflict_degree: 1.0 }
}
