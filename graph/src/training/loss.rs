//! Losses of a model's output and a target.

use crate::expr::{BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar, UnaryOp};
use crate::ops::activations::log_softmax::LogSoftmax;
use crate::ops::compose;
use crate::ops::elementwise::log_one_plus;
use crate::ops::layout::movement;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// What a step makes smaller; the mean over all elements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Loss {
    /// The cross entropy of a softmax over dimension 1 and classes that 64-bit integers name, as
    /// `torch.nn.functional.cross_entropy` has it.
    CrossEntropy {
        /// The part of the target's probability that is spread over all classes.
        label_smoothing: f64,
        /// Elements of this class count nothing.
        ignored: i64,
    },
    /// The mean square of the differences, as `torch.nn.functional.mse_loss` has it.
    MeanSquaredError,
    /// The cross entropy of logistic functions and probabilities, as `torch.nn.functional.binary_cross_entropy_with_logits`.
    BinaryCrossEntropy,
}

/// What a step makes smaller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Objective {
    /// An output of the model, one number: the model ends in its own loss.
    Output,
    /// How far an output is from a target.
    Loss(Loss),
}

impl Objective {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::Loss(loss) => loss.name(),
        }
    }
}

/// Why an output has no such loss.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LossError {
    /// The elements are no singles or doubles.
    #[error("its elements are {0}, and a loss takes singles or doubles")]
    Element(ElementType),
    /// There is no dimension of classes.
    #[error("it is {0}, and cross entropy takes scores of shape N, classes, …")]
    Shape(TensorType),
    /// It is not one number.
    #[error("it is {0}, and a loss is one number; reduce it in the model, or name a loss of it")]
    Several(TensorType),
}

impl Loss {
    /// PyTorch's cross entropy with its defaults.
    pub const CROSS_ENTROPY: Self = Self::CrossEntropy { label_smoothing: 0.0, ignored: -100 };

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::CrossEntropy { .. } => "cross_entropy",
            Self::MeanSquaredError => "mse",
            Self::BinaryCrossEntropy => "bce_with_logits",
        }
    }

    /// The type of the target of an output.
    pub fn target(self, output: &TensorType) -> Result<TensorType, LossError> {
        if !matches!(output.element, ElementType::F32 | ElementType::F64) {
            return Err(LossError::Element(output.element));
        }
        match self {
            Self::MeanSquaredError | Self::BinaryCrossEntropy => Ok(output.clone()),
            Self::CrossEntropy { .. } if output.shape.len() < 2 => Err(LossError::Shape(output.clone())),
            Self::CrossEntropy { .. } => {
                let extents = output.shape.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, &extent)| extent);
                Ok(TensorType { element: ElementType::I64, shape: extents.collect() })
            }
        }
    }

    /// Appends the loss, a scalar, of an output and a target of the type that [`Loss::target`] gives.
    pub fn append(self, program: &mut ProgramBuilder, output: TensorId, target: TensorId) -> TensorId {
        let element = program.ty(output).element;
        match self {
            Self::CrossEntropy { label_smoothing, ignored } => {
                cross_entropy(program, [output, target], label_smoothing, ignored)
            }
            Self::MeanSquaredError => {
                let squares = compose::map(program, [output, target], element, |[output, target]| {
                    let distance = output.binary(BinaryOp::Subtract, target);
                    distance.clone().binary(BinaryOp::Multiply, distance)
                });
                mean(program, squares)
            }
            Self::BinaryCrossEntropy => {
                let losses = compose::map(program, [output, target], element, |[x, target]| {
                    let size = x.clone().unary(UnaryOp::Absolute).unary(UnaryOp::Negate).unary(UnaryOp::Exp);
                    let above = x.clone().binary(BinaryOp::Maximum, Scalar::literal(element, 0.0));
                    let product = x.binary(BinaryOp::Multiply, target);
                    above.binary(BinaryOp::Subtract, product).binary(BinaryOp::Add, log_one_plus(element, size))
                });
                mean(program, losses)
            }
        }
    }
}

/// An output that is the loss, as a scalar.
pub(super) fn as_loss(program: &mut ProgramBuilder, output: TensorId) -> Result<TensorId, LossError> {
    let ty = program.ty(output).clone();
    match ty.element {
        ElementType::F32 | ElementType::F64 if ty.shape.elements() == 1 => {
            Ok(movement::reshape(program, output, &Shape::scalar()))
        }
        ElementType::F32 | ElementType::F64 => Err(LossError::Several(ty)),
        element => Err(LossError::Element(element)),
    }
}

/// The mean of all elements.
fn mean(program: &mut ProgramBuilder, tensor: TensorId) -> TensorId {
    let (element, count) = (program.ty(tensor).element, program.ty(tensor).shape.elements());
    let total = total(program, tensor);
    compose::map(program, [total], element, |[total]| {
        total.binary(BinaryOp::Divide, Scalar::literal(element, count as f64))
    })
}

/// The sum of all elements, a scalar.
pub(super) fn total(program: &mut ProgramBuilder, tensor: TensorId) -> TensorId {
    let dimensions: Vec<usize> = (0..program.ty(tensor).shape.len()).collect();
    let total = compose::reduce(program, tensor, &dimensions, Reducer::Sum);
    movement::reshape(program, total, &Shape::scalar())
}

/// `Σ w · ((1 − s) · −log p[class] + s / classes · Σ −log p) / Σ w`, where w is 0 for elements that are ignored and else 1.
fn cross_entropy(
    program: &mut ProgramBuilder,
    [scores, classes]: [TensorId; 2],
    label_smoothing: f64,
    ignored: i64,
) -> TensorId {
    let logarithms = program.apply(&LogSoftmax::along(1), &[Some(scores)], 1)[0];
    let element = program.ty(scores).element;
    let literal = |value: f64| Scalar::literal(element, value);
    let integer = |value: i64| Scalar::Literal(Literal::integer(ElementType::I64, value));
    let is_ignored = |class: Scalar| class.binary(BinaryOp::Equal, integer(ignored));
    let weights =
        compose::map(program, [classes], element, |[class]| is_ignored(class).select(literal(0.0), literal(1.0)));
    // The class that is ignored may be none of the classes: it must not be read.
    let safe = compose::map(program, [classes], ElementType::I64, |[class]| {
        is_ignored(class.clone()).select(integer(0), class)
    });
    let own = picked(program, logarithms, safe);
    let losses = if label_smoothing == 0.0 {
        compose::map(program, [own, weights], element, |[own, weight]| {
            own.unary(UnaryOp::Negate).binary(BinaryOp::Multiply, weight)
        })
    } else {
        let all = compose::reduce(program, logarithms, &[1], Reducer::Sum);
        let shape = program.ty(own).shape.clone();
        let all = movement::reshape(program, all, &shape);
        let spread = label_smoothing / program.ty(scores).shape[1] as f64;
        compose::map(program, [own, all, weights], element, |[own, all, weight]| {
            let own = own.binary(BinaryOp::Multiply, literal(label_smoothing - 1.0));
            let all = all.binary(BinaryOp::Multiply, literal(-spread));
            own.binary(BinaryOp::Add, all).binary(BinaryOp::Multiply, weight)
        })
    };
    let (losses, weights) = (total(program, losses), total(program, weights));
    compose::map(program, [losses, weights], element, |[losses, weights]| losses.binary(BinaryOp::Divide, weights))
}

/// The element of each class along dimension 1.
fn picked(program: &mut ProgramBuilder, data: TensorId, classes: TensorId) -> TensorId {
    let ty = program.ty(data).clone();
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&program.ty(classes).shape);
    let mut index: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
    let operand = expr.operand(program.ty(classes));
    let class = expr.read(operand, index.clone());
    index.insert(1, expr.indirect(&class, ty.shape[1]));
    let operand = expr.operand(&ty);
    let body = expr.read(operand, index);
    program.compute(expr.map(ty.element, body), &[classes, data])
}
