//! Expressions as CUDA.

use super::literal::{literal, signed_literal};
use super::types::register;
use warpweave_plan::tables::HELD_OPERANDS;

use crate::kernel_ir::typing::type_of;
use crate::kernel_ir::{BinaryOp, Builtin, Constant, Expression, Function, LocalId, ScalarType, SharedId, UnaryOp};

/// `expression` as it stands where nothing binds it.
pub(super) fn expression(kernel: &Function, expression: &Expression) -> String {
    Printer { kernel }.whole(expression)
}

/// `index`, of either integer type, as the 64-bit element index of a global access.
pub(super) fn global_index(kernel: &Function, index: &Expression) -> String {
    let text = expression(kernel, index);
    match (type_of(kernel, index), index) {
        (ScalarType::I64, _) => text,
        (_, Expression::Constant(Constant::I32(value))) if *value >= 0 => format!("{value}ull"),
        (_, Expression::Binary(BinaryOp::Add, start, further))
            if let Expression::Constant(Constant::I32(further)) = **further =>
        {
            let (sign, further) = (if further < 0 { '-' } else { '+' }, further.unsigned_abs());
            format!("{} {sign} {further}ull", global_index(kernel, start))
        }
        _ => format!("ww_extend({text})"),
    }
}

/// An element of a shared array as a pointer and an index.
///
/// What the variable of no enclosing loop is part of goes to the pointer, so that a compiler that unrolls the loops has one
/// address and constants to it. Both are signed: one of them may be negative.
pub(super) fn shared_address(
    kernel: &Function,
    array: SharedId,
    index: &Expression,
    counts: &impl Fn(LocalId) -> bool,
) -> (String, String) {
    let mut addends = Vec::new();
    collect_addends(index, &mut addends);
    let varies = |addend: &&Expression| {
        let mut varies = matches!(addend, Expression::Constant(_));
        addend.visit(&mut |inner| varies |= matches!(inner, Expression::Local(local) if counts(*local)));
        varies
    };
    let (varying, others): (Vec<_>, Vec<_>) = addends.into_iter().partition(varies);
    if varying.is_empty() || others.is_empty() {
        return (array.to_string(), expression(kernel, index));
    }
    let sum = |addends: Vec<&Expression>| {
        let sum = addends
            .into_iter()
            .cloned()
            .reduce(|sum, addend| Expression::Binary(BinaryOp::Add, Box::new(sum), Box::new(addend)));
        signed(kernel, &sum.expect("there are addends"))
    };
    (format!("{array} + {}", sum(others)), sum(varying))
}

fn collect_addends<'e>(sum: &'e Expression, addends: &mut Vec<&'e Expression>) {
    match sum {
        Expression::Binary(BinaryOp::Add, left, right) => {
            collect_addends(left, addends);
            collect_addends(right, addends);
        }
        _ => addends.push(sum),
    }
}

/// The position in a register array: constants are printed without suffix.
pub(super) fn position(kernel: &Function, index: &Expression) -> String {
    match index {
        Expression::Constant(constant) => signed_literal(*constant).expect("an array is indexed by an integer"),
        _ => expression(kernel, index),
    }
}

/// `index` where the signed value is compared.
pub(super) fn signed(kernel: &Function, index: &Expression) -> String {
    Printer { kernel }.signed(index)
}

struct Printer<'a> {
    kernel: &'a Function,
}

/// An operand: of those that the entry has fetched, or of their table.
fn operand(number: u32) -> String {
    match (number as usize) < HELD_OPERANDS {
        true => format!("ww_fetched_word(operands, {number}u)"),
        false => format!("ww_table(table, {number}u)"),
    }
}

impl Printer<'_> {
    fn whole(&self, expression: &Expression) -> String {
        match expression {
            Expression::Constant(constant) => literal(*constant),
            Expression::Local(local) => local.to_string(),
            Expression::Element(array, index) => format!("{array}[{}]", position(self.kernel, index)),
            Expression::Builtin(Builtin::Thread) => "ww_thread()".to_owned(),
            Expression::Builtin(Builtin::Block) => "ww_block()".to_owned(),
            Expression::Builtin(Builtin::Grid) => "ww_grid()".to_owned(),
            Expression::Builtin(Builtin::FirstOperand) => "arguments.first_operand".to_owned(),
            Expression::Operand(number) => operand(*number),
            Expression::Tile => "tile".to_owned(),
            Expression::Unary(op, value) => self.unary(*op, value),
            Expression::Binary(op, left, right) => self.binary(*op, left, right),
            Expression::FusedMultiplyAdd(x, y, z) => {
                format!("ww_fused_multiply_add({}, {}, {})", self.whole(x), self.whole(y), self.whole(z))
            }
            Expression::Select(condition, then, otherwise) => {
                format!("{} ? {} : {}", self.bound(condition), self.bound(then), self.bound(otherwise))
            }
            Expression::Cast(target, value) => self.cast(*target, value),
            Expression::FastDivide(value, number) => {
                let shift = operand(number + 1);
                format!("ww_fast_divide({}, {}, {shift})", self.whole(value), operand(*number))
            }
        }
    }

    /// `expression` as an operand of a C operator.
    fn bound(&self, expression: &Expression) -> String {
        let text = self.whole(expression);
        let atomic = match expression {
            Expression::Constant(_) => !text.starts_with('-'),
            Expression::Local(_)
            | Expression::Element(..)
            | Expression::Builtin(_)
            | Expression::Operand(_)
            | Expression::Tile
            | Expression::FusedMultiplyAdd(..)
            | Expression::FastDivide(..) => true,
            Expression::Unary(op, _) => !matches!(op, UnaryOp::Negate | UnaryOp::Not),
            Expression::Binary(op, ..) => infix(*op).is_none(),
            Expression::Cast(target, value) if *target == type_of(self.kernel, value) => return self.bound(value),
            Expression::Cast(..) => text.starts_with("ww_"),
            Expression::Select(..) => false,
        };
        if atomic { text } else { format!("({text})") }
    }

    /// `expression` as the left or right operand of `op`, without brackets where every reader knows the precedence.
    fn operand(&self, op: BinaryOp, expression: &Expression, is_left: bool) -> String {
        let Expression::Binary(inner, ..) = expression else { return self.bound(expression) };
        let is_sum = |op| matches!(op, BinaryOp::Add | BinaryOp::Subtract);
        let clear = match op {
            BinaryOp::Add | BinaryOp::Subtract => *inner == BinaryOp::Multiply || (is_left && is_sum(*inner)),
            BinaryOp::Equal => *inner == BinaryOp::Multiply || is_sum(*inner),
            _ => false,
        };
        if clear { self.whole(expression) } else { self.bound(expression) }
    }

    /// `expression`, an integer, as an operand of a signed comparison.
    fn signed(&self, expression: &Expression) -> String {
        if let Expression::Constant(constant) = expression
            && let Some(text) = signed_literal(*constant)
        {
            return text;
        }
        format!("({}){}", signed_type(type_of(self.kernel, expression)), self.bound(expression))
    }

    fn unary(&self, op: UnaryOp, value: &Expression) -> String {
        let function = match op {
            UnaryOp::Negate => return format!("-{}", self.bound(value)),
            UnaryOp::Not => return format!("!{}", self.bound(value)),
            UnaryOp::Absolute => "ww_absolute",
            UnaryOp::Exp => "ww_exp",
            UnaryOp::Log => "ww_log",
            UnaryOp::Sqrt => "ww_sqrt",
            UnaryOp::Tanh => "ww_tanh",
            UnaryOp::Logistic => "ww_logistic",
            UnaryOp::Erf => "ww_erf",
            UnaryOp::Sin => "ww_sin",
            UnaryOp::Cos => "ww_cos",
            UnaryOp::Atan => "ww_atan",
            UnaryOp::Floor => "ww_floor",
            UnaryOp::Ceil => "ww_ceil",
            UnaryOp::RoundEven => "ww_round_even",
            UnaryOp::ToF16 => "ww_to_f16",
            UnaryOp::ToBF16 => "ww_to_bf16",
            UnaryOp::OfF16 => "ww_of_f16",
            UnaryOp::Bits => "ww_bits_of_f32",
            UnaryOp::OfBits => "ww_f32_of_bits",
        };
        format!("{function}({})", self.whole(value))
    }

    fn binary(&self, op: BinaryOp, left: &Expression, right: &Expression) -> String {
        if let Some(operator) = infix(op) {
            let operator = match op {
                BinaryOp::And if is_known(left) && is_known(right) => "&",
                BinaryOp::Or if is_known(left) && is_known(right) => "|",
                _ => operator,
            };
            let signed = is_integer(type_of(self.kernel, left)) && matches!(op, BinaryOp::Less | BinaryOp::LessEqual);
            let (left, right) = if signed {
                (self.signed(left), self.signed(right))
            } else {
                (self.operand(op, left, true), self.operand(op, right, false))
            };
            return format!("{left} {operator} {right}");
        }
        let function = match op {
            BinaryOp::Divide => "ww_divide",
            BinaryOp::Remainder => "ww_remainder",
            BinaryOp::Minimum => "ww_minimum",
            BinaryOp::Maximum => "ww_maximum",
            BinaryOp::Power => "ww_power",
            BinaryOp::ShiftRight => "ww_shift_right",
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Equal
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftLeft => unreachable!("printed as an operator"),
        };
        format!("{function}({}, {})", self.whole(left), self.whole(right))
    }

    fn cast(&self, target: ScalarType, value: &Expression) -> String {
        let source = type_of(self.kernel, value);
        match (source, target) {
            (ScalarType::Bool, ScalarType::Bool)
            | (ScalarType::I32, ScalarType::I32)
            | (ScalarType::I64, ScalarType::I64)
            | (ScalarType::F32, ScalarType::F32) => self.whole(value),
            (ScalarType::F32, ScalarType::Bool) => format!("{} != 0.0f", self.bound(value)),
            (ScalarType::I32 | ScalarType::I64, ScalarType::Bool) => format!("{} != 0u", self.bound(value)),
            (ScalarType::Bool, ScalarType::I32 | ScalarType::I64 | ScalarType::F32)
            | (ScalarType::I64, ScalarType::I32) => format!("({}){}", register(target), self.bound(value)),
            (ScalarType::I32, ScalarType::I64) => format!("ww_extend({})", self.whole(value)),
            (ScalarType::I32 | ScalarType::I64, ScalarType::F32) => {
                format!("(float)({}){}", signed_type(source), self.bound(value))
            }
            (ScalarType::F32, ScalarType::I32) => format!("ww_i32_of_f32({})", self.whole(value)),
            (ScalarType::F32, ScalarType::I64) => format!("ww_i64_of_f32({})", self.whole(value)),
        }
    }
}

/// Whether a truth value is made of nothing but locals, so that to combine it takes no branch around computing it.
fn is_known(expression: &Expression) -> bool {
    match expression {
        Expression::Constant(_) | Expression::Local(_) => true,
        Expression::Unary(UnaryOp::Not, value) => is_known(value),
        Expression::Binary(BinaryOp::And | BinaryOp::Or, left, right) => is_known(left) && is_known(right),
        _ => false,
    }
}

/// The C operator that means the same as `op`, where there is one.
fn infix(op: BinaryOp) -> Option<&'static str> {
    match op {
        BinaryOp::Add => Some("+"),
        BinaryOp::Subtract => Some("-"),
        BinaryOp::Multiply => Some("*"),
        BinaryOp::Less => Some("<"),
        BinaryOp::LessEqual => Some("<="),
        BinaryOp::Equal => Some("=="),
        BinaryOp::And => Some("&&"),
        BinaryOp::Or => Some("||"),
        BinaryOp::BitAnd => Some("&"),
        BinaryOp::BitOr => Some("|"),
        BinaryOp::BitXor => Some("^"),
        BinaryOp::ShiftLeft => Some("<<"),
        BinaryOp::Divide
        | BinaryOp::Remainder
        | BinaryOp::Minimum
        | BinaryOp::Maximum
        | BinaryOp::Power
        | BinaryOp::ShiftRight => None,
    }
}

fn is_integer(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::I32 | ScalarType::I64)
}

fn signed_type(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::I64 => "long long",
        ScalarType::Bool | ScalarType::I32 | ScalarType::F32 => "int",
    }
}
