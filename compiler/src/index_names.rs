//! Tensors of indices, by their names in the model.

use warpweave_graph::TensorProgram;
use warpweave_graph::index_check::IndexCheck;
use warpweave_graph::program::{Source, TensorId};
use warpweave_runtime::bundle::Signature;
use warpweave_runtime::session::TensorNames;

/// The names of a program's tensors whose elements index others: of an input its own, else that of what the node computes
/// from which the tensor comes.
pub(crate) fn index_names(program: &TensorProgram, signature: &Signature) -> TensorNames {
    let name = |tensor: TensorId| match &program.tensors[tensor].source {
        Source::Input(position) => signature.inputs.get(*position).map(|port| port.name.clone()),
        Source::Constant(_) => None,
        Source::State(_) | Source::Statement(_) => program.tensor_name(tensor).map(str::to_owned),
    };
    let checks = IndexCheck::of(program).into_iter();
    checks.filter_map(|check| Some((check.tensor, name(check.tensor)?))).collect()
}
