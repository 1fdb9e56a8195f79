//! Values of which only some elements count, through operators that mix elements or move extents.

use crate::model::{constant, int, ints, load, model, node, value};
use warpweave_frontend::ImportOptions;
use warpweave_frontend::onnx::{ModelProto, NodeProto};
use warpweave_graph::counted::cut;
use warpweave_graph::reference::evaluate;
use warpweave_graph::{ElementType, Tensor, lower};

const X: [f32; 8] = [-1.0, -2.0, 30.0, 40.0, -5.0, -6.0, 70.0, 80.0];
/// The first and the third row count.
const SOME: [f32; 4] = [1.0, -1.0, 2.0, -3.0];
const NONE: [f32; 4] = [-1.0; 4];

/// A model of rows of `x` where `s` is positive: `at` has their numbers, `rows` the rows.
fn selected(nodes: Vec<NodeProto>) -> ModelProto {
    let inputs = vec![value("x", ElementType::F32, &["4", "2"]), value("s", ElementType::F32, &["4"])];
    let constants = vec![
        constant("zero", &Tensor::scalar(0f32)),
        constant("seven", &Tensor::scalar(7f32)),
        constant("axis", &Tensor::vector_i64(&[0])),
        constant("axes", &Tensor::vector_i64(&[0, 1])),
        constant("last", &Tensor::vector_i64(&[-1])),
        constant("none", &Tensor::scalar(0i64)),
        constant("one", &Tensor::scalar(1i64)),
    ];
    let selection = [
        node("Greater", &["s", "zero"], &["live"], vec![]),
        node("NonZero", &["live"], &["places"], vec![]),
        node("Transpose", &["places"], &["tuples"], vec![]),
        node("Squeeze", &["places", "axis"], &["at"], vec![]),
        node("Gather", &["x", "at"], &["rows"], vec![]),
    ];
    model(18, inputs, constants, selection.into_iter().chain(nodes).collect(), &["y"])
}

fn run(nodes: Vec<NodeProto>, s: &[f32]) -> (Vec<usize>, Vec<f64>) {
    let graph = load(&selected(nodes), &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let outputs = evaluate(&lower(&graph), &[Tensor::new([4, 2], &X), Tensor::new([4], s)]).expect("it has values");
    let output = cut(outputs, &graph.counted).remove(0);
    (output.shape().to_vec(), output.to_f64())
}

fn reduced(operator: &str, axes: &str) -> Vec<NodeProto> {
    vec![node(operator, &["rows", axes], &["y"], vec![int("keepdims", 0)])]
}

#[test]
fn reductions_are_of_what_counts() {
    for (operator, axes, wanted) in [
        ("ReduceSum", "axis", &[-6.0, -8.0][..]),
        ("ReduceMean", "axis", &[-3.0, -4.0]),
        ("ReduceMean", "axes", &[-3.5]),
        ("ReduceMax", "axis", &[-1.0, -2.0]),
        ("ReduceMin", "axes", &[-6.0]),
        ("ReduceProd", "axis", &[5.0, 12.0]),
    ] {
        assert_eq!(run(reduced(operator, axes), &SOME).1, wanted, "{operator} along {axes}");
    }
    assert_eq!(run(reduced("ReduceSum", "axis"), &NONE).1, [0.0, 0.0]);
    assert_eq!(run(reduced("ReduceProd", "axis"), &NONE).1, [1.0, 1.0]);
    assert_eq!(run(reduced("ReduceMean", "axis"), &NONE).1, [0.0, 0.0], "the mean of nothing");
}

#[test]
fn a_softmax_is_over_what_counts() {
    let (shape, found) = run(vec![node("Softmax", &["rows"], &["y"], vec![int("axis", 0)])], &SOME);
    let share = 1.0 / (1.0 + (-4f64).exp());
    assert_eq!(shape, [2, 2]);
    for (found, wanted) in found.iter().zip([share, share, 1.0 - share, 1.0 - share]) {
        assert!((found - wanted).abs() < 1e-6, "{found} is not {wanted}");
    }
}

#[test]
fn products_are_over_what_counts() {
    let turned = || node("Transpose", &["rows"], &["columns"], vec![]);
    let product = vec![turned(), node("MatMul", &["columns", "rows"], &["y"], vec![])];
    assert_eq!(run(product, &SOME), (vec![2, 2], vec![26.0, 32.0, 32.0, 40.0]));
    let product = || vec![node("Gemm", &["rows", "rows"], &["y"], vec![int("transA", 1)])];
    assert_eq!(run(product(), &SOME).1, [26.0, 32.0, 32.0, 40.0]);
    assert_eq!(run(product(), &NONE).1, [0.0; 4]);
}

#[test]
fn updates_that_do_not_count_change_nothing() {
    let scatter = |reduction: &str| {
        let attributes = match reduction {
            "" => vec![],
            text => vec![crate::model::string("reduction", text)],
        };
        let negative = node("Neg", &["rows"], &["updates"], vec![]);
        vec![negative, node("ScatterND", &["x", "tuples", "updates"], &["y"], attributes)]
    };
    let with = |[a, b, c, d]: [f64; 4]| vec![a, b, 30.0, 40.0, c, d, 70.0, 80.0];
    assert_eq!(run(scatter(""), &SOME).1, with([1.0, 2.0, 5.0, 6.0]));
    assert_eq!(run(scatter("add"), &SOME).1, with([0.0; 4]));
    assert_eq!(run(scatter("mul"), &SOME).1, with([-1.0, -4.0, -25.0, -36.0]));
    for reduction in ["", "add", "mul", "min", "max"] {
        assert_eq!(run(scatter(reduction), &NONE).1, with([-1.0, -2.0, -5.0, -6.0]), "{reduction}");
    }
}

#[test]
fn as_many_elements_are_made_as_count() {
    let extents = |then: Vec<NodeProto>| {
        let extents = vec![
            node("Shape", &["at"], &["extents"], vec![]),
            node("Squeeze", &["extents", "axis"], &["number"], vec![]),
        ];
        extents.into_iter().chain(then).collect::<Vec<_>>()
    };
    let expanded = || extents(vec![node("Expand", &["seven", "extents"], &["y"], vec![])]);
    assert_eq!(run(expanded(), &SOME), (vec![2], vec![7.0, 7.0]));
    assert_eq!(run(expanded(), &NONE), (vec![0], vec![]));
    let same = extents(vec![node("Expand", &["at", "extents"], &["y"], vec![])]);
    assert_eq!(run(same, &SOME), (vec![2], vec![0.0, 2.0]));
    let places = extents(vec![node("Range", &["none", "number", "one"], &["y"], vec![])]);
    assert_eq!(run(places, &SOME), (vec![2], vec![0.0, 1.0]));
    let sliced = extents(vec![node("Slice", &["s", "axis", "extents", "axis"], &["y"], vec![])]);
    assert_eq!(run(sliced, &SOME), (vec![2], vec![1.0, -1.0]));
    let shape = vec![node("Shape", &["rows"], &["y"], vec![])];
    assert_eq!(run(shape, &SOME), (vec![2], vec![2.0, 2.0]));
    let reshaped = vec![
        node("Shape", &["rows"], &["both"], vec![]),
        node("Concat", &["both", "axis_of_one"], &["all"], vec![int("axis", 0)]),
        node("Reshape", &["rows", "all"], &["y"], vec![]),
    ];
    let unit = node("Constant", &[], &["axis_of_one"], vec![ints("value_ints", &[1])]);
    let reshaped = std::iter::once(unit).chain(reshaped).collect();
    assert_eq!(run(reshaped, &SOME), (vec![2, 2, 1], vec![-1.0, -2.0, -5.0, -6.0]));
}

#[test]
fn slices_are_of_what_counts() {
    let sliced = |bounds: [i64; 3]| {
        let constant =
            |at: usize| node("Constant", &[], &[["start", "end", "step"][at]], vec![ints("value_ints", &[bounds[at]])]);
        let slice = node("Slice", &["rows", "start", "end", "axis", "step"], &["y"], vec![]);
        [0, 1, 2].map(constant).into_iter().chain([slice]).collect::<Vec<_>>()
    };
    let (first, second) = ([-1.0, -2.0], [-5.0, -6.0]);
    let both = [first, second].concat();
    let all = i64::MAX;
    for (bounds, of_some) in [
        ([0, 1, 1], &first[..]),
        ([0, 3, 1], &both),
        ([1, all, 1], &second),
        ([2, all, 1], &[]),
        ([0, -1, 1], &first),
        ([1, -1, 1], &[]),
        ([0, all, 2], &first),
        ([0, i64::MIN, 1], &[]),
    ] {
        assert_eq!(run(sliced(bounds), &SOME), (vec![of_some.len() / 2, 2], of_some.to_vec()), "{bounds:?}");
        assert_eq!(run(sliced(bounds), &NONE).0, [0, 2], "{bounds:?}");
    }
    for bounds in [[-1, i64::MIN, -1], [-1, all, 1]] {
        let refused = load(&selected(sliced(bounds)), &ImportOptions::default()).expect_err("its first is not known");
        assert!(refused.to_string().contains("as its data say"), "{bounds:?}: {refused}");
    }
    let sums = ["rows", "turned"]
        .map(|of| node("Slice", &[of, "axis", "first", "axis"], &[["a", "b"][usize::from(of == "turned")]], vec![]));
    let first = node("Constant", &[], &["first"], vec![ints("value_ints", &[1])]);
    let nodes = [
        vec![first, node("Neg", &["rows"], &["turned"], vec![])],
        sums.to_vec(),
        vec![node("Add", &["a", "b"], &["y"], vec![])],
    ];
    assert_eq!(run(nodes.concat(), &SOME), (vec![1, 2], vec![0.0; 2]), "equal slices have as many");
}

#[test]
fn what_counts_is_laid_end_to_end() {
    let joined = |parts: &[&str]| {
        let turned = node("Neg", &["rows"], &["turned"], vec![]);
        vec![turned, node("Concat", parts, &["y"], vec![int("axis", 0)])]
    };
    let rows = [-1.0, -2.0, -5.0, -6.0];
    let turned = rows.map(|value: f64| -value);
    assert_eq!(run(joined(&["rows", "turned"]), &SOME), (vec![4, 2], [rows, turned].concat()));
    let all = X.map(f64::from);
    assert_eq!(run(joined(&["turned", "x", "rows"]), &SOME).1, [&turned[..], &all, &rows].concat());
    assert_eq!(run(joined(&["turned", "x", "rows"]), &NONE).1, all);
    assert_eq!(run(joined(&["rows", "rows"]), &NONE), (vec![0, 2], vec![]));
    let mut sum = joined(&["rows", "turned"]);
    sum[1].output = vec!["one_way".to_owned()];
    sum.push(node("Concat", &["turned", "rows"], &["other"], vec![int("axis", 0)]));
    sum.push(node("Add", &["one_way", "other"], &["y"], vec![]));
    assert_eq!(run(sum, &SOME), (vec![4, 2], vec![0.0; 8]), "equal parts have as many");
}

#[test]
fn the_smaller_of_a_count_and_a_number_is_picked() {
    let best = |most: i64, largest: i64| {
        vec![
            node("Constant", &[], &["most"], vec![ints("value_ints", &[most])]),
            node("Gather", &["s", "at"], &["scores"], vec![]),
            node("Shape", &["scores"], &["extents"], vec![]),
            node("Concat", &["extents", "most"], &["both"], vec![int("axis", 0)]),
            node("ReduceMin", &["both"], &["k"], vec![int("keepdims", 1)]),
            node("TopK", &["scores", "k"], &["best", "ranks"], vec![int("axis", 0), int("largest", largest)]),
            node("Gather", &["rows", "ranks"], &["y"], vec![]),
        ]
    };
    let (one, two) = ([-1.0, -2.0], [-5.0, -6.0]);
    assert_eq!(run(best(1, 1), &SOME), (vec![1, 2], two.to_vec()));
    assert_eq!(run(best(1, 0), &SOME), (vec![1, 2], one.to_vec()));
    for most in [3, 9] {
        assert_eq!(run(best(most, 1), &SOME), (vec![2, 2], [two, one].concat()), "{most}");
        assert_eq!(run(best(most, 0), &SOME), (vec![2, 2], [one, two].concat()), "{most}");
        assert_eq!(run(best(most, 1), &NONE).0, [0, 2], "{most}");
    }
}

#[test]
fn boxes_that_do_not_count_are_not_chosen() {
    let nodes = vec![
        node("Constant", &[], &["side"], vec![crate::model::float("value_float", 1.0)]),
        node("Constant", &[], &["half"], vec![crate::model::float("value_float", 0.5)]),
        node("Constant", &[], &["most"], vec![ints("value_ints", &[9])]),
        node("Add", &["rows", "side"], &["corners"], vec![]),
        node("Concat", &["rows", "corners"], &["boxes"], vec![int("axis", 1)]),
        node("Unsqueeze", &["boxes", "axis"], &["batch"], vec![]),
        node("Gather", &["s", "at"], &["scores"], vec![]),
        node("Unsqueeze", &["scores", "axes"], &["batch_of_scores"], vec![]),
        node("NonMaxSuppression", &["batch", "batch_of_scores", "most", "half"], &["chosen"], vec![]),
        node("Cast", &["chosen"], &["y"], vec![int("to", 1)]),
    ];
    assert_eq!(run(nodes.clone(), &SOME), (vec![2, 3], vec![0.0, 0.0, 1.0, 0.0, 0.0, 0.0]));
    assert_eq!(run(nodes, &NONE), (vec![0, 3], vec![]));
}

#[test]
fn indices_count_from_the_last_that_counts() {
    let picked = vec![node("Gather", &["rows", "last"], &["y"], vec![])];
    assert_eq!(run(picked, &SOME).1, [-5.0, -6.0]);
}

#[test]
fn an_index_behind_what_counts_is_out_of_range() {
    let picked = || selected(vec![node("Gather", &["rows", "one"], &["y"], vec![])]);
    let graph = load(&picked(), &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let values = |s: &[f32]| evaluate(&lower(&graph), &[Tensor::new([4, 2], &X), Tensor::new([4], s)]);
    assert_eq!(values(&SOME).expect("two count")[0].to_f64(), [-5.0, -6.0]);
    let only_first = [1.0, -1.0, -1.0, -1.0];
    assert!(values(&only_first).is_err(), "the second does not count");
}

#[test]
fn indices_that_do_not_count_name_places_all_the_same() {
    // The second row's number becomes 0; what lies behind it becomes -10, which is the number of no row.
    let nodes = vec![
        node("Neg", &["s"], &["t"], vec![]),
        node("Greater", &["t", "zero"], &["dead"], vec![]),
        node("NonZero", &["dead"], &["others"], vec![]),
        node("Squeeze", &["others", "axis"], &["after"], vec![]),
        node("Mul", &["after", "many"], &["far"], vec![]),
        node("Sub", &["far", "many_less"], &["before"], vec![]),
        node("Gather", &["x", "before"], &["y"], vec![]),
    ];
    let constants = [("many", 10), ("many_less", 10)];
    let constants = constants.map(|(name, number)| node("Constant", &[], &[name], vec![int("value_int", number)]));
    let only_second = [1.0, -1.0, 2.0, 3.0];
    let nodes = constants.into_iter().chain(nodes).collect();
    assert_eq!(run(nodes, &only_second), (vec![1, 2], vec![-1.0, -2.0]));
}

/// A constant node of one single.
fn single(name: &str, number: f32) -> NodeProto {
    node("Constant", &[], &[name], vec![crate::model::float("value_float", number)])
}

#[test]
fn rows_that_count_go_through_operators_that_keep_rows_apart() {
    let normalised = || vec![single("scale", 2.0), node("LayerNormalization", &["rows", "scale"], &["y"], vec![])];
    let (shape, found) = run(normalised(), &SOME);
    assert_eq!((shape, found.iter().map(|x| x.round()).collect()), (vec![2, 2], vec![2.0, -2.0, 2.0, -2.0]));
    let quantized = || {
        let quantize = node("QuantizeLinear", &["rows", "step", "middle"], &["bytes"], vec![]);
        let back = node("DequantizeLinear", &["bytes", "step", "middle"], &["y"], vec![]);
        let middle = node("Cast", &["seven"], &["middle"], vec![int("to", 2)]);
        vec![single("step", 0.5), middle, quantize, back]
    };
    assert_eq!(run(quantized(), &SOME), (vec![2, 2], vec![-1.0, -2.0, -3.5, -3.5]), "bytes end at 0");
    let summed = |reverse: i64| vec![node("CumSum", &["rows", "none"], &["y"], vec![int("reverse", reverse)])];
    assert_eq!(run(summed(0), &SOME), (vec![2, 2], vec![-1.0, -2.0, -6.0, -8.0]));
    let refused = load(&selected(summed(1)), &ImportOptions::default()).expect_err("sums begin with the last");
    assert!(refused.to_string().contains("as its data say"), "{refused}");
    let hot = || {
        let values = node("Constant", &[], &["values"], vec![ints("value_ints", &[0, 1])]);
        let depth = node("Constant", &[], &["depth"], vec![int("value_int", 3)]);
        vec![values, depth, node("OneHot", &["at", "depth", "values"], &["y"], vec![])]
    };
    assert_eq!(run(hot(), &SOME), (vec![2, 3], vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0]));
    for nodes in [normalised(), quantized(), summed(0), hot()] {
        assert_eq!(run(nodes, &NONE).0[0], 0);
    }
}

#[test]
fn images_that_count_go_through_layers() {
    let images = || {
        let shape = node("Constant", &[], &["shape"], vec![ints("value_ints", &[-1, 1, 1, 2])]);
        vec![shape, single("factor", 10.0), node("Reshape", &["rows", "shape"], &["images"], vec![])]
    };
    let through = |nodes: &[NodeProto]| images().into_iter().chain(nodes.to_vec()).collect::<Vec<_>>();
    let pooled = through(&[node("GlobalMaxPool", &["images"], &["y"], vec![])]);
    assert_eq!(run(pooled, &SOME), (vec![2, 1, 1, 1], vec![-1.0, -5.0]));
    let kernel = [
        node("Constant", &[], &["extents"], vec![ints("value_ints", &[1, 1, 1, 2])]),
        node("Expand", &["factor", "extents"], &["kernel"], vec![]),
    ];
    let convolved = node("Conv", &["images", "kernel"], &["y"], vec![]);
    assert_eq!(run(through(&[&kernel[..], &[convolved]].concat()), &SOME), (vec![2, 1, 1, 1], vec![-30.0, -110.0]));
    let widened = node("ConvTranspose", &["images", "kernel"], &["y"], vec![]);
    let wanted = vec![-10.0, -30.0, -20.0, -50.0, -110.0, -60.0];
    assert_eq!(run(through(&[&kernel[..], &[widened]].concat()), &SOME), (vec![2, 1, 1, 3], wanted));
}

/// Rows of which each names an element: those that do not count would name elements that there are not.
#[test]
fn elements_are_named_by_what_counts() {
    let nodes = vec![
        node("Constant", &[], &["many"], vec![int("value_int", 10)]),
        node("Unsqueeze", &["at", "axis_of_one"], &["column"], vec![]),
        node("Mul", &["column", "many"], &["far"], vec![]),
        node("Sub", &["far", "ten"], &["before"], vec![]),
        node("GatherElements", &["rows", "before"], &["y"], vec![int("axis", 1)]),
    ];
    let constants = [
        node("Constant", &[], &["axis_of_one"], vec![ints("value_ints", &[1])]),
        node("Constant", &[], &["ten"], vec![int("value_int", 10)]),
    ];
    let only_second = [-1.0, 1.0, -1.0, -1.0];
    let nodes = constants.into_iter().chain(nodes).collect();
    assert_eq!(run(nodes, &only_second), (vec![1, 1], vec![30.0]));
}

#[test]
fn one_element_that_may_count_is_not_broadcast() {
    let inputs = vec![value("x", ElementType::F32, &["1"])];
    let many = constant("many", &Tensor::vector_i64(&[1, 2, 3]));
    let nodes = vec![node("NonZero", &["x"], &["places"], vec![]), node("Add", &["places", "many"], &["y"], vec![])];
    let error = load(&model(18, inputs, vec![many], nodes, &["y"]), &ImportOptions::default());
    let text = error.expect_err("it is refused").to_string();
    assert!(text.contains("as many elements along dimension 1 as its data say"), "{text}");
}
