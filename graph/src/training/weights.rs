//! Classifies the variables of a graph as weights and buffers, by the operations in which they meet activations.

use std::collections::BTreeSet;

use super::batch_statistics::in_training;
use super::error::TrainingError;
use crate::arena::Arena;
use crate::expr::{BinaryOp, ReadId, Scalar, TensorExpr};
use crate::ir::{Graph, Origin};
use crate::lower::lower;
use crate::program::{Definition, Source, Statement, TensorId, TensorProgram};

/// Makes constants of the variables that are not used as weights; returns that graph, and the names of those variables in order.
///
/// An *activation* is a tensor that depends on an input of the graph. A variable, or an expression of variables and constants
/// alone, is used as a weight if it is a factor or an addend of an activation, or a table that an activation indexes. The same
/// holds of a branch of a selection, and of a part of a concatenation, beside an activation. Parameters of products,
/// convolutions, normalisations, embeddings and biases are used as weights. A variable that is only compared with activations, subtracted from them, or a divisor of them is a buffer: an
/// exporter has written PyTorch's buffers as initializers, such as the knots of a spline. Running statistics stay variables.
/// If no variable is used as a weight, the graph is returned as it is.
///
/// # Errors
/// If the normalisations of the graph cannot be trained.
pub fn with_weights_only(graph: &Graph) -> Result<(Graph, Vec<String>), TrainingError> {
    if !graph.counted.is_empty() {
        return Ok((graph.clone(), Vec::new()));
    }
    let (_, statistics) = in_training(graph)?;
    let statistics: BTreeSet<&str> = statistics.iter().map(|statistic| statistic.name.as_str()).collect();
    let program = lower(graph);
    let weights = weights(&program);
    if weights.is_empty() {
        return Ok((graph.clone(), Vec::new()));
    }
    let weights: BTreeSet<&str> =
        weights.iter().filter_map(|tensor| program.names.tensors.get(tensor)).map(String::as_str).collect();
    let mut constant = graph.clone();
    let mut left = Vec::new();
    for value in constant.values.values_mut() {
        let name = value.name.as_str();
        if let Origin::Variable(tensor) = &value.origin
            && !weights.contains(name)
            && !statistics.contains(name)
        {
            value.origin = Origin::Constant(tensor.clone());
            left.push(value.name.clone());
        }
    }
    left.sort();
    Ok((constant, left))
}

/// The states of a program that are used as weights.
fn weights(program: &TensorProgram) -> BTreeSet<TensorId> {
    let mut depends: Arena<TensorId, bool> =
        program.tensors.values().map(|tensor| matches!(tensor.source, Source::Input(_))).collect();
    // The states of which a tensor that depends on no input is made.
    let is_state = |id: TensorId| matches!(program.tensors[id].source, Source::State(_));
    let mut made_of: Arena<TensorId, BTreeSet<TensorId>> =
        program.tensors.ids().map(|id| if is_state(id) { BTreeSet::from([id]) } else { BTreeSet::new() }).collect();
    let mut weights = BTreeSet::new();
    for statement in program.statements.values() {
        if statement.operands.iter().any(|&operand| depends[operand]) {
            depends[statement.output] = true;
            let used = used_as_weights(statement, &depends);
            weights.extend(used.into_iter().flat_map(|operand| made_of[statement.operands[operand]].iter().copied()));
        } else {
            let all = statement.operands.iter().flat_map(|&operand| made_of[operand].iter().copied()).collect();
            made_of[statement.output] = all;
        }
    }
    weights
}

/// The operands of a statement that depend on no input and are used as weights.
fn used_as_weights(statement: &Statement, depends: &Arena<TensorId, bool>) -> BTreeSet<usize> {
    let fixed = (0..statement.operands.len()).filter(|&operand| !depends[statement.operands[operand]]);
    match &statement.definition {
        Definition::Concat { .. } | Definition::Opaque(_) => fixed.collect(),
        Definition::Compute(expr) => {
            let is_fixed: Vec<bool> = statement.operands.iter().map(|&operand| !depends[operand]).collect();
            let mut uses = Uses { expr, is_fixed, reduced: Part::default(), found: BTreeSet::new() };
            uses.reduced = uses.visit(&expr.body);
            if let Some(epilogue) = &expr.epilogue {
                uses.visit(epilogue);
            }
            uses.found
        }
    }
}

/// The operands of a scalar, by whether they depend on an input.
#[derive(Clone, Default)]
struct Part {
    /// Whether any of them does.
    depends: bool,
    /// The positions of those that do not.
    fixed: BTreeSet<usize>,
}

impl Part {
    fn with(self, other: Self) -> Self {
        Self { depends: self.depends || other.depends, fixed: self.fixed.into_iter().chain(other.fixed).collect() }
    }

    /// The operands that meet, in this scalar and another, what depends on an input.
    fn meeting(&self, other: &Self) -> BTreeSet<usize> {
        match (self.depends, other.depends) {
            (false, true) => self.fixed.clone(),
            (true, false) => other.fixed.clone(),
            (false, false) | (true, true) => BTreeSet::new(),
        }
    }
}

struct Uses<'e> {
    expr: &'e TensorExpr,
    is_fixed: Vec<bool>,
    reduced: Part,
    found: BTreeSet<usize>,
}

impl Uses<'_> {
    fn visit(&mut self, scalar: &Scalar) -> Part {
        match scalar {
            Scalar::Literal(_) | Scalar::Index(..) | Scalar::Holds(_) => Part::default(),
            Scalar::Reduced => self.reduced.clone(),
            Scalar::Read(read) => self.read(*read),
            Scalar::Unary(_, operand) | Scalar::Cast(_, operand) => self.visit(operand),
            Scalar::Binary(op, left, right) => {
                let (left, right) = (self.visit(left), self.visit(right));
                if matches!(op, BinaryOp::Multiply | BinaryOp::Add) {
                    self.found.extend(left.meeting(&right));
                }
                joined(left, right)
            }
            Scalar::Select(condition, then, otherwise) => {
                let condition = self.visit(condition);
                let (then, otherwise) = (self.visit(then), self.visit(otherwise));
                let chosen = then.with(otherwise);
                if condition.depends || chosen.depends {
                    self.found.extend(chosen.fixed.iter().copied());
                }
                joined(condition, chosen)
            }
        }
    }

    fn read(&mut self, read: ReadId) -> Part {
        let read = &self.expr.reads[read];
        if !self.is_fixed[read.operand] {
            return Part { depends: true, fixed: BTreeSet::new() };
        }
        let mut by_input = false;
        for index in &read.index {
            index.visit(&mut |_| {}, &mut |inner| by_input |= !self.is_fixed[self.expr.reads[inner].operand]);
        }
        if by_input {
            self.found.insert(read.operand);
        }
        Part { depends: by_input, fixed: BTreeSet::from([read.operand]) }
    }
}

/// Two parts as one, without operands that have met what depends on an input.
fn joined(left: Part, right: Part) -> Part {
    let both = left.with(right);
    Part { fixed: if both.depends { BTreeSet::new() } else { both.fixed }, ..both }
}
