//! Writes tensor programs in a few words.

use warpweave::graph::expr::{AxisId, BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar, UnaryOp};
use warpweave::graph::ops::products::matmul::MatMul;
use warpweave::graph::ops::reductions::ordering;
use warpweave::graph::procedure::{Opaque, Procedure};
use warpweave::graph::program::{ProgramBuilder, TensorId, TensorProgram};
use warpweave::graph::{ElementType, TensorType};

use crate::random::{self, Random};

/// A program under construction. Weights come from a seeded generator.
#[derive(Debug)]
pub struct Sketch {
    /// The builder, for what has no word here.
    pub builder: ProgramBuilder,
    random: Random,
}

/// How a window slides over an image.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The window's side.
    pub size: usize,
    /// Elements between neighbouring windows.
    pub stride: usize,
    /// Elements of padding on every side.
    pub padding: usize,
}

impl Window {
    fn output(self, extent: usize) -> usize {
        (extent + 2 * self.padding - self.size) / self.stride + 1
    }

    fn index(self, output: AxisId, inside: AxisId) -> Index {
        Index::axis(output).times(self.stride as i64).add(&Index::axis(inside)).plus(-(self.padding as i64))
    }
}

impl Sketch {
    /// An empty program whose weights follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { builder: ProgramBuilder::new(), random: Random::new(seed) }
    }

    /// A floating-point input.
    pub fn input(&mut self, shape: &[usize]) -> TensorId {
        self.typed_input(ElementType::F32, shape)
    }

    /// An input.
    pub fn typed_input(&mut self, element: ElementType, shape: &[usize]) -> TensorId {
        self.builder.input(TensorType::new(element, shape))
    }

    /// Floating-point weights.
    pub fn weight(&mut self, shape: &[usize]) -> TensorId {
        let value = random::tensor(&mut self.random, &TensorType::new(ElementType::F32, shape));
        self.builder.constant(value)
    }

    /// The extents of a tensor.
    pub fn shape(&self, tensor: TensorId) -> Vec<usize> {
        self.builder.ty(tensor).shape.to_vec()
    }

    /// The program.
    pub fn finish(self, outputs: &[TensorId]) -> TensorProgram {
        self.builder.finish(outputs.to_vec())
    }

    /// A matrix product by NumPy's rules.
    pub fn matmul(&mut self, left: TensorId, right: TensorId) -> TensorId {
        self.builder.apply(&MatMul, &[Some(left), Some(right)], 1)[0]
    }

    /// The product with a new weight that leaves `columns` columns.
    pub fn linear(&mut self, input: TensorId, columns: usize) -> TensorId {
        let rows = *self.shape(input).last().expect("a matrix has columns");
        let weight = self.weight(&[rows, columns]);
        self.matmul(input, weight)
    }

    /// A function of every element.
    pub fn map(&mut self, input: TensorId, function: impl FnOnce(Scalar) -> Scalar) -> TensorId {
        let ty = self.builder.ty(input).clone();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let operand = expr.operand(&ty);
        let read = expr.read(operand, axes.into_iter().map(Index::axis).collect());
        self.builder.compute(expr.map(ty.element, function(read)), &[input])
    }

    /// max(x, 0).
    pub fn relu(&mut self, input: TensorId) -> TensorId {
        let element = self.builder.ty(input).element;
        self.map(input, |x| x.binary(BinaryOp::Maximum, Scalar::literal(element, 0.0)))
    }

    /// A function of one scalar on every element.
    pub fn unary(&mut self, op: UnaryOp, input: TensorId) -> TensorId {
        self.map(input, |x| x.unary(op))
    }

    /// A function of two tensors, the second broadcast to the first by NumPy's rules.
    pub fn binary(&mut self, op: BinaryOp, left: TensorId, right: TensorId) -> TensorId {
        let (first, second) = (self.builder.ty(left).clone(), self.builder.ty(right).clone());
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&first.shape);
        let (a, b) = (expr.operand(&first), expr.operand(&second));
        let (a, b) = (expr.broadcast_read(a, &axes), expr.broadcast_read(b, &axes));
        self.builder.compute(expr.map(first.element, a.binary(op, b)), &[left, right])
    }

    /// A reduction along the last axis, which stays with extent 1.
    pub fn reduce(&mut self, reducer: Reducer, input: TensorId) -> TensorId {
        let ty = self.builder.ty(input).clone();
        let (last, outer) = ty.shape.split_last().expect("something to reduce");
        let mut expr = ExprBuilder::new();
        let mut index: Vec<Index> = expr.parallels(outer).into_iter().map(Index::axis).collect();
        expr.parallel(1);
        index.push(Index::axis(expr.reduced(*last)));
        let operand = expr.operand(&ty);
        let read = expr.read(operand, index);
        self.builder.compute(expr.reduce(ty.element, reducer, read, None), &[input])
    }

    /// A softmax along the last axis.
    pub fn softmax(&mut self, input: TensorId) -> TensorId {
        let largest = self.reduce(Reducer::Maximum, input);
        let shifted = self.binary(BinaryOp::Subtract, input, largest);
        let powers = self.unary(UnaryOp::Exp, shifted);
        let total = self.reduce(Reducer::Sum, powers);
        self.binary(BinaryOp::Divide, powers, total)
    }

    /// Rows with mean 0 and variance about 1.
    pub fn normalise(&mut self, input: TensorId) -> TensorId {
        let length = *self.shape(input).last().expect("something to normalise") as f64;
        let mean = |sketch: &mut Self, of: TensorId| {
            let sum = sketch.reduce(Reducer::Sum, of);
            sketch.map(sum, |x| x.binary(BinaryOp::Divide, Scalar::literal(ElementType::F32, length)))
        };
        let average = mean(self, input);
        let centred = self.binary(BinaryOp::Subtract, input, average);
        let squares = self.binary(BinaryOp::Multiply, centred, centred);
        let variance = mean(self, squares);
        let deviation = self
            .map(variance, |x| x.binary(BinaryOp::Add, Scalar::literal(ElementType::F32, 0.125)).unary(UnaryOp::Sqrt));
        self.binary(BinaryOp::Divide, centred, deviation)
    }

    /// A convolution of `[batch, channels, height, width]` with a new weight.
    pub fn convolution(&mut self, input: TensorId, channels: usize, window: Window) -> TensorId {
        let ty = self.builder.ty(input).clone();
        let [batch, depth, height, width] = ty.shape[..] else { unreachable!("an image has four dimensions") };
        let weight = self.weight(&[channels, depth, window.size, window.size]);
        let weight_type = self.builder.ty(weight).clone();
        let mut expr = ExprBuilder::new();
        let outer = expr.parallels(&[batch, channels, window.output(height), window.output(width)]);
        let inner = [depth, window.size, window.size].map(|extent| expr.reduced(extent));
        let (image, kernel) = (expr.operand(&ty), expr.operand(&weight_type));
        let place = vec![
            Index::axis(outer[0]),
            Index::axis(inner[0]),
            window.index(outer[2], inner[1]),
            window.index(outer[3], inner[2]),
        ];
        let pixel = expr.padded_read(image, place, Literal::new(ElementType::F32, 0.0));
        let factor = expr.read(kernel, [outer[1], inner[0], inner[1], inner[2]].map(Index::axis).to_vec());
        let product = pixel.binary(BinaryOp::Multiply, factor);
        self.builder.compute(expr.reduce(ElementType::F32, Reducer::Sum, product, None), &[input, weight])
    }

    /// A convolution of every channel with a window of its own.
    pub fn depthwise_convolution(&mut self, input: TensorId, window: Window) -> TensorId {
        let ty = self.builder.ty(input).clone();
        let [batch, channels, height, width] = ty.shape[..] else { unreachable!("an image has four dimensions") };
        let weight = self.weight(&[channels, window.size, window.size]);
        let weight_type = self.builder.ty(weight).clone();
        let mut expr = ExprBuilder::new();
        let outer = expr.parallels(&[batch, channels, window.output(height), window.output(width)]);
        let inner = [window.size, window.size].map(|extent| expr.reduced(extent));
        let (image, kernel) = (expr.operand(&ty), expr.operand(&weight_type));
        let place = vec![
            Index::axis(outer[0]),
            Index::axis(outer[1]),
            window.index(outer[2], inner[0]),
            window.index(outer[3], inner[1]),
        ];
        let pixel = expr.padded_read(image, place, Literal::new(ElementType::F32, 0.0));
        let factor = expr.read(kernel, [outer[1], inner[0], inner[1]].map(Index::axis).to_vec());
        let product = pixel.binary(BinaryOp::Multiply, factor);
        self.builder.compute(expr.reduce(ElementType::F32, Reducer::Sum, product, None), &[input, weight])
    }

    /// The largest element of every window of an image.
    pub fn maximum_pool(&mut self, input: TensorId, window: Window) -> TensorId {
        let ty = self.builder.ty(input).clone();
        let [batch, channels, height, width] = ty.shape[..] else { unreachable!("an image has four dimensions") };
        let mut expr = ExprBuilder::new();
        let outer = expr.parallels(&[batch, channels, window.output(height), window.output(width)]);
        let inner = [window.size, window.size].map(|extent| expr.reduced(extent));
        let image = expr.operand(&ty);
        let place = vec![
            Index::axis(outer[0]),
            Index::axis(outer[1]),
            window.index(outer[2], inner[0]),
            window.index(outer[3], inner[1]),
        ];
        let pixel = expr.padded_read(image, place, Literal::lowest(ElementType::F32));
        self.builder.compute(expr.reduce(ElementType::F32, Reducer::Maximum, pixel, None), &[input])
    }

    /// The tensor with its dimensions in this order.
    pub fn transpose(&mut self, input: TensorId, order: &[usize]) -> TensorId {
        let ty = self.builder.ty(input).clone();
        let mut expr = ExprBuilder::new();
        let axes: Vec<AxisId> = order.iter().map(|&dimension| expr.parallel(ty.shape[dimension])).collect();
        let mut index = vec![Index::constant(0); order.len()];
        for (axis, &dimension) in axes.iter().zip(order) {
            index[dimension] = Index::axis(*axis);
        }
        let operand = expr.operand(&ty);
        let read = expr.read(operand, index);
        self.builder.compute(expr.map(ty.element, read), &[input])
    }

    /// Every `step`-th of `length` elements along a dimension, from `first` on.
    pub fn slice(&mut self, input: TensorId, dimension: usize, first: usize, length: usize, step: usize) -> TensorId {
        let ty = self.builder.ty(input).clone();
        let mut expr = ExprBuilder::new();
        let mut extents = ty.shape.to_vec();
        extents[dimension] = length;
        let axes = expr.parallels(&extents);
        let index = axes.iter().enumerate().map(|(at, &axis)| match at == dimension {
            true => Index::axis(axis).times(step as i64).plus(first as i64),
            false => Index::axis(axis),
        });
        let operand = expr.operand(&ty);
        let read = expr.read(operand, index.collect());
        self.builder.compute(expr.map(ty.element, read), &[input])
    }

    /// The tensor with `before` and `after` elements of `fill` along a dimension.
    pub fn pad(&mut self, input: TensorId, dimension: usize, [before, after]: [usize; 2], fill: f64) -> TensorId {
        let ty = self.builder.ty(input).clone();
        let mut expr = ExprBuilder::new();
        let mut extents = ty.shape.to_vec();
        extents[dimension] += before + after;
        let axes = expr.parallels(&extents);
        let mut index: Vec<Index> = axes.into_iter().map(Index::axis).collect();
        index[dimension] = index[dimension].plus(-(before as i64));
        let operand = expr.operand(&ty);
        let read = expr.padded_read(operand, index, Literal::new(ty.element, fill));
        self.builder.compute(expr.map(ty.element, read), &[input])
    }

    /// The parts laid end to end.
    pub fn concat(&mut self, axis: usize, parts: &[TensorId]) -> TensorId {
        self.builder.concat(axis, parts)
    }

    /// The rows of a table that an integer vector names.
    pub fn gather(&mut self, table: TensorId, rows: TensorId) -> TensorId {
        let (of, names) = (self.builder.ty(table).clone(), self.builder.ty(rows).clone());
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[names.shape[0], of.shape[1]]);
        let (table_operand, row_operand) = (expr.operand(&of), expr.operand(&names));
        let row = expr.read(row_operand, vec![Index::axis(axes[0])]);
        let chosen = expr.indirect(&row, of.shape[0]);
        let fill = Literal::new(of.element, 0.0);
        let value = expr.guarded_read(table_operand, vec![chosen, Index::axis(axes[1])], Guard::always(), fill);
        self.builder.compute(expr.map(of.element, value), &[table, rows])
    }
    /// What a procedure makes of `body`, over the value at the reduced axis and the one at the place, along the last dimension.
    pub fn procedure(
        &mut self,
        procedure: Procedure,
        input: TensorId,
        body: impl FnOnce(Scalar, Scalar) -> Scalar,
    ) -> TensorId {
        let ty = self.builder.ty(input).clone();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let each = expr.reduced(ty.shape[ty.shape.len() - 1]);
        let operand = expr.operand(&ty);
        let mut at = |along: AxisId| {
            let rows = axes[..axes.len() - 1].iter().chain([&along]);
            expr.read(operand, rows.copied().map(Index::axis).collect())
        };
        let value = body(
            at(each),
            match procedure {
                Procedure::Sort(_) => Scalar::literal(ty.element, 0.0),
                Procedure::Suppress { .. } => at(axes[axes.len() - 1]),
            },
        );
        let access = expr.access(procedure.element(), value);
        self.builder.opaque(Opaque { procedure, access }, &[input])
    }

    /// The elements of the rows of a matrix at places of them.
    pub fn at_places(&mut self, table: TensorId, places: TensorId) -> TensorId {
        ordering::at_places(&mut self.builder, table, places)
    }

    /// `value` where `condition` holds, zeros elsewhere.
    pub fn masked(&mut self, condition: TensorId, value: TensorId) -> TensorId {
        let ty = self.builder.ty(value).clone();
        let mut expr = ExprBuilder::new();
        let index: Vec<Index> = expr.parallels(&ty.shape).into_iter().map(Index::axis).collect();
        let operands = [condition, value].map(|tensor| expr.operand(self.builder.ty(tensor)));
        let [holds, own] = operands.map(|operand| expr.read(operand, index.clone()));
        let body = holds.select(own, Scalar::literal(ty.element, 0.0));
        self.builder.compute(expr.map(ty.element, body), &[condition, value])
    }
}
