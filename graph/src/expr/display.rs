//! Tensor expressions as text, for dumps and golden files.

use std::fmt;

use super::{AxisKind, BinaryOp, Literal, Read, Reducer, Scalar, TensorExpr, UnaryOp};

impl fmt::Display for TensorExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes = |kind: AxisKind| {
            let of_kind = self.axes.iter().filter(move |(_, axis)| axis.kind == kind);
            of_kind.map(|(id, axis)| format!("{id}<{}", axis.extent)).collect::<Vec<_>>().join(", ")
        };
        write!(f, "[{}] ", axes(AxisKind::Parallel))?;
        if let Some(reducer) = self.reducer {
            write!(f, "{}[{}] ", reducer.name(), axes(AxisKind::Reduced))?;
        }
        write!(f, "{}", self.show(&self.body))?;
        match &self.epilogue {
            Some(epilogue) => write!(f, " then {}", self.show(epilogue)),
            None => Ok(()),
        }
    }
}

impl TensorExpr {
    fn show(&self, scalar: &Scalar) -> String {
        match scalar {
            Scalar::Literal(literal) => literal.to_string(),
            Scalar::Read(read) => self.show_read(&self.reads[*read]),
            Scalar::Index(index, element) => format!("{element}({index})"),
            Scalar::Holds(guard) => format!("holds({guard})"),
            Scalar::Reduced => "reduced".to_owned(),
            Scalar::Unary(op, operand) => format!("{}({})", op.name(), self.show(operand)),
            Scalar::Binary(op, left, right) => format!("{}({}, {})", op.name(), self.show(left), self.show(right)),
            Scalar::Select(condition, then, otherwise) => {
                format!("select({}, {}, {})", self.show(condition), self.show(then), self.show(otherwise))
            }
            Scalar::Cast(element, operand) => format!("{element}({})", self.show(operand)),
        }
    }

    fn show_read(&self, read: &Read) -> String {
        let show_index = |index: &super::Index| {
            let mut text = index.to_string();
            index.visit(&mut |_| {}, &mut |inner| {
                text = text.replace(&inner.to_string(), &self.show_read(&self.reads[inner]));
            });
            text
        };
        let index: Vec<String> = read.index.iter().map(show_index).collect();
        let plain = format!("x{}[{}]", read.operand, index.join(", "));
        if read.guard.is_always() {
            return plain;
        }
        format!("({} ? {plain} : {})", read.guard, read.fill)
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(_, value) => write!(f, "{value}"),
            Self::Float(_, bits) => write!(f, "{:?}", f64::from_bits(*bits)),
        }
    }
}

impl Reducer {
    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Maximum => "max",
            Self::Minimum => "min",
        }
    }
}

impl UnaryOp {
    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Negate => "neg",
            Self::Absolute => "abs",
            Self::Not => "not",
            Self::Exp => "exp",
            Self::Log => "log",
            Self::Sqrt => "sqrt",
            Self::Tanh => "tanh",
            Self::Erf => "erf",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::RoundEven => "round",
        }
    }
}

impl BinaryOp {
    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Subtract => "sub",
            Self::Multiply => "mul",
            Self::Divide => "div",
            Self::Remainder => "rem",
            Self::Minimum => "min",
            Self::Maximum => "max",
            Self::Power => "pow",
            Self::Less => "lt",
            Self::LessEqual => "le",
            Self::Equal => "eq",
            Self::And => "and",
            Self::Or => "or",
        }
    }
}
