//! Control flow over graphs: what is folded, what becomes a choice, and what is refused.

use std::collections::BTreeMap;

use crate::model::{constant, float, graph_attribute, int, ints, load, model, node, subgraph, value};
use warpweave_frontend::onnx::{
    AttributeProto, AttributeType, FunctionProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    ValueInfoProto,
};
use warpweave_frontend::{ImportError, ImportOptions, Limits, NameFilter, Variables};
use warpweave_graph::counted::cut;
use warpweave_graph::reference::evaluate;
use warpweave_graph::training::{Loss, Objective, Optimizer, StepOptions, training_step};
use warpweave_graph::{ElementType, Tensor, lower};

const F32: ElementType = ElementType::F32;
const I64: ElementType = ElementType::I64;
const BOOL: ElementType = ElementType::Bool;

fn typed(
    inputs: Vec<ValueInfoProto>,
    constants: Vec<TensorProto>,
    nodes: Vec<NodeProto>,
    outputs: &[&str],
) -> ModelProto {
    model(17, inputs, constants, nodes, outputs)
}

fn branches(condition: &str, output: &str, then: &[NodeProto], otherwise: &[NodeProto]) -> NodeProto {
    let branch = |name: &str, nodes: &[NodeProto]| {
        graph_attribute(name, subgraph(vec![], vec![], nodes.to_vec(), vec![value("r", F32, &["2"])]))
    };
    node("If", &[condition], &[output], vec![branch("then_branch", then), branch("else_branch", otherwise)])
}

/// The outputs of a model.
fn run(model: &ModelProto, options: &ImportOptions, inputs: &[Tensor]) -> Vec<Vec<f32>> {
    let graph = load(model, options).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warpweave_graph::verify::verify(&graph), []);
    let outputs = evaluate(&lower(&graph), inputs).expect("the model evaluates");
    outputs.iter().map(Tensor::to_f32).collect()
}

#[track_caller]
fn refused(model: &ModelProto, options: &ImportOptions, code: &str, parts: &[&str]) {
    let error: ImportError = load(model, options).expect_err("the model is refused");
    let text = error.to_string();
    assert_eq!(error.code(), code, "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

fn unary(operator: &str, input: &str, output: &str) -> NodeProto {
    node(operator, &[input], &[output], vec![])
}

fn pair(a: f32, b: f32) -> Tensor {
    Tensor::new([2], &[a, b])
}

fn truth(holds: bool) -> Tensor {
    Tensor::from_bools([1], &[holds])
}

#[test]
fn a_branch_is_chosen_by_an_input_that_is_fixed() {
    // The branch that is not taken holds an operator that nothing supports.
    let nodes = vec![
        node("Equal", &["rate", "fast"], &["is_fast"], vec![]),
        unary("Neg", "x", "outer"),
        branches("is_fast", "y", &[unary("Abs", "outer", "r")], &[unary("StringNormalizer", "outer", "r")]),
    ];
    let fast = constant("fast", &Tensor::scalar(16_000i64));
    let model = typed(vec![value("x", F32, &["2"]), value("rate", I64, &[])], vec![fast], nodes, &["y"]);
    let rate = |rate: i64| {
        let constants = [("rate".to_owned(), Tensor::scalar(rate).into())].into();
        ImportOptions { constants, ..ImportOptions::default() }
    };
    assert_eq!(run(&model, &rate(16_000), &[pair(1.0, -2.0)]), [[1.0, 2.0]]);
    let graph = load(&model, &rate(16_000)).expect("the branch is known");
    assert_eq!(graph.outputs[0].name, "y");
    assert!(graph.nodes.values().any(|node| node.name == "y/then_branch/r"));
    refused(&model, &rate(8_000), "model-unsupported", &["y/else_branch/r: ai.onnx.StringNormalizer"]);
}

#[test]
fn branches_may_give_outer_values_constants_and_branches() {
    let inner = branches("no", "r", &[unary("Exp", "x", "r")], &[unary("Neg", "x", "r")]);
    let holder = |name: &str, constants: Vec<TensorProto>, nodes: Vec<NodeProto>, output: &str| {
        graph_attribute(name, subgraph(vec![], constants, nodes, vec![value(output, F32, &["2"])]))
    };
    let outer = |condition: &str, output: &str| {
        let own = constant("own", &pair(5.0, 6.0));
        let then = holder("then_branch", vec![own], vec![], "own");
        node("If", &[condition], &[output], vec![then, holder("else_branch", vec![], vec![inner.clone()], "r")])
    };
    let same = node(
        "If",
        &["yes"],
        &["same"],
        vec![holder("then_branch", vec![], vec![], "x"), holder("else_branch", vec![], vec![], "missing_not_taken")],
    );
    let constants = vec![
        constant("yes", &truth(true)),
        constant("no", &truth(false)),
        constant("missing_not_taken", &pair(0.0, 0.0)),
    ];
    let nodes = vec![outer("yes", "a"), outer("no", "b"), same];
    let model = typed(vec![value("x", F32, &["2"])], constants, nodes, &["a", "b", "same"]);
    let outputs = run(&model, &ImportOptions::default(), &[pair(1.0, -2.0)]);
    assert_eq!(outputs, [[5.0, 6.0], [-1.0, 2.0], [1.0, -2.0]]);
    let graph = load(&model, &ImportOptions::default()).expect("all is known");
    let names: Vec<&str> = graph.outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "same"]);
}

#[test]
fn a_condition_on_data_becomes_a_choice() {
    let build = |then: NodeProto| {
        let nodes = vec![branches("c", "y", &[then], &[unary("Neg", "x", "r")])];
        let inputs = vec![value("x", F32, &["2"]), value("c", BOOL, &["1"]), value("at", I64, &["2"])];
        typed(inputs, vec![], nodes, &["y"])
    };
    let model = build(unary("Abs", "x", "r"));
    let at = Tensor::vector_i64(&[0, 1]);
    for (holds, expected) in [(true, [1.0, 2.0]), (false, [-1.0, 2.0])] {
        let inputs = [pair(1.0, -2.0), truth(holds), at.clone()];
        assert_eq!(run(&model, &ImportOptions::default(), &inputs), [expected]);
    }
    // What is not taken reads nothing outside.
    let checked = build(node("Gather", &["x", "at"], &["r"], vec![]));
    let outside = [pair(1.0, -2.0), truth(false), Tensor::vector_i64(&[0, 9])];
    assert_eq!(run(&checked, &ImportOptions::default(), &outside), [[-1.0, 2.0]]);
    // As many elements count as the chosen branch gives.
    let wider = build(node("Concat", &["x", "x"], &["r"], vec![int("axis", 0)]));
    for (holds, expected) in [(true, vec![1.0, -2.0, 1.0, -2.0]), (false, vec![-1.0, 2.0])] {
        let graph = load(&wider, &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let values = evaluate(&lower(&graph), &[pair(1.0, -2.0), truth(holds), at.clone()]).expect("it is computed");
        assert_eq!(cut(values, &graph.counted)[0].to_f32(), expected);
    }
    let deeper = build(node("Unsqueeze", &["x", "at"], &["r"], vec![]));
    let fixed = [("at".to_owned(), at.into())].into();
    let fixed = ImportOptions { constants: fixed, ..ImportOptions::default() };
    refused(&deeper, &fixed, "model-unsupported", &["y: ai.onnx.If", "the branches give f32[1x1x2] and f32[2]"]);
}

#[test]
fn a_branch_that_is_not_taken_trains_nothing() {
    // The logarithms of negative numbers, whose derivatives are no numbers, and a normalisation that keeps statistics.
    let normalised = node("BatchNormalization", &["logs", "scale", "bias", "mean", "variance"], &["r"], vec![]);
    let then = [node("Mul", &["x", "w"], &["scaled"], vec![]), unary("Log", "scaled", "logs"), normalised];
    let otherwise = [node("Mul", &["x", "w"], &["r"], vec![])];
    let choice = |name: &str, nodes: &[NodeProto]| {
        let output = vec![value("r", F32, &["2", "2"])];
        graph_attribute(name, subgraph(vec![], vec![], nodes.to_vec(), output))
    };
    let branches = vec![choice("then_branch", &then), choice("else_branch", &otherwise)];
    let variables = [("w", 1.0), ("scale", 1.0), ("bias", 0.0), ("mean", 3.0), ("variance", 5.0)];
    let constants = variables.map(|(name, number)| constant(name, &pair(number, number)));
    let inputs = vec![value("x", F32, &["2", "2"]), value("c", BOOL, &["1"])];
    let model = typed(inputs, constants.to_vec(), vec![node("If", &["c"], &["y"], branches)], &["y"]);
    let variables = Variables::Floating(NameFilter::default());
    let graph = load(&model, &ImportOptions { variables, ..ImportOptions::default() }).expect("it is supported");
    let options = StepOptions {
        loss: Objective::Loss(Loss::MeanSquaredError),
        output: None,
        optimizer: Optimizer::SGD,
        largest_norm: None,
    };
    let step = training_step(&graph, &options).expect("there is a step");
    assert_eq!(step.statistics, ["mean", "variance"]);
    let mut program = step.program.clone();
    let next: Vec<_> =
        step.program.states().map(|(state, next)| (program.names.tensors[&state].clone(), next)).collect();
    program.outputs = next.iter().map(|(_, next)| *next).collect();
    let after = |x: f32, holds: bool| {
        let inputs =
            [Tensor::new([2, 2], &[x; 4]), truth(holds), Tensor::new([2, 2], &[0f32; 4]), Tensor::scalar(0.25f32)];
        let values = evaluate(&program, &inputs).expect("it has values");
        next.iter().map(|(name, _)| name.as_str()).zip(values.iter().map(Tensor::to_f32)).collect::<BTreeMap<_, _>>()
    };
    let untaken = after(-1.0, false);
    let wanted = [("w", 0.75), ("scale", 1.0), ("bias", 0.0), ("mean", 3.0), ("variance", 5.0)];
    for (name, wanted) in wanted {
        assert_eq!(untaken[name], [wanted; 2], "{name}");
    }
    let taken = after(1.0, true);
    assert!(taken["mean"].iter().all(|mean| (mean - 2.7).abs() < 1e-6), "{taken:?}");
    assert!(taken.values().flatten().all(|value| value.is_finite()), "{taken:?}");
}

/// A loop whose body adds the outer value `w` to what is carried, and collects the double of it.
fn accumulate(trips: &str, condition: &str) -> NodeProto {
    let inputs = vec![value("i", I64, &[]), value("go", BOOL, &[]), value("sum", F32, &["2"])];
    let nodes = vec![
        node("Add", &["sum", "w"], &["next"], vec![]),
        node("Add", &["next", "next"], &["double"], vec![]),
        node("Less", &["i", "last"], &["more"], vec![]),
    ];
    let last = vec![constant("last", &Tensor::scalar(2i64))];
    let outputs = vec![value("more", BOOL, &[]), value("next", F32, &["2"]), value("double", F32, &["2"])];
    let body = graph_attribute("body", subgraph(inputs, last, nodes, outputs));
    node("Loop", &[trips, condition, "x"], &["y", "all"], vec![body])
}

#[test]
fn loops_are_unrolled_as_far_as_they_are_known_to_run() {
    let nodes = |trips: &str, condition: &str| {
        let shape = unary("Size", "x", "size");
        vec![shape, unary("Neg", "x", "w"), accumulate(trips, condition)]
    };
    let build = |trips: &str, condition: &str| {
        let constants = vec![constant("none", &Tensor::scalar(0i64)), constant("yes", &truth(true))];
        let inputs = vec![value("x", F32, &["2"]), value("open", BOOL, &[]), value("n", I64, &[])];
        typed(inputs, constants, nodes(trips, condition), &["y", "all"])
    };
    let inputs = [pair(1.0, -2.0), truth(true).reshape([]).expect("one element"), Tensor::scalar(0i64)];
    // Twice, as long as `x`.
    let twice = run(&build("size", ""), &ImportOptions::default(), &inputs);
    assert_eq!(twice, [vec![-1.0, 2.0], vec![0.0, 0.0, -2.0, 4.0]]);
    // Until the condition ends, after the iteration of number 2.
    let thrice = run(&build("", "yes"), &ImportOptions::default(), &inputs);
    assert_eq!(thrice, [vec![-2.0, 4.0], vec![0.0, 0.0, -2.0, 4.0, -4.0, 8.0]]);
    // Not at all: what is collected has the type that the body declares.
    let never = run(&build("none", ""), &ImportOptions::default(), &inputs);
    assert_eq!(never, [vec![1.0, -2.0], vec![]]);

    let defaults = ImportOptions::default();
    refused(
        &build("n", ""),
        &defaults,
        "model-unsupported",
        &["y: ai.onnx.Loop", "the input `n` decides its trip count", "--constant n=VALUE"],
    );
    refused(&build("", "open"), &defaults, "model-unsupported", &["nothing bounds it"]);
    refused(
        &build("", ""),
        &ImportOptions { limits: Limits { trips: 9, ..Limits::default() }, ..ImportOptions::default() },
        "model-limit",
        &["y: number of iterations exceeds the limit of 9"],
    );
    let few = Limits { nodes: 12, ..Limits::default() };
    refused(
        &build("", ""),
        &ImportOptions { limits: few, ..ImportOptions::default() },
        "model-limit",
        &["number of nodes"],
    );
}

/// A loop that doubles `x` while its sum is below 10, or `z` if nodes give it, four times at most.
fn doubled(more: Vec<NodeProto>) -> ModelProto {
    let inputs = vec![value("i", I64, &[]), value("go", BOOL, &[]), value("carried", F32, &["2"])];
    let nodes = vec![
        node("Add", &["carried", "carried"], &["next"], vec![]),
        node("ReduceSum", &["next"], &["sum"], vec![int("keepdims", 0)]),
        node("Less", &[if more.is_empty() { "sum" } else { "z" }, "end"], &["more"], vec![]),
    ];
    let outputs = vec![value("more", BOOL, &[]), value("next", F32, &["2"]), value("next", F32, &["2"])];
    let nodes = nodes.into_iter().chain(more).collect();
    let body = graph_attribute("body", subgraph(inputs, Vec::new(), nodes, outputs));
    let constants = vec![constant("most", &Tensor::scalar(4i64)), constant("end", &Tensor::scalar(10f32))];
    let nodes = vec![node("Loop", &["most", "open", "x"], &["y", "all"], vec![body]), unary("Shape", "all", "extents")];
    typed(vec![value("x", F32, &["2"]), value("open", BOOL, &[])], constants, nodes, &["y", "all", "extents"])
}

#[test]
fn data_decide_when_a_loop_of_so_many_iterations_ends() {
    let graph = load(&doubled(Vec::new()), &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let run = |x: [f32; 2], open: bool| {
        let inputs = [Tensor::new([2], &x), truth(open).reshape([]).expect("one element")];
        let outputs = cut(evaluate(&lower(&graph), &inputs).expect("it has values"), &graph.counted);
        outputs.iter().map(Tensor::to_f64).collect::<Vec<_>>()
    };
    assert_eq!(run([1.0, 2.0], true), [vec![4.0, 8.0], vec![2.0, 4.0, 4.0, 8.0], vec![2.0, 2.0]]);
    assert_eq!(run([20.0, 0.0], true), [vec![40.0, 0.0], vec![40.0, 0.0], vec![1.0, 2.0]]);
    assert_eq!(run([1.0, 2.0], false), [vec![1.0, 2.0], vec![], vec![0.0, 2.0]]);
    let all = run([0.0, 0.5], true);
    assert_eq!(all, [vec![0.0, 8.0], vec![0.0, 1.0, 0.0, 2.0, 0.0, 4.0, 0.0, 8.0], vec![4.0, 2.0]]);
    // The indices of an iteration that does not run name nothing: the sum is a place of `x` where it runs.
    let picks =
        vec![node("Cast", &["sum"], &["place"], vec![int("to", 7)]), node("Gather", &["x", "place"], &["z"], vec![])];
    let graph = load(&doubled(picks), &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let evaluated = |x: [f32; 2], open: bool| {
        let inputs = [Tensor::new([2], &x), truth(open).reshape([]).expect("one element")];
        evaluate(&lower(&graph), &inputs)
    };
    assert!(evaluated([7.0, 8.0], false).is_ok());
    assert!(evaluated([7.0, 8.0], true).is_err());
}

#[test]
fn a_branch_that_cannot_be_computed_is_refused_with_what_chooses_the_other() {
    let nodes = vec![
        node("Equal", &["rate", "fast"], &["is_fast"], vec![]),
        branches("is_fast", "y", &[unary("Neg", "x", "r")], &[node("Reshape", &["x", "five"], &["r"], vec![])]),
    ];
    let constants = vec![constant("fast", &Tensor::scalar(16_000i64)), constant("five", &Tensor::vector_i64(&[5]))];
    let model = typed(vec![value("x", F32, &["2"]), value("rate", I64, &[])], constants, nodes, &["y"]);
    let parts = ["the input `rate` decides the condition", "else_branch cannot be computed", "--constant rate=16000"];
    refused(&model, &ImportOptions::default(), "model-unsupported", &parts);
}

#[test]
fn a_condition_that_no_data_make_true_chooses_a_branch() {
    let nodes = vec![
        node("Compress", &["x", "marks"], &["some"], vec![int("axis", 0)]),
        unary("Size", "some", "size"),
        node("Greater", &["size", "two"], &["is_larger"], vec![]),
        node("Or", &["is_larger", "open"], &["either"], vec![]),
        node("And", &["is_larger", "either"], &["both"], vec![]),
        branches("both", "y", &[unary("StringNormalizer", "x", "r")], &[unary("Neg", "x", "r")]),
    ];
    let inputs = vec![value("x", F32, &["2"]), value("marks", BOOL, &["2"]), value("open", BOOL, &[])];
    let model = typed(inputs, vec![constant("two", &Tensor::scalar(2i64))], nodes, &["y"]);
    let given =
        [pair(1.0, -2.0), Tensor::from_bools([2], &[true, true]), truth(true).reshape([]).expect("one element")];
    assert_eq!(run(&model, &ImportOptions::default(), &given), [[-1.0, 2.0]]);
}

#[test]
fn sequences_are_lists_that_the_import_knows() {
    let number = |name: &str, value: i64| node("Constant", &[], &[name], vec![int("value_int", value)]);
    let nodes = vec![
        number("last", -1),
        number("first", 0),
        number("one", 1),
        node("SplitToSequence", &["x", "one"], &["rows"], vec![int("axis", 0), int("keepdims", 0)]),
        node("SequenceLength", &["rows"], &["length"], vec![]),
        node("SequenceAt", &["rows", "last"], &["row"], vec![]),
        node("SequenceErase", &["rows", "first"], &["fewer"], vec![]),
        node("SequenceInsert", &["fewer", "row"], &["more"], vec![]),
        node("ConcatFromSequence", &["more"], &["stacked"], vec![int("axis", 0), int("new_axis", 1)]),
        node("SequenceConstruct", &["row", "row"], &["pair"], vec![]),
        node("ConcatFromSequence", &["pair"], &["chained"], vec![int("axis", 0)]),
        node("Cast", &["length"], &["count"], vec![int("to", 1)]),
    ];
    let model = typed(vec![value("x", F32, &["3", "2"])], vec![], nodes, &["stacked", "chained", "count"]);
    let outputs = run(&model, &ImportOptions::default(), &[Tensor::new([3, 2], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0])]);
    assert_eq!(outputs, [vec![3.0, 4.0, 5.0, 6.0, 5.0, 6.0], vec![5.0, 6.0, 5.0, 6.0], vec![3.0]]);
    let nodes = vec![node("SequenceConstruct", &["x"], &["rows"], vec![]), unary("Neg", "rows", "y")];
    let model = typed(vec![value("x", F32, &["2"])], vec![], nodes, &["y"]);
    refused(&model, &ImportOptions::default(), "model-unsupported", &["`rows` is a sequence"]);
}

#[test]
fn a_loop_may_add_to_a_sequence() {
    let body = vec![
        unary("Identity", "going", "on"),
        node("Mul", &["x", "x"], &["square"], vec![]),
        node("SequenceInsert", &["before", "square"], &["after"], vec![]),
    ];
    let inputs = vec![value("at", I64, &[]), value("going", BOOL, &[]), value("before", F32, &["2"])];
    let outputs = vec![value("on", BOOL, &[]), value("after", F32, &["2"])];
    let body = graph_attribute("body", subgraph(inputs, vec![], body, outputs));
    let nodes = vec![
        node("SequenceEmpty", &[], &["none"], vec![]),
        node("Loop", &["trips", "", "none"], &["squares"], vec![body]),
        node("ConcatFromSequence", &["squares"], &["y"], vec![int("axis", 0)]),
    ];
    let trips = constant("trips", &Tensor::scalar(2i64));
    let model = typed(vec![value("x", F32, &["2"])], vec![trips], nodes, &["y"]);
    assert_eq!(run(&model, &ImportOptions::default(), &[pair(2.0, 3.0)]), [[4.0, 9.0, 4.0, 9.0]]);
}

#[test]
fn what_a_body_cannot_do_is_listed_once() {
    let inputs = vec![value("i", I64, &[]), value("go", BOOL, &[]), value("sum", F32, &["2"])];
    let outputs = vec![value("go", BOOL, &[]), value("next", F32, &["2"]), value("next", F32, &["2"])];
    let body = subgraph(inputs, vec![], vec![unary("StringNormalizer", "sum", "next")], outputs);
    let repeat = node("Loop", &["many", "", "x"], &["y", "all"], vec![graph_attribute("body", body)]);
    let many = vec![constant("many", &Tensor::scalar(9i64))];
    let model = typed(vec![value("x", F32, &["2"])], many, vec![repeat], &["y"]);
    refused(
        &model,
        &ImportOptions::default(),
        "model-unsupported",
        &["1 node is not supported", "y/0/next: ai.onnx.StringNormalizer"],
    );
}

#[test]
fn scans_run_forwards_and_backwards_along_their_axes() {
    let inputs = vec![value("sum", F32, &["2"]), value("row", F32, &["2"])];
    let nodes = vec![node("Add", &["sum", "row"], &["next"], vec![]), unary("Identity", "next", "out")];
    let body = subgraph(inputs, vec![], nodes, vec![value("next", F32, &["2"]), value("out", F32, &["2"])]);
    let scan = |output: &str, extra: Vec<_>| {
        let attributes = [graph_attribute("body", body.clone()), int("num_scan_inputs", 1)].into_iter().chain(extra);
        node("Scan", &["zero", "x"], &[&format!("{output}_last"), output], attributes.collect())
    };
    let backwards =
        vec![ints("scan_input_axes", &[1]), ints("scan_input_directions", &[1]), ints("scan_output_axes", &[-1])];
    let zero = vec![constant("zero", &pair(0.0, 0.0))];
    let nodes = vec![scan("a", vec![]), scan("b", backwards)];
    let model = typed(vec![value("x", F32, &["2", "2"])], zero, nodes, &["a_last", "a", "b_last", "b"]);
    let outputs = run(&model, &ImportOptions::default(), &[Tensor::new([2, 2], &[1f32, 2.0, 3.0, 4.0])]);
    assert_eq!(outputs, [vec![4.0, 6.0], vec![1.0, 2.0, 4.0, 6.0], vec![3.0, 7.0], vec![2.0, 3.0, 4.0, 7.0]]);
}

#[test]
fn functions_hold_control_flow_and_graphs_apply_functions() {
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 17 }];
    let function = |name: &str, nodes: Vec<NodeProto>| FunctionProto {
        name: name.to_owned(),
        domain: "own".to_owned(),
        input: vec!["a".to_owned(), "c".to_owned()],
        output: vec!["b".to_owned()],
        attribute: vec![],
        node: nodes,
        opset_import: opset_import.clone(),
        ..FunctionProto::default()
    };
    let apply = |name: &str, inputs: &[&str], output: &str| NodeProto {
        domain: "own".to_owned(),
        ..node(name, inputs, &[output], vec![])
    };
    let outer =
        vec![unary("Neg", "a", "t"), branches("c", "b", &[apply("Double", &["t"], "r")], &[unary("Neg", "t", "r")])];
    let double = vec![node("Add", &["a", "a"], &["b"], vec![])];
    let constants = vec![constant("yes", &truth(true)), constant("no", &truth(false))];
    let nodes = vec![apply("Outer", &["x", "yes"], "y"), apply("Outer", &["x", "no"], "z")];
    let mut model = typed(vec![value("x", F32, &["2"])], constants, nodes, &["y", "z"]);
    model.functions = vec![function("Outer", outer), function("Double", double)];
    let outputs = run(&model, &ImportOptions::default(), &[pair(1.0, -2.0)]);
    assert_eq!(outputs, [[-2.0, 4.0], [1.0, -2.0]]);

    // Attributes of the function count inside its branches.
    let slope = AttributeProto {
        name: "alpha".to_owned(),
        ref_attr_name: "slope".to_owned(),
        r#type: AttributeType::Float as i32,
        ..AttributeProto::default()
    };
    let leak = node("LeakyRelu", &["a"], &["r"], vec![slope]);
    model.functions[0].node = vec![branches("c", "b", &[leak], &[unary("Neg", "a", "r")])];
    model.functions[0].attribute = vec!["slope".to_owned()];
    for applied in &mut model.graph.as_mut().expect("there is a graph").node {
        applied.attribute = vec![float("slope", 0.25)];
    }
    let outputs = run(&model, &ImportOptions::default(), &[pair(1.0, -2.0)]);
    assert_eq!(outputs, [[1.0, -0.5], [-1.0, 2.0]]);

    // A function that applies itself in a branch has no end.
    let endless = branches("c", "b", &[apply("Outer", &["a", "c"], "r")], &[unary("Neg", "a", "r")]);
    model.functions[0].node = vec![endless];
    refused(&model, &ImportOptions::default(), "model-limit", &["depth of graphs inside nodes"]);
}
