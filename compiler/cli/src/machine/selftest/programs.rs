//! What the self-test runs: small programs in text, and models with the outputs of the framework that exported them.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

use warpweave::frontend::{ImportOptions, import_bytes};
use warpweave::graph::reference::evaluate;
use warpweave::graph::text::{self, Tensors};
use warpweave::graph::{Graph, Tensor};
use warpweave::runtime::npz;
use warpweave::{Build, Model, random_inputs};

use crate::arguments::inputs;
use crate::error::CliError;

/// A program with what it should give.
pub struct Case {
    pub name: &'static str,
    pub build: Build,
    pub inputs: Vec<Tensor>,
    pub expected: Vec<Tensor>,
    /// Whether launches are repeated, also across the wrap of their numbers.
    pub stress: bool,
}

const PROGRAMS: [(&str, &str); 6] = [
    (
        "matmul-relu",
        r#"graph "matmul-relu"
v0 "a": f32[37x50] = input
v1 "b": f32[50x70] = input
v2 "c": f32[37x70] = MatMul "product" (v0, v1)
v3 "d": f32[37x70] = Relu "relu" (v2)
input v0, v1
output v3
"#,
    ),
    (
        "matmul-chain",
        r#"graph "matmul-chain"
v0 "a": f32[33x64] = input
v1 "b": f32[64x64] = input
v2 "c": f32[33x64] = MatMul "first" (v0, v1)
v3 "d": f32[33x64] = Tanh "tanh" (v2)
v4 "e": f32[33x64] = MatMul "second" (v3, v1)
v5 "f": f32[33x64] = Add "sum" (v4, v2)
v6 "g": f32[33x64] = MatMul "third" (v5, v1)
input v0, v1
output v6
"#,
    ),
    (
        "softmax",
        r#"graph "softmax"
v0 "x": f32[19x300] = input
v1 "y": f32[19x300] = Softmax "softmax" (v0) {axis = int -1}
input v0
output v1
"#,
    ),
    (
        "pooling",
        r#"graph "pooling"
v0 "x": f32[1x5x17x19] = input
v1 "y": f32[1x5x9x10] = MaxPool "pool" (v0) {kernel_shape = ints [3, 3], pads = ints [1, 1, 1, 1], strides = ints [2, 2]}
input v0
output v1
"#,
    ),
    (
        "concat",
        r#"graph "concat"
v0 "a": f32[8x20] = input
v1 "b": f32[8x30] = input
v2 "c": f32[8x20] = Exp "exp" (v0)
v3 "d": f32[8x30] = Abs "abs" (v1)
v4 "e": f32[8x50] = Concat "concat" (v2, v3) {axis = int 1}
v5 "f": f32[8x50] = Softmax "softmax" (v4) {axis = int -1}
input v0, v1
output v5
"#,
    ),
    (
        "integers",
        r#"graph "integers"
v0 "a": i64[9x11] = input
v1 "b": i64[9x11] = input
v2 "c": i64[9x11] = Mul "product" (v0, v1)
v3 "d": i64[9x11] = Sub "difference" (v2, v1)
input v0, v1
output v3
"#,
    ),
];

/// A name, the model, and its stored inputs and outputs.
type StoredModel = (&'static str, &'static [u8], &'static [u8]);

macro_rules! stored {
    ($name:literal) => {
        (
            $name,
            include_bytes!(concat!("../../../../../tests/models/", $name, "/torchscript.onnx")),
            include_bytes!(concat!("../../../../../tests/models/", $name, "/io.npz")),
        )
    };
}

const MODELS: [StoredModel; 4] = [stored!("dlrm"), stored!("lstm"), stored!("inception"), stored!("unet")];

/// All cases.
pub fn cases() -> Result<Vec<Case>, CliError> {
    let programs = PROGRAMS.iter().map(|(name, text)| program(name, text));
    programs.chain(MODELS.iter().map(stored_model)).collect()
}

fn program(name: &'static str, text: &str) -> Result<Case, CliError> {
    let broken = |reason: String| CliError::Usage(format!("the built-in program {name} is broken: {reason}"));
    let graph = text::parse(text, &Tensors::new()).map_err(|error| broken(error.to_string()))?;
    let build = build(&graph)?;
    let inputs = random_inputs(&build.model.signature, 7);
    let expected = evaluate(&build.model.program, &inputs).map_err(|error| broken(error.to_string()))?;
    Ok(Case { name, build, inputs, expected, stress: true })
}

fn stored_model((name, model, io): &StoredModel) -> Result<Case, CliError> {
    let graph = import_bytes(model.to_vec().into(), None, &ImportOptions::default());
    let build = build(&graph.map_err(warpweave::ModelError::from)?)?;
    let arrays = npz::parse(Cursor::new(io), io.len() as u64, Path::new(name))?;
    let of = |prefix: &str| -> BTreeMap<String, Tensor> {
        let stripped = |(name, array): (&String, &Tensor)| Some((name.strip_prefix(prefix)?.to_owned(), array.clone()));
        arrays.iter().filter_map(stripped).collect()
    };
    let inputs = inputs::from_arrays(&build.model.signature, of("in_"), "the built-in arrays")?;
    let outputs = of("out_");
    let missing = || CliError::WrongOutputs(format!("the built-in model {name} lacks an output"));
    let expected = (0..build.model.signature.outputs.len())
        .map(|position| outputs.get(&position.to_string()).cloned().ok_or_else(missing));
    Ok(Case { name, inputs, expected: expected.collect::<Result<_, _>>()?, stress: false, build })
}

fn build(graph: &Graph) -> Result<Build, CliError> {
    Ok(Build::new(Model::from_graph(graph)?)?)
}
