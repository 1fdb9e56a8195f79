//! Tensor expressions as text that [`TensorExpr::read`] reads back.
//!
//! ```text
//! [a0<4, a1<5] sum[a2<6] mul(x0[a0, a2], (a1 + a2 in 0..5 ? x1[a1 + a2] : 0.0)) then max(reduced, 0.0)
//! ```
//! A read is written where its value is first used and is `%n` later. Where the reads do not stand in that order, all are
//! declared before: `with %0 = x0[a0], %1 = x0[a1]: …`. Operand types and the element type of the value stand elsewhere.
//! What a procedure takes along an axis is written `each[a2<6]` where a reducer would stand. Integer literals are `i64` and others `f32` unless a suffix such as `_i32` says otherwise.

use std::fmt;

use super::{
    Atom, AxisKind, BinaryOp, Condition, Guard, Index, Literal, Read, ReadId, Reducer, Scalar, TensorExpr, UnaryOp,
};
use crate::arena::Id;
use crate::text::reader::Word;
use crate::types::ElementType;
use crate::words;

impl fmt::Display for TensorExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer { expr: self, written: 0, limit: self.reads.len(), in_order: true };
        let text = printer.value();
        if printer.in_order && printer.written == self.reads.len() {
            return f.write_str(&text);
        }
        let mut printer = Printer { written: self.reads.len(), ..printer };
        let reads = self.reads.iter().map(|(id, read)| format!("{id} = {}", printer.read(read)));
        let reads: Vec<String> = reads.collect();
        write!(f, "with {}: {}", reads.join(", "), printer.value())
    }
}

/// Writes an expression, its reads in place.
struct Printer<'e> {
    expr: &'e TensorExpr,
    /// Reads that have been written; later ones are written in place.
    written: usize,
    /// Reads from here on cannot be written before the one that needs them.
    limit: usize,
    /// Whether every read has been written in the order of the ids.
    in_order: bool,
}

impl Printer<'_> {
    fn value(&mut self) -> String {
        let expr = self.expr;
        let axes = |kind: AxisKind| {
            let of_kind = expr.axes.iter().filter(move |(_, axis)| axis.kind == kind);
            of_kind.map(|(id, axis)| format!("{id}<{}", axis.extent)).collect::<Vec<_>>().join(", ")
        };
        let reduced = axes(AxisKind::Reduced);
        let reducer = match expr.reducer {
            Some(reducer) => format!("{}[{reduced}] ", reducer.word()),
            None if reduced.is_empty() => String::new(),
            None => format!("each[{reduced}] "),
        };
        let mut text = format!("[{}] {reducer}{}", axes(AxisKind::Parallel), self.scalar(&expr.body));
        if let Some(epilogue) = &expr.epilogue {
            text.push_str(&format!(" then {}", self.scalar(epilogue)));
        }
        text
    }

    fn scalar(&mut self, scalar: &Scalar) -> String {
        match scalar {
            Scalar::Literal(literal) => literal.to_string(),
            Scalar::Read(read) => self.named(*read),
            Scalar::Index(index, element) => format!("{element}[{}]", self.index(index)),
            Scalar::Holds(guard) => format!("holds({})", self.guard(guard)),
            Scalar::Reduced => "reduced".to_owned(),
            Scalar::Unary(op, operand) => format!("{}({})", op.word(), self.scalar(operand)),
            Scalar::Binary(op, left, right) => {
                let left = self.scalar(left);
                format!("{}({left}, {})", op.word(), self.scalar(right))
            }
            Scalar::Select(condition, then, otherwise) => {
                let (condition, then) = (self.scalar(condition), self.scalar(then));
                format!("select({condition}, {then}, {})", self.scalar(otherwise))
            }
            Scalar::Cast(element, operand) => format!("{element}({})", self.scalar(operand)),
        }
    }

    /// A read by its name, or in place if it has not been written.
    fn named(&mut self, id: ReadId) -> String {
        if id.index() < self.written {
            return id.to_string();
        }
        let Some(read) = self.expr.reads.get(id).filter(|_| self.in_order && id.index() < self.limit) else {
            self.in_order = false;
            return id.to_string();
        };
        let outer = std::mem::replace(&mut self.limit, id.index());
        let text = self.read(read);
        self.limit = outer;
        self.in_order &= self.written == id.index();
        self.written += 1;
        text
    }

    fn read(&mut self, read: &Read) -> String {
        let guard = self.guard(&read.guard);
        let index: Vec<String> = read.index.iter().map(|index| self.index(index)).collect();
        let plain = format!("x{}[{}]", read.operand, index.join(", "));
        let operand = self.expr.operands.get(read.operand);
        let zero = operand.is_some_and(|operand| read.fill == Literal::new(operand.element, 0.0));
        if read.guard.is_always() && zero { plain } else { format!("({guard} ? {plain} : {})", read.fill) }
    }

    fn index(&mut self, index: &Index) -> String {
        index.show(&mut |read| self.named(read))
    }

    fn guard(&mut self, guard: &Guard) -> String {
        let show = |condition: &Condition| {
            format!("{} in {}..{}", self.index(&condition.index), condition.lower, condition.upper)
        };
        let conditions: Vec<String> = guard.conditions().iter().map(show).collect();
        if guard.is_always() { "always".to_owned() } else { conditions.join(", ") }
    }
}

impl Index {
    /// The index as text, with `read` for the text of a read inside it.
    fn show(&self, read: &mut dyn FnMut(ReadId) -> String) -> String {
        let mut text = String::new();
        for (atom, coefficient) in self.terms() {
            text.push_str(match (text.is_empty(), *coefficient < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            });
            if coefficient.unsigned_abs() != 1 {
                text.push_str(&format!("{}*", coefficient.unsigned_abs()));
            }
            text.push_str(&match atom {
                Atom::Axis(axis) => axis.to_string(),
                Atom::FloorDiv(inner, divisor) => format!("div({}, {divisor})", inner.show(read)),
                Atom::Mod(inner, divisor) => format!("mod({}, {divisor})", inner.show(read)),
                Atom::Clamp(inner, low, high) => format!("clamp({}, {low}, {high})", inner.show(read)),
                Atom::Indirect(place) => format!("place({}, {})", read(place.read), place.extent),
            });
        }
        match (self.terms().is_empty(), self.offset()) {
            (true, constant) => constant.to_string(),
            (false, 0) => text,
            (false, constant) if constant < 0 => format!("{text} - {}", constant.unsigned_abs()),
            (false, constant) => format!("{text} + {constant}"),
        }
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show(&mut |read| read.to_string()))
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (element, plain) = match *self {
            Self::Bool(value) => return write!(f, "{value}"),
            Self::Integer(element, value) => (element, (ElementType::I64, value.to_string())),
            Self::Float(element, bits) => (element, (ElementType::F32, float(bits))),
        };
        let (usual, digits) = plain;
        if element == usual { f.write_str(&digits) } else { write!(f, "{digits}_{element}") }
    }
}

/// A double by its bits: in decimal, or in hexadecimal after `nan:`.
fn float(bits: u64) -> String {
    let value = f64::from_bits(bits);
    if value.is_nan() { format!("nan:{bits:016x}") } else { format!("{value:?}") }
}

words!(Reducer { Sum => "sum", Product => "product", Maximum => "max", Minimum => "min" });

words!(UnaryOp {
    Negate => "neg",
    Absolute => "abs",
    Not => "not",
    Exp => "exp",
    Log => "log",
    Sqrt => "sqrt",
    Tanh => "tanh",
    Erf => "erf",
    Sin => "sin",
    Cos => "cos",
    Atan => "atan",
    Floor => "floor",
    Ceil => "ceil",
    RoundEven => "round",
});

words!(BinaryOp {
    Add => "add",
    Subtract => "sub",
    Multiply => "mul",
    Divide => "div",
    Remainder => "rem",
    Minimum => "min",
    Maximum => "max",
    Power => "pow",
    Less => "lt",
    LessEqual => "le",
    Equal => "eq",
    And => "and",
    Or => "or",
    BitAnd => "bit_and",
    BitOr => "bit_or",
    BitXor => "bit_xor",
    ShiftLeft => "shl",
    ShiftRight => "shr",
});
