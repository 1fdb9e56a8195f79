//! Expression trees to registers.

use warpweave_graph::arena::Id;

use crate::kernel_ir::expression::fast_divide;
use crate::kernel_ir::typing::{binary_result, unary_result};
use crate::kernel_ir::{ArrayId, BinaryOp, Builtin, Constant, Expression, ScalarType, UnaryOp};

use super::{Compiler, Value, constant_bits};
use crate::emulate::bytecode::scalar::{
    NarrowUnary, fused_multiply_add, narrow_binary, narrow_unary, wide_binary, wide_compare, wide_unary,
};
use crate::emulate::bytecode::{Instruction, Preset, Slot, WideSlot};

const VERIFIED: &str = "the structure of the program has been verified";

/// A value and its type.
pub(super) type Typed = (Value, ScalarType);

impl Compiler<'_> {
    /// The value of `expression`; a computed one is written to `target`, or to a temporary register.
    pub(super) fn evaluate(&mut self, expression: &Expression, target: Option<Value>) -> Typed {
        match expression {
            Expression::Constant(constant) => (Value::Constant(*constant), constant.scalar_type()),
            Expression::Local(local) => match self.unrolled.get(local) {
                Some(&value) => integer(value),
                None => (self.locals[local.index()], self.kernel.locals[*local]),
            },
            Expression::Element(array, index) => self.read_element(*array, index, target),
            Expression::Builtin(builtin) => {
                let preset = match builtin {
                    Builtin::Thread => Preset::Thread,
                    Builtin::Block => Preset::Block,
                    Builtin::Grid => Preset::Grid,
                    Builtin::FirstOperand => Preset::FirstOperand,
                };
                (Value::Narrow(self.preset(preset)), ScalarType::I32)
            }
            Expression::Operand(number) => (Value::Narrow(self.preset(Preset::Operand(*number))), ScalarType::I32),
            Expression::Tile => (Value::Narrow(self.preset(Preset::Tile)), ScalarType::I32),
            Expression::Unary(op, x) => {
                let x = self.evaluate(x, None);
                self.unary(*op, x, target)
            }
            Expression::Binary(op, x, y) => {
                let x = self.evaluate(x, None);
                let y = self.evaluate(y, None);
                self.binary(*op, x, y.0, target)
            }
            Expression::FusedMultiplyAdd(x, y, z) => {
                let [x, y, z] = [x, y, z].map(|operand| self.evaluate(operand, None).0);
                if let (Value::Constant(x), Value::Constant(y), Value::Constant(z)) = (x, y, z) {
                    let bits = fused_multiply_add(constant_bits(x), constant_bits(y), constant_bits(z));
                    return (Value::Constant(Constant::F32(bits)), ScalarType::F32);
                }
                let [x, y, z] = [x, y, z].map(|operand| self.narrow(operand));
                let to = self.narrow_target(target);
                self.emit(Instruction::FusedMultiplyAdd { to, x, y, z });
                (Value::Narrow(to), ScalarType::F32)
            }
            Expression::Select(condition, x, y) => {
                let condition = self.evaluate(condition, None).0;
                let x = self.evaluate(x, None);
                let y = self.evaluate(y, None);
                if let Value::Constant(Constant::Bool(holds)) = condition {
                    return if holds { x } else { y };
                }
                let condition = self.narrow(condition);
                if x.1 == ScalarType::I64 {
                    let (x, y, to) = (self.wide(x.0), self.wide(y.0), self.wide_target(target));
                    self.emit(Instruction::SelectWide { to, condition, x, y });
                    return (Value::Wide(to), ScalarType::I64);
                }
                let (scalar, x, y, to) = (x.1, self.narrow(x.0), self.narrow(y.0), self.narrow_target(target));
                self.emit(Instruction::Select { to, condition, x, y });
                (Value::Narrow(to), scalar)
            }
            Expression::Cast(scalar, x) => {
                let x = self.evaluate(x, None);
                self.cast(*scalar, x, target)
            }
            Expression::FastDivide(x, number) => {
                let x = self.evaluate(x, None).0;
                let x = self.narrow(x);
                let multiplier = self.preset(Preset::Operand(*number));
                let shift = self.preset(Preset::Operand(number + 1));
                let to = self.narrow_target(target);
                self.emit(Instruction::FastDivide { to, x, multiplier, shift });
                (Value::Narrow(to), ScalarType::I32)
            }
        }
    }

    /// The value of an expression that is narrow, in a register.
    pub(super) fn evaluate_narrow(&mut self, expression: &Expression) -> Slot {
        let value = self.evaluate(expression, None).0;
        self.narrow(value)
    }

    pub(super) fn narrow_target(&mut self, target: Option<Value>) -> Slot {
        match target {
            Some(Value::Narrow(slot)) => slot,
            Some(Value::Wide(_) | Value::Constant(_)) | None => self.temporary(),
        }
    }

    pub(super) fn wide_target(&mut self, target: Option<Value>) -> WideSlot {
        match target {
            Some(Value::Wide(slot)) => slot,
            Some(Value::Narrow(_) | Value::Constant(_)) | None => self.temporary_wide(),
        }
    }

    fn unary(&mut self, op: UnaryOp, x: Typed, target: Option<Value>) -> Typed {
        if x.1 == ScalarType::I64 {
            let op = wide_unary(op).expect(VERIFIED);
            if let Value::Constant(Constant::I64(x)) = x.0 {
                return (Value::Constant(Constant::I64(op.apply(x))), ScalarType::I64);
            }
            let (x, to) = (self.wide(x.0), self.wide_target(target));
            self.emit(Instruction::UnaryWide { op, to, x });
            return (Value::Wide(to), ScalarType::I64);
        }
        let code = narrow_unary(op, x.1).expect(VERIFIED);
        self.narrow_unary(code, x.0, unary_result(op, x.1).expect(VERIFIED), target)
    }

    fn narrow_unary(&mut self, op: NarrowUnary, x: Value, result: ScalarType, target: Option<Value>) -> Typed {
        if let Value::Constant(x) = x {
            return (Value::Constant(constant(op.apply(constant_bits(x)), result)), result);
        }
        let (x, to) = (self.narrow(x), self.narrow_target(target));
        self.emit(Instruction::Unary { op, to, x });
        (Value::Narrow(to), result)
    }

    fn binary(&mut self, op: BinaryOp, x: Typed, y: Value, target: Option<Value>) -> Typed {
        let result = binary_result(op, x.1).expect(VERIFIED);
        if x.1 == ScalarType::I64 {
            return self.binary_wide(op, x.0, y, target);
        }
        let code = narrow_binary(op, x.1).expect(VERIFIED);
        if let (Value::Constant(x), Value::Constant(y)) = (x.0, y) {
            return (Value::Constant(constant(code.apply(constant_bits(x), constant_bits(y)), result)), result);
        }
        if let Some(value) = neutral(op, x.0, y) {
            return (value, result);
        }
        let (x, y, to) = (self.narrow(x.0), self.narrow(y), self.narrow_target(target));
        self.emit(Instruction::Binary { op: code, to, x, y });
        (Value::Narrow(to), result)
    }

    fn binary_wide(&mut self, op: BinaryOp, x: Value, y: Value, target: Option<Value>) -> Typed {
        if let Some(op) = wide_compare(op) {
            if let (Value::Constant(Constant::I64(x)), Value::Constant(Constant::I64(y))) = (x, y) {
                return (Value::Constant(Constant::Bool(op.apply(x, y) != 0)), ScalarType::Bool);
            }
            let (x, y, to) = (self.wide(x), self.wide(y), self.narrow_target(target));
            self.emit(Instruction::CompareWide { op, to, x, y });
            return (Value::Narrow(to), ScalarType::Bool);
        }
        let code = wide_binary(op).expect(VERIFIED);
        if let (Value::Constant(Constant::I64(x)), Value::Constant(Constant::I64(y))) = (x, y) {
            return (Value::Constant(Constant::I64(code.apply(x, y))), ScalarType::I64);
        }
        if let Some(value) = neutral(op, x, y) {
            return (value, ScalarType::I64);
        }
        let (x, y, to) = (self.wide(x), self.wide(y), self.wide_target(target));
        self.emit(Instruction::BinaryWide { op: code, to, x, y });
        (Value::Wide(to), ScalarType::I64)
    }

    fn cast(&mut self, to: ScalarType, x: Typed, target: Option<Value>) -> Typed {
        let (x, from) = x;
        match (from, to) {
            (ScalarType::Bool, ScalarType::Bool)
            | (ScalarType::I32, ScalarType::I32)
            | (ScalarType::I64, ScalarType::I64)
            | (ScalarType::F32, ScalarType::F32) => (x, from),
            (ScalarType::Bool, ScalarType::I32) => self.narrow_unary(NarrowUnary::BoolToI32, x, to, target),
            (ScalarType::Bool, ScalarType::F32) => self.narrow_unary(NarrowUnary::BoolToF32, x, to, target),
            (ScalarType::I32, ScalarType::Bool) => self.narrow_unary(NarrowUnary::I32ToBool, x, to, target),
            (ScalarType::I32, ScalarType::F32) => self.narrow_unary(NarrowUnary::I32ToF32, x, to, target),
            (ScalarType::F32, ScalarType::Bool) => self.narrow_unary(NarrowUnary::F32ToBool, x, to, target),
            (ScalarType::F32, ScalarType::I32) => self.narrow_unary(NarrowUnary::F32ToI32, x, to, target),
            (ScalarType::Bool, ScalarType::I64) => {
                let whole = self.narrow_unary(NarrowUnary::BoolToI32, x, ScalarType::I32, None);
                self.cast(to, whole, target)
            }
            (ScalarType::I32, ScalarType::I64) => {
                if let Value::Constant(Constant::I32(x)) = x {
                    return (Value::Constant(Constant::I64(x.into())), to);
                }
                let (x, slot) = (self.narrow(x), self.wide_target(target));
                self.emit(Instruction::Widen { to: slot, x });
                (Value::Wide(slot), to)
            }
            (ScalarType::F32, ScalarType::I64) => {
                let (x, slot) = (self.narrow(x), self.wide_target(target));
                self.emit(Instruction::WidenF32 { to: slot, x });
                (Value::Wide(slot), to)
            }
            (ScalarType::I64, ScalarType::Bool) => {
                let zero = (Value::Constant(Constant::I64(0)), from);
                let equal = self.binary(BinaryOp::Equal, (x, from), zero.0, None);
                self.unary(UnaryOp::Not, equal, target)
            }
            (ScalarType::I64, ScalarType::I32) => {
                if let Value::Constant(Constant::I64(x)) = x {
                    return (Value::Constant(Constant::I32(x as i32)), to);
                }
                let (x, slot) = (self.wide(x), self.narrow_target(target));
                self.emit(Instruction::Narrow { to: slot, x });
                (Value::Narrow(slot), to)
            }
            (ScalarType::I64, ScalarType::F32) => {
                let (x, slot) = (self.wide(x), self.narrow_target(target));
                self.emit(Instruction::NarrowF32 { to: slot, x });
                (Value::Narrow(slot), to)
            }
        }
    }

    fn read_element(&mut self, id: ArrayId, index: &Expression, target: Option<Value>) -> Typed {
        let array = self.array(id);
        let index = self.evaluate(index, None).0;
        let wide = array.scalar == ScalarType::I64;
        let value = match (index, wide) {
            (Value::Constant(Constant::I32(index)), _) => return (self.element(id, index.into()), array.scalar),
            (index, false) => {
                let (index, to) = (self.narrow(index), self.narrow_target(target));
                self.emit(Instruction::ReadElement { to, first: Slot(array.first), length: array.length, index });
                Value::Narrow(to)
            }
            (index, true) => {
                let (index, to) = (self.narrow(index), self.wide_target(target));
                let first = WideSlot(array.first);
                self.emit(Instruction::ReadElementWide { to, first, length: array.length, index });
                Value::Wide(to)
            }
        };
        (value, array.scalar)
    }

    /// The register of an element whose index is known; reports and gives a temporary if it is out of bounds.
    pub(super) fn element(&mut self, id: ArrayId, index: i64) -> Value {
        let array = self.array(id);
        let inside = (0..i64::from(array.length)).contains(&index);
        if !inside {
            self.emit(Instruction::BadElement { index, length: array.length });
        }
        match (array.scalar == ScalarType::I64, inside) {
            (false, true) => Value::Narrow(Slot(array.first + index as u32)),
            (true, true) => Value::Wide(WideSlot(array.first + index as u32)),
            (false, false) => Value::Narrow(self.temporary()),
            (true, false) => Value::Wide(self.temporary_wide()),
        }
    }
}

fn integer(value: i32) -> Typed {
    (Value::Constant(Constant::I32(value)), ScalarType::I32)
}

/// The literal of type `scalar` with these bits.
fn constant(bits: u32, scalar: ScalarType) -> Constant {
    match scalar {
        ScalarType::Bool => Constant::Bool(bits != 0),
        ScalarType::I32 => Constant::I32(bits as i32),
        ScalarType::F32 => Constant::F32(bits),
        ScalarType::I64 => unreachable!("a narrow operation gives no I64"),
    }
}

/// The result of an integer operation that leaves one operand as it is, or is zero.
fn neutral(op: BinaryOp, x: Value, y: Value) -> Option<Value> {
    let whole = |value: Value| match value {
        Value::Constant(Constant::I32(value)) => Some(i64::from(value)),
        Value::Constant(Constant::I64(value)) => Some(value),
        Value::Constant(Constant::Bool(_) | Constant::F32(_)) | Value::Narrow(_) | Value::Wide(_) => None,
    };
    match (op, whole(x), whole(y)) {
        (BinaryOp::Add, Some(0), _) => Some(y),
        (BinaryOp::Add | BinaryOp::Subtract | BinaryOp::ShiftLeft | BinaryOp::ShiftRight, _, Some(0)) => Some(x),
        (BinaryOp::Multiply, Some(1), _) => Some(y),
        (BinaryOp::Multiply | BinaryOp::Divide, _, Some(1)) => Some(x),
        (BinaryOp::Multiply, Some(0), _) => Some(x),
        (BinaryOp::Multiply, _, Some(0)) => Some(y),
        _ => None,
    }
}

/// [`fast_divide`] on registers.
pub fn fast_divide_bits(value: u32, multiplier: u32, shift: u32) -> u32 {
    fast_divide(value as i32, multiplier as i32, (shift & 31) as i32) as u32
}
