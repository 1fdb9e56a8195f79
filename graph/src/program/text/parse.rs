//! Text to programs.

use std::collections::BTreeMap;

use crate::arena::{Arena, Id};
use crate::expr::TensorExpr;
use crate::procedure::{Opaque, Procedure};
use crate::program::verify::{Culprit, ProgramError};
use crate::program::{
    Definition, Origin, OriginId, Origins, Phase, Source, State, Statement, StatementId, TensorDefinition, TensorId,
    TensorProgram,
};
use crate::tensor::Tensor;
use crate::text::reader::{Parsed, Reader, TextError};
use crate::text::{ContentHash, Tensors, literal};
use crate::types::TensorType;

/// Most tensors of a program.
const MOST_TENSORS: usize = u32::MAX as usize;

/// Why a text is no program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProgramTextError {
    /// It does not read as one.
    #[error(transparent)]
    Text(#[from] TextError),
    /// What it describes is none.
    #[error("line {line}: {error}; {}", error.fault.remedy())]
    Program {
        /// The line of what is wrong, from 1.
        line: usize,
        error: ProgramError,
    },
}

/// The program that a text describes, with the tensors that it names; verified.
pub fn parse(text: &str, constants: &Tensors) -> Result<TensorProgram, ProgramTextError> {
    let mut reader = Reader::new(text);
    let mut parser = Parser::new(constants);
    parser.program(&mut reader)?;
    let program = parser.finish()?;
    program.verify().map_err(|error| {
        let place = match error.fault.culprit() {
            Culprit::Tensor(tensor) => parser.tensors.get(&tensor).map(|tensor| &tensor.place),
            Culprit::Statement(statement) => parser.places.get(statement),
            Culprit::Outputs => None,
        };
        ProgramTextError::Program { line: place.unwrap_or(&reader).line(), error }
    })?;
    Ok(program)
}

/// A tensor that has been declared.
struct Declared<'t> {
    definition: TensorDefinition,
    place: Reader<'t>,
}

/// What has been read of a program.
struct Parser<'t> {
    constants: &'t Tensors,
    tensors: BTreeMap<TensorId, Declared<'t>>,
    inputs: BTreeMap<usize, TensorId>,
    /// What states become, which may be declared after them.
    nexts: Vec<(Reader<'t>, TensorId)>,
    /// Where the statements stand.
    places: Arena<StatementId, Reader<'t>>,
    program: TensorProgram,
}

impl<'t> Parser<'t> {
    fn new(constants: &'t Tensors) -> Self {
        let (tensors, inputs) = (BTreeMap::new(), BTreeMap::new());
        Self { constants, tensors, inputs, nexts: Vec::new(), places: Arena::new(), program: TensorProgram::default() }
    }

    fn program(&mut self, reader: &mut Reader<'t>) -> Parsed<()> {
        reader.keyword("program")?;
        while !reader.eat_word("output") {
            if reader.is_id::<OriginId>() {
                self.origin(reader)?;
            } else if reader.is_id::<TensorId>() {
                self.source(reader)?;
            } else if reader.is_id::<StatementId>() {
                self.statement(reader)?;
            } else {
                return Err(
                    reader.expected("a node such as `n0`, a tensor such as `t0`, a statement such as `e0` or `output`")
                );
            }
        }
        while !reader.is_at_end() {
            if !self.program.outputs.is_empty() {
                reader.mark(",")?;
            }
            let output = self.tensor(reader)?;
            if let Some(name) = reader.eat_text()? {
                self.program.names.outputs.insert(self.program.outputs.len(), name);
            }
            self.program.outputs.push(output);
        }
        Ok(())
    }

    /// `n0 = "Conv" "name" gives "y"`, and `in backward` where its gradients are meant.
    fn origin(&mut self, reader: &mut Reader<'t>) -> Parsed<()> {
        reader.declared::<OriginId>(self.program.names.origins.len())?;
        reader.mark("=")?;
        let (operator, name) = (reader.text("the operator in quotes")?, reader.text("the node's name in quotes")?);
        reader.keyword("gives")?;
        let result = reader.text("the name of the node's first output in quotes")?;
        let phase = if reader.eat_word("in") {
            let named = Phase::ALL.into_iter().find(|phase| reader.eat_word(phase.name()));
            named.ok_or_else(|| reader.expected("`forward`, `loss`, `backward` or `optimizer`"))?
        } else {
            Phase::Forward
        };
        self.program.names.origins.push(Origin { phase, operator, name, result });
        Ok(())
    }

    /// A tensor that no statement defines.
    fn source(&mut self, reader: &mut Reader<'t>) -> Parsed<()> {
        let place = reader.clone();
        let (id, ty) = self.declared(reader)?;
        reader.mark("=")?;
        let source = if reader.eat_word("input") {
            let before = reader.clone();
            let position = reader.integer("the position among the inputs")?;
            if self.inputs.insert(position, id).is_some() {
                return Err(before.expected("a position that no other input has"));
            }
            Source::Input(position)
        } else if reader.eat_word("constant") {
            Source::Constant(self.value(reader, &ty)?)
        } else if reader.eat_word("state") {
            let initial = self.value(reader, &ty)?;
            let next = if reader.eat_word("next") { Some(self.next(reader)?) } else { None };
            Source::State(State { initial, next })
        } else {
            return Err(reader.expected("`input`, `constant` or `state`"));
        };
        self.tensors.insert(id, Declared { definition: TensorDefinition { ty, source }, place });
        Ok(())
    }

    fn next(&mut self, reader: &mut Reader<'t>) -> Parsed<TensorId> {
        let before = reader.clone();
        let next = reader.id("a tensor", MOST_TENSORS)?;
        self.nexts.push((before, next));
        Ok(next)
    }

    /// `e0 (t0) -> t1: f32[4] = … from n0`.
    fn statement(&mut self, reader: &mut Reader<'t>) -> Parsed<()> {
        let place = reader.clone();
        let id = reader.declared::<StatementId>(self.program.statements.len())?;
        reader.mark("(")?;
        let operands = reader.list(")", |reader| self.tensor(reader))?;
        reader.mark("->")?;
        let own = reader.clone();
        let (output, ty) = self.declared(reader)?;
        reader.mark("=")?;
        let types = operands.iter().map(|operand| self.tensors[operand].definition.ty.clone()).collect();
        let definition = definition(reader, types, &ty)?;
        let origins = self.origins(reader)?;
        let definition_of_output = TensorDefinition { ty, source: Source::Statement(id) };
        self.tensors.insert(output, Declared { definition: definition_of_output, place: own });
        self.program.statements.push(Statement { definition, operands, output, origins });
        self.places.push(place);
        Ok(())
    }

    /// `from n0, n1`, where a statement comes from nodes.
    fn origins(&self, reader: &mut Reader<'t>) -> Parsed<Origins> {
        let mut origins = Origins::new();
        if !reader.eat_word("from") {
            return Ok(origins);
        }
        while origins.is_empty() || reader.eat(",") {
            let before = reader.clone();
            let origin = reader.id("a node that is declared above", self.program.names.origins.len())?;
            if !origins.insert(origin) {
                return Err(before.expected("each node once"));
            }
        }
        Ok(origins)
    }

    /// A tensor that is declared above.
    fn tensor(&self, reader: &mut Reader<'t>) -> Parsed<TensorId> {
        let before = reader.clone();
        let id = reader.id("a tensor that is declared above", MOST_TENSORS)?;
        if self.tensors.contains_key(&id) { Ok(id) } else { Err(before.expected("a tensor that is declared above")) }
    }

    /// `t0 "name": f32[4]`.
    fn declared(&mut self, reader: &mut Reader<'t>) -> Parsed<(TensorId, TensorType)> {
        let before = reader.clone();
        let id = reader.id("a tensor", MOST_TENSORS)?;
        if self.tensors.contains_key(&id) {
            return Err(before.expected("a tensor that is not declared above"));
        }
        if let Some(name) = reader.eat_text()? {
            self.program.names.tensors.insert(id, name);
        }
        reader.mark(":")?;
        Ok((id, reader.tensor_type()?))
    }

    /// Elements, or the hash of a tensor.
    fn value(&self, reader: &mut Reader<'t>, ty: &TensorType) -> Parsed<Tensor> {
        let before = reader.clone();
        if reader.eat("#") {
            let tensor = ContentHash::from_digits(reader.literal()).and_then(|hash| self.constants.get(&hash));
            let tensor = tensor.filter(|tensor| tensor.ty() == ty);
            return tensor.cloned().ok_or_else(|| {
                before.expected(format!(
                    "the elements of {ty}, or the hash of such a tensor that is given beside the text"
                ))
            });
        }
        let elements = match reader.eat("[") {
            true => reader.list("]", |reader| Ok(reader.literal()))?,
            false => vec![reader.literal()],
        };
        literal::parse(ty, &elements).ok_or_else(|| before.expected(format!("the elements of {ty}")))
    }

    /// The program, if every number of a tensor and of an input is taken.
    fn finish(&mut self) -> Parsed<TensorProgram> {
        let mut program = std::mem::take(&mut self.program);
        for (position, (id, tensor)) in self.tensors.iter().enumerate() {
            if id.index() != position {
                return Err(tensor.place.expected(format!("{} to be declared too", TensorId::from_index(position))));
            }
            program.tensors.push(tensor.definition.clone());
        }
        for (expected, (position, tensor)) in self.inputs.iter().enumerate() {
            if expected != *position {
                return Err(self.tensors[tensor].place.expected(format!("input {expected} to be declared too")));
            }
            program.inputs.push(*tensor);
        }
        match self.nexts.iter().find(|(_, next)| !self.tensors.contains_key(next)) {
            Some((place, _)) => Err(place.expected("a tensor of the program")),
            None => Ok(program),
        }
    }
}

/// What a statement computes over operands of these types.
fn definition(reader: &mut Reader<'_>, types: Vec<TensorType>, output: &TensorType) -> Parsed<Definition> {
    if reader.eat_word("concat") {
        reader.keyword("axis")?;
        return Ok(Definition::Concat { axis: reader.integer("an axis")? });
    }
    if !matches!(reader.peek(), Some("sort" | "suppress")) {
        return TensorExpr::read(reader, types, output.element).map(Definition::Compute);
    }
    let procedure = Procedure::read(reader)?;
    reader.keyword("of")?;
    let access = TensorExpr::read(reader, types, output.element)?;
    Ok(Definition::Opaque(Opaque { procedure, access }))
}
