//! Programs that are rebuilt from others, statement by statement.

use std::collections::BTreeMap;

use crate::expr::{ExprBuilder, Index, TensorExpr};
use crate::program::{Definition, Origins, ProgramBuilder, Source, State, Statement, TensorId, TensorProgram};
use crate::tensor::Tensor;
use crate::types::TensorType;

/// Rebuilds a program statement by statement; tensors keep their order and their names.
pub(crate) struct Rebuild {
    builder: ProgramBuilder,
    map: BTreeMap<TensorId, TensorId>,
}

impl Rebuild {
    /// A program with the inputs, constants and states of another, and its nodes.
    pub(crate) fn new(program: &TensorProgram) -> Self {
        let mut builder = ProgramBuilder::new();
        builder.names().origins = program.names.origins.clone();
        builder.names().outputs = program.names.outputs.clone();
        let map = program.inputs.iter().map(|&input| (input, builder.input(program.tensors[input].ty.clone())));
        let mut map: BTreeMap<TensorId, TensorId> = map.collect();
        for (id, tensor) in program.tensors.iter() {
            match &tensor.source {
                Source::Constant(value) => _ = map.insert(id, builder.constant(value.clone())),
                Source::State(State { initial, .. }) => _ = map.insert(id, builder.state(initial.clone())),
                Source::Input(_) | Source::Statement(_) => {}
            }
        }
        Self { builder, map }
    }

    /// The tensor of the new program that stands for one of the old.
    pub(crate) fn map(&self, tensor: TensorId) -> TensorId {
        self.map[&tensor]
    }

    /// The same, if there is one so far.
    pub(crate) fn mapped(&self, tensor: TensorId) -> Option<TensorId> {
        self.map.get(&tensor).copied()
    }

    /// The statement as it is, over renamed operands.
    pub(crate) fn keep(&mut self, statement: &Statement) -> TensorId {
        self.redefine(statement, statement.definition.clone(), statement.operands.clone(), statement.origins.clone())
    }

    /// Another definition of what a statement defines, over operands of the old program.
    pub(crate) fn redefine(
        &mut self,
        statement: &Statement,
        definition: Definition,
        operands: Vec<TensorId>,
        origins: Origins,
    ) -> TensorId {
        let operands: Vec<TensorId> = operands.into_iter().map(|operand| self.map(operand)).collect();
        self.builder.set_origins(origins);
        let output = match definition {
            Definition::Compute(expr) => self.builder.compute(expr, &operands),
            Definition::Opaque(opaque) => self.builder.opaque(opaque, &operands),
            Definition::Concat { axis } => self.builder.concat(axis, &operands),
        };
        self.map.insert(statement.output, output);
        output
    }

    /// A concat of tensors of the new program for what a statement defines.
    pub(crate) fn concat(&mut self, statement: &Statement, axis: usize, parts: &[TensorId]) -> TensorId {
        let output = self.joined(statement.origins.clone(), axis, parts);
        self.map.insert(statement.output, output);
        output
    }

    /// Tensors of the new program end to end.
    pub(crate) fn joined(&mut self, origins: Origins, axis: usize, parts: &[TensorId]) -> TensorId {
        self.builder.set_origins(origins);
        self.builder.concat(axis, parts)
    }

    /// A constant that the program did not have.
    pub(crate) fn constant(&mut self, value: Tensor) -> TensorId {
        self.builder.constant(value)
    }

    /// The type of a tensor of the new program.
    pub(crate) fn ty(&self, tensor: TensorId) -> &TensorType {
        self.builder.ty(tensor)
    }

    /// A tensor that the program did not have, over operands of the new one.
    pub(crate) fn compute(&mut self, origins: Origins, expr: TensorExpr, operands: &[TensorId]) -> TensorId {
        self.builder.set_origins(origins);
        self.builder.compute(expr, operands)
    }

    /// What `append` adds to the new program for what a statement defines.
    pub(crate) fn append(&mut self, statement: &Statement, append: impl FnOnce(&mut ProgramBuilder) -> TensorId) {
        self.builder.set_origins(statement.origins.clone());
        let output = append(&mut self.builder);
        self.map.insert(statement.output, output);
    }

    /// Another expression, over operands of the new program, for what a statement defines.
    pub(crate) fn define(
        &mut self,
        statement: &Statement,
        origins: Origins,
        expr: TensorExpr,
        operands: &[TensorId],
    ) -> TensorId {
        let output = self.compute(origins, expr, operands);
        self.map.insert(statement.output, output);
        output
    }

    /// A copy of a tensor of the new program.
    pub(crate) fn copy(&mut self, tensor: TensorId, origins: Origins) -> TensorId {
        let ty = self.builder.ty(tensor).clone();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let operand = expr.operand(&ty);
        let read = expr.read(operand, axes.into_iter().map(Index::axis).collect());
        self.compute(origins, expr.map(ty.element, read), &[tensor])
    }

    /// A tensor of the new program in the place of one of the old.
    pub(crate) fn replace(&mut self, old: TensorId, new: TensorId) {
        self.map.insert(old, new);
    }

    /// The new program, with the outputs of the old.
    pub(crate) fn finish(self, program: &TensorProgram) -> TensorProgram {
        let outputs = program.outputs.iter().map(|&output| self.map(output)).collect();
        let states = program.states().map(|(state, next)| (self.map(state), self.map(next))).collect();
        self.finish_with(program, LiveOut { outputs, states })
    }

    /// The new program with what it leaves, in the tensors of the new program.
    pub(crate) fn finish_with(mut self, program: &TensorProgram, live_out: LiveOut) -> TensorProgram {
        live_out.states.into_iter().for_each(|(state, next)| self.builder.set_next(state, next));
        let names = &mut self.builder.names().tensors;
        for (old, name) in &program.names.tensors {
            if let Some(&new) = self.map.get(old) {
                names.entry(new).or_insert_with(|| name.clone());
            }
        }
        self.builder.finish(live_out.outputs)
    }
}

/// What a program leaves: its outputs, and each state with what it becomes.
pub(crate) struct LiveOut {
    pub(crate) outputs: Vec<TensorId>,
    pub(crate) states: Vec<(TensorId, TensorId)>,
}

/// The nodes of several statements.
pub(crate) fn union<'s>(statements: impl IntoIterator<Item = &'s Statement>) -> Origins {
    statements.into_iter().flat_map(|statement| statement.origins.iter().copied()).collect()
}
