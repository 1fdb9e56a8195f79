//! Rows that products read at places which other tensors name: composed for GPUs, gathered first for processors.

use warpweave_graph::ops::activations::relu::Relu;
use warpweave_graph::ops::indexing::gather::Gather;
use warpweave_graph::ops::products::matmul::MatMul;
use warpweave_graph::program::passes::{inline_lines, inline_views};
use warpweave_graph::program::{ProgramBuilder, TensorProgram};
use warpweave_graph::reference::evaluate;
use warpweave_graph::types::TensorType;
use warpweave_graph::{ElementType, Tensor};

const ROWS: usize = 10;
const FEATURES: usize = 4;

/// What reads gathered rows.
#[derive(Clone, Copy)]
enum Reader {
    Product,
    Relu,
}

fn program(reader: Reader) -> TensorProgram {
    let numbers = |count: usize| -> Vec<f64> { (0..count).map(|number| (number % 7) as f64 - 3.0).collect() };
    let constant = |shape: [usize; 2]| {
        Tensor::from_f64(TensorType::new(ElementType::F32, shape), &numbers(shape.iter().product()))
    };
    let mut program = ProgramBuilder::new();
    let places = program.input(TensorType::new(ElementType::I64, [3usize]));
    let table = program.constant(constant([ROWS, FEATURES]));
    let rows = program.apply(&Gather::along(0), &[Some(table), Some(places)], 1)[0];
    let output = match reader {
        Reader::Product => {
            let weight = program.constant(constant([FEATURES, 6]));
            program.apply(&MatMul, &[Some(rows), Some(weight)], 1)[0]
        }
        Reader::Relu => program.apply(&Relu, &[Some(rows)], 1)[0],
    };
    program.finish(vec![output])
}

/// The statements that each pass leaves; values stay as they are.
#[track_caller]
fn check(reader: Reader, of_gpus: usize, of_processors: usize) {
    let whole = program(reader);
    let places = Tensor::new([3usize], &[7i64, 0, 9]);
    let run = |program: &TensorProgram| evaluate(program, std::slice::from_ref(&places)).expect("the program is right");
    for (rewritten, expected) in [(inline_views(&whole), of_gpus), (inline_lines(&whole), of_processors)] {
        assert_eq!(rewritten.statements.len(), expected);
        assert_eq!(run(&rewritten), run(&whole));
    }
}

#[test]
fn rows_of_a_product_are_gathered_once_for_processors() {
    check(Reader::Product, 1, 2);
}

#[test]
fn rows_of_anything_else_are_read_where_they_are() {
    check(Reader::Relu, 1, 1);
}
