//! Programs, a statement after another.

use super::{
    Definition, Differentiable, Names, Origins, Source, State, Statement, StatementId, TensorDefinition, TensorId,
    TensorProgram, Ties,
};
use crate::arena::{Arena, Id};
use crate::expr::TensorExpr;
use crate::ops::{Context, Fact, Operator};
use crate::procedure::Opaque;
use crate::tensor::Tensor;
use crate::types::{Shape, TensorType};

/// Appends statements to a program: what operators lower into.
#[derive(Clone, Debug, Default)]
pub struct ProgramBuilder {
    program: TensorProgram,
    origins: Origins,
    ties: Arena<StatementId, Ties>,
    chosen: Ties,
}

impl ProgramBuilder {
    /// A builder of an empty program.
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder that goes on with a program, whose outputs it forgets.
    pub fn extending(program: Differentiable) -> Self {
        let Differentiable { mut program, ties } = program;
        program.outputs.clear();
        program.names.outputs.clear();
        Self { program, ties, ..Self::default() }
    }

    /// The program so far, without outputs.
    pub fn program(&self) -> &TensorProgram {
        &self.program
    }

    /// What `append` appends, where gradients of extremes go to whom `ties` says.
    pub fn with_ties<T>(&mut self, ties: Ties, append: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.chosen, ties);
        let appended = append(self);
        self.chosen = before;
        appended
    }

    /// The nodes that statements from here on come from.
    pub fn set_origins(&mut self, origins: Origins) {
        self.origins = origins;
    }

    /// What the program's parts are called, to be changed.
    pub fn names(&mut self) -> &mut Names {
        &mut self.program.names
    }

    /// Declares the next input.
    pub fn input(&mut self, ty: TensorType) -> TensorId {
        let source = Source::Input(self.program.inputs.len());
        let id = self.program.tensors.push(TensorDefinition { ty, source });
        self.program.inputs.push(id);
        id
    }

    pub fn constant(&mut self, value: Tensor) -> TensorId {
        let ty = value.ty().clone();
        self.program.tensors.push(TensorDefinition { ty, source: Source::Constant(value) })
    }

    /// A tensor that lives between launches, which so far only read it.
    pub fn state(&mut self, initial: Tensor) -> TensorId {
        let ty = initial.ty().clone();
        let source = Source::State(State { initial, next: None });
        self.program.tensors.push(TensorDefinition { ty, source })
    }

    /// Makes `next`, a tensor of the same type, what the next launch finds in `state`.
    ///
    /// # Panics
    /// If `state` does not live between launches, or the types differ.
    pub fn set_next(&mut self, state: TensorId, next: TensorId) {
        assert_eq!(self.ty(state), self.ty(next), "a state keeps its type");
        match &mut self.program.tensors[state].source {
            Source::State(state) => state.next = Some(next),
            Source::Input(_) | Source::Constant(_) | Source::Statement(_) => unreachable!("{state} is no state"),
        }
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
    pub fn concat(&mut self, axis: usize, parts: &[TensorId]) -> TensorId {
        let first = self.ty(parts[0]).clone();
        let extent: usize = parts.iter().map(|&part| self.ty(part).shape[axis]).sum();
        let shape: Shape =
            first.shape.iter().enumerate().map(|(at, &old)| if at == axis { extent } else { old }).collect();
        self.push(Definition::Concat { axis }, parts, TensorType { element: first.element, shape })
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
            Fact { ty: definition.ty.clone().into(), value: self.program.foldable(id).cloned() }
        };
        inputs.iter().map(|input| input.map(fact)).collect()
    }

    /// The type of a tensor.
    pub fn ty(&self, tensor: TensorId) -> &TensorType {
        &self.program.tensors[tensor].ty
    }

    /// The program with these outputs, and who is handed the gradients of its extremes.
    pub fn finish_differentiable(self, outputs: Vec<TensorId>) -> Differentiable {
        let ties = self.ties.clone();
        Differentiable { program: self.finish(outputs), ties }
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
        self.ties.push(self.chosen);
        self.program.statements.push(Statement { definition, operands, output, origins: self.origins.clone() });
        output
    }
}
