//! Small programs that between them use every way of depending on an earlier result.

use warpweave::graph::ElementType;
use warpweave::graph::expr::{BinaryOp, Reducer, Scalar, UnaryOp};
use warpweave::graph::procedure::Procedure;
use warpweave::graph::procedure::sort::Direction;
use warpweave::graph::program::{TensorId, TensorProgram};

use crate::sketch::{Sketch, Window};

/// A program with a name.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The name.
    pub name: &'static str,
    /// The program.
    pub program: TensorProgram,
}

/// All samples.
pub fn all() -> Vec<Sample> {
    let sample = |name, program| Sample { name, program };
    vec![
        sample("product", product()),
        sample("perceptron", perceptron()),
        sample("softmax", softmax()),
        sample("attention", attention()),
        sample("diamond", diamond()),
        sample("concat", concat()),
        sample("convolutions", convolutions()),
        sample("gather", gather()),
        sample("integers", integers()),
        sample("chain", chain()),
        sample("two_outputs", two_outputs()),
        sample("recurrence", recurrence()),
        sample("procedures", procedures()),
    ]
}

/// Two products with constants, one after the other.
pub fn two_products() -> TensorProgram {
    let mut sketch = Sketch::new(4);
    let input = sketch.input(&[64, 256]);
    let hidden = sketch.linear(input, 256);
    let hidden = sketch.relu(hidden);
    let output = sketch.linear(hidden, 192);
    sketch.finish(&[output])
}

/// Four products one after another, each of few rows by a square matrix: reductions that are worth splitting.
pub fn long_products() -> TensorProgram {
    products_in_turn(4)
}

/// So many of those products.
pub fn products_in_turn(products: usize) -> TensorProgram {
    const WIDTH: usize = 512;
    let mut sketch = Sketch::new(13);
    let mut rows = sketch.input(&[16, WIDTH]);
    for _ in 0..products {
        let matrix = sketch.weight(&[WIDTH, WIDTH]);
        let product = sketch.matmul(rows, matrix);
        let damping = Scalar::literal(ElementType::F32, 0.125);
        rows = sketch.map(product, |product| product.binary(BinaryOp::Multiply, damping));
    }
    sketch.finish(&[rows])
}

/// Convolutions one after another whose windows reach over the edges or leave something out, of few points by many
/// channels. Their reductions are worth splitting, and their images worth polling.
pub fn windows() -> TensorProgram {
    let windows = [
        Window { size: 3, stride: 1, padding: 0 },
        Window { size: 3, stride: 1, padding: 1 },
        Window { size: 3, stride: 2, padding: 1 },
    ];
    let mut sketch = Sketch::new(14);
    let mut image = sketch.input(&[1, 64, 12, 11]);
    for window in windows {
        let sums = sketch.convolution(image, 64, window);
        let damping = Scalar::literal(ElementType::F32, 0.0625);
        let sums = sketch.map(sums, |sums| sums.binary(BinaryOp::Multiply, damping));
        image = sketch.relu(sums);
    }
    sketch.finish(&[image])
}

/// Two recurrent layers, step beside step.
pub fn recurrence() -> TensorProgram {
    recurrence_of(16, 1)
}

/// The same of so many units over a batch.
pub fn recurrence_of(units: usize, batch: usize) -> TensorProgram {
    recurrent_layers((units, batch), |_| {})
}

/// Two recurrent layers, each of which begins where the one before has ended.
pub fn turning_recurrence() -> TensorProgram {
    recurrent_layers((16, 1), |steps| steps.reverse())
}

/// Two recurrent layers of so many units over a batch and five steps, a state and a cell each, as products and activations;
/// `turn` orders the steps after a layer. Gates are damped, so that a step does not enlarge what another has rounded.
fn recurrent_layers((hidden, batch): (usize, usize), turn: impl Fn(&mut [TensorId])) -> TensorProgram {
    const STEPS: usize = 5;
    let mut sketch = Sketch::new(12);
    let sequence = sketch.input(&[STEPS * batch, hidden]);
    let mut steps: Vec<_> = (0..STEPS).map(|step| sketch.slice(sequence, 0, step * batch, batch, 1)).collect();
    for _ in 0..2 {
        let matrices = [0, 1].map(|_| {
            let matrix = sketch.weight(&[4 * hidden, hidden]);
            sketch.transpose(matrix, &[1, 0])
        });
        let bias = sketch.weight(&[batch, 4 * hidden]);
        let (mut state, mut cell) = (sketch.weight(&[batch, hidden]), sketch.weight(&[batch, hidden]));
        for step in &mut steps {
            let (fresh, kept) = (sketch.matmul(*step, matrices[0]), sketch.matmul(state, matrices[1]));
            let fresh = sketch.binary(BinaryOp::Add, fresh, bias);
            let sums = sketch.binary(BinaryOp::Add, fresh, kept);
            let gates = [0, 1, 2, 3].map(|gate| {
                let part = sketch.slice(sums, 1, gate * hidden, hidden, 1);
                let damping = Scalar::literal(ElementType::F32, 0.125);
                let part = sketch.map(part, |part| part.binary(BinaryOp::Multiply, damping));
                sketch.unary(UnaryOp::Tanh, part)
            });
            let (old, new) = (
                sketch.binary(BinaryOp::Multiply, gates[0], cell),
                sketch.binary(BinaryOp::Multiply, gates[1], gates[2]),
            );
            cell = sketch.binary(BinaryOp::Add, old, new);
            let squashed = sketch.unary(UnaryOp::Tanh, cell);
            state = sketch.binary(BinaryOp::Multiply, gates[3], squashed);
            *step = state;
        }
        turn(&mut steps);
    }
    let all = sketch.concat(0, &steps);
    sketch.finish(&[all])
}

fn product() -> TensorProgram {
    let mut sketch = Sketch::new(1);
    let input = sketch.input(&[40, 50]);
    let product = sketch.linear(input, 70);
    let output = sketch.relu(product);
    sketch.finish(&[output])
}

fn perceptron() -> TensorProgram {
    let mut sketch = Sketch::new(2);
    let input = sketch.input(&[33, 24]);
    let mut hidden = input;
    for _ in 0..3 {
        let next = sketch.linear(hidden, 24);
        let next = sketch.unary(UnaryOp::Tanh, next);
        hidden = sketch.binary(BinaryOp::Add, next, hidden);
    }
    let output = sketch.softmax(hidden);
    sketch.finish(&[output])
}

fn softmax() -> TensorProgram {
    let mut sketch = Sketch::new(3);
    let input = sketch.input(&[21, 37]);
    let rows = sketch.normalise(input);
    let output = sketch.softmax(rows);
    sketch.finish(&[output])
}

fn attention() -> TensorProgram {
    let mut sketch = Sketch::new(4);
    let input = sketch.input(&[2, 19, 16]);
    let [query, key, value] = [(); 3].map(|()| sketch.linear(input, 16));
    let key = sketch.transpose(key, &[0, 2, 1]);
    let scores = sketch.matmul(query, key);
    let weights = sketch.softmax(scores);
    let mixed = sketch.matmul(weights, value);
    let output = sketch.linear(mixed, 16);
    let output = sketch.binary(BinaryOp::Add, output, input);
    sketch.finish(&[output])
}

fn diamond() -> TensorProgram {
    let mut sketch = Sketch::new(5);
    let input = sketch.input(&[34, 20]);
    let top = sketch.linear(input, 20);
    let left = sketch.linear(top, 30);
    let right = sketch.softmax(top);
    let right = sketch.linear(right, 30);
    let sum = sketch.binary(BinaryOp::Multiply, left, right);
    let output = sketch.linear(sum, 10);
    sketch.finish(&[output])
}

fn concat() -> TensorProgram {
    let mut sketch = Sketch::new(6);
    let input = sketch.input(&[18, 16]);
    let left = sketch.linear(input, 20);
    let right = sketch.linear(input, 33);
    let joined = sketch.concat(1, &[left, right, input]);
    let inner = sketch.slice(joined, 1, 10, 25, 1);
    let inner = sketch.linear(inner, 8);
    let whole = sketch.linear(joined, 8);
    let more = sketch.concat(1, &[whole, left]);
    let output = sketch.binary(BinaryOp::Add, inner, whole);
    sketch.finish(&[output, more])
}

fn convolutions() -> TensorProgram {
    let mut sketch = Sketch::new(7);
    let input = sketch.input(&[1, 3, 14, 14]);
    let first = sketch.convolution(input, 8, Window { size: 3, stride: 1, padding: 1 });
    let first = sketch.relu(first);
    let second = sketch.convolution(first, 8, Window { size: 1, stride: 1, padding: 0 });
    let sum = sketch.binary(BinaryOp::Add, second, first);
    let pooled = sketch.maximum_pool(sum, Window { size: 3, stride: 2, padding: 1 });
    let third = sketch.convolution(pooled, 12, Window { size: 3, stride: 2, padding: 1 });
    sketch.finish(&[third])
}

fn gather() -> TensorProgram {
    let mut sketch = Sketch::new(8);
    let rows = sketch.typed_input(ElementType::I64, &[12]);
    let table = sketch.weight(&[20, 18]);
    let found = sketch.gather(table, rows);
    let hidden = sketch.linear(found, 18);
    let again = sketch.gather(hidden, rows);
    let output = sketch.binary(BinaryOp::Subtract, again, hidden);
    sketch.finish(&[output])
}

fn integers() -> TensorProgram {
    let mut sketch = Sketch::new(9);
    let input = sketch.typed_input(ElementType::I64, &[30, 45]);
    let sums = sketch.reduce(Reducer::Sum, input);
    let shifted = sketch.binary(BinaryOp::Add, input, sums);
    let turned = sketch.transpose(shifted, &[1, 0]);
    let smallest = sketch.reduce(Reducer::Minimum, turned);
    let output = sketch.binary(BinaryOp::Multiply, turned, smallest);
    sketch.finish(&[output])
}

/// Rows in their order, and of each those that are far enough from what stays before them.
pub fn procedures() -> TensorProgram {
    let mut sketch = Sketch::new(12);
    let input = sketch.typed_input(ElementType::I32, &[6, 70]);
    let doubled = sketch.binary(BinaryOp::Add, input, input);
    let order = sketch.procedure(Procedure::Sort(Direction::Descending), doubled, |each, _| each);
    let values = sketch.at_places(doubled, order);
    let near = |each: Scalar, place: Scalar| {
        let apart = each.binary(BinaryOp::Subtract, place);
        let number = |value| Scalar::literal(ElementType::I32, value);
        number(0.0)
            .binary(BinaryOp::Less, apart.clone())
            .binary(BinaryOp::And, apart.binary(BinaryOp::Less, number(7.0)))
    };
    let stays = sketch.procedure(Procedure::Suppress { most: 20 }, values, near);
    let output = sketch.masked(stays, values);
    sketch.finish(&[output])
}

/// Long enough that buffers are used again.
/// Products and rows one after another, whose rTasks read what those of other units made.
fn chain() -> TensorProgram {
    let mut sketch = Sketch::new(10);
    let input = sketch.input(&[64, 32]);
    let mut value = input;
    for step in 0..6 {
        value = sketch.linear(value, 32);
        if step % 2 == 0 {
            value = sketch.softmax(value);
            value = sketch.transpose(value, &[1, 0]);
        }
    }
    sketch.finish(&[value])
}

fn two_outputs() -> TensorProgram {
    let mut sketch = Sketch::new(11);
    let input = sketch.input(&[26, 12]);
    let other = sketch.input(&[26, 12]);
    let sum = sketch.binary(BinaryOp::Add, input, other);
    let hidden = sketch.linear(sum, 40);
    let early = sketch.unary(UnaryOp::Negate, hidden);
    let late = sketch.softmax(hidden);
    let late = sketch.linear(late, 6);
    let padded = sketch.pad(late, 1, [1, 2], 3.0);
    sketch.finish(&[early, padded, hidden])
}
