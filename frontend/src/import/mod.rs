//! From a model's bytes to a graph.
//!
//! Functions are expanded, nodes sorted, symbolic dimensions resolved. Then the nodes are walked in order. Constants
//! are folded on the way, so that shapes are known where operators need them, and so is what control flow depends on.
//! Graphs inside nodes are expanded when the walk reaches them. Models are untrusted: sizes are checked before anything
//! of that size is allocated, and nothing recurses over the model but over graphs inside nodes, whose depth is limited.

mod constant;
mod control;
mod counts;
pub mod declared;
pub mod error;
pub mod fixed;
mod flatten;
mod inputs;
mod legacy;
mod nodes;
pub mod options;
mod order;
mod overridable;
mod reason;
mod sequence;
mod subgraph;
mod walk;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use bytes::Bytes;
use prost::Message;
use warpweave_graph::{Graph, GraphOutput, Tensor};

use crate::element_name;
use crate::files::{Files, ReadFiles};
use crate::obstacle::Obstacle;
use crate::onnx::{GraphProto, ModelProto, SparseTensorProto, TensorProto, ValueInfoProto};
use crate::weights::{WeightError, Weights};
use declared::DeclaredPort;
use error::{ImportError, TensorPlace, Unsupported, UnsupportedTensor};
use flatten::{Flattening, SymbolId};
use options::{ImportOptions, Variables};
use reason::Reason;
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
    import_with(&path.display().to_string(), bytes, (folder, files), options)
}

/// The tensor of a serialised `TensorProto`, which holds its own data.
pub fn tensor(bytes: Bytes) -> Result<Tensor, ImportError> {
    named_tensor(bytes).map(|(_, tensor)| tensor)
}

/// The same with its name, which may be empty.
pub fn named_tensor(bytes: Bytes) -> Result<(String, Tensor), ImportError> {
    let proto = TensorProto::decode(bytes).map_err(ImportError::Tensor)?;
    let error = |error| ImportError::Weight { tensor: proto.name.clone(), error };
    let limit = ImportOptions::default().limits.weight_bytes;
    let tensor = Weights::new(None, &ReadFiles, limit).read(&proto).map_err(error)?;
    Ok((proto.name, tensor))
}

/// The names of a model's inputs, in order, without those that have a default.
pub fn input_names(bytes: Bytes) -> Result<Vec<String>, ImportError> {
    let graph = main_graph(NAMELESS, decode(NAMELESS, bytes)?.graph)?;
    let is_given = |name: &String| graph.initializer.iter().all(|tensor| tensor.name != *name);
    Ok(graph.input.iter().map(|input| input.name.clone()).filter(is_given).collect())
}

/// The inputs without defaults and the outputs of a model, as it declares them.
pub fn declared_ports(bytes: Bytes) -> Result<(Vec<DeclaredPort>, Vec<DeclaredPort>), ImportError> {
    let graph = main_graph(NAMELESS, decode(NAMELESS, bytes)?.graph)?;
    let constants: HashSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let inputs = graph.input.iter().filter(|input| !constants.contains(input.name.as_str()));
    Ok((inputs.map(declared::port).collect(), graph.output.iter().map(declared::port).collect()))
}

/// The graph of a model in memory. External data are looked for in `folder`; without one, they are refused.
pub fn import_bytes(bytes: Bytes, folder: Option<&Path>, options: &ImportOptions) -> Result<Graph, ImportError> {
    import_with(NAMELESS, bytes, (folder, &ReadFiles), options)
}

/// What errors call a model that came without a file.
const NAMELESS: &str = "model";

/// The message of a model; errors are about `culprit`.
fn decode(culprit: &str, bytes: Bytes) -> Result<ModelProto, ImportError> {
    let wrong = |error| ImportError::Decode { culprit: culprit.to_owned(), error };
    ModelProto::decode(bytes).map_err(wrong)
}

fn main_graph<G>(culprit: &str, graph: Option<G>) -> Result<G, ImportError> {
    graph.ok_or_else(|| ImportError::invalid(culprit, "there is no graph"))
}

fn import_with(
    culprit: &str,
    bytes: Bytes,
    (folder, files): (Option<&Path>, &dyn Files),
    options: &ImportOptions,
) -> Result<Graph, ImportError> {
    let limits = &options.limits;
    if bytes.len() as u64 > limits.file_bytes {
        return Err(ImportError::Limit { culprit: culprit.to_owned(), what: "file size", limit: limits.file_bytes });
    }
    let model = decode(culprit, bytes)?;
    let graph = main_graph(culprit, model.graph.as_ref())?;
    let mut refused = None;
    for defaults in overridable::candidates(&model, options)? {
        match import_graph((&model, graph), (folder, files), options, &defaults) {
            Err(error @ ImportError::Unsupported(_)) => _ = refused.get_or_insert(error),
            imported => return imported,
        }
    }
    Err(refused.unwrap_or_else(|| ImportError::invalid(culprit, "there is no graph")))
}

/// The graph of a model some of whose initializers are inputs with a default.
fn import_graph(
    (model, graph): (&ModelProto, &GraphProto),
    (folder, files): (Option<&Path>, &dyn Files),
    options: &ImportOptions,
    defaults: &HashSet<&str>,
) -> Result<Graph, ImportError> {
    let limits = &options.limits;
    let weights = Weights::new(folder, files, limits.weight_bytes);
    let flattening = Flattening::new(model, limits);
    let mut walk = Walk::new(Graph::new(graph.name.clone()), flattening, weights, *limits);
    walk.trains = options.variables != Variables::None;
    let mut tensors: Vec<UnsupportedTensor> = graph.sparse_initializer.iter().map(sparse).collect();
    let scope = walk_main(&mut walk, (model, graph), (options, defaults), &mut tensors)?;
    let symbol = |output: &ValueInfoProto| scope.get(output.name.as_str()).copied().flatten();
    let is_unknown = |symbol: SymbolId| matches!(walk.state(symbol), State::Unknown);
    // Nodes that no output needs may be of any kind.
    let is_needed = graph.output.iter().filter_map(symbol).any(is_unknown);
    if is_needed && !walk.unsupported.is_empty() || !tensors.is_empty() {
        return Err(ImportError::Unsupported(Unsupported { tensors, nodes: walk.unsupported }));
    }
    for output in &graph.output {
        let symbol = symbol(output);
        if let Some(State::Sequence(_)) = symbol.map(|symbol| walk.state(symbol)) {
            let (place, reason) = (TensorPlace::Output, "it is a sequence, which is not supported".to_owned());
            let obstacle = Obstacle::NotTensor;
            let tensor = UnsupportedTensor { place, name: output.name.clone(), reason, obstacle };
            return Err(ImportError::Unsupported(Unsupported { tensors: vec![tensor], nodes: Vec::new() }));
        }
        let value = symbol.and_then(|symbol| walk.value(symbol));
        let value = value.ok_or_else(|| ImportError::invalid(&output.name, "the output is not defined"))?;
        walk.graph.outputs.push(GraphOutput { name: output.name.clone(), value });
    }
    walk.count_outputs();
    Ok(walk.graph)
}

/// Walks the main graph; the symbols of its names. Tensors of unsupported types are listed with those that are known.
fn walk_main<'m>(
    walk: &mut Walk<'m>,
    (model, graph): (&'m ModelProto, &'m GraphProto),
    (options, defaults): (&ImportOptions, &HashSet<&str>),
    tensors: &mut Vec<UnsupportedTensor>,
) -> Result<Scope<'m>, ImportError> {
    let is_input: HashSet<&str> = graph.input.iter().map(|input| input.name.as_str()).collect();
    let holds =
        |tensor: &&TensorProto| !(is_input.contains(tensor.name.as_str()) && overridable::is_replaced(tensor, options));
    let initializers: Vec<&TensorProto> = graph.initializer.iter().filter(holds).collect();
    let constants: HashSet<&str> = initializers.iter().map(|tensor| tensor.name.as_str()).collect();
    let all: Vec<&ValueInfoProto> =
        graph.input.iter().filter(|input| !constants.contains(input.name.as_str())).collect();
    let (inputs, refused): (Vec<_>, Vec<_>) =
        all.iter().copied().partition(|input| declared::unsupported(input).is_none());
    tensors.extend(refused.iter().copied().filter_map(declared::unsupported));
    let typed = fixed::tensors(&inputs, options)
        .and_then(|fixed| Ok((inputs::types(&inputs, &options.with_shapes_of(&fixed))?, fixed)));
    let (types, fixed) = match typed {
        // What cannot be had at all comes before what can be chosen otherwise.
        Err(_) if !tensors.is_empty() => {
            let tensors = std::mem::take(tensors);
            return Err(ImportError::Unsupported(Unsupported { tensors, nodes: Vec::new() }));
        }
        typed => typed?,
    };
    let mut scope = Scope::new();
    let mut symbol = |name: &'m String| {
        let symbol = walk.flattening.symbol("", name);
        scope.insert(name, Some(symbol));
        symbol
    };
    let input_symbols: Vec<_> = inputs.iter().map(|input| symbol(&input.name)).collect();
    let refused_symbols: Vec<_> = refused.iter().map(|input| symbol(&input.name)).collect();
    let constant_symbols: Vec<_> = initializers.iter().map(|tensor| symbol(&tensor.name)).collect();
    let sparse_symbols = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
    let sparse_symbols: Vec<_> = sparse_symbols.map(|tensor| symbol(&tensor.name)).collect();
    let unknown = refused_symbols.iter().chain(&sparse_symbols);
    let given: Vec<_> = input_symbols.iter().chain(unknown).chain(&constant_symbols).copied().collect();
    let environment = Environment { names: scope, opsets: &model.opset_import, ..Environment::default() };
    let (nodes, scope) = walk.flattening.expand_all(&graph.node, environment, "")?;
    for ((symbol, input), ty) in input_symbols.into_iter().zip(&inputs).zip(types) {
        if let Err(Reason { text, obstacle }) = walk.check(&ty.clone().into()) {
            let (place, name) = (TensorPlace::Input, input.name.clone());
            tensors.push(UnsupportedTensor { place, name, reason: text, obstacle });
            continue;
        }
        let state = match fixed.get(&input.name) {
            Some(value) => State::Constant(value.clone()),
            None => State::Value(walk.graph.input(input.name.clone(), ty.into())),
        };
        walk.define(symbol, state);
    }
    for (symbol, proto) in constant_symbols.into_iter().zip(initializers) {
        match walk.weights.read(proto) {
            Ok(tensor) if options.variables.holds(&proto.name, tensor.ty()) => {
                walk.define(symbol, State::Variable(tensor));
            }
            Ok(tensor) if defaults.contains(proto.name.as_str()) => {
                let value = walk.graph.input_with_default(proto.name.clone(), tensor);
                walk.define(symbol, State::Value(value));
            }
            Ok(tensor) => walk.define(symbol, State::Constant(tensor)),
            Err(WeightError::Element(number)) => {
                let reason = format!("it holds {}", element_name::unsupported(number));
                let (place, obstacle) = (TensorPlace::Constant, Obstacle::of_element(number));
                tensors.push(UnsupportedTensor { place, name: proto.name.clone(), reason, obstacle });
            }
            Err(error) => return Err(ImportError::Weight { tensor: proto.name.clone(), error }),
        }
    }
    let place: HashMap<&str, usize> = graph.input.iter().map(|input| input.name.as_str()).zip(0..).collect();
    let Graph { values, inputs, .. } = &mut walk.graph;
    inputs.sort_by_key(|&input| place.get(values[input].name.as_str()));
    walk.nodes(nodes, &given)?;
    Ok(scope)
}

fn sparse(proto: &SparseTensorProto) -> UnsupportedTensor {
    let name = proto.values.as_ref().map(|values| values.name.clone()).unwrap_or_default();
    let (place, reason) = (TensorPlace::Constant, "it holds sparse elements".to_owned());
    UnsupportedTensor { place, name, reason, obstacle: Obstacle::Sparse }
}
