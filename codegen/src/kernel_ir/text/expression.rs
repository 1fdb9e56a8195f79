//! Expressions to text and back.

use std::fmt;

use warpweave_graph::text::reader::{Parsed, Reader, Word};

use super::scope::Scope;
use crate::kernel_ir::{ArrayId, BinaryOp, Builtin, Constant, Expression, LocalId, ScalarType, UnaryOp};

/// The expression that comes next.
pub fn expression(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<Expression> {
    reader.nested(|reader| any_expression(reader, scope))
}

fn any_expression(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<Expression> {
    if reader.is_id::<LocalId>() {
        return scope.local(reader).map(Expression::Local);
    }
    if reader.is_id::<ArrayId>() {
        let array = scope.array(reader)?;
        return Ok(Expression::Element(array, Box::new(index(reader, scope)?)));
    }
    if is_operand(reader) {
        return operand(reader).map(Expression::Operand);
    }
    if let Some(builtin) = reader.eat_named::<Builtin>() {
        return Ok(Expression::Builtin(builtin));
    }
    if reader.eat_word("tile") {
        return Ok(Expression::Tile);
    }
    if let Some(op) = reader.eat_named::<UnaryOp>() {
        let [value] = arguments(reader, scope)?;
        return Ok(Expression::Unary(op, value));
    }
    if let Some(op) = reader.eat_named::<BinaryOp>() {
        let [left, right] = arguments(reader, scope)?;
        return Ok(Expression::Binary(op, left, right));
    }
    if let Some(scalar) = reader.eat_named::<ScalarType>() {
        let [value] = arguments(reader, scope)?;
        return Ok(Expression::Cast(scalar, value));
    }
    if reader.eat_word("fma") {
        let [left, right, addend] = arguments(reader, scope)?;
        return Ok(Expression::FusedMultiplyAdd(left, right, addend));
    }
    if reader.eat_word("select") {
        let [condition, then, otherwise] = arguments(reader, scope)?;
        return Ok(Expression::Select(condition, then, otherwise));
    }
    if reader.eat_word("fast_div") {
        reader.mark("(")?;
        let value = expression(reader, scope)?;
        reader.mark(",")?;
        let divisor = operand(reader)?;
        return reader.mark(")").map(|()| Expression::FastDivide(Box::new(value), divisor));
    }
    let start = reader.clone();
    constant(reader.literal()).map(Expression::Constant).ok_or_else(|| start.expected("an expression"))
}

/// An expression in square brackets.
pub fn index(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<Expression> {
    reader.mark("[")?;
    let index = expression(reader, scope)?;
    reader.mark("]").map(|()| index)
}

fn arguments<const N: usize>(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<[Box<Expression>; N]> {
    reader.mark("(")?;
    let start = reader.clone();
    let arguments = reader.list(")", |reader| expression(reader, scope).map(Box::new))?;
    arguments.try_into().map_err(|_| start.expected(format!("{N} operands")))
}

fn is_operand(reader: &Reader<'_>) -> bool {
    let digits = reader.peek().and_then(|word| word.strip_prefix('p'));
    digits.is_some_and(|digits| digits.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// The number of an operand.
fn operand(reader: &mut Reader<'_>) -> Parsed<u32> {
    let word = reader.peek().unwrap_or_default();
    let number = word.strip_prefix('p').and_then(|digits| digits.parse().ok());
    let number = number.ok_or_else(|| reader.expected("an operand such as `p0`"))?;
    reader.keyword(word).map(|()| number)
}

fn constant(text: &str) -> Option<Constant> {
    if let "true" | "false" = text {
        return Some(Constant::Bool(text == "true"));
    }
    if let Some(digits) = text.strip_suffix("_i64") {
        return digits.parse().ok().map(Constant::I64);
    }
    if let Some(bits) = text.strip_prefix("nan:") {
        let bits = u32::from_str_radix(bits, 16).ok()?;
        return f32::from_bits(bits).is_nan().then_some(Constant::F32(bits));
    }
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return text.parse().ok().map(Constant::I32);
    }
    let value: f32 = text.parse().ok()?;
    (!value.is_nan()).then_some(Constant::F32(value.to_bits()))
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(constant) => write!(f, "{constant}"),
            Self::Local(local) => write!(f, "{local}"),
            Self::Element(array, index) => write!(f, "{array}[{index}]"),
            Self::Builtin(builtin) => f.write_str(builtin.word()),
            Self::Operand(number) => write!(f, "p{number}"),
            Self::Tile => f.write_str("tile"),
            Self::Unary(op, value) => write!(f, "{}({value})", op.word()),
            Self::Binary(op, left, right) => write!(f, "{}({left}, {right})", op.word()),
            Self::FusedMultiplyAdd(left, right, addend) => write!(f, "fma({left}, {right}, {addend})"),
            Self::Select(condition, then, otherwise) => write!(f, "select({condition}, {then}, {otherwise})"),
            Self::Cast(scalar, value) => write!(f, "{}({value})", scalar.word()),
            Self::FastDivide(value, divisor) => write!(f, "fast_div({value}, p{divisor})"),
        }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::I32(value) => write!(f, "{value}"),
            Self::I64(value) => write!(f, "{value}_i64"),
            Self::F32(bits) if f32::from_bits(bits).is_nan() => write!(f, "nan:{bits:08x}"),
            Self::F32(bits) => write!(f, "{:?}", f32::from_bits(bits)),
        }
    }
}
