//! Text to graphs.

use super::lexer::{Token, tokens};
use super::{ContentHash, Tensors, literal};
use crate::arena::Id;
use crate::counted::CountedOutput;
use crate::ir::{Graph, GraphOutput, ValueId};
use crate::ops::{Attribute, AttributeReader, NEWEST_OPSET, Op};
use crate::tensor::Tensor;
use crate::types::{ElementType, MAX_RANK, Shape, TensorType, ValueType};

/// Why a text is no graph.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// Deepest nesting of sequence and optional types.
const DEEPEST_TYPE: usize = 8;

/// The graph that a text describes, with the tensors that it names. The graph is not verified.
pub fn parse(text: &str, tensors: &Tensors) -> Result<Graph, ParseError> {
    let mut graph = Graph::default();
    for (number, line) in text.lines().enumerate() {
        let error = |reason: String| ParseError { line: number + 1, reason };
        let tokens = tokens(line).ok_or_else(|| error("a quoted text is not well formed".to_owned()))?;
        if !tokens.is_empty() {
            Line { tokens: &tokens, at: 0, graph: &mut graph, tensors }.parse().map_err(error)?;
        }
    }
    Ok(graph)
}

struct Line<'l, 't> {
    tokens: &'l [Token<'t>],
    at: usize,
    graph: &'l mut Graph,
    tensors: &'l Tensors,
}

/// A value that a line defines.
struct Declared {
    name: String,
    ty: ValueType,
}

impl<'t> Line<'_, 't> {
    fn parse(mut self) -> Result<(), String> {
        match self.peek() {
            Some(Token::Word("graph")) => {
                self.at += 1;
                self.graph.name = self.text()?;
            }
            Some(Token::Word("input")) => {
                self.at += 1;
                let listed = self.values()?;
                if listed.len() != self.graph.inputs.len() || listed.iter().any(|id| !self.graph.inputs.contains(id)) {
                    return Err("the inputs are not those that are declared".to_owned());
                }
                self.graph.inputs = listed;
            }
            Some(Token::Word("output")) => {
                self.at += 1;
                self.graph.outputs = self.outputs()?;
            }
            Some(Token::Word("counted")) => {
                self.at += 1;
                let output = number(self.word()?)?;
                self.expect(',')?;
                let dimension = number(self.word()?)?;
                self.expect(',')?;
                let count = number(self.word()?)?;
                self.graph.counted.push(CountedOutput { output, dimension, count });
            }
            _ => self.definition()?,
        }
        if self.at == self.tokens.len() { Ok(()) } else { Err("more follows than expected".to_owned()) }
    }

    fn definition(&mut self) -> Result<(), String> {
        let mut declared = vec![self.declared(0)?];
        while self.skip(',') {
            declared.push(self.declared(declared.len())?);
        }
        self.expect('=')?;
        let operator = self.word()?;
        match operator {
            "input" | "constant" | "variable" if declared.len() != 1 => {
                Err("one value is declared at a time".to_owned())
            }
            "input" => {
                let Declared { name, ty } = declared.remove(0);
                if self.at == self.tokens.len() {
                    self.graph.input(name, ty);
                    return Ok(());
                }
                let default = self.tensor(ty.as_tensor().ok_or("what has a default is a tensor")?)?;
                self.graph.input_with_default(name, default);
                Ok(())
            }
            "constant" | "variable" => {
                let Declared { name, ty } = declared.remove(0);
                let ty = ty.as_tensor().ok_or("constants and variables are tensors")?;
                let tensor = self.tensor(ty)?;
                match operator {
                    "constant" => self.graph.constant(name, tensor),
                    _ => self.graph.variable(name, tensor),
                };
                Ok(())
            }
            first => self.node(first, declared),
        }
    }

    fn node(&mut self, first: &'t str, declared: Vec<Declared>) -> Result<(), String> {
        let (domain, operator) = if self.skip(':') { (first, self.word()?) } else { ("", first) };
        let name = self.text()?;
        self.expect('(')?;
        let mut inputs = Vec::new();
        while !self.skip(')') {
            if !inputs.is_empty() {
                self.expect(',')?;
            }
            inputs.push(match self.word()? {
                "_" => None,
                word => Some(self.known(word)?),
            });
        }
        let mut attributes = Vec::new();
        if self.skip('{') {
            while !self.skip('}') {
                if !attributes.is_empty() {
                    self.expect(',')?;
                }
                let name = self.word()?.to_owned();
                self.expect('=')?;
                attributes.push((name, self.attribute()?));
            }
        }
        let mut reader = AttributeReader::new(attributes, NEWEST_OPSET);
        let op = Op::import(domain, operator, &mut reader).map_err(|error| error.to_string())?;
        let outputs = declared.into_iter().map(|Declared { name, ty }| (name, ty)).collect();
        self.graph.node(name, op, inputs, outputs);
        Ok(())
    }

    /// The declaration of the value that follows the last one by `ahead`.
    fn declared(&mut self, ahead: usize) -> Result<Declared, String> {
        let expected = ValueId::from_index(self.graph.values.len() + ahead).to_string();
        if self.word()? != expected {
            return Err(format!("{expected} is declared next"));
        }
        let name = self.text()?;
        self.expect(':')?;
        Ok(Declared { name, ty: self.value_type(0)? })
    }

    fn value_type(&mut self, depth: usize) -> Result<ValueType, String> {
        let word = self.word()?;
        let wrap: fn(Box<ValueType>) -> ValueType = match word {
            "sequence" => ValueType::Sequence,
            "optional" => ValueType::Optional,
            _ => {
                let element: ElementType = word.parse().map_err(|error| format!("{error}"))?;
                self.expect('[')?;
                let shape = if self.skip(']') { Shape::scalar() } else { self.shape()? };
                return Ok(TensorType { element, shape }.into());
            }
        };
        if depth == DEEPEST_TYPE {
            return Err("the type is nested too deeply".to_owned());
        }
        self.expect('(')?;
        let inner = self.value_type(depth + 1)?;
        self.expect(')')?;
        Ok(wrap(Box::new(inner)))
    }

    fn shape(&mut self) -> Result<Shape, String> {
        let word = self.word()?;
        self.expect(']')?;
        let shape: Shape = word.parse().map_err(|_| format!("`{word}` is no shape"))?;
        let possible = shape.len() <= MAX_RANK && shape.checked_elements().is_some();
        if possible { Ok(shape) } else { Err(format!("[{word}] is too large")) }
    }

    fn tensor(&mut self, ty: &TensorType) -> Result<Tensor, String> {
        if self.skip('#') {
            let digits = self.word()?;
            let tensor = ContentHash::from_digits(digits).and_then(|hash| self.tensors.get(&hash));
            let tensor = tensor.ok_or_else(|| format!("tensor #{digits} is not there"))?;
            return if tensor.ty() == ty { Ok(tensor.clone()) } else { Err(format!("#{digits} is {}", tensor.ty())) };
        }
        let elements = if self.peek() == Some(&Token::Mark('[')) { self.words()? } else { vec![self.word()?] };
        literal::parse(ty, &elements).ok_or_else(|| format!("the elements are not those of {ty}"))
    }

    fn attribute(&mut self) -> Result<Attribute, String> {
        let kind = self.word()?;
        match kind {
            "int" => number(self.word()?).map(Attribute::Int),
            "float" => number(self.word()?).map(Attribute::Float),
            "string" => self.text().map(Attribute::String),
            "ints" => self.words()?.into_iter().map(number).collect::<Result<_, _>>().map(Attribute::Ints),
            "floats" => self.words()?.into_iter().map(number).collect::<Result<_, _>>().map(Attribute::Floats),
            "strings" => {
                let mut texts = Vec::new();
                self.expect('[')?;
                while !self.skip(']') {
                    if !texts.is_empty() {
                        self.expect(',')?;
                    }
                    texts.push(self.text()?);
                }
                Ok(Attribute::Strings(texts))
            }
            "tensor" => {
                let ty = self.value_type(DEEPEST_TYPE)?;
                self.tensor(ty.as_tensor().ok_or("the attribute is a tensor")?).map(Attribute::Tensor)
            }
            other => Err(format!("`{other}` is no kind of attribute")),
        }
    }

    /// Words in brackets, separated by commas.
    fn words(&mut self) -> Result<Vec<&'t str>, String> {
        let mut words = Vec::new();
        self.expect('[')?;
        while !self.skip(']') {
            if !words.is_empty() {
                self.expect(',')?;
            }
            words.push(self.word()?);
        }
        Ok(words)
    }

    /// Values up to the end of the line, separated by commas.
    fn values(&mut self) -> Result<Vec<ValueId>, String> {
        let mut values = Vec::new();
        while self.at < self.tokens.len() {
            if !values.is_empty() {
                self.expect(',')?;
            }
            let word = self.word()?;
            values.push(self.known(word)?);
        }
        Ok(values)
    }

    /// The outputs, each under the name that follows it or its value's.
    fn outputs(&mut self) -> Result<Vec<GraphOutput>, String> {
        let mut outputs = Vec::new();
        while self.at < self.tokens.len() {
            if !outputs.is_empty() {
                self.expect(',')?;
            }
            let word = self.word()?;
            let value = self.known(word)?;
            let has_name = matches!(self.peek(), Some(Token::Text(_)));
            let name = if has_name { self.text()? } else { self.graph.values[value].name.clone() };
            outputs.push(GraphOutput { name, value });
        }
        Ok(outputs)
    }

    /// The value that a word names.
    fn known(&self, word: &str) -> Result<ValueId, String> {
        let index = word.strip_prefix('v').and_then(|digits| digits.parse::<usize>().ok());
        let index = index.filter(|&index| index < self.graph.values.len());
        index.map(ValueId::from_index).ok_or_else(|| format!("`{word}` is no value that is defined before"))
    }

    fn peek(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.at)
    }

    fn skip(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        if self.skip(mark) { Ok(()) } else { Err(format!("`{mark}` is expected, {} found", self.found())) }
    }

    fn word(&mut self) -> Result<&'t str, String> {
        let Some(&Token::Word(word)) = self.peek() else {
            return Err(format!("a word is expected, {} found", self.found()));
        };
        self.at += 1;
        Ok(word)
    }

    fn text(&mut self) -> Result<String, String> {
        let Some(Token::Text(text)) = self.peek() else {
            return Err(format!("a quoted text is expected, {} found", self.found()));
        };
        let text = text.clone();
        self.at += 1;
        Ok(text)
    }

    fn found(&self) -> String {
        match self.peek() {
            None => "the end of the line".to_owned(),
            Some(Token::Word(word)) => format!("`{word}`"),
            Some(Token::Text(text)) => format!("{text:?}"),
            Some(Token::Mark(mark)) => format!("`{mark}`"),
        }
    }
}

fn number<N: std::str::FromStr>(word: &str) -> Result<N, String> {
    word.parse().map_err(|_| format!("`{word}` is no number that fits"))
}
