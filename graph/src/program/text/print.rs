//! Programs to text.

use std::fmt::{self, Write};

use crate::program::{Definition, Origin, Phase, Source, State, Statement, StatementId, TensorId, TensorProgram};
use crate::tensor::Tensor;
use crate::text::{ContentHash, Tensors, literal};

/// The program as text.
pub fn print(program: &TensorProgram) -> String {
    let mut text = "program\n".to_owned();
    for (id, Origin { phase, operator, name, result }) in program.names.origins.iter() {
        let _ = write!(text, "{id} = {operator:?} {name:?} gives {result:?}");
        text.push_str(&match phase {
            Phase::Forward => "\n".to_owned(),
            phase => format!(" in {}\n", phase.name()),
        });
    }
    let is_source = |tensor: &TensorId| !matches!(program.tensors[*tensor].source, Source::Statement(_));
    let mut sources = program.tensors.ids().filter(is_source).peekable();
    for (id, statement) in program.statements.iter() {
        let last = statement.operands.iter().copied().chain([statement.output]).max();
        while let Some(source) = sources.next_if(|source| Some(*source) <= last) {
            text.push_str(&source_line(program, source));
        }
        text.push_str(&statement_line(program, id, statement));
    }
    sources.for_each(|source| text.push_str(&source_line(program, source)));
    let output = |(position, tensor): (usize, &TensorId)| match program.names.outputs.get(&position) {
        Some(name) => format!("{tensor} {name:?}"),
        None => tensor.to_string(),
    };
    let outputs: Vec<String> = program.outputs.iter().enumerate().map(output).collect();
    text.push_str(format!("output {}", outputs.join(", ")).trim_end());
    text.push('\n');
    text
}

/// The tensors that the text of a program names by their hash.
pub fn tensors(program: &TensorProgram) -> Tensors {
    let values = program.tensors.ids().filter_map(|tensor| program.stored(tensor));
    values.filter(|value| !literal::is_inline(value)).map(|value| (ContentHash::of(value), value.clone())).collect()
}

fn declared(program: &TensorProgram, tensor: TensorId) -> String {
    let ty = &program.tensors[tensor].ty;
    match program.names.tensors.get(&tensor) {
        Some(name) => format!("{tensor} {name:?}: {ty}"),
        None => format!("{tensor}: {ty}"),
    }
}

fn source_line(program: &TensorProgram, tensor: TensorId) -> String {
    let source = match &program.tensors[tensor].source {
        Source::Input(position) => format!("input {position}"),
        Source::Constant(value) => format!("constant {}", elements(value)),
        Source::State(State { initial, next: None }) => format!("state {}", elements(initial)),
        Source::State(State { initial, next: Some(next) }) => format!("state {} next {next}", elements(initial)),
        Source::Statement(_) => unreachable!("statements have lines of their own"),
    };
    format!("{} = {source}\n", declared(program, tensor))
}

fn elements(value: &Tensor) -> String {
    if literal::is_inline(value) { literal::print(value) } else { format!("#{}", ContentHash::of(value)) }
}

fn statement_line(program: &TensorProgram, id: StatementId, statement: &Statement) -> String {
    let list = |ids: &mut dyn Iterator<Item = String>| ids.collect::<Vec<_>>().join(", ");
    let operands = list(&mut statement.operands.iter().map(ToString::to_string));
    let mut line = format!("{id} ({operands}) -> {} = ", declared(program, statement.output));
    let _ = match &statement.definition {
        Definition::Compute(expr) => write!(line, "{expr}"),
        Definition::Opaque(opaque) => write!(line, "{opaque}"),
        Definition::Concat { axis } => write!(line, "concat axis {axis}"),
    };
    if !statement.origins.is_empty() {
        let _ = write!(line, " from {}", list(&mut statement.origins.iter().map(ToString::to_string)));
    }
    line.push('\n');
    line
}

impl fmt::Display for TensorProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}
