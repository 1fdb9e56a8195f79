//! Nodes of a model for which a GPU has no kernels.

use std::collections::HashSet;
use std::fmt;

use warpweave_codegen::lower::error::LowerError;
use warpweave_codegen::lower::refused;
use warpweave_codegen::lower::unsupported::unsupported;
use warpweave_fusion::partition::search::{FusionGroup, Partition};
use warpweave_graph::TensorProgram;
use warpweave_graph::legible::Culprit;
use warpweave_graph::program::{Statement, TensorId};
use warpweave_plan::plan::ExecutionPlan;

/// A node without a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedNode {
    /// The node with its operator, or what of the plan has no node.
    pub node: String,
    /// Why there is no kernel.
    pub reason: String,
}

impl RefusedNode {
    pub(crate) fn culprit(&self) -> Culprit<'_> {
        Culprit { noun: "node", name: &self.node, reason: self.reason.clone() }
    }
}

impl fmt::Display for RefusedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.node, self.reason)
    }
}

/// The nodes whose groups have no kernels, in the program's order.
pub(crate) fn refused_nodes(plan: &ExecutionPlan, partition: &Partition, program: &TensorProgram) -> Vec<RefusedNode> {
    let mut nodes: Vec<RefusedNode> = Vec::new();
    for error in refused(plan) {
        let operators = plan.operators();
        let outputs = &operators[error.operator()].kernel.body().outputs;
        let own = |group: &&FusionGroup| {
            group.statements.iter().any(|statement| outputs.contains(&program.statements[*statement].output))
        };
        let group = partition.groups.iter().find(own);
        // Of several nodes the last computes; those before it move what it reads.
        let named = |statement: &Statement| program.names.nodes(statement).pop();
        let of = |is_culprit: &dyn Fn(&Statement) -> bool| -> Vec<String> {
            let all = group.into_iter().flat_map(|group| &group.statements);
            let all = all.map(|statement| &program.statements[*statement]);
            all.filter(|statement| is_culprit(statement)).filter_map(named).collect()
        };
        let mut culprits = of(&|statement| is_culprit(&error, statement, program));
        if culprits.is_empty() {
            culprits = of(&|_| true);
        }
        if culprits.is_empty() {
            culprits.push(error.operator().to_string());
        }
        for node in culprits {
            let refused = RefusedNode { node, reason: reason(&error) };
            if !nodes.contains(&refused) {
                nodes.push(refused);
            }
        }
    }
    nodes
}

/// Whether a statement has what the error is about.
fn is_culprit(error: &LowerError, statement: &Statement, program: &TensorProgram) -> bool {
    let mut tensors = statement.operands.iter().chain([&statement.output]);
    let element = |tensor: &TensorId| program.tensors[*tensor].ty.element;
    match error {
        LowerError::Unsupported { what, .. } => tensors.any(|tensor| element(tensor) == what.element()),
        LowerError::TooLarge { tensor: wanted, .. } => tensors.any(|tensor| tensor == wanted),
    }
}

fn reason(error: &LowerError) -> String {
    match error {
        LowerError::Unsupported { what, .. } => what.to_string(),
        LowerError::TooLarge { .. } => "a tensor is too large: kernels address 2^31 elements".to_owned(),
    }
}

/// The nodes whose statements no kernel computes in any plan, in the program's order.
pub(crate) fn unsupported_nodes(program: &TensorProgram) -> Vec<RefusedNode> {
    let mut known = HashSet::new();
    let refused = |statement: &Statement| {
        let reason = unsupported(&statement.definition)?.to_string();
        let node = program.names.nodes(statement).pop().unwrap_or_else(|| program.shown(statement.output));
        known.insert((node.clone(), reason.clone())).then_some(RefusedNode { node, reason })
    };
    program.statements.values().filter_map(refused).collect()
}
