//! What an import resolves, and what it refuses and why.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::model::{constant, int, load, model, node, value};
use prost::Message;
use warpweave_frontend::onnx::{
    AttributeProto, AttributeType, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    SparseTensorProto, StringStringEntryProto, TensorProto, TensorTypeProto, TypeProto, TypeValue, ValueInfoProto,
};
use warpweave_frontend::{Bytes, ImportError, ImportOptions, Limits, NameFilter, Overridable, import, import_bytes};
use warpweave_graph::ir::{Origin, Value};
use warpweave_graph::reference::evaluate;
use warpweave_graph::{ElementType, Shape, Tensor, lower};

const F32: ElementType = ElementType::F32;
const I64: ElementType = ElementType::I64;

fn defaults() -> ImportOptions {
    ImportOptions::default()
}

/// The error of a model that must be refused.
#[track_caller]
fn refused(model: &ModelProto, options: &ImportOptions) -> ImportError {
    load(model, options).expect_err("the model is refused")
}

/// Checks code and text of an error.
#[track_caller]
fn check(error: &ImportError, code: &str, parts: &[&str]) {
    assert_eq!(error.code(), code, "{error}");
    assert!(!error.remedy().is_empty());
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

fn relu(inputs: &[&str], outputs: &[&str]) -> NodeProto {
    node("Relu", inputs, outputs, vec![])
}

#[test]
fn symbolic_dimensions_need_an_answer() {
    let inputs = vec![value("x", F32, &["N", "3"]), value("mask", F32, &["N", "T"])];
    let nodes = vec![relu(&["x"], &["y"]), relu(&["mask"], &["z"])];
    let model = model(17, inputs, vec![], nodes, &["y", "z"]);
    check(&refused(&model, &defaults()), "model-shapes", &["2 inputs", "x [N, 3]", "mask [N, T]"]);
    let batch = ImportOptions { batch: Some(4), ..defaults() };
    check(&refused(&model, &batch), "model-shapes", &["1 input is not known", "mask [N, T]"]);

    let shapes = [("mask".to_owned(), Shape::from([2, 5]))].into();
    let graph = load(&model, &ImportOptions { shapes, ..defaults() }).expect("one shape fixes both inputs");
    assert_eq!(graph.values[graph.inputs[0]].ty.to_string(), "f32[2x3]");
    assert_eq!(graph.values[graph.outputs[1].value].ty.to_string(), "f32[2x5]");

    let wrong = [("x".to_owned(), Shape::from([2, 4]))].into();
    check(
        &refused(&model, &ImportOptions { shapes: wrong, ..defaults() }),
        "model-choice",
        &["x [N, 3]", "is 3, not 4"],
    );
    let unknown = [("w".to_owned(), Shape::from([2]))].into();
    check(
        &refused(&model, &ImportOptions { shapes: unknown, ..defaults() }),
        "model-name",
        &["`w`", "x, mask", "N, T"],
    );
}

#[test]
fn a_named_dimension_is_chosen_once_for_all_inputs() {
    let inputs = vec![value("x", F32, &["N", "3"]), value("mask", F32, &["T", "N"])];
    let nodes = vec![relu(&["x"], &["y"]), relu(&["mask"], &["z"])];
    let model = model(17, inputs, vec![], nodes, &["y", "z"]);
    let types = |options: &ImportOptions| {
        let graph = load(&model, options).expect("all extents are known");
        graph.inputs.iter().map(|input| graph.values[*input].ty.to_string()).collect::<Vec<_>>().join(" ")
    };
    let shapes = |given: &[(&str, &[usize])]| {
        given.iter().map(|(name, shape)| ((*name).to_owned(), Shape::from(*shape))).collect::<BTreeMap<_, _>>()
    };
    let named = shapes(&[("N", &[2]), ("T", &[7])]);
    assert_eq!(types(&ImportOptions { shapes: named, ..defaults() }), "f32[2x3] f32[7x2]");
    let batch = ImportOptions { batch: Some(4), ..defaults() };
    assert_eq!(types(&batch), "f32[4x3] f32[4x4]");
    let arrays = shapes(&[("x", &[5, 3]), ("mask", &[6, 5])]);
    assert_eq!(types(&ImportOptions { arrays: arrays.clone(), ..defaults() }), "f32[5x3] f32[6x5]");
    let both = ImportOptions { arrays, shapes: shapes(&[("T", &[1])]), ..defaults() };
    assert_eq!(types(&both), "f32[5x3] f32[1x5]");
    let options = |shapes| ImportOptions { shapes, ..defaults() };
    let twice = options(shapes(&[("N", &[2]), ("x", &[3, 3])]));
    check(&refused(&model, &twice), "model-choice", &["`N`", "2", "3"]);
    check(&refused(&model, &options(shapes(&[("N", &[2, 3])]))), "model-choice", &["`N`", "one extent"]);
    check(&refused(&model, &options(shapes(&[("M", &[2])]))), "model-name", &["`M`", "x, mask", "N, T"]);
    let flat = ImportOptions { arrays: shapes(&[("x", &[6])]), ..defaults() };
    check(&refused(&model, &flat), "model-choice", &["x [N, 3]", "its array is [6]"]);
}

#[test]
fn symbols_that_name_nothing_may_stand_for_several_extents() {
    for symbol in ["?", "", "-1", "None"] {
        let inputs = vec![value("x", F32, &[symbol, symbol])];
        let model = model(17, inputs, vec![], vec![relu(&["x"], &["y"])], &["y"]);
        let shapes: BTreeMap<String, Shape> = [("x".to_owned(), Shape::from([2, 5]))].into();
        for options in [
            ImportOptions { shapes: shapes.clone(), ..defaults() },
            ImportOptions { arrays: shapes.clone(), ..defaults() },
        ] {
            let graph = load(&model, &options).expect("each dimension has an extent");
            assert_eq!(graph.values[graph.outputs[0].value].ty.to_string(), "f32[2x5]");
        }
        check(&refused(&model, &defaults()), "model-shapes", &["x [?, ?]"]);
    }
}

/// `y` = `x` · `s`, where `s` is an initializer that is also an input, beside as many others as are asked for.
fn scaled(others: usize) -> ModelProto {
    let names: Vec<String> = (0..others).map(|other| format!("other{other}")).collect();
    let own = std::iter::once("s").chain(names.iter().map(String::as_str));
    let inputs = std::iter::once(value("x", F32, &["2"])).chain(own.clone().map(|name| value(name, F32, &["2"])));
    let defaults = own.map(|name| constant(name, &Tensor::new([2], &[2f32, 2.0]))).collect();
    model(17, inputs.collect(), defaults, vec![node("Mul", &["x", "s"], &["y"], vec![])], &["y"])
}

#[test]
fn an_initializer_that_is_an_input_is_its_default() {
    let defaults_of = |model: &ModelProto, options: &ImportOptions| {
        let graph = load(model, options).expect("the model is valid");
        let names = graph.inputs.iter().map(|&input| match &graph.values[input] {
            Value { name, origin: Origin::Input(Some(_)), .. } => format!("{name} by default"),
            Value { name, .. } => name.clone(),
        });
        names.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(defaults_of(&scaled(0), &defaults()), "x, s by default");
    // Exporters of old list all of a model's weights.
    assert_eq!(defaults_of(&scaled(8), &defaults()), "x");
    let old = ModelProto { ir_version: 3, ..scaled(0) };
    assert_eq!(defaults_of(&old, &defaults()), "x");
    let named = |names: &[&str]| {
        let included = names.iter().map(ToString::to_string).collect();
        let overridable = Overridable::Matching(NameFilter { included, excluded: Vec::new() });
        ImportOptions { overridable, ..defaults() }
    };
    assert_eq!(defaults_of(&scaled(8), &named(&["s"])), "x, s by default");
    assert_eq!(defaults_of(&scaled(0), &ImportOptions { overridable: Overridable::None, ..defaults() }), "x");
    check(&refused(&scaled(0), &named(&["t"])), "model-choice", &["`t`", "also inputs are s"]);
    // What is given an array is an input, and one of another shape has no default.
    let given =
        |extent: usize| ImportOptions { arrays: [("s".to_owned(), Shape::from([extent]))].into(), ..defaults() };
    assert_eq!(defaults_of(&scaled(8), &given(2)), "x, s by default");
    let mut open = scaled(0);
    open.graph.as_mut().expect("it has a graph").input[1] = value("s", F32, &["n"]);
    assert_eq!(defaults_of(&open, &given(1)), "x, s");
}

#[test]
fn an_initializer_that_an_operator_must_know_is_no_input() {
    let inputs = vec![value("x", F32, &["2"]), value("shape", I64, &["1"]), value("s", F32, &[])];
    let constants = vec![constant("shape", &Tensor::vector_i64(&[2])), constant("s", &Tensor::scalar(2f32))];
    let nodes = vec![node("Reshape", &["x", "shape"], &["flat"], vec![]), node("Mul", &["flat", "s"], &["y"], vec![])];
    let model = model(17, inputs, constants, nodes, &["y"]);
    let graph = load(&model, &defaults()).expect("the model is valid");
    let names: Vec<&str> = graph.inputs.iter().map(|&input| graph.values[input].name.as_str()).collect();
    assert_eq!(names, ["x", "s"]);
}

#[test]
fn an_input_with_a_default_may_be_fixed_otherwise() {
    for (constants, expected) in [(None, [2f32, 2.0]), (Some(Tensor::new([2], &[3f32, 3.0])), [3.0, 3.0])] {
        let constants = constants.into_iter().map(|constant| ("s".to_owned(), constant.into())).collect();
        let options = ImportOptions { constants, overridable: Overridable::None, ..defaults() };
        let graph = load(&scaled(0), &options).expect("the model is valid");
        let values = evaluate(&lower(&graph), &[Tensor::new([2], &[1f32, 1.0])]).expect("it is computed");
        assert_eq!(values[0].to_f32(), expected);
    }
}

#[test]
fn nodes_may_stand_in_any_order() {
    let nodes = vec![relu(&["b"], &["c"]), relu(&["a"], &["b"]), relu(&["x"], &["a"])];
    let graph = load(&model(17, vec![value("x", F32, &["2"])], vec![], nodes, &["c"]), &defaults());
    assert_eq!(warpweave_graph::verify::verify(&graph.expect("the model is valid")), []);
}

#[test]
fn shapes_of_values_fold() {
    let nodes = vec![
        node("Shape", &["x"], &["shape"], vec![]),
        node("Gather", &["shape", "one"], &["extent"], vec![]),
        node("Unsqueeze", &["extent", "zero"], &["row"], vec![]),
        node("Concat", &["row", "rest"], &["target"], vec![int("axis", 0)]),
        node("Reshape", &["x", "target"], &["y"], vec![]),
    ];
    let constants = vec![
        constant("one", &Tensor::scalar(1i64)),
        constant("zero", &Tensor::vector_i64(&[0])),
        constant("rest", &Tensor::vector_i64(&[-1])),
    ];
    let graph = load(&model(17, vec![value("x", F32, &["2", "3"])], constants, nodes, &["y"]), &defaults());
    let graph = graph.expect("all shapes are known");
    assert_eq!(graph.nodes.len(), 1);
    assert_eq!(graph.values[graph.outputs[0].value].ty.to_string(), "f32[3x2]");
}

#[test]
fn versions_of_known_domains_need_no_declaration() {
    let of = |domain: &str, node: NodeProto| NodeProto { domain: domain.to_owned(), ..node };
    let inputs = || vec![value("x", F32, &["2"])];
    let relu = of("com.microsoft", node("QuickGelu", &["x"], &["t"], vec![]));
    let scale = of("ai.onnx.ml", node("Normalizer", &["t"], &["y"], vec![]));
    load(&model(17, inputs(), vec![], vec![relu, scale], &["y"]), &defaults()).expect("both versions are assumed");
    let unknown = of("own", node("Relu", &["x"], &["y"], vec![]));
    let error = refused(&model(17, inputs(), vec![], vec![unknown], &["y"]), &defaults());
    check(&error, "model-unsupported", &["own.Relu", "no opset is declared for domain `own`"]);
}

#[test]
fn functions_are_expanded() {
    let reference = AttributeProto {
        name: "alpha".to_owned(),
        ref_attr_name: "slope".to_owned(),
        r#type: AttributeType::Float as i32,
        ..AttributeProto::default()
    };
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 17 }];
    let inner = FunctionProto {
        name: "Leak".to_owned(),
        domain: "own".to_owned(),
        input: vec!["a".to_owned()],
        output: vec!["b".to_owned()],
        attribute: vec!["slope".to_owned()],
        node: vec![node("Add", &["t", "t"], &["b"], vec![]), node("LeakyRelu", &["a"], &["t"], vec![reference])],
        opset_import: opset_import.clone(),
        ..FunctionProto::default()
    };
    let apply = |input: &str, output: &str, slope: f32| {
        let node = node("Leak", &[input], &[output], vec![crate::model::float("slope", slope)]);
        NodeProto { domain: "own".to_owned(), ..node }
    };
    let nodes = vec![apply("x", "t", 0.5), apply("t", "y", 0.25)];
    let mut model = model(17, vec![value("x", F32, &["2"])], vec![], nodes, &["y"]);
    model.functions = vec![inner];
    let graph = load(&model, &defaults()).expect("the functions are defined");
    let outputs = evaluate(&lower(&graph), &[Tensor::new([2], &[1f32, -4.0])]).expect("the model evaluates");
    assert_eq!(outputs[0].to_f32(), [4.0, -2.0]);

    model.functions[0].node = vec![apply("a", "b", 1.0)];
    check(&refused(&model, &defaults()), "model-limit", &["function depth"]);
}

#[test]
fn everything_unsupported_is_listed_at_once() {
    let graph = AttributeProto {
        name: "then_branch".to_owned(),
        r#type: AttributeType::Graph as i32,
        g: Some(GraphProto::default()),
        ..AttributeProto::default()
    };
    let nodes = vec![
        node("If", &["x"], &["a"], vec![graph]),
        node("StringNormalizer", &["a", "x"], &["b"], vec![]),
        relu(&["b"], &["c"]),
        node("Conv", &["c", "x"], &["d"], vec![crate::model::string("auto_pad", "SIDEWAYS")]),
        node("Relu", &["x"], &["e"], vec![int("slope", 1)]),
        NodeProto { domain: "com.example".to_owned(), ..node("Relu", &["x"], &["f"], vec![]) },
    ];
    let model = model(17, vec![value("x", F32, &["2"])], vec![], nodes, &["d"]);
    let error = refused(&model, &defaults());
    let parts = [
        "5 nodes",
        "a: ai.onnx.If (opset 17): a single truth value is needed, and f32[2] is given",
        "b: ai.onnx.StringNormalizer (opset 17): operator StringNormalizer is not supported",
        "d: ai.onnx.Conv (opset 17): attribute auto_pad: `SIDEWAYS` is unknown",
        "e: ai.onnx.Relu (opset 17): unknown attribute slope",
        "f: com.example.Relu",
    ];
    check(&error, "model-unsupported", &parts);
}

#[test]
fn texts_for_people_need_not_be_utf8() {
    let latin = || Bytes::from_static(b"caf\xe9");
    let mut model = model(17, vec![value("x", F32, &["2"])], vec![], vec![relu(&["x"], &["y"])], &["y"]);
    (model.doc_string, model.producer_name, model.producer_version) = (latin(), latin(), latin());
    model.metadata_props = vec![StringStringEntryProto { key: "author".to_owned(), value: latin() }];
    let graph = model.graph.as_mut().expect("a graph");
    graph.doc_string = latin();
    (graph.node[0].doc_string, graph.input[0].doc_string) = (latin(), latin());
    load(&model, &defaults()).expect("no result depends on these texts");
}

#[test]
fn unsupported_types_are_listed_with_the_nodes() {
    let typed = |name: &str, elem_type: i32| {
        let ty = value(name, F32, &["N"]).tensor_type().cloned().expect("a tensor");
        ValueInfoProto::new(name, TypeProto::of_tensor(TensorTypeProto { elem_type, ..ty }))
    };
    let packed = TensorProto { name: "w".to_owned(), dims: vec![2], data_type: 15, ..TensorProto::default() };
    let nodes =
        vec![relu(&["x"], &["a"]), node("If", &["y"], &["b"], vec![]), node("Add", &["q", "w"], &["c"], vec![])];
    let inputs = vec![typed("x", 8), typed("q", 14), value("y", F32, &["2"])];
    let error = refused(&model(17, inputs, vec![packed], nodes.clone(), &["a"]), &defaults());
    let parts = [
        "3 tensors",
        "input x: it holds strings",
        "input q: it holds 64-bit complex numbers",
        "constant w: it holds 128-bit complex numbers",
        "1 node is not supported either",
        "b: ai.onnx.If",
    ];
    check(&error, "model-unsupported", &parts);
    let open = model(17, vec![typed("x", 8), value("y", F32, &["N"])], vec![], nodes[..1].to_vec(), &["a"]);
    check(&refused(&open, &defaults()), "model-unsupported", &["input x: it holds strings"]);
}

#[test]
fn what_stands_in_the_way_has_a_remedy_of_its_own() {
    let of = |domain: &str, node: NodeProto| NodeProto { domain: domain.to_owned(), ..node };
    let applied = |domain: &str, name: &str| {
        let inputs = vec![value("x", F32, &["2"])];
        model(17, inputs, vec![], vec![of(domain, node(name, &["x"], &["y"], vec![]))], &["y"])
    };
    let typed = |element: i32| {
        let ty = value("x", F32, &["2"]).tensor_type().cloned().expect("a tensor");
        let ty = TypeProto::of_tensor(TensorTypeProto { elem_type: element, ..ty });
        model(17, vec![ValueInfoProto::new("x", ty)], vec![], vec![relu(&["x"], &["y"])], &["y"])
    };
    let other = |value: TypeValue| {
        let ty = TypeProto { value: Some(value), ..TypeProto::default() };
        model(17, vec![ValueInfoProto::new("x", ty)], vec![], vec![relu(&["x"], &["y"])], &["y"])
    };
    let kept = |name: &str| node(name, &["x"], &["y"], vec![]);
    let deep = vec!["1"; 17];
    for (model, parts, remedies) in [
        (applied("ai.onnx.ml", "TreeEnsembleClassifier"), vec!["TreeEnsembleClassifier"], vec!["hummingbird-ml"]),
        (applied("ai.onnx.ml", "ZipMap"), vec!["ZipMap"], vec!["'zipmap': False"]),
        (applied("", "StringSplit"), vec!["StringSplit"], vec!["turn text into numbers"]),
        (typed(8), vec!["it holds strings"], vec!["turn text into numbers"]),
        (typed(14), vec!["it holds 64-bit complex numbers"], vec!["last dimension of two"]),
        (typed(99), vec!["elements of type number 99"], vec!["float32"]),
        (other(TypeValue::SequenceType(Box::default())), vec!["it holds a sequence"], vec!["ZipMap"]),
        (other(TypeValue::MapType(Box::default())), vec!["it holds a map"], vec!["ZipMap"]),
        (
            other(TypeValue::OptionalType(Box::default())),
            vec!["it holds an optional value"],
            vec!["take and give tensors"],
        ),
        (other(TypeValue::SparseTensorType(Default::default())), vec!["it holds a sparse tensor"], vec!["dense"]),
        (applied("com.example", "Relu"), vec!["com.example.Relu"], vec!["custom operators", "function of the model"]),
        (applied("", "Unheard"), vec!["operator Unheard is not supported"], vec!["`warpweave ops` lists"]),
        (applied("", "Optional"), vec!["operator Optional is not supported"], vec!["take and give tensors"]),
        (
            model(99, vec![value("x", F32, &["2"])], vec![], vec![kept("Relu")], &["y"]),
            vec!["outside the supported"],
            vec!["onnx.version_converter"],
        ),
        (
            model(17, vec![value("x", F32, &deep)], vec![], vec![kept("Relu")], &["y"]),
            vec!["input x", "has rank 17, and at most 16 is supported"],
            vec!["reshape tensors to at most 16"],
        ),
        (
            model(17, vec![value("x", F32, &["2"])], vec![], vec![kept("SequenceConstruct")], &["y"]),
            vec!["output y: it is a sequence"],
            vec!["take and give tensors"],
        ),
        (
            model(17, vec![value("x", F32, &["2"])], vec![], vec![kept("Concat")], &["y"]),
            vec!["attribute axis is missing"],
            vec!["ONNX checker"],
        ),
        (
            model(17, vec![value("x", F32, &[])], vec![], vec![kept("NonZero")], &["y"]),
            vec!["a scalar has no coordinates"],
            vec!["forms of operators"],
        ),
        (
            model(
                17,
                vec![value("x", F32, &["4"]), value("k", ElementType::I64, &["1"])],
                vec![],
                vec![node("Tile", &["x", "k"], &["y"], vec![])],
                &["y"],
            ),
            vec!["input 1 must be constant"],
            vec!["--constant NAME=VALUE"],
        ),
        (
            model(
                17,
                vec![value("x", F32, &["2"])],
                vec![],
                vec![
                    of("ai.onnx.ml", node("TreeEnsembleRegressor", &["x"], &["t"], vec![])),
                    of("own", node("Mix", &["t"], &["y"], vec![])),
                ],
                &["y"],
            ),
            vec!["2 nodes"],
            vec!["hummingbird-ml", "custom operators"],
        ),
    ] {
        let error = refused(&model, &defaults());
        check(&error, "model-unsupported", &parts);
        let remedy = error.remedy();
        assert!(remedies.iter().all(|part| remedy.contains(part)), "{error}: {remedy}");
        assert!(!remedy.contains("replace these"), "{error}: {remedy}");
    }
    let deep = TensorProto { name: "w".to_owned(), dims: vec![1; 17], data_type: 1, ..TensorProto::default() };
    let error = refused(&model(17, vec![], vec![deep], vec![], &["w"]), &defaults());
    assert!(error.remedy().contains("reshape tensors"), "{}", error.remedy());
}

#[test]
fn old_and_new_operator_sets_are_refused_by_name() {
    for opset in [0, 29, 99] {
        let model = model(opset, vec![value("x", F32, &["2"])], vec![], vec![relu(&["x"], &["y"])], &["y"]);
        check(&refused(&model, &defaults()), "model-unsupported", &["outside the supported"]);
    }
}

#[test]
fn contradictions_are_found() {
    let check_nodes = |nodes: Vec<NodeProto>, parts: &[&str]| {
        let model = model(17, vec![value("x", F32, &["2"])], vec![], nodes, &["y"]);
        check(&refused(&model, &defaults()), "model-invalid", parts);
    };
    check_nodes(vec![relu(&["y"], &["a"]), relu(&["a"], &["y"])], &["cycle"]);
    check_nodes(vec![relu(&["x"], &["y"]), relu(&["x"], &["y"])], &["y", "twice"]);
    check_nodes(vec![relu(&["x"], &["x"])], &["x", "twice"]);
    check_nodes(vec![relu(&["nothing"], &["y"])], &["`nothing` is not defined"]);
    check_nodes(vec![], &["y", "not defined"]);
    let model = ModelProto::default();
    check(&refused(&model, &defaults()), "model-invalid", &["no graph"]);
}

#[test]
fn sizes_are_checked_before_anything_is_allocated() {
    let huge = |dims: Vec<i64>| TensorProto { name: "w".to_owned(), dims, data_type: 1, ..TensorProto::default() };
    for dims in [vec![-1], vec![i64::MAX, 2], vec![1 << 40], vec![1; 17], vec![1 << 32, 1 << 31, 2]] {
        let model = model(17, vec![], vec![huge(dims)], vec![], &["w"]);
        check(&refused(&model, &defaults()), "model-weight", &["`w`"]);
    }
    for dims in [["0", "9223372036854775807"], ["9223372036854775807", "9223372036854775807"]] {
        let model = model(17, vec![value("x", F32, &dims)], vec![], vec![relu(&["x"], &["y"])], &["y"]);
        check(&refused(&model, &defaults()), "model-unsupported", &["input x", "larger than the limit"]);
    }
    let target = constant("s", &Tensor::vector_i64(&[1 << 40, 1 << 40]));
    let nodes = vec![node("Expand", &["x", "s"], &["y"], vec![])];
    let expand = model(17, vec![value("x", F32, &["1"])], vec![target], nodes, &["y"]);
    check(&refused(&expand, &defaults()), "model-unsupported", &["larger than the limit"]);

    let small = ImportOptions { limits: Limits { file_bytes: 8, ..Limits::default() }, ..defaults() };
    check(&refused(&expand, &small), "model-limit", &["file size"]);
    let few = ImportOptions { limits: Limits { nodes: 0, ..Limits::default() }, ..defaults() };
    check(&refused(&expand, &few), "model-limit", &["number of nodes"]);
}

#[test]
fn damaged_files_are_errors() {
    let weight = constant("w", &Tensor::new([2, 2], &[1f32, 2.0, 3.0, 4.0]));
    let nodes = vec![node("MatMul", &["x", "w"], &["y"], vec![])];
    let good = model(17, vec![value("x", F32, &["2", "2"])], vec![weight], nodes, &["y"]).encode_to_vec();
    for length in 0..good.len() {
        let _ = import_bytes(good[..length].to_vec().into(), None, &defaults());
    }
    let mut state = 7u32;
    for _ in 0..20_000 {
        let mut bad = good.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (state >> 8) as usize % bad.len();
            bad[at] = (state >> 3) as u8;
        }
        if let Ok(graph) = import_bytes(bad.into(), None, &defaults()) {
            assert_eq!(warpweave_graph::verify::verify(&graph), []);
        }
    }
    check(&import_bytes(vec![0xff; 64].into(), None, &defaults()).expect_err("noise"), "model-decode", &[]);
}

/// A folder of its own for a test, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("warpweave-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary folder can be written");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn external_data_stay_in_the_models_folder() {
    let folder = Folder::new("external");
    let inside = folder.0.join("model");
    fs::create_dir_all(inside.join("data")).expect("the folder can be written");
    fs::write(inside.join("data/weights.bin"), [0u8, 0, 0, 0, 0, 0, 128, 63]).expect("the file can be written");
    fs::write(folder.0.join("secret.bin"), [0u8; 8]).expect("the file can be written");
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.0.join("secret.bin"), inside.join("link.bin")).expect("links can be made");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&folder.0, inside.join("up")).expect("links can be made");

    let path = inside.join("model.onnx");
    let load = |entries: &[(&str, &str)]| {
        let entry =
            |&(key, value): &(&str, &str)| StringStringEntryProto { key: key.into(), value: value.to_owned().into() };
        let external_data = entries.iter().map(entry).collect();
        let dims = vec![1];
        let name = "w".to_owned();
        let weight =
            TensorProto { name, dims, data_type: 1, data_location: 1, external_data, ..TensorProto::default() };
        let model = model(17, vec![], vec![weight], vec![], &["w"]);
        fs::write(&path, model.encode_to_vec()).expect("the model can be written");
        import(&path, &defaults())
    };
    let graph = load(&[("location", "data/weights.bin"), ("offset", "4"), ("length", "4")]).expect("a plain file");
    assert_eq!(graph.constant_value(graph.outputs[0].value).map(Tensor::to_f32), Some(vec![1.0]));

    let outside = folder.0.join("secret.bin").display().to_string();
    let mut places = vec!["../secret.bin", &outside, "", "data", "data/none.bin", "data\\weights.bin"];
    if cfg!(unix) {
        places.extend(["link.bin", "up/secret.bin"]);
    }
    for place in places {
        let error = load(&[("location", place)]).expect_err(place);
        check(&error, "model-weight", &["`w`", "external data"]);
    }
    let location = ("location", "data/weights.bin");
    for (offset, length) in [("8", "4"), ("18446744073709551615", "4"), ("0", "8"), ("-1", "4"), ("x", "4")] {
        let error = load(&[location, ("offset", offset), ("length", length)]).expect_err("bad bounds");
        check(&error, "model-weight", &["`w`"]);
    }
    let graph = model(17, vec![], vec![], vec![], &[]);
    assert!(import(&folder.0.join("none.onnx"), &defaults()).is_err_and(|error| error.code() == "model-file"));
    assert!(crate::model::load(&graph, &defaults()).is_ok());
}

#[test]
fn a_sparse_constant_is_named_also_where_nodes_read_it() {
    let inputs = vec![value("x", ElementType::F32, &["2", "3"])];
    let mut model = model(18, inputs, Vec::new(), vec![node("Add", &["x", "sparse"], &["y"], vec![])], &["y"]);
    let values = Some(constant("sparse", &Tensor::new([1], &[1f32])));
    let graph = model.graph.as_mut().expect("the model has a graph");
    graph.sparse_initializer.push(SparseTensorProto { values, ..SparseTensorProto::default() });
    check(&refused(&model, &defaults()), "model-unsupported", &["sparse elements"]);
}

#[test]
fn a_node_that_no_output_needs_may_be_of_any_kind() {
    let inputs = || vec![value("x", F32, &["2", "3"])];
    let nodes = || vec![relu(&["x"], &["y"]), node("Unheard", &["x"], &["z"], vec![]), relu(&["z"], &["w"])];
    let graph = load(&model(18, inputs(), Vec::new(), nodes(), &["y"]), &defaults()).expect("only `y` is needed");
    assert_eq!(graph.nodes.len(), 1);
    let needed = refused(&model(18, inputs(), Vec::new(), nodes(), &["y", "w"]), &defaults());
    check(&needed, "model-unsupported", &["Unheard"]);
}
