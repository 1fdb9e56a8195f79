//! `LabelEncoder` of the domain `ai.onnx.ml`: values by keys.

use std::ops::RangeInclusive;

use super::DOMAIN;
use crate::expr::{BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// Every element replaced by the value that belongs to the key that it equals, or by a default. Keys and values are numbers;
/// NaN is a key like any other. Every element looks through all keys, the last of equal ones.
#[derive(Clone, PartialEq, Debug)]
pub struct LabelEncoder {
    keys: Tensor,
    values: Tensor,
    default: Literal,
}

/// Takes numbers by the attributes that may hold them.
fn numbers(
    attributes: &mut AttributeReader,
    [tensor, integers, floats, strings]: [&'static str; 4],
) -> Result<Tensor, AttributeError> {
    if attributes.strings(strings)?.is_some_and(|given| !given.is_empty()) {
        return Err(AttributeError::Value { name: strings, reason: "strings are not supported".to_owned() });
    }
    let given = [
        attributes.tensor(tensor)?,
        attributes.ints(integers)?.map(|values| Tensor::vector_i64(&values)),
        attributes.floats(floats)?.map(|values| Tensor::new([values.len()], &values)),
    ];
    let given = given.into_iter().flatten().find(|values| values.shape().elements() > 0);
    let given = given.ok_or(AttributeError::Missing(tensor))?;
    let count = given.shape().elements();
    Ok(given.reshape([count]).expect("a list has as many elements"))
}

impl Operator for LabelEncoder {
    const NAME: &'static str = "LabelEncoder";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let keys = numbers(attributes, ["keys_tensor", "keys_int64s", "keys_floats", "keys_strings"])?;
        let values = numbers(attributes, ["values_tensor", "values_int64s", "values_floats", "values_strings"])?;
        attributes.string("default_string")?;
        let element = values.element();
        let (integer, float) = (attributes.int("default_int64")?, attributes.float("default_float")?);
        let default = match attributes.tensor("default_tensor")? {
            Some(default) if default.element() == element && default.shape().elements() == 1 => {
                elementwise::literal(&default)
            }
            Some(default) => {
                let reason = format!("{} is not one {element}", default.ty());
                return Err(AttributeError::Value { name: "default_tensor", reason });
            }
            None if element.is_float() => Literal::new(element, f64::from(float.unwrap_or(-0.0))),
            None => Literal::integer(element, integer.unwrap_or(-1)),
        };
        if keys.shape() != values.shape() {
            let reason = format!("{} values do not go with {} keys", values.shape(), keys.shape());
            return Err(AttributeError::Value { name: "values_tensor", reason });
        }
        Ok(Self { keys, values, default })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let ty = TensorType::new(self.values.element(), [1]);
        let default = if ty.element.is_float() {
            Tensor::from_f64(ty, &[self.default.to_f64()])
        } else {
            Tensor::from_i64(ty, &[self.default.to_i64()])
        };
        vec![
            ("keys_tensor", Attribute::Tensor(self.keys.clone())),
            ("values_tensor", Attribute::Tensor(self.values.clone())),
            ("default_tensor", Attribute::Tensor(default)),
        ]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        if data.element != self.keys.element() || data.element == ElementType::Bool {
            return Err(InferError::Mismatch(format!(
                "{data} has other elements than keys of {}",
                self.keys.element()
            )));
        }
        Ok(vec![TensorType { element: self.values.element(), shape: data.shape.clone() }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (data, input) = (context.accepted(0), inputs[0].expect("inference found the input"));
        let [keys, values] = [&self.keys, &self.values].map(|list| program.constant(list.clone()));
        let count = self.keys.shape().elements();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let own: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        let number = expr.reduced(count);
        let (x, key) = (expr.operand(data), expr.operand(program.ty(keys)));
        let (x, key) = (expr.read(x, own.clone()), expr.read(key, vec![Index::axis(number)]));
        let equal = |a: &Scalar, b: &Scalar| a.clone().binary(BinaryOp::Equal, b.clone());
        let never = Scalar::literal(ElementType::Bool, 0.0);
        let both_missing = equal(&key, &key)
            .select(never.clone(), equal(&x, &x).select(never, Scalar::literal(ElementType::Bool, 1.0)));
        let is_found =
            if data.element.is_float() { equal(&x, &key).binary(BinaryOp::Or, both_missing) } else { equal(&x, &key) };
        let nothing = Scalar::literal(ElementType::I32, -1.0);
        let body = is_found.select(Scalar::Index(Index::axis(number), ElementType::I32), nothing);
        let last = program.compute(expr.reduce(ElementType::I32, Reducer::Maximum, body, None), &[input, keys]);

        let mut expr = ExprBuilder::new();
        expr.parallels(&data.shape);
        let (place, value) = (expr.operand(program.ty(last)), expr.operand(program.ty(values)));
        let place = expr.read(place, own);
        let at = expr.indirect(&place, count);
        let value = expr.read(value, vec![at]);
        let is_absent = place.binary(BinaryOp::Less, Scalar::literal(ElementType::I32, 0.0));
        let body = is_absent.select(Scalar::Literal(self.default), value);
        vec![program.compute(expr.map(self.values.element(), body), &[last, values])]
    }
}
