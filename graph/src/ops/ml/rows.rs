//! What linear models have in common: rows of features, sums of weighted features, and what becomes of the sums.

use crate::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use crate::ops::elementwise::sigmoid;
use crate::ops::softmax::Softmax;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, compose};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType};

/// What becomes of the scores of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PostTransform {
    None,
    /// 1 / (1 + e⁻ˣ).
    Logistic,
    Softmax,
    /// The softmax of the scores that are not 0.
    SoftmaxZero,
}

impl PostTransform {
    const NAMES: [(Self, &'static str); 4] = [
        (Self::None, "NONE"),
        (Self::Logistic, "LOGISTIC"),
        (Self::Softmax, "SOFTMAX"),
        (Self::SoftmaxZero, "SOFTMAX_ZERO"),
    ];

    pub(super) fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = "post_transform";
        let Some(given) = attributes.string(name)? else { return Ok(Self::None) };
        let known = Self::NAMES.iter().find(|(_, known)| *known == given).map(|(transform, _)| *transform);
        let reason = || format!("`{given}` is not supported");
        known.ok_or_else(|| AttributeError::Value { name, reason: reason() })
    }

    pub(super) fn attribute(self) -> (&'static str, Attribute) {
        let name = Self::NAMES.iter().find(|(transform, _)| *transform == self).map_or("", |(_, name)| name);
        ("post_transform", Attribute::String(name.to_owned()))
    }

    /// Appends the transform of rows of scores.
    pub(super) fn lower(self, program: &mut ProgramBuilder, scores: TensorId) -> TensorId {
        match self {
            Self::None => scores,
            Self::Logistic => compose::map(program, [scores], ElementType::F32, |[x]| sigmoid(ElementType::F32, x)),
            Self::Softmax => program.apply(&Softmax::along(1), &[Some(scores)], 1)[0],
            Self::SoftmaxZero => {
                let zero = || Scalar::literal(ElementType::F32, 0.0);
                let is_zero = |x: Scalar| x.binary(BinaryOp::Equal, zero());
                let lowest = Scalar::literal(ElementType::F32, f64::NEG_INFINITY);
                let hidden =
                    compose::map(program, [scores], ElementType::F32, |[x]| is_zero(x.clone()).select(lowest, x));
                let shares = program.apply(&Softmax::along(1), &[Some(hidden)], 1)[0];
                compose::map(program, [scores, shares], ElementType::F32, |[x, share]| is_zero(x).select(zero(), share))
            }
        }
    }
}

/// Rows and features of the first input: `[rows, features]`, or one row of features.
pub(super) fn extents(context: &Context) -> Result<[usize; 2], InferError> {
    let data = context.tensor(0)?;
    match (&data.shape[..], data.element) {
        (_, ElementType::Bool) => Err(InferError::Mismatch(format!("{data} has no numbers"))),
        (&[features], _) => Ok([1, features]),
        (&[rows, features], _) => Ok([rows, features]),
        _ => Err(InferError::Unsupported(format!("{data} is not rows of features"))),
    }
}

/// Appends `[rows, outputs]` sums of the features weighted by `coefficients`, a row of features an output, plus intercepts.
pub(super) fn weighted(
    context: &Context,
    input: TensorId,
    program: &mut ProgramBuilder,
    coefficients: &[f32],
    intercepts: &[f32],
    outputs: usize,
) -> TensorId {
    let [rows, features] = extents(context).expect("inference accepted the features");
    let data: TensorType = context.accepted(0).clone();
    let weight = program.constant(Tensor::new([outputs, features], coefficients));
    let offsets = (!intercepts.is_empty()).then(|| program.constant(Tensor::new([outputs], intercepts)));
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&[rows, outputs]);
    let feature = expr.reduced(features);
    let (x, w) = (expr.operand(&data), expr.operand(program.ty(weight)));
    let own = [axes[0], feature].map(Index::axis);
    let x = expr.read(x, own[2 - data.shape.len()..].to_vec()).cast(data.element, ElementType::F32);
    let w = expr.read(w, [axes[1], feature].map(Index::axis).to_vec());
    let mut operands = vec![input, weight];
    let sum = offsets.map(|offsets| {
        let operand = expr.operand(program.ty(offsets));
        operands.push(offsets);
        Scalar::Reduced.binary(BinaryOp::Add, expr.read(operand, vec![Index::axis(axes[1])]))
    });
    program.compute(expr.reduce(ElementType::F32, Reducer::Sum, x.binary(BinaryOp::Multiply, w), sum), &operands)
}

/// One value a feature of the last dimension, of values that are given for each or once for all.
pub(super) fn each_feature(
    program: &mut ProgramBuilder,
    values: &[f32],
    features: usize,
    element: ElementType,
) -> TensorId {
    let extent = if values.len() == 1 { 1 } else { features };
    let values: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
    program.constant(Tensor::from_f64(TensorType::new(element, [extent]), &values))
}

/// Checks that there is one value for all features of the last dimension or one for each.
pub(super) fn check_each(context: &Context, count: usize, name: &str) -> Result<(), InferError> {
    let data = context.tensor(0)?;
    match data.shape.last() {
        Some(&features) if count == 1 || count == features => Ok(()),
        _ => Err(InferError::Mismatch(format!("{count} values of {name} do not go with the features of {data}"))),
    }
}
