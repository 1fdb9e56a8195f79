//! From a model's bytes to a graph.
//!
//! Functions are expanded, nodes sorted, symbolic dimensions resolved; then the nodes are walked in order, with constants
//! folded on the way so that shapes are known where operators need them, and with it what control flow depends on: graphs
//! inside nodes are expanded when the walk reaches them. Models are untrusted: sizes are checked before anything of that
//! size is allocated, and nothing recurses over the model but over graphs inside nodes, whose depth is limited.

mod constant;
mod control;
pub mod error;
mod flatten;
mod inputs;
mod legacy;
pub mod options;
mod order;
mod subgraph;
mod walk;

use std::collections::HashSet;
use std::path::Path;

use bytes::Bytes;
use prost::Message;
use warpweave_graph::{Graph, Tensor};

use crate::files::{Files, ReadFiles};
use crate::onnx::{GraphProto, ModelProto, TensorProto, ValueInfoProto};
use crate::weights::Weights;
use error::ImportError;
use flatten::Flattening;
use options::ImportOptions;
use subgraph::{Environment, Scope};
use walk::{State, Walk};

/// The graph of a model file, which is read into memory. External data are looked for in the file's folder.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Graph, ImportError> {
    import_from(path, options, &ReadFiles)
}

/// The graph of a model file as `files` gives it. External data are looked for in the file's folder.
pub fn import_from(path: &Path, options: &ImportOptions, files: &dyn Files) -> Result<Graph, ImportError> {
    let bytes = files.model(path, options.limits.file_bytes);
    let bytes = bytes.map_err(|error| ImportError::File { path: path.to_owned(), error })?;
    let folder = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Some(Path::new(".")),
        parent => parent,
    };
    import_with(bytes, (folder, files), options)
}

/// The tensor of a serialised `TensorProto`, which holds its own data.
pub fn tensor(bytes: Bytes) -> Result<Tensor, ImportError> {
    let proto = TensorProto::decode(bytes)?;
    let error = |error| ImportError::Weight { tensor: proto.name.clone(), error };
    Weights::new(None, &ReadFiles, ImportOptions::default().limits.weight_bytes).read(&proto).map_err(error)
}

/// The names of a model's inputs, in order, without those that have a default.
pub fn input_names(bytes: Bytes) -> Result<Vec<String>, ImportError> {
    let graph = ModelProto::decode(bytes)?.graph;
    let graph = graph.ok_or_else(|| ImportError::invalid("model", "there is no graph"))?;
    let is_given = |name: &String| graph.initializer.iter().all(|tensor| tensor.name != *name);
    Ok(graph.input.iter().map(|input| input.name.clone()).filter(is_given).collect())
}

/// The graph of a model in memory. External data are looked for in `folder`; without one, they are refused.
pub fn import_bytes(bytes: Bytes, folder: Option<&Path>, options: &ImportOptions) -> Result<Graph, ImportError> {
    import_with(bytes, (folder, &ReadFiles), options)
}

fn import_with(
    bytes: Bytes,
    (folder, files): (Option<&Path>, &dyn Files),
    options: &ImportOptions,
) -> Result<Graph, ImportError> {
    let limits = &options.limits;
    if bytes.len() as u64 > limits.file_bytes {
        return Err(ImportError::Limit { culprit: "model".to_owned(), what: "file size", limit: limits.file_bytes });
    }
    let model = ModelProto::decode(bytes)?;
    let graph = model.graph.as_ref().ok_or_else(|| ImportError::invalid("model", "there is no graph"))?;
    if let Some(sparse) = graph.sparse_initializer.first() {
        let name = sparse.values.as_ref().map_or("", |values| &values.name);
        return Err(ImportError::invalid(name, "sparse constants are not supported"));
    }
    let weights = Weights::new(folder, files, limits.weight_bytes);
    let flattening = Flattening::new(&model, limits);
    let mut walk = Walk::new(Graph::new(graph.name.clone()), flattening, weights, *limits);
    let mut scope = walk_main(&mut walk, &model, graph, options)?;
    if !walk.unsupported.is_empty() {
        return Err(ImportError::Unsupported(walk.unsupported));
    }
    for output in &graph.output {
        let symbol = scope.remove(output.name.as_str()).flatten();
        let value = symbol.and_then(|symbol| walk.value(symbol));
        walk.graph.outputs.push(value.ok_or_else(|| ImportError::invalid(&output.name, "the output is not defined"))?);
    }
    walk.count_outputs();
    Ok(walk.graph)
}

/// Walks the main graph; the symbols of its names.
fn walk_main<'m>(
    walk: &mut Walk<'m>,
    model: &'m ModelProto,
    graph: &'m GraphProto,
    options: &ImportOptions,
) -> Result<Scope<'m>, ImportError> {
    // A constant may also stand among the inputs, as its default; the default holds.
    let constants: HashSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let inputs: Vec<&ValueInfoProto> =
        graph.input.iter().filter(|input| !constants.contains(input.name.as_str())).collect();
    let types = inputs::types(&inputs, &options.with_shapes_of_constants())?;
    let names = inputs.iter().map(|input| &input.name).chain(graph.initializer.iter().map(|tensor| &tensor.name));
    let mut scope = Scope::new();
    let mut given = Vec::new();
    for name in names {
        let symbol = walk.flattening.symbol("", name);
        scope.insert(name, Some(symbol));
        given.push(symbol);
    }
    let environment = Environment { names: scope, opsets: &model.opset_import, ..Environment::default() };
    let (nodes, scope) = walk.flattening.expand_all(&graph.node, environment, "")?;
    let (input_symbols, constant_symbols) = given.split_at(inputs.len());
    for ((&symbol, input), ty) in input_symbols.iter().zip(&inputs).zip(types) {
        walk.check(&ty.clone().into()).map_err(|reason| ImportError::invalid(&input.name, reason))?;
        let state = match options.constants.get(&input.name) {
            Some(value) if *value.ty() != ty => {
                let reason = format!("the input is {ty}, and fixed to a constant {}", value.ty());
                return Err(ImportError::invalid(&input.name, reason));
            }
            Some(value) => State::Constant(value.clone()),
            None => State::Value(walk.graph.input(input.name.clone(), ty.into())),
        };
        walk.define(symbol, state);
    }
    for (&symbol, proto) in constant_symbols.iter().zip(&graph.initializer) {
        let error = |error| ImportError::Weight { tensor: proto.name.clone(), error };
        let value = walk.weights.read(proto).map_err(error)?;
        walk.define(symbol, State::Constant(value));
    }
    walk.nodes(nodes, &given)?;
    Ok(scope)
}
