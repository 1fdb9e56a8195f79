//! Inputs that are fixed at compile time, as tensors of the types that the model declares.

use std::collections::BTreeMap;
use std::fmt;

use warpweave_graph::arithmetic::{highest, lowest};
use warpweave_graph::minifloat::largest;
use warpweave_graph::npy::stood_for;
use warpweave_graph::{ElementType, Shape, Tensor, TensorType};

use super::declared::{self, Declared};
use super::error::ImportError;
use super::options::ImportOptions;
use crate::onnx::ValueInfoProto;

/// Elements that a constant is printed with, at most.
const PRINTED: usize = 16;

/// What an input is fixed to. Elements take the input's type where nothing of an integer is lost.
#[derive(Clone, PartialEq, Debug)]
pub enum Constant {
    /// A tensor of the input's rank.
    Tensor(Tensor),
    /// One number, for an input of one element.
    Number(Number),
    /// A list of numbers, for a vector.
    List(Vec<Number>),
}

/// A number as it is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// `true` or `false`.
    Truth(bool),
    /// Digits alone.
    Integer(i128),
    /// Anything else.
    Real(f64),
}

/// The tensors that inputs are fixed to, by the inputs' names.
pub(super) fn tensors(
    inputs: &[&ValueInfoProto],
    options: &ImportOptions,
) -> Result<BTreeMap<String, Tensor>, ImportError> {
    let fixed = |(name, constant): (&String, &Constant)| {
        let input = inputs.iter().find(|input| input.name == *name);
        let input = input.ok_or_else(|| declared::unknown(name, inputs))?;
        let declared = declared::declared(input, options)?;
        let tensor = constant.tensor(&declared);
        let tensor = tensor.map_err(|reason| ImportError::Constant { input: declared.to_string(), reason })?;
        Ok((name.clone(), tensor))
    };
    options.constants.iter().map(fixed).collect()
}

impl Constant {
    /// The tensor of an input that is declared so, or why there is none.
    fn tensor(&self, declared: &Declared) -> Result<Tensor, String> {
        let (shape, numbers) = match self {
            Self::Tensor(tensor) => (tensor.shape().clone(), numbers(tensor)),
            Self::Number(number) => (Shape::scalar(), vec![*number]),
            Self::List(numbers) => (Shape::from([numbers.len()]), numbers.clone()),
        };
        let shape = declared.taken(&shape).ok_or_else(|| match self {
            Self::Tensor(tensor) => format!("the array is {}", tensor.ty()),
            Self::Number(_) => "one number is given; give a list such as 1,2,3, or an array with @FILE.npy".to_owned(),
            Self::List(numbers) => {
                format!(
                    "a list of {} is given; give as many numbers as it has, or an array with @FILE.npy",
                    numbers.len()
                )
            }
        })?;
        match self {
            Self::Tensor(tensor) if tensor.element() == declared.element => {
                tensor.reshape(shape).ok_or_else(|| format!("the array is {}", tensor.ty()))
            }
            Self::Tensor(tensor) if declared.element.is_storage() && declared.element.is_float() => {
                let codes = stood_for(tensor, declared.element).and_then(|tensor| tensor.reshape(shape));
                codes.ok_or_else(|| format!("the array is {} and not one of codes as unsigned bytes", tensor.ty()))
            }
            Self::Tensor(_) | Self::Number(_) | Self::List(_) => {
                of_numbers(TensorType::new(declared.element, shape), &numbers)
            }
        }
    }
}

impl From<Tensor> for Constant {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

fn numbers(tensor: &Tensor) -> Vec<Number> {
    let element = tensor.element();
    if element.is_float() {
        return tensor.to_f64().into_iter().map(Number::Real).collect();
    }
    let number = |bits: i64| match element {
        ElementType::Bool => Number::Truth(bits != 0),
        ElementType::U64 => Number::Integer((bits as u64).into()),
        _ => Number::Integer(bits.into()),
    };
    tensor.to_i64().into_iter().map(number).collect()
}

fn of_numbers(ty: TensorType, numbers: &[Number]) -> Result<Tensor, String> {
    let element = ty.element;
    if element.is_float() {
        let reals = numbers.iter().map(|number| real(*number, element)).collect::<Result<Vec<f64>, String>>()?;
        return Ok(Tensor::from_f64(ty, &reals));
    }
    let integers = numbers.iter().map(|number| integer(*number, element)).collect::<Result<Vec<i64>, String>>()?;
    Ok(Tensor::from_i64(ty, &integers))
}

fn real(number: Number, element: ElementType) -> Result<f64, String> {
    let value = match number {
        Number::Truth(_) => return Err(format!("`{number}` is a truth value; give a number")),
        Number::Integer(value) => value as f64,
        Number::Real(value) => value,
    };
    let stored = Tensor::from_f64(TensorType::new(element, Shape::scalar()), &[value]).to_f64();
    let saturates = element.is_storage() && value.abs() > largest(element);
    let overflows = value.is_finite() && (saturates || stored.iter().any(|stored| !stored.is_finite()));
    if overflows { Err(format!("{number} is out of the range of {element}")) } else { Ok(value) }
}

/// The number as 64 bits, which are those of an unsigned number where `element` is.
fn integer(number: Number, element: ElementType) -> Result<i64, String> {
    let value = match (number, element) {
        (Number::Truth(value), ElementType::Bool) => return Ok(i64::from(value)),
        (Number::Integer(value @ 0..=1), ElementType::Bool) => return Ok(value as i64),
        (_, ElementType::Bool) => return Err(format!("`{number}` is no truth value; give true or false")),
        (Number::Truth(_), _) => return Err(format!("`{number}` is a truth value; give an integer")),
        (Number::Real(_), _) => return Err(format!("`{number}` is no integer")),
        (Number::Integer(value), _) => value,
    };
    let least = i128::from(lowest(element));
    let most = if element == ElementType::U64 { u64::MAX.into() } else { i128::from(highest(element)) };
    if (least..=most).contains(&value) {
        return Ok(value as i64);
    }
    Err(format!("{value} is out of the range of {element}, {least} to {most}"))
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truth(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Real(value) => write!(f, "{value}"),
        }
    }
}

/// The elements; of a large tensor its type.
impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: &[Number]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::List(numbers) => write!(f, "[{}]", list(numbers)),
            Self::Tensor(tensor) if tensor.shape().elements() <= PRINTED => {
                write!(f, "{} {}", tensor.ty(), list(&numbers(tensor)))
            }
            Self::Tensor(tensor) => write!(f, "{}", tensor.ty()),
        }
    }
}
