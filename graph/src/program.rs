//! Tensor programs: a graph after every operator has been lowered to tensor expressions.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::arena::{Arena, Id};
use crate::expr::TensorExpr;
use crate::ir::NodeId;
use crate::ops::{Context, Fact, Operator};
use crate::procedure::Opaque;
use crate::tensor::Tensor;
use crate::typed_id;
use crate::types::{Shape, TensorType};

typed_id!(
    /// A tensor of a program.
    TensorId, "t"
);
typed_id!(
    /// A statement of a program.
    StatementId, "e"
);

/// Where a tensor's elements come from.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// The caller; the position among the program's inputs.
    Input(usize),
    /// The model.
    Constant(Tensor),
    /// A statement of the program.
    Statement(StatementId),
}

/// A tensor of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorDefinition {
    /// Element type and shape.
    pub ty: TensorType,
    /// Where the elements come from.
    pub source: Source,
}

/// What a statement computes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Definition {
    /// A tensor expression; operands in the expression's order.
    Compute(TensorExpr),
    /// What a procedure computes; operands in the order of its access expression.
    Opaque(Opaque),
    /// The operands laid end to end along an axis, in order.
    Join {
        /// The axis.
        axis: usize,
    },
}

/// A statement: defines one tensor from earlier ones.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Statement {
    /// What is computed.
    pub definition: Definition,
    /// The tensors that are read.
    pub operands: Vec<TensorId>,
    /// The tensor that is defined.
    pub output: TensorId,
    /// The graph node that this comes from.
    pub origin: Option<NodeId>,
}

/// Statements in an order in which every tensor is defined before it is read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TensorProgram {
    /// All tensors.
    pub tensors: Arena<TensorId, TensorDefinition>,
    /// All statements, in execution order.
    pub statements: Arena<StatementId, Statement>,
    /// What the caller provides.
    pub inputs: Vec<TensorId>,
    /// What the caller gets; a tensor may stand here twice, and may be an input or a constant.
    pub outputs: Vec<TensorId>,
}

impl Definition {
    /// The expression that says what is read and written; joins have none.
    pub fn expr(&self) -> Option<&TensorExpr> {
        match self {
            Self::Compute(expr) => Some(expr),
            Self::Opaque(opaque) => Some(&opaque.access),
            Self::Join { .. } => None,
        }
    }

    /// The same of another expression in the place of [`Definition::expr`].
    pub fn with_expr(&self, expr: TensorExpr) -> Self {
        match self {
            Self::Compute(_) => Self::Compute(expr),
            Self::Opaque(opaque) => Self::Opaque(Opaque { procedure: opaque.procedure, access: expr }),
            Self::Join { axis } => Self::Join { axis: *axis },
        }
    }
}

impl TensorProgram {
    /// The statement that defines a tensor.
    pub fn producer(&self, tensor: TensorId) -> Option<StatementId> {
        match self.tensors[tensor].source {
            Source::Statement(statement) => Some(statement),
            Source::Input(_) | Source::Constant(_) => None,
        }
    }

    /// The same program without statements and constants that no output depends on; all inputs stay.
    pub fn pruned(&self) -> Self {
        let mut needed: Arena<TensorId, bool> = self.tensors.ids().map(|_| false).collect();
        self.inputs.iter().chain(&self.outputs).for_each(|&tensor| needed[tensor] = true);
        for (_, statement) in self.statements.iter().rev() {
            if needed[statement.output] {
                statement.operands.iter().for_each(|&operand| needed[operand] = true);
            }
        }
        let mut pruned = Self::default();
        let mut renamed: Arena<TensorId, Option<TensorId>> = Arena::new();
        for (id, definition) in self.tensors.iter() {
            renamed.push(needed[id].then(|| pruned.tensors.push(definition.clone())));
        }
        let rename = |id: &TensorId| renamed[*id].expect("what a needed statement names is needed");
        for statement in self.statements.values().filter(|statement| needed[statement.output]) {
            let output = rename(&statement.output);
            let operands = statement.operands.iter().map(rename).collect();
            let id = pruned.statements.push(Statement { operands, output, ..statement.clone() });
            pruned.tensors[output].source = Source::Statement(id);
        }
        pruned.inputs = self.inputs.iter().map(rename).collect();
        pruned.outputs = self.outputs.iter().map(rename).collect();
        pruned
    }

    /// The tensor's value, if it is a constant.
    pub fn constant(&self, tensor: TensorId) -> Option<&Tensor> {
        match &self.tensors[tensor].source {
            Source::Constant(value) => Some(value),
            Source::Input(_) | Source::Statement(_) => None,
        }
    }
}

/// Appends statements to a program: what operators lower into.
#[derive(Clone, Debug, Default)]
pub struct ProgramBuilder {
    program: TensorProgram,
    origin: Option<NodeId>,
}

impl ProgramBuilder {
    /// A builder of an empty program.
    pub fn new() -> Self {
        Self::default()
    }

    /// The node that statements from here on come from.
    pub fn set_origin(&mut self, origin: Option<NodeId>) {
        self.origin = origin;
    }

    /// Declares the next input.
    pub fn input(&mut self, ty: TensorType) -> TensorId {
        let source = Source::Input(self.program.inputs.len());
        let id = self.program.tensors.push(TensorDefinition { ty, source });
        self.program.inputs.push(id);
        id
    }

    /// A constant.
    pub fn constant(&mut self, value: Tensor) -> TensorId {
        let ty = value.ty().clone();
        self.program.tensors.push(TensorDefinition { ty, source: Source::Constant(value) })
    }

    /// The value of an expression over `operands`, which have the types that the expression declares.
    pub fn compute(&mut self, expr: TensorExpr, operands: &[TensorId]) -> TensorId {
        assert!(
            expr.operands.iter().eq(operands.iter().map(|&operand| self.ty(operand))),
            "operands have the declared types"
        );
        let ty = expr.output();
        self.push(Definition::Compute(expr), operands, ty)
    }

    /// What a procedure computes over `operands`, which have the types that its access expression declares.
    pub fn opaque(&mut self, opaque: Opaque, operands: &[TensorId]) -> TensorId {
        assert!(
            opaque.access.operands.iter().eq(operands.iter().map(|&operand| self.ty(operand))),
            "operands have the declared types"
        );
        debug_assert_eq!(opaque.procedure.check(&opaque.access), Ok(()), "the procedure takes its access expression");
        let ty = opaque.access.output();
        self.push(Definition::Opaque(opaque), operands, ty)
    }

    /// `parts` laid end to end along `axis`; they agree in every other dimension and in element type.
    pub fn join(&mut self, axis: usize, parts: &[TensorId]) -> TensorId {
        let first = self.ty(parts[0]).clone();
        let extent: usize = parts.iter().map(|&part| self.ty(part).shape[axis]).sum();
        let shape: Shape =
            first.shape.iter().enumerate().map(|(at, &old)| if at == axis { extent } else { old }).collect();
        self.push(Definition::Join { axis }, parts, TensorType { element: first.element, shape })
    }

    /// What `operator` computes from `inputs`: how operators are decomposed into others. `None` stands for an operand
    /// that is left out.
    ///
    /// # Panics
    /// If the operator does not accept the inputs: a decomposition applies operators where they are defined.
    pub fn apply(&mut self, operator: &impl Operator, inputs: &[Option<TensorId>], outputs: usize) -> Vec<TensorId> {
        let facts = self.facts(inputs);
        let context = Context::new(&facts, outputs);
        operator.lower(&context, inputs, self)
    }

    /// What is known of each input.
    pub fn facts(&self, inputs: &[Option<TensorId>]) -> Vec<Option<Fact>> {
        let fact = |id: TensorId| {
            let definition = &self.program.tensors[id];
            Fact { ty: definition.ty.clone().into(), value: self.program.constant(id).cloned() }
        };
        inputs.iter().map(|input| input.map(fact)).collect()
    }

    /// The type of a tensor.
    pub fn ty(&self, tensor: TensorId) -> &TensorType {
        &self.program.tensors[tensor].ty
    }

    /// The program with these outputs.
    pub fn finish(mut self, outputs: Vec<TensorId>) -> TensorProgram {
        self.program.outputs = outputs;
        self.program
    }

    fn push(&mut self, definition: Definition, operands: &[TensorId], ty: TensorType) -> TensorId {
        let statement = StatementId::from_index(self.program.statements.len());
        let output = self.program.tensors.push(TensorDefinition { ty, source: Source::Statement(statement) });
        let operands = operands.to_vec();
        self.program.statements.push(Statement { definition, operands, output, origin: self.origin });
        output
    }
}

impl fmt::Display for TensorProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &input in &self.inputs {
            writeln!(f, "{input}: {} = input", self.tensors[input].ty)?;
        }
        for statement in self.statements.values() {
            write!(f, "{}: {} = ", statement.output, self.tensors[statement.output].ty)?;
            match &statement.definition {
                Definition::Compute(expr) => write!(f, "{expr}")?,
                Definition::Opaque(opaque) => write!(f, "{opaque}")?,
                Definition::Join { axis } => write!(f, "join axis {axis}")?,
            }
            let operands: Vec<String> = statement.operands.iter().map(ToString::to_string).collect();
            writeln!(f, " ({})", operands.join(", "))?;
        }
        let outputs: Vec<String> = self.outputs.iter().map(ToString::to_string).collect();
        writeln!(f, "output {}", outputs.join(", "))
    }
}
