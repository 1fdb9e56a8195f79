//! A program of some statements of another: what the others computed is given.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::program::{Definition, OriginId, ProgramBuilder, Source, Statement, StatementId, TensorId};
use warpweave_graph::reference::evaluate;
use warpweave_graph::{Tensor, TensorProgram};

use super::{Case, MOST_BYTES, ReduceError};

/// A case and the values of all its tensors.
pub struct Known<'c> {
    case: &'c Case,
    values: BTreeMap<TensorId, Tensor>,
}

impl<'c> Known<'c> {
    /// The values that the reference gives.
    pub fn of<E>(case: &'c Case) -> Result<Self, ReduceError<E>> {
        let mut program = case.program.clone();
        program.outputs = program.statements.values().map(|statement| statement.output).collect();
        let bytes = program.outputs.iter().map(|&output| program.tensors[output].ty.bytes() as u64);
        let bytes = bytes.fold(0, u64::saturating_add);
        if bytes > MOST_BYTES {
            return Err(ReduceError::Memory { bytes });
        }
        let computed = evaluate(&program, &case.inputs).map_err(ReduceError::Reference)?;
        let values = program.outputs.iter().copied().zip(computed).collect();
        Ok(Self { case, values })
    }

    /// The values of some tensors, of the tensors' types.
    pub fn of_values(case: &'c Case, values: BTreeMap<TensorId, Tensor>) -> Self {
        Self { case, values }
    }

    /// The case of these statements, which stand in the program's order. Its outputs are what the program's are, and what
    /// none of the statements reads.
    pub fn only(&self, kept: &[StatementId]) -> Case {
        let program = &self.case.program;
        let read: BTreeSet<TensorId> =
            kept.iter().flat_map(|&id| program.statements[id].operands.iter().copied()).collect();
        let is_output = |tensor: &TensorId| program.outputs.contains(tensor) || !read.contains(tensor);
        let outputs = kept.iter().map(|&id| program.statements[id].output).filter(is_output);
        self.giving(kept, outputs.collect())
    }

    /// The case of the statements that compute a tensor from inputs, constants and the nearest other tensors whose values are known.
    pub fn computing(&self, output: TensorId) -> Case {
        let program = &self.case.program;
        let (mut kept, mut open) = (BTreeSet::new(), vec![output]);
        while let Some(tensor) = open.pop() {
            let is_given = tensor != output && self.values.contains_key(&tensor);
            if let Some(statement) = program.producer(tensor).filter(|_| !is_given)
                && kept.insert(statement)
            {
                open.extend(&program.statements[statement].operands);
            }
        }
        self.giving(&kept.into_iter().collect::<Vec<_>>(), vec![output])
    }

    fn giving(&self, kept: &[StatementId], outputs: Vec<TensorId>) -> Case {
        let program = &self.case.program;
        let mut cut = Cut { known: self, builder: ProgramBuilder::new(), tensors: BTreeMap::new(), inputs: Vec::new() };
        let mut origins = BTreeMap::new();
        for &id in kept {
            cut.append(&program.statements[id], &mut origins);
        }
        let outputs: Vec<TensorId> = outputs.into_iter().map(|output| cut.tensors[&output]).collect();
        Case { program: cut.builder.finish(outputs), inputs: cut.inputs }
    }

    /// The value of a tensor that no kept statement defines and that is no constant.
    fn value(&self, tensor: TensorId) -> Tensor {
        let program = &self.case.program;
        match &program.tensors[tensor].source {
            Source::Input(position) => self.case.inputs[*position].clone(),
            Source::Constant(value) => value.clone(),
            Source::State(state) => state.initial.clone(),
            Source::Statement(_) => self.values[&tensor].clone(),
        }
    }
}

struct Cut<'k, 'c> {
    known: &'k Known<'c>,
    builder: ProgramBuilder,
    tensors: BTreeMap<TensorId, TensorId>,
    inputs: Vec<Tensor>,
}

impl Cut<'_, '_> {
    fn append(&mut self, statement: &Statement, origins: &mut BTreeMap<OriginId, OriginId>) {
        let operands: Vec<TensorId> = statement.operands.iter().map(|&operand| self.operand(operand)).collect();
        let program: &TensorProgram = &self.known.case.program;
        let known = statement.origins.iter().filter_map(|&origin| Some((origin, program.names.origins.get(origin)?)));
        let names = self.builder.names();
        let renamed =
            known.map(|(id, origin)| *origins.entry(id).or_insert_with(|| names.origins.push(origin.clone())));
        let renamed = renamed.collect();
        self.builder.set_origins(renamed);
        let output = match &statement.definition {
            Definition::Compute(expr) => self.builder.compute(expr.clone(), &operands),
            Definition::Opaque(opaque) => self.builder.opaque(opaque.clone(), &operands),
            Definition::Concat { axis } => self.builder.concat(*axis, &operands),
        };
        self.name(statement.output, output);
        self.tensors.insert(statement.output, output);
    }

    fn operand(&mut self, tensor: TensorId) -> TensorId {
        if let Some(&known) = self.tensors.get(&tensor) {
            return known;
        }
        let program = &self.known.case.program;
        let cut = match program.constant(tensor) {
            Some(value) => self.builder.constant(value.clone()),
            None => {
                self.inputs.push(self.known.value(tensor));
                self.builder.input(program.tensors[tensor].ty.clone())
            }
        };
        self.name(tensor, cut);
        self.tensors.insert(tensor, cut);
        cut
    }

    fn name(&mut self, old: TensorId, new: TensorId) {
        if let Some(name) = self.known.case.program.tensor_name(old) {
            let name = name.to_owned();
            self.builder.names().tensors.insert(new, name);
        }
    }
}
