//! Images have their channels innermost where products in 16 bits read them, and values stay.

use std::collections::BTreeMap;

use warpweave_graph::pipeline::{Machine, PassId, Selection, prepare, rewrite};
use warpweave_graph::program::TensorProgram;
use warpweave_graph::program::passes::channels_last;
use warpweave_graph::program::precision::Precision;
use warpweave_graph::reference::evaluate;
use warpweave_graph::text::{ContentHash, Tensors, parse};
use warpweave_graph::types::TensorType;
use warpweave_graph::{ElementType, Tensor, lower};

/// Small whole numbers, whose sums are exact.
fn numbers(ty: TensorType) -> Tensor {
    let elements: Vec<f64> = (0..ty.shape.elements()).map(|at| (at * 7 % 5) as f64 - 2.0).collect();
    Tensor::from_f64(ty, &elements)
}

/// A program of nodes over an image `v0` and constants of these shapes, in order, and the same with its images turned.
fn turned(image: [usize; 4], constants: &[[usize; 4]], nodes: &str) -> [TensorProgram; 2] {
    let mut tensors = Tensors::new();
    let mut text = format!("graph \"\"\nv0 \"x\": {} = input\n", TensorType::new(ElementType::F16, image));
    for (position, shape) in constants.iter().enumerate() {
        let constant = numbers(TensorType::new(ElementType::F16, *shape));
        let hash = ContentHash::of(&constant);
        text += &format!("v{} \"w{position}\": {} = constant #{hash}\n", position + 1, constant.ty());
        tensors.insert(hash, constant);
    }
    let graph = parse(&(text + nodes), &tensors).unwrap_or_else(|error| panic!("{error}"));
    let only = PassId::all().filter(|pass| *pass != PassId::CHANNELS_LAST).collect();
    let whole = rewrite(&lower(&graph), &Selection { only: Some(only), last: None }, Machine::Gpu);
    let whole = whole.unwrap_or_else(|error| panic!("{error}"));
    let turned = channels_last(&whole);
    turned.verify().unwrap_or_else(|error| panic!("{error}\n{turned}"));
    [whole, turned]
}

#[track_caller]
fn check(programs: &[TensorProgram; 2]) {
    let [whole, turned] = programs;
    let inputs: Vec<Tensor> = whole.inputs.iter().map(|input| numbers(whole.tensors[*input].ty.clone())).collect();
    assert!(evaluate(turned, &inputs) == evaluate(whole, &inputs), "{whole}\n{turned}");
}

/// The shapes of the tensors that statements compute.
fn shapes(program: &TensorProgram) -> Vec<Vec<usize>> {
    program.statements.values().map(|statement| program.tensors[statement.output].ty.shape.to_vec()).collect()
}

const NETWORK: &str = "v3 \"a\": f16[2x16x7x6] = Conv \"first\" (v0, v1) {pads = ints [1, 1, 1, 1]}\n\
    v4 \"b\": f16[2x16x7x6] = Relu \"relu\" (v3)\n\
    v5 \"c\": f16[2x8x4x3] = Conv \"second\" (v4, v2) {pads = ints [1, 1, 1, 1], strides = ints [2, 2]}\n\
    v6 \"y\": f16[2x8x1x1] = GlobalAveragePool \"mean\" (v5)\ninput v0\noutput v6\n";

#[test]
fn images_between_products_are_turned() {
    let programs = turned([2, 3, 7, 6], &[[16, 3, 3, 3], [8, 16, 3, 3]], NETWORK);
    check(&programs);
    let [whole, turned] = programs.map(|program| shapes(&program));
    assert!(whole.contains(&vec![2, 16, 7, 6]) && whole.contains(&vec![2, 8, 4, 3]), "{whole:?}");
    assert!(turned.contains(&vec![2, 7, 6, 16]) && turned.contains(&vec![2, 4, 3, 8]), "{turned:?}");
    assert_eq!(turned.last(), Some(&vec![2, 8, 1, 1]), "an output keeps its order");
}

#[test]
fn images_of_few_channels_and_those_that_are_read_as_rows_stay() {
    let narrow = NETWORK.replace("16x7x6", "12x7x6");
    let programs = turned([2, 3, 7, 6], &[[12, 3, 3, 3], [8, 12, 3, 3]], &narrow);
    assert_eq!(shapes(&programs[0]), shapes(&programs[1]));
    let rows = "v3 \"a\": f16[2x16x4x4] = Conv \"first\" (v0, v1) {pads = ints [1, 1, 1, 1]}\n\
        v4 \"b\": f16[2x16x4x4] = Conv \"second\" (v3, v2) {pads = ints [1, 1, 1, 1]}\n\
        v5 \"s\": i64[3] = constant [2, 64, 4]\nv6 \"c\": f16[2x64x4] = Reshape \"rows\" (v4, v5)\n\
        v7 \"y\": f16[2x64x1] = ReduceMax \"most\" (v6) {axes = ints [2]}\ninput v0\noutput v7\n";
    let programs = turned([2, 3, 4, 4], &[[16, 3, 3, 3], [16, 16, 3, 3]], rows);
    check(&programs);
}

/// A convolution joined with what it reads, twice, and a convolution of all.
const JOINED: &str = "v3 \"a\": f16[1x8x5x5] = Relu \"relu\" (v0)\n\
    v4 \"b\": f16[1x8x5x5] = Conv \"first\" (v3, v1) {pads = ints [1, 1, 1, 1]}\n\
    v5 \"c\": f16[1x16x5x5] = Concat \"two\" (v3, v4) {axis = int 1}\n\
    v6 \"d\": f16[1x24x5x5] = Concat \"three\" (v5, v4) {axis = int 1}\n\
    v7 \"e\": f16[1x8x5x5] = Conv \"second\" (v6, v2) {pads = ints [1, 1, 1, 1]}\n\
    v8 \"y\": f16[1x8x1x1] = GlobalAveragePool \"mean\" (v7)\ninput v0\noutput v8\n";

#[test]
fn concats_are_turned_with_all_of_their_parts_or_not_at_all() {
    let constants = [[8, 8, 3, 3], [8, 24, 3, 3]];
    let programs = turned([1, 8, 5, 5], &constants, JOINED);
    check(&programs);
    let [_, found] = programs.map(|program| shapes(&program));
    assert!(found.contains(&vec![1, 5, 5, 16]) && found.contains(&vec![1, 5, 5, 24]), "{found:?}");
    let narrow = JOINED.replace("f16[1x8x5x5] = Conv \"first\"", "f16[1x4x5x5] = Conv \"first\"");
    let narrow = narrow.replace("1x16x5x5", "1x12x5x5").replace("1x24x5x5", "1x16x5x5");
    let programs = turned([1, 8, 5, 5], &[[4, 8, 3, 3], [8, 16, 3, 3]], &narrow);
    check(&programs);
    let [_, found] = programs.map(|program| shapes(&program));
    assert!(found.contains(&vec![1, 12, 5, 5]) && found.contains(&vec![1, 16, 5, 5]), "{found:?}");
}

#[test]
fn what_is_stored_in_16_bits_is_turned_after_that() {
    let wide = "graph \"\"\nv0 \"x\": f32[1x8x5x5] = input\nv1 \"a\": f32[1x8x5x5] = Sin \"sin\" (v0)\n";
    let constant = Tensor::from_f64(TensorType::new(ElementType::F32, [8, 8, 3, 3]), &[1.0; 576]);
    let hash = ContentHash::of(&constant);
    let text = format!(
        "{wide}v2 \"w\": f32[8x8x3x3] = constant #{hash}\n\
         v3 \"y\": f32[1x8x5x5] = Conv \"conv\" (v1, v2) {{pads = ints [1, 1, 1, 1]}}\ninput v0\noutput v3\n"
    );
    let graph = parse(&text, &Tensors::from([(hash, constant)])).unwrap_or_else(|error| panic!("{error}"));
    let prepared = prepare(&lower(&graph));
    assert_eq!(channels_last(&prepared.program), prepared.program, "singles stay in their order");
    let (narrow, _) = prepared.stored_in(Precision::Fp16, &BTreeMap::new());
    let program = narrow.channels_last().program;
    program.verify().unwrap_or_else(|error| panic!("{error}\n{program}"));
    assert!(shapes(&program).contains(&vec![1, 5, 5, 8]), "{program}");
    let inputs = [numbers(TensorType::new(ElementType::F32, [1, 8, 5, 5]))];
    assert!(evaluate(&program, &inputs) == evaluate(&narrow.program, &inputs), "{program}");
}
