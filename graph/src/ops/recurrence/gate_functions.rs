//! The functions that recurrent layers apply to the sums of their gates.

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{log_one_plus, sigmoid};
use crate::ops::{Attribute, AttributeError, AttributeReader};
use crate::types::ElementType;

/// A function of one element, by its ONNX name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// α · x + β.
    Affine,
    /// x, or α (eˣ − 1) below 0.
    Elu,
    /// max(0, min(1, α · x + β)).
    HardSigmoid,
    /// x, or α · x below 0.
    LeakyRelu,
    /// max(x, 0).
    Relu,
    /// α · tanh(β · x).
    ScaledTanh,
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
    /// ln(1 + eˣ).
    Softplus,
    /// x / (1 + |x|).
    Softsign,
    /// The hyperbolic tangent.
    Tanh,
    /// x where it is at least α, else 0.
    ThresholdedRelu,
}

/// A parameter of a function: whether it has one, and its value where the model does not say it: that of ONNX's operator of
/// the same name, of which `ScaledTanh` has none.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Parameter {
    None,
    Needed,
    Usual(f32),
}

/// A function with its parameters; those that it does not have are 0.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Gate {
    function: Function,
    alpha: f32,
    beta: f32,
}

/// The functions of the gates of every direction, and the bound of what they are applied to.
#[derive(Clone, PartialEq, Debug)]
pub struct GateFunctions {
    /// Those of one direction after those of another.
    gates: Vec<Gate>,
    /// How many a direction has.
    each: usize,
    clip: Option<f32>,
}

impl Function {
    const ALL: [(Self, &'static str, Parameter, Parameter); 11] = [
        (Self::Affine, "Affine", Parameter::Usual(1.0), Parameter::Usual(0.0)),
        (Self::Elu, "Elu", Parameter::Usual(1.0), Parameter::None),
        (Self::HardSigmoid, "HardSigmoid", Parameter::Usual(0.2), Parameter::Usual(0.5)),
        (Self::LeakyRelu, "LeakyRelu", Parameter::Usual(0.01), Parameter::None),
        (Self::Relu, "Relu", Parameter::None, Parameter::None),
        (Self::ScaledTanh, "ScaledTanh", Parameter::Needed, Parameter::Needed),
        (Self::Sigmoid, "Sigmoid", Parameter::None, Parameter::None),
        (Self::Softplus, "Softplus", Parameter::None, Parameter::None),
        (Self::Softsign, "Softsign", Parameter::None, Parameter::None),
        (Self::Tanh, "Tanh", Parameter::None, Parameter::None),
        (Self::ThresholdedRelu, "ThresholdedRelu", Parameter::Usual(1.0), Parameter::None),
    ];

    fn described(self) -> (&'static str, [Parameter; 2]) {
        let known = Self::ALL.iter().find(|(function, ..)| *function == self);
        known.map_or(("", [Parameter::None; 2]), |&(_, name, alpha, beta)| (name, [alpha, beta]))
    }
}

impl GateFunctions {
    /// Takes the functions, their parameters and the bound; without names every direction has the `usual` functions. Parameters
    /// go to the functions that have them, in order, as ONNX Runtime reads them.
    pub fn from_attributes(
        attributes: &mut AttributeReader,
        usual: &[Function],
        directions: usize,
    ) -> Result<Self, AttributeError> {
        let wrong = |name: &'static str, reason: String| AttributeError::Value { name, reason };
        let names = attributes.strings("activations")?.unwrap_or_default();
        let (alpha, beta) = (attributes.floats("activation_alpha")?, attributes.floats("activation_beta")?);
        let named = |name: &String| {
            let known = Function::ALL.iter().find(|(_, known, ..)| known.eq_ignore_ascii_case(name));
            known.map(|(function, ..)| *function).ok_or_else(|| wrong("activations", format!("`{name}` is unknown")))
        };
        let count = directions * usual.len();
        let functions: Vec<Function> = match names.len() {
            0 => usual.iter().copied().cycle().take(count).collect(),
            given if given == count => names.iter().map(named).collect::<Result<_, _>>()?,
            given => return Err(wrong("activations", format!("{given} functions are given, {count} are needed"))),
        };
        let mut alpha = alpha.unwrap_or_default().into_iter();
        let mut beta = beta.unwrap_or_default().into_iter();
        let mut gates = Vec::with_capacity(functions.len());
        for function in functions {
            let (name, [first, second]) = function.described();
            let value = |parameter, given: &mut std::vec::IntoIter<f32>, attribute| match parameter {
                Parameter::None => Ok(0.0),
                Parameter::Usual(usual) => Ok(given.next().unwrap_or(usual)),
                Parameter::Needed => {
                    given.next().ok_or_else(|| wrong(attribute, format!("`{name}` has no usual value")))
                }
            };
            let (alpha, beta) =
                (value(first, &mut alpha, "activation_alpha")?, value(second, &mut beta, "activation_beta")?);
            gates.push(Gate { function, alpha, beta });
        }
        let clip = attributes.float("clip")?.filter(|&clip| clip != 0.0);
        match clip {
            Some(bound) if bound.is_nan() || bound < 0.0 => Err(wrong("clip", format!("{bound} is no bound"))),
            _ => Ok(Self { gates, each: usual.len(), clip }),
        }
    }

    /// The attributes; functions only if they are not the `usual` ones.
    pub fn attributes(&self, usual: &[Function]) -> Vec<(&'static str, Attribute)> {
        let clip = self.clip.map(|clip| ("clip", Attribute::Float(clip)));
        let has = |gate: &Gate, which: usize| gate.function.described().1[which] != Parameter::None;
        let values = |which: usize, of: fn(&Gate) -> f32| {
            let values: Vec<f32> = self.gates.iter().filter(|gate| has(gate, which)).map(of).collect();
            (!values.is_empty()).then_some(Attribute::Floats(values))
        };
        let names = self.gates.iter().map(|gate| gate.function.described().0.to_owned()).collect();
        let is_usual =
            self.gates.iter().map(|gate| gate.function).eq(usual.iter().copied().cycle().take(self.gates.len()));
        let named = (!is_usual).then_some(("activations", Attribute::Strings(names)));
        let alpha = values(0, |gate| gate.alpha).map(|values| ("activation_alpha", values));
        let beta = values(1, |gate| gate.beta).map(|values| ("activation_beta", values));
        named.into_iter().chain(alpha).chain(beta).chain(clip).collect()
    }

    /// The function of number `number` of a direction applied to the sum of a gate, between the bounds.
    pub fn apply(&self, direction: usize, number: usize, element: ElementType, sum: Scalar) -> Scalar {
        let literal = |value: f32| Scalar::literal(element, f64::from(value));
        let bounded = match self.clip {
            Some(bound) => sum.binary(BinaryOp::Maximum, literal(-bound)).binary(BinaryOp::Minimum, literal(bound)),
            None => sum,
        };
        self.unbounded(direction, number, element, bounded)
    }

    /// The same without the bounds.
    pub fn unbounded(&self, direction: usize, number: usize, element: ElementType, x: Scalar) -> Scalar {
        let Gate { function, alpha, beta } = self.gates[direction * self.each + number];
        let literal = |value: f32| Scalar::literal(element, f64::from(value));
        let line = |x: Scalar| x.binary(BinaryOp::Multiply, literal(alpha)).binary(BinaryOp::Add, literal(beta));
        let below = |x: Scalar, low: Scalar| x.clone().binary(BinaryOp::Less, literal(0.0)).select(low, x);
        match function {
            Function::Affine => line(x),
            Function::Elu => {
                let exp = x.clone().unary(UnaryOp::Exp).binary(BinaryOp::Subtract, literal(1.0));
                below(x, exp.binary(BinaryOp::Multiply, literal(alpha)))
            }
            Function::HardSigmoid => {
                line(x).binary(BinaryOp::Minimum, literal(1.0)).binary(BinaryOp::Maximum, literal(0.0))
            }
            Function::LeakyRelu => below(x.clone(), x.binary(BinaryOp::Multiply, literal(alpha))),
            Function::Relu => x.binary(BinaryOp::Maximum, literal(0.0)),
            Function::ScaledTanh => x
                .binary(BinaryOp::Multiply, literal(beta))
                .unary(UnaryOp::Tanh)
                .binary(BinaryOp::Multiply, literal(alpha)),
            Function::Sigmoid => sigmoid(element, x),
            Function::Softplus => {
                let exp = x.clone().unary(UnaryOp::Absolute).unary(UnaryOp::Negate).unary(UnaryOp::Exp);
                x.binary(BinaryOp::Maximum, literal(0.0)).binary(BinaryOp::Add, log_one_plus(element, exp))
            }
            Function::Softsign => {
                let size = literal(1.0).binary(BinaryOp::Add, x.clone().unary(UnaryOp::Absolute));
                x.binary(BinaryOp::Divide, size)
            }
            Function::Tanh => x.unary(UnaryOp::Tanh),
            Function::ThresholdedRelu => {
                let is_below = x.clone().binary(BinaryOp::Less, literal(alpha));
                is_below.select(literal(0.0), x)
            }
        }
    }
}
