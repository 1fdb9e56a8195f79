//! Graphs print, and what is printed parses back; other texts are refused with the line.

use warpweave_graph::ops::{Op, arithmetic::add::Add, layout::reshape::Reshape};
use warpweave_graph::text::{Tensors, parse, print, tensors};
use warpweave_graph::types::TensorType;
use warpweave_graph::{ElementType, Graph, GraphOutput, Tensor, ValueType};

fn f32_type(shape: &[usize]) -> ValueType {
    TensorType::new(ElementType::F32, shape).into()
}

fn sample() -> Graph {
    let mut graph = Graph::new("a \"graph\"\n");
    let x = graph.input("x", f32_type(&[2, 3]));
    let small = graph.constant("small", Tensor::new([3], &[1f32, -0.0, f32::INFINITY]));
    let large = graph.constant("large", Tensor::new([2, 20], &[0.5f32; 40]));
    let sum = graph.node("sum", Add.into(), vec![Some(x), Some(small)], vec![("s".to_owned(), f32_type(&[2, 3]))]);
    let sum = graph.nodes[sum].outputs[0];
    let target = graph.constant("target", Tensor::vector_i64(&[3, 2]));
    let inputs = vec![Some(sum), Some(target)];
    let shaped = graph.node("", Reshape::exactly().into(), inputs, vec![("y".to_owned(), f32_type(&[3, 2]))]);
    graph.output(graph.nodes[shaped].outputs[0]);
    graph.input_with_default("scale", Tensor::scalar(0.5f32));
    graph.outputs.push(GraphOutput { name: "under another name".to_owned(), value: large });
    graph
}

#[test]
fn a_graph_reads_as_expected() {
    let expected = r#"graph "a \"graph\"\n"
v0 "x": f32[2x3] = input
v1 "small": f32[3] = constant [1.0, -0.0, inf]
v2 "large": f32[2x20] = constant #1c9ed0d4dd9e14b2fd1b3c2ff1b8e3a5
v3 "s": f32[2x3] = Add "sum" (v0, v1)
v4 "target": i64[2] = constant [3, 2]
v5 "y": f32[3x2] = Reshape "" (v3, v4) {allowzero = int 1}
v6 "scale": f32[] = input 0.5
input v0, v6
output v5, v2 "under another name"
"#;
    let (hash, _) = tensors(&sample()).into_iter().next().expect("one tensor is large");
    let expected = expected.replace("1c9ed0d4dd9e14b2fd1b3c2ff1b8e3a5", &hash.to_string());
    assert_eq!(print(&sample()), expected);
}

#[test]
fn what_is_printed_parses_back() {
    let graph = sample();
    assert_eq!(parse(&print(&graph), &tensors(&graph)), Ok(graph));
}

#[test]
fn errors_name_the_line() {
    let check = |text: &str, line: usize, part: &str| {
        let error = parse(text, &Tensors::new()).expect_err(text);
        assert_eq!(error.line, line, "{error}");
        assert!(error.reason.contains(part), "{error}");
    };
    check("graph", 1, "quoted text");
    check("graph \"x", 1, "well formed");
    check("graph \"x\"\nv1 \"a\": f32[] = input", 2, "v0 is declared next");
    check("v0 \"a\": f99[] = input", 1, "f99");
    check("v0 \"a\": f32[4x-1] = input", 1, "no shape");
    check("v0 \"a\": f32[9999999999x9999999999x9] = input", 1, "too large");
    check("v0 \"a\": f32[] = Relu \"\" (v0)", 1, "`v0` is no value");
    check("v0 \"a\": f32[] = Frobnicate \"\" ()", 1, "Frobnicate");
    check("v0 \"a\": f32[2] = constant [1.0]", 1, "elements");
    check("v0 \"a\": f32[2] = constant #00", 1, "not there");
    check("output v0", 1, "`v0`");
    check("v0 \"a\": f32[] = input v0", 1, "elements");
    check("v0 \"a\": f32[] = input 1.0 2.0", 1, "more follows");
    check(&format!("v0 \"a\": {} = input", "sequence(".repeat(20)), 1, "nested");
}

#[test]
fn cut_texts_never_panic() {
    let text = print(&sample());
    for (end, _) in text.char_indices() {
        let _ = parse(&text[..end], &Tensors::new());
        let _: Result<Graph, _> = parse(&text[end..], &Tensors::new());
    }
    assert!(Op::registered().len() > 40);
}
