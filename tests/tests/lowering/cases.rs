//! Small programs, one for each thing that templates must get right.

use warpweave::graph::ElementType;
use warpweave::graph::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar, UnaryOp};
use warpweave::graph::program::TensorId;
use warpweave::graph::{Tensor, TensorType};
use warpweave_tests::sketch::{Sketch, Window};

/// A program that is added to a sketch; what it returns are its outputs.
#[derive(Clone, Copy)]
pub struct Case {
    /// The name.
    pub name: &'static str,
    /// Whether results hold no transcendental function, so that every execution gives the same bits.
    pub exact: bool,
    /// Adds it.
    pub build: fn(&mut Sketch) -> Vec<TensorId>,
}

/// All cases.
pub fn all() -> Vec<Case> {
    let exact = |name, build| Case { name, exact: true, build };
    let close = |name, build| Case { name, exact: false, build };
    vec![
        exact("scalar", |sketch| maps(sketch, &[])),
        exact("one element", |sketch| maps(sketch, &[1, 1])),
        exact("ragged vector", |sketch| maps(sketch, &[1031])),
        exact("extents of 1", |sketch| maps(sketch, &[3, 1, 5, 1])),
        exact("truth values and bytes", conversions),
        exact("positions", positions),
        exact("strides", strides),
        exact("padding", padding),
        exact("broadcast", broadcast),
        exact("row sums", |sketch| reductions(sketch, ElementType::F32, &[9, 71])),
        exact("one long row", |sketch| reductions(sketch, ElementType::F32, &[1, 1500])),
        exact("many short rows", |sketch| reductions(sketch, ElementType::F32, &[300, 2])),
        exact("rows of one", |sketch| reductions(sketch, ElementType::F32, &[5, 1])),
        exact("integer rows", |sketch| reductions(sketch, ElementType::I64, &[3, 4, 37])),
        exact("narrow integer rows", |sketch| reductions(sketch, ElementType::I32, &[6, 40])),
        exact("byte rows", |sketch| reductions(sketch, ElementType::I8, &[7, 50])),
        exact("column sums", columns),
        close("functions", functions),
        close("softmax", |sketch| rows(sketch, &[13, 45])),
        close("softmax of long rows", |sketch| rows(sketch, &[2, 700])),
        close("softmax with what lies between", several_outputs),
        exact("product", |sketch| product(sketch, &[33, 20], &[20, 41])),
        exact("product of one", |sketch| product(sketch, &[1, 1], &[1, 1])),
        exact("product of a row", |sketch| product(sketch, &[1, 50], &[50, 70])),
        exact("product of a column", |sketch| product(sketch, &[70, 50], &[50, 1])),
        exact("outer product", |sketch| product(sketch, &[40, 1], &[1, 40])),
        exact("long product", |sketch| product(sketch, &[3, 260], &[260, 5])),
        exact("batched product", |sketch| product(sketch, &[3, 17, 9], &[3, 9, 18])),
        exact("broadcast batches", |sketch| product(sketch, &[2, 3, 8, 9], &[3, 9, 17])),
        exact("transposed operands", transposed_product),
        exact("product of integers", |sketch| integer_product(sketch, &[33, 40], &[40, 41])),
        exact("short product of integers", |sketch| integer_product(sketch, &[2, 5], &[5, 70])),
        close("epilogue", epilogue),
        close("prologue", prologue),
        exact("guarded prologue", guarded_prologue),
        exact("several epilogues", several_epilogues),
        exact("joined products", joined_products),
        exact("convolution", |sketch| convolution(sketch, Window { size: 3, stride: 1, padding: 1 })),
        exact("strided convolution", |sketch| convolution(sketch, Window { size: 3, stride: 2, padding: 1 })),
        exact("pointwise convolution", |sketch| convolution(sketch, Window { size: 1, stride: 1, padding: 0 })),
        exact("wide padding", |sketch| convolution(sketch, Window { size: 5, stride: 3, padding: 4 })),
        exact("depthwise convolution", depthwise),
        exact("pooling", pooling),
        exact("gather", gather),
        exact("gather of many rows", many_rows),
    ]
}

/// Cases that one staged kernel can compute whole.
pub fn staged() -> Vec<Case> {
    let exact = |name, build| Case { name, exact: true, build };
    let close = |name, build| Case { name, exact: false, build };
    vec![
        exact("product into product", |sketch| products(sketch, &[40, 24], &[32, 20])),
        exact("long product into product", |sketch| products(sketch, &[16, 256], &[8, 6])),
        exact("convolution into convolution", |sketch| convolutions(sketch, 3)),
        exact("strided convolution into convolution", |sketch| convolutions(sketch, 1)),
        exact("pointwise convolution into pooling", convolution_into_pooling),
        exact("expansion into depthwise into projection", inverted_residual),
        close("product into softmax into product", |sketch| attend(sketch, &[2, 24, 16], 40)),
        close("product into long softmax into product", |sketch| attend(sketch, &[1, 8, 4], 300)),
        close("product into normalisation", normalised_product),
    ]
}

fn maps(sketch: &mut Sketch, shape: &[usize]) -> Vec<TensorId> {
    let (x, y) = (sketch.input(shape), sketch.input(shape));
    let product = sketch.binary(BinaryOp::Multiply, x, y);
    let sum = sketch.binary(BinaryOp::Add, product, x);
    let smaller = sketch.binary(BinaryOp::Minimum, sum, y);
    let larger = sketch.relu(smaller);
    vec![larger, sum]
}

fn conversions(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[11, 29]);
    let to = |sketch: &mut Sketch, element: ElementType, body: fn(Scalar) -> Scalar| {
        let ty = sketch.builder.ty(x).clone();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let operand = expr.operand(&ty);
        let read = expr.read(operand, axes.into_iter().map(Index::axis).collect());
        sketch.builder.compute(expr.map(element, body(read)), &[x])
    };
    let float = |value: f64| Scalar::literal(ElementType::F32, value);
    let positive = to(sketch, ElementType::Bool, |x| Scalar::literal(ElementType::F32, 0.0).binary(BinaryOp::Less, x));
    let bytes = to(sketch, ElementType::I8, |x| x.cast(ElementType::F32, ElementType::I8));
    let unsigned = to(sketch, ElementType::U8, |x| x.unary(UnaryOp::Absolute).cast(ElementType::F32, ElementType::U8));
    let words = to(sketch, ElementType::I32, |x| {
        let scaled = x.binary(BinaryOp::Multiply, Scalar::literal(ElementType::F32, 1000.0));
        scaled.cast(ElementType::F32, ElementType::I32)
    });
    let long = to(sketch, ElementType::I64, |x| x.unary(UnaryOp::Floor).cast(ElementType::F32, ElementType::I64));
    let chosen = {
        let (truth, value) = (sketch.builder.ty(positive).clone(), sketch.builder.ty(x).clone());
        let mut expr = ExprBuilder::new();
        let axes: Vec<Index> = expr.parallels(&value.shape).into_iter().map(Index::axis).collect();
        let (a, b) = (expr.operand(&truth), expr.operand(&value));
        let (a, b) = (expr.read(a, axes.clone()), expr.read(b, axes));
        sketch.builder.compute(expr.map(ElementType::F32, a.select(b, float(-1.0))), &[positive, x])
    };
    let remainders = sketch.map(words, |x| x.binary(BinaryOp::Remainder, Scalar::literal(ElementType::I32, 7.0)));
    vec![positive, bytes, unsigned, words, long, chosen, remainders]
}

/// Values that depend on where they are: divisions, remainders and clamps of positions.
fn positions(sketch: &mut Sketch) -> Vec<TensorId> {
    let ty = TensorType::new(ElementType::I64, [6, 35]);
    let x = sketch.builder.input(ty.clone());
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&ty.shape);
    let operand = expr.operand(&ty);
    let range = |axis| expr.range(axis);
    let linear = Index::axis(axes[0]).times(35).add(&Index::axis(axes[1]));
    let turned = linear.times(11).plus(-40).modulo(210, &range);
    let place = vec![turned.floor_div(35, &range), turned.modulo(35, &range)];
    let shifted = linear.plus(-17).floor_div(4, &range).add(&linear.plus(-9).clamped(3, 90, &range));
    let read = expr.read(operand, place);
    let body = read.binary(BinaryOp::Add, Scalar::Index(shifted, ElementType::I64));
    vec![sketch.builder.compute(expr.map(ElementType::I64, body), &[x])]
}

fn strides(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[10, 21, 6]);
    let every_third = sketch.slice(x, 1, 2, 6, 3);
    let turned = sketch.transpose(every_third, &[2, 0, 1]);
    let doubled = sketch.map(turned, |x| x.binary(BinaryOp::Multiply, Scalar::literal(ElementType::F32, 2.0)));
    let part = sketch.slice(doubled, 0, 1, 3, 1);
    vec![doubled, part]
}

fn padding(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[7, 13]);
    let wide = sketch.pad(x, 1, [3, 2], 1.5);
    let tall = sketch.pad(wide, 0, [1, 4], -2.0);
    let negated = sketch.unary(UnaryOp::Negate, tall);
    let halved = sketch.pad(x, 0, [0, 1], 0.0);
    let sums = sketch.reduce(Reducer::Sum, halved);
    vec![negated, sums]
}

fn broadcast(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[4, 5, 19]);
    let (row, column, one) = (sketch.input(&[19]), sketch.input(&[5, 1]), sketch.input(&[]));
    let sum = sketch.binary(BinaryOp::Add, x, row);
    let scaled = sketch.binary(BinaryOp::Multiply, sum, column);
    vec![sketch.binary(BinaryOp::Subtract, scaled, one)]
}

fn reductions(sketch: &mut Sketch, element: ElementType, shape: &[usize]) -> Vec<TensorId> {
    let x = sketch.typed_input(element, shape);
    let reducers = [Reducer::Sum, Reducer::Maximum, Reducer::Minimum];
    let mut outputs: Vec<TensorId> = reducers.into_iter().map(|reducer| sketch.reduce(reducer, x)).collect();
    let signs = sketch.map(x, |x| {
        let negative = x.binary(BinaryOp::Less, Scalar::literal(element, 0.0));
        negative.select(Scalar::literal(element, -1.0), Scalar::literal(element, 1.0))
    });
    outputs.push(sketch.reduce(Reducer::Product, signs));
    outputs
}

/// A reduction along a dimension that is not the last.
fn columns(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[5, 30, 8]);
    let turned = sketch.transpose(x, &[0, 2, 1]);
    let sums = sketch.reduce(Reducer::Sum, turned);
    let halves = sketch.map(sums, |x| x.binary(BinaryOp::Multiply, Scalar::literal(ElementType::F32, 0.5)));
    vec![halves]
}

fn functions(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[37]);
    let ops =
        [UnaryOp::Exp, UnaryOp::Tanh, UnaryOp::Erf, UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Ceil, UnaryOp::RoundEven];
    let mut outputs: Vec<TensorId> = ops.into_iter().map(|op| sketch.unary(op, x)).collect();
    let positive = sketch.map(x, |x| {
        let squared = x.clone().binary(BinaryOp::Multiply, x);
        squared.binary(BinaryOp::Add, Scalar::literal(ElementType::F32, 0.25))
    });
    outputs.extend([UnaryOp::Log, UnaryOp::Sqrt].map(|op| sketch.unary(op, positive)));
    outputs.push(sketch.binary(BinaryOp::Power, positive, x));
    outputs
}

fn rows(sketch: &mut Sketch, shape: &[usize]) -> Vec<TensorId> {
    let x = sketch.input(shape);
    let normal = sketch.normalise(x);
    vec![sketch.softmax(x), normal]
}

fn several_outputs(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[11, 50]);
    let largest = sketch.reduce(Reducer::Maximum, x);
    let shifted = sketch.binary(BinaryOp::Subtract, x, largest);
    let powers = sketch.unary(UnaryOp::Exp, shifted);
    let total = sketch.reduce(Reducer::Sum, powers);
    let shares = sketch.binary(BinaryOp::Divide, powers, total);
    let logarithm = sketch.unary(UnaryOp::Log, total);
    vec![shares, largest, logarithm, shifted]
}

fn product(sketch: &mut Sketch, left: &[usize], right: &[usize]) -> Vec<TensorId> {
    let x = sketch.input(left);
    let w = sketch.weight(right);
    vec![sketch.matmul(x, w)]
}

/// Integers so large that sums wrap, those of the left factor less one; those of the right are constants.
fn integer_product(sketch: &mut Sketch, left: &[usize], right: &[usize]) -> Vec<TensorId> {
    let given = [(sketch.input(left), 1.0), (sketch.weight(right), 0.0)];
    let factors = given.map(|(x, less)| {
        let ty = sketch.builder.ty(x).clone();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let operand = expr.operand(&ty);
        let read = expr.read(operand, axes.into_iter().map(Index::axis).collect());
        let scaled = read.binary(BinaryOp::Multiply, Scalar::literal(ElementType::F32, 500_000.0));
        let whole = scaled.cast(ElementType::F32, ElementType::I32);
        let body = whole.binary(BinaryOp::Subtract, Scalar::literal(ElementType::I32, less));
        sketch.builder.compute(expr.map(ElementType::I32, body), &[x])
    });
    let product = sketch.matmul(factors[0], factors[1]);
    vec![sketch.relu(product)]
}

fn transposed_product(sketch: &mut Sketch) -> Vec<TensorId> {
    let (x, y) = (sketch.input(&[20, 33]), sketch.input(&[18, 20]));
    let (x, y) = (sketch.transpose(x, &[1, 0]), sketch.transpose(y, &[1, 0]));
    let product = sketch.matmul(x, y);
    vec![sketch.transpose(product, &[1, 0])]
}

fn epilogue(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[35, 24]);
    let hidden = sketch.linear(x, 24);
    let bias = sketch.weight(&[24]);
    let hidden = sketch.binary(BinaryOp::Add, hidden, bias);
    let hidden = sketch.unary(UnaryOp::Erf, hidden);
    vec![sketch.binary(BinaryOp::Add, hidden, x)]
}

fn prologue(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[19, 24]);
    let scale = sketch.weight(&[24]);
    let scaled = sketch.binary(BinaryOp::Multiply, x, scale);
    let bent = sketch.unary(UnaryOp::Sin, scaled);
    vec![sketch.linear(bent, 21)]
}

fn guarded_prologue(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[18, 21]);
    let padded = sketch.pad(x, 1, [5, 3], 0.5);
    let padded = sketch.pad(padded, 0, [2, 0], -1.0);
    vec![sketch.linear(padded, 10)]
}

fn several_epilogues(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[21, 16]);
    let hidden = sketch.linear(x, 19);
    let positive = sketch.relu(hidden);
    let negative = sketch.unary(UnaryOp::Negate, hidden);
    vec![hidden, positive, negative]
}

fn joined_products(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[17, 12]);
    let parts = [7, 20, 1].map(|columns| sketch.linear(x, columns));
    let wide = sketch.concat(1, &parts);
    let tall = sketch.concat(0, &[wide, wide]);
    vec![tall]
}

fn convolution(sketch: &mut Sketch, window: Window) -> Vec<TensorId> {
    let x = sketch.input(&[2, 3, 11, 9]);
    let hidden = sketch.convolution(x, 10, window);
    vec![sketch.relu(hidden)]
}

fn depthwise(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[6, 14]);
    let w = sketch.weight(&[6, 3]);
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&[6, 12]);
    let inner = expr.reduced(3);
    let (image, kernel) = (expr.operand(sketch.builder.ty(x)), expr.operand(sketch.builder.ty(w)));
    let shifted = Index::axis(axes[1]).add(&Index::axis(inner));
    let pixel = expr.read(image, vec![Index::axis(axes[0]), shifted]);
    let factor = expr.read(kernel, vec![Index::axis(axes[0]), Index::axis(inner)]);
    let body = pixel.binary(BinaryOp::Multiply, factor);
    vec![sketch.builder.compute(expr.reduce(ElementType::F32, Reducer::Sum, body, None), &[x, w])]
}

fn pooling(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[1, 4, 10, 7]);
    vec![sketch.maximum_pool(x, Window { size: 3, stride: 2, padding: 1 })]
}

fn gather(sketch: &mut Sketch) -> Vec<TensorId> {
    let rows = sketch.typed_input(ElementType::I64, &[14]);
    let table = sketch.weight(&[9, 22]);
    let found = sketch.gather(table, rows);
    vec![sketch.linear(found, 8), found]
}

fn many_rows(sketch: &mut Sketch) -> Vec<TensorId> {
    let ty = TensorType::new(ElementType::I64, [60]);
    let named: Vec<i64> = (0..60).map(|position| position * 37 % 211).collect();
    let rows = sketch.builder.constant(Tensor::from_i64(ty, &named));
    let table = sketch.weight(&[211, 24]);
    let found = sketch.gather(table, rows);
    let doubled = sketch.binary(BinaryOp::Add, found, found);
    vec![sketch.linear(found, 8), doubled]
}

fn products(sketch: &mut Sketch, left: &[usize], columns: &[usize; 2]) -> Vec<TensorId> {
    let x = sketch.input(left);
    let hidden = sketch.linear(x, columns[0]);
    let hidden = sketch.relu(hidden);
    vec![sketch.linear(hidden, columns[1])]
}

/// A convolution of a stride into a padded one.
fn convolutions(sketch: &mut Sketch, size: usize) -> Vec<TensorId> {
    let x = sketch.input(&[1, 8, 17, 15]);
    let stride = if size == 1 { 2 } else { 1 };
    let hidden = sketch.convolution(x, 12, Window { size, stride, padding: size / 2 });
    let hidden = sketch.relu(hidden);
    vec![sketch.convolution(hidden, 6, Window { size: 3, stride: 1, padding: 1 })]
}

fn convolution_into_pooling(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[1, 16, 14, 16]);
    let hidden = sketch.convolution(x, 8, Window { size: 1, stride: 1, padding: 0 });
    vec![sketch.maximum_pool(hidden, Window { size: 3, stride: 2, padding: 1 })]
}

fn inverted_residual(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[1, 8, 12, 12]);
    let wide = sketch.convolution(x, 24, Window { size: 1, stride: 1, padding: 0 });
    let wide = sketch.relu(wide);
    let filtered = sketch.depthwise_convolution(wide, Window { size: 3, stride: 1, padding: 1 });
    let narrow = sketch.convolution(filtered, 8, Window { size: 1, stride: 1, padding: 0 });
    vec![sketch.binary(BinaryOp::Add, narrow, x)]
}

/// Queries `[batch, rows, depth]` against `keys` keys and as many values.
fn attend(sketch: &mut Sketch, queries: &[usize; 3], keys: usize) -> Vec<TensorId> {
    let [batch, _, depth] = *queries;
    let query = sketch.input(queries);
    let (key, value) = (sketch.input(&[batch, depth, keys]), sketch.input(&[batch, keys, depth]));
    let scores = sketch.matmul(query, key);
    let weights = sketch.softmax(scores);
    vec![sketch.matmul(weights, value)]
}

fn normalised_product(sketch: &mut Sketch) -> Vec<TensorId> {
    let x = sketch.input(&[20, 32]);
    let hidden = sketch.linear(x, 48);
    vec![sketch.normalise(hidden)]
}
