//! What a tensor program computes, point by point: the plain meaning that everything else is compared with.
//!
//! Floating point is held in doubles, so comparisons need a tolerance; integers are exact.

use std::collections::BTreeMap;

use warpweave::graph::arena::Id;
use warpweave::graph::arithmetic::round;
use warpweave::graph::expr::{AxisId, BinaryOp, Guard, Index, Literal, ReadId, Reducer, Scalar, TensorExpr, UnaryOp};
use warpweave::graph::procedure::sort::Direction;
use warpweave::graph::procedure::{Opaque, Procedure};
use warpweave::graph::program::{Definition, Source, State, TensorId, TensorProgram};
use warpweave::graph::{ElementType, Tensor};

/// One element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// A floating-point number.
    Float(f64),
    /// An integer or, as 0 and 1, a truth value.
    Integer(i64),
}

/// The elements of one tensor, row-major.
pub type Values = Vec<Value>;

/// The outputs of a program for these inputs.
pub fn evaluate(program: &TensorProgram, inputs: &[Tensor]) -> Vec<Tensor> {
    let mut known: BTreeMap<TensorId, Values> = BTreeMap::new();
    for (id, tensor) in program.tensors.iter() {
        match &tensor.source {
            Source::Input(position) => _ = known.insert(id, values(&inputs[*position])),
            Source::Constant(value) | Source::State(State { initial: value, .. }) => {
                _ = known.insert(id, values(value))
            }
            Source::Statement(_) => {}
        }
    }
    for statement in program.statements.values() {
        let operands: Vec<&Values> = statement.operands.iter().map(|operand| &known[operand]).collect();
        let result = match &statement.definition {
            Definition::Compute(expr) => compute(expr, &operands),
            Definition::Opaque(opaque) => by_procedure(opaque, &operands),
            Definition::Concat { axis } => {
                let shapes: Vec<&[usize]> =
                    statement.operands.iter().map(|&operand| &*program.tensors[operand].ty.shape).collect();
                concat(*axis, &shapes, &operands)
            }
        };
        known.insert(statement.output, result);
    }
    program.outputs.iter().map(|output| tensor(program, *output, &known[output])).collect()
}

fn tensor(program: &TensorProgram, id: TensorId, elements: &Values) -> Tensor {
    let ty = program.tensors[id].ty.clone();
    if ty.element.is_float() {
        let floats: Vec<f64> = elements.iter().map(|value| value.float()).collect();
        return Tensor::from_f64(ty, &floats);
    }
    let integers: Vec<i64> = elements.iter().map(|value| value.integer()).collect();
    Tensor::from_i64(ty, &integers)
}

fn values(tensor: &Tensor) -> Values {
    if tensor.element().is_float() {
        return tensor.to_f64().into_iter().map(Value::Float).collect();
    }
    tensor.to_i64().into_iter().map(Value::Integer).collect()
}

fn concat(axis: usize, shapes: &[&[usize]], parts: &[&Values]) -> Values {
    let outer: usize = shapes[0][..axis].iter().product();
    let mut whole = Values::new();
    for row in 0..outer {
        for (shape, part) in shapes.iter().zip(parts) {
            let length: usize = shape[axis..].iter().product();
            whole.extend(&part[row * length..(row + 1) * length]);
        }
    }
    whole
}

/// The value of an expression over these operands.
fn compute(expr: &TensorExpr, operands: &[&Values]) -> Values {
    let extents: Vec<usize> = expr.axes.values().map(|axis| axis.extent).collect();
    let parallel = expr.parallel().count();
    let mut result = Values::new();
    for_each_point(&extents[..parallel], &mut |outer| {
        let mut point = outer.to_vec();
        point.resize(extents.len(), 0);
        let Some(reducer) = expr.reducer else {
            result.push(At { expr, operands, point: &point, reduced: None }.scalar(&expr.body));
            return;
        };
        let mut total: Option<Value> = None;
        for_each_point(&extents[parallel..], &mut |inner| {
            point[parallel..].copy_from_slice(inner);
            let value = At { expr, operands, point: &point, reduced: None }.scalar(&expr.body);
            total = Some(total.map_or(value, |total| combine(reducer, total, value)));
        });
        point[parallel..].fill(0);
        let element = expr.body_element();
        let reduced = match total.unwrap_or_else(|| neutral(reducer, element)) {
            float @ Value::Float(_) => float,
            integer @ Value::Integer(_) => cast(element, integer),
        };
        let at = At { expr, operands, point: &point, reduced: Some(reduced) };
        result.push(expr.epilogue.as_ref().map_or(reduced, |epilogue| at.scalar(epilogue)));
    });
    result
}

/// What a procedure makes of the body's values: every place by itself, from all others.
fn by_procedure(opaque: &Opaque, operands: &[&Values]) -> Values {
    let expr = &opaque.access;
    let extents: Vec<usize> = expr.axes.values().map(|axis| axis.extent).collect();
    let (rows, length) = (&extents[..extents.len() - 2], extents[extents.len() - 1]);
    let mut result = Values::new();
    for_each_point(rows, &mut |row| {
        let body = |place: usize, each: usize| {
            let point = [row, &[place, each]].concat();
            At { expr, operands, point: &point, reduced: None }.scalar(&expr.body)
        };
        match opaque.procedure {
            Procedure::Sort(direction) => {
                let keys: Vec<Value> = (0..length).map(|each| body(0, each)).collect();
                let mut places = vec![Value::Integer(0); length];
                for own in 0..length {
                    let before = |other: usize| match (less(keys[other], keys[own]), less(keys[own], keys[other])) {
                        (false, false) => other < own,
                        (ahead, _) => ahead == (direction == Direction::Ascending),
                    };
                    places[(0..length).filter(|&other| before(other)).count()] = Value::Integer(own as i64);
                }
                result.extend(places);
            }
            Procedure::Suppress { most } => {
                let mut staying: Vec<usize> = Vec::new();
                for place in 0..length {
                    let gone = staying.iter().chain([&place]).any(|&each| body(place, each) != Value::Integer(0));
                    let stays = !gone && (staying.len() as u64) < most;
                    staying.extend(stays.then_some(place));
                    result.push(Value::Integer(i64::from(stays)));
                }
            }
        }
    });
    result
}

/// Whether one value is less than another; NaN is the largest.
fn less(x: Value, y: Value) -> bool {
    match (x, y) {
        (Value::Integer(x), Value::Integer(y)) => x < y,
        _ => x.float() < y.float() || !x.float().is_nan() && y.float().is_nan(),
    }
}

/// Visits the points of a box, the last axis fastest.
pub fn for_each_point(extents: &[usize], visit: &mut impl FnMut(&[usize])) {
    if extents.contains(&0) {
        return;
    }
    let mut point = vec![0; extents.len()];
    loop {
        visit(&point);
        let Some(axis) = (0..extents.len()).rev().find(|&axis| point[axis] + 1 < extents[axis]) else { return };
        point[axis] += 1;
        point[axis + 1..].fill(0);
    }
}

struct At<'a> {
    expr: &'a TensorExpr,
    operands: &'a [&'a Values],
    point: &'a [usize],
    reduced: Option<Value>,
}

impl At<'_> {
    fn index(&self, index: &Index) -> i64 {
        let axis = |axis: AxisId| self.point[axis.index()] as i64;
        index.evaluate(&axis, &|place| place.nearest(self.read(place.read).integer()))
    }

    fn holds(&self, guard: &Guard) -> bool {
        guard.conditions().iter().all(|condition| {
            let value = self.index(&condition.index);
            condition.lower <= value && value < condition.upper
        })
    }

    fn read(&self, id: ReadId) -> Value {
        let read = &self.expr.reads[id];
        if !self.holds(&read.guard) {
            return literal(read.fill);
        }
        let shape = &self.expr.operands[read.operand].shape;
        let mut position = 0;
        for (index, &extent) in read.index.iter().zip(shape.iter()) {
            let value = self.index(index);
            assert!((0..extent as i64).contains(&value), "{id} is read at {value} of {extent}");
            position = position * extent + value as usize;
        }
        self.operands[read.operand][position]
    }

    fn scalar(&self, scalar: &Scalar) -> Value {
        match scalar {
            Scalar::Literal(value) => literal(*value),
            Scalar::Read(read) => self.read(*read),
            Scalar::Index(index, element) => cast(*element, Value::Integer(self.index(index))),
            Scalar::Holds(guard) => Value::truth(self.holds(guard)),
            Scalar::Reduced => self.reduced.expect("only epilogues name the reduced value"),
            Scalar::Unary(op, operand) => unary(*op, self.scalar(operand)),
            Scalar::Binary(op, left, right) => self.wrapped(scalar, binary(*op, self.scalar(left), self.scalar(right))),
            Scalar::Select(condition, then, otherwise) => {
                if self.scalar(condition).integer() != 0 {
                    self.scalar(then)
                } else {
                    self.scalar(otherwise)
                }
            }
            Scalar::Cast(element, operand) => cast(*element, self.scalar(operand)),
        }
    }

    /// An integer brought back into the range of the scalar's type.
    fn wrapped(&self, scalar: &Scalar, value: Value) -> Value {
        let read = |read: ReadId| self.expr.operands[self.expr.reads[read].operand].element;
        match value {
            Value::Float(_) => value,
            Value::Integer(_) => cast(scalar.element(&read, self.expr.body_element()), value),
        }
    }
}

impl Value {
    fn truth(holds: bool) -> Self {
        Self::Integer(i64::from(holds))
    }

    /// The value as a double.
    pub fn float(self) -> f64 {
        match self {
            Self::Float(value) => value,
            Self::Integer(value) => value as f64,
        }
    }

    /// The value as an integer.
    pub fn integer(self) -> i64 {
        match self {
            Self::Float(value) => value as i64,
            Self::Integer(value) => value,
        }
    }
}

fn literal(literal: Literal) -> Value {
    if literal.element().is_float() { Value::Float(literal.to_f64()) } else { Value::Integer(literal.to_i64()) }
}

fn neutral(reducer: Reducer, element: ElementType) -> Value {
    let value = match reducer {
        Reducer::Sum => 0.0,
        Reducer::Product => 1.0,
        Reducer::Maximum => f64::NEG_INFINITY,
        Reducer::Minimum => f64::INFINITY,
    };
    cast(element, Value::Float(value))
}

fn combine(reducer: Reducer, total: Value, value: Value) -> Value {
    let op = match reducer {
        Reducer::Sum => BinaryOp::Add,
        Reducer::Product => BinaryOp::Multiply,
        Reducer::Maximum => BinaryOp::Maximum,
        Reducer::Minimum => BinaryOp::Minimum,
    };
    binary(op, total, value)
}

fn unary(op: UnaryOp, value: Value) -> Value {
    match (op, value) {
        (UnaryOp::Negate, Value::Integer(value)) => Value::Integer(value.wrapping_neg()),
        (UnaryOp::Absolute, Value::Integer(value)) => Value::Integer(value.wrapping_abs()),
        (UnaryOp::Not, value) => Value::truth(value.integer() == 0),
        (UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven, Value::Integer(_)) => value,
        (op, value) => Value::Float(float_function(op)(value.float())),
    }
}

fn float_function(op: UnaryOp) -> fn(f64) -> f64 {
    match op {
        UnaryOp::Negate => |x| -x,
        UnaryOp::Absolute => f64::abs,
        UnaryOp::Not => |x| f64::from(u8::from(x == 0.0)),
        UnaryOp::Exp => f64::exp,
        UnaryOp::Log => f64::ln,
        UnaryOp::Sqrt => f64::sqrt,
        UnaryOp::Tanh => f64::tanh,
        UnaryOp::Erf => error_function,
        UnaryOp::Sin => f64::sin,
        UnaryOp::Cos => f64::cos,
        UnaryOp::Atan => f64::atan,
        UnaryOp::Floor => f64::floor,
        UnaryOp::Ceil => f64::ceil,
        UnaryOp::RoundEven => f64::round_ties_even,
    }
}

/// The Gauss error function by its series, which converges everywhere and is accurate for the small arguments of tests.
fn error_function(x: f64) -> f64 {
    if x.abs() > 5.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        let n = f64::from(n);
        term *= -x * x / n;
        sum += term / (2.0 * n + 1.0);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

fn binary(op: BinaryOp, left: Value, right: Value) -> Value {
    if let (Value::Integer(left), Value::Integer(right)) = (left, right) {
        return Value::Integer(integer_function(op, left, right));
    }
    let (x, y) = (left.float(), right.float());
    let either_is_nan = x.is_nan() || y.is_nan();
    match op {
        BinaryOp::Add => Value::Float(x + y),
        BinaryOp::Subtract => Value::Float(x - y),
        BinaryOp::Multiply => Value::Float(x * y),
        BinaryOp::Divide => Value::Float(x / y),
        BinaryOp::Remainder => Value::Float(x % y),
        BinaryOp::Minimum | BinaryOp::Maximum if either_is_nan => Value::Float(f64::NAN),
        // Of two zeros the negative one is the smaller.
        BinaryOp::Minimum => Value::Float(if x.total_cmp(&y).is_lt() { x } else { y }),
        BinaryOp::Maximum => Value::Float(if x.total_cmp(&y).is_gt() { x } else { y }),
        BinaryOp::Power => Value::Float(x.powf(y)),
        BinaryOp::Less => Value::truth(x < y),
        BinaryOp::LessEqual => Value::truth(x <= y),
        BinaryOp::Equal => Value::truth(x == y),
        BinaryOp::And => Value::truth(x != 0.0 && y != 0.0),
        BinaryOp::Or => Value::truth(x != 0.0 || y != 0.0),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
            panic!("the bits of floating point")
        }
    }
}

fn integer_function(op: BinaryOp, x: i64, y: i64) -> i64 {
    match op {
        BinaryOp::Add => x.wrapping_add(y),
        BinaryOp::Subtract => x.wrapping_sub(y),
        BinaryOp::Multiply => x.wrapping_mul(y),
        BinaryOp::Divide => x.checked_div(y).unwrap_or(0),
        BinaryOp::Remainder => x.checked_rem(y).unwrap_or(0),
        BinaryOp::Minimum => x.min(y),
        BinaryOp::Maximum => x.max(y),
        BinaryOp::Power => x.wrapping_pow(y.try_into().unwrap_or(0)),
        BinaryOp::Less => i64::from(x < y),
        BinaryOp::LessEqual => i64::from(x <= y),
        BinaryOp::Equal => i64::from(x == y),
        BinaryOp::And => i64::from(x != 0 && y != 0),
        BinaryOp::Or => i64::from(x != 0 || y != 0),
        BinaryOp::BitAnd => x & y,
        BinaryOp::BitOr => x | y,
        BinaryOp::BitXor => x ^ y,
        BinaryOp::ShiftLeft => x.checked_shl(y as u32).unwrap_or(0),
        BinaryOp::ShiftRight => x.checked_shr(y as u32).unwrap_or(0),
    }
}

fn cast(element: ElementType, value: Value) -> Value {
    match element {
        ElementType::F16 | ElementType::BF16 | ElementType::F32 | ElementType::F64 => Value::Float(value.float()),
        ElementType::F8E4M3FN
        | ElementType::F8E4M3FNUZ
        | ElementType::F8E5M2
        | ElementType::F8E5M2FNUZ
        | ElementType::F8E8M0
        | ElementType::F4E2M1 => Value::Float(round(element, value.float())),
        ElementType::I4 => Value::Integer((value.integer().rem_euclid(16) ^ 8) - 8),
        ElementType::U4 => Value::Integer(value.integer().rem_euclid(16)),
        ElementType::I2 => Value::Integer((value.integer().rem_euclid(4) ^ 2) - 2),
        ElementType::U2 => Value::Integer(value.integer().rem_euclid(4)),
        ElementType::Bool => Value::truth(value.float() != 0.0),
        ElementType::I8 => Value::Integer(narrow(value, |x| x as i8 as i64, |x| x as i8 as i64)),
        ElementType::I16 => Value::Integer(narrow(value, |x| x as i16 as i64, |x| x as i16 as i64)),
        ElementType::I32 => Value::Integer(narrow(value, |x| x as i32 as i64, |x| x as i32 as i64)),
        ElementType::I64 => Value::Integer(narrow(value, |x| x as i64, |x| x)),
        ElementType::U8 => Value::Integer(narrow(value, |x| x as u8 as i64, |x| x as u8 as i64)),
        ElementType::U16 => Value::Integer(narrow(value, |x| x as u16 as i64, |x| x as u16 as i64)),
        ElementType::U32 => Value::Integer(narrow(value, |x| x as u32 as i64, |x| x as u32 as i64)),
        ElementType::U64 => Value::Integer(narrow(value, |x| x as u64 as i64, |x| x)),
    }
}

fn narrow(value: Value, float: fn(f64) -> i64, integer: fn(i64) -> i64) -> i64 {
    match value {
        Value::Float(value) => float(value),
        Value::Integer(value) => integer(value),
    }
}
