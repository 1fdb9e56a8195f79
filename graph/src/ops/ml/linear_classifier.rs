//! `LinearClassifier` of the domain `ai.onnx.ml`: the class whose weighted features have the largest sum.

use std::ops::RangeInclusive;

use super::DOMAIN;
use super::rows::{PostTransform, extents, weighted};
use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::arg_max::ArgMax;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// The label of every row of features, and the scores of its classes. Labels are integers. Of two classes one row of
/// coefficients is enough: its sum is the second's score, and what it lacks to 1 the first's, as in ONNX Runtime.
#[derive(Clone, PartialEq, Debug)]
pub struct LinearClassifier {
    coefficients: Vec<f32>,
    intercepts: Vec<f32>,
    labels: Vec<i64>,
    transform: PostTransform,
}

impl LinearClassifier {
    /// Rows, and rows of coefficients.
    fn extents(&self, context: &Context) -> Result<[usize; 2], InferError> {
        let [rows, features] = extents(context)?;
        let scores = self.coefficients.len().checked_div(features).unwrap_or(0);
        let binary = scores == 1 && self.labels.len() == 2;
        let fits = scores * features == self.coefficients.len()
            && (scores == self.labels.len() || binary)
            && (self.intercepts.is_empty() || self.intercepts.len() == scores)
            && scores > 0;
        if !fits {
            return Err(InferError::Mismatch(format!(
                "{} coefficients and {} intercepts do not go with {features} features and {} classes",
                self.coefficients.len(),
                self.intercepts.len(),
                self.labels.len()
            )));
        }
        if binary && !matches!(self.transform, PostTransform::None | PostTransform::Logistic) {
            return Err(InferError::Unsupported("a softmax of one score is not supported".to_owned()));
        }
        Ok([rows, scores])
    }

    /// Appends both scores of two classes, of the second's sum.
    fn both(&self, program: &mut ProgramBuilder, sums: TensorId) -> TensorId {
        let shown = self.transform.lower(program, sums);
        let ty = program.ty(shown).clone();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[ty.shape[0], 2]);
        let operand = expr.operand(&ty);
        let score = expr.read(operand, vec![Index::axis(axes[0]), Index::constant(0)]);
        let number = |value: f64| Scalar::literal(ElementType::F32, value);
        let other = number(1.0).binary(BinaryOp::Subtract, score.clone());
        let is_second = number(0.0).binary(
            BinaryOp::Less,
            Scalar::Index(Index::axis(axes[1]), ElementType::I32).cast(ElementType::I32, ElementType::F32),
        );
        program.compute(expr.map(ElementType::F32, is_second.select(score, other)), &[shown])
    }
}

impl Operator for LinearClassifier {
    const NAME: &'static str = "LinearClassifier";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        attributes.int("multi_class")?;
        if attributes.strings("classlabels_strings")?.is_some_and(|labels| !labels.is_empty()) {
            let reason = "strings are not supported".to_owned();
            return Err(AttributeError::Value { name: "classlabels_strings", reason });
        }
        Ok(Self {
            coefficients: attributes.floats("coefficients")?.ok_or(AttributeError::Missing("coefficients"))?,
            intercepts: attributes.floats("intercepts")?.unwrap_or_default(),
            labels: attributes.ints("classlabels_ints")?.ok_or(AttributeError::Missing("classlabels_ints"))?,
            transform: PostTransform::from_attributes(attributes)?,
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![
            ("coefficients", Attribute::Floats(self.coefficients.clone())),
            ("intercepts", Attribute::Floats(self.intercepts.clone())),
            ("classlabels_ints", Attribute::Ints(self.labels.clone())),
            self.transform.attribute(),
        ]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let [rows, _] = self.extents(context)?;
        let labels = TensorType::new(ElementType::I64, [rows]);
        let scores = TensorType::new(ElementType::F32, [rows, self.labels.len()]);
        Ok([labels, scores].into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let input = inputs[0].expect("inference found the input");
        let [rows, count] = self.extents(context).expect("inference accepted the features");
        let sums = weighted(context, input, program, &self.coefficients, &self.intercepts, count);
        let labels = program.constant(Tensor::vector_i64(&self.labels));
        let mut expr = ExprBuilder::new();
        let axis = expr.parallel(rows);
        let (class, scores, operand) = if count == 1 && self.labels.len() == 2 {
            let operand = expr.operand(program.ty(sums));
            let score = expr.read(operand, vec![Index::axis(axis), Index::constant(0)]);
            let named = expr.operand(program.ty(labels));
            let [first, second] = [0, 1].map(|at| expr.read(named, vec![Index::constant(at)]));
            let is_second = Scalar::literal(ElementType::F32, 0.0).binary(BinaryOp::Less, score);
            (is_second.select(second, first), self.both(program, sums), sums)
        } else {
            let place = program.apply(&ArgMax::first_along(1), &[Some(sums)], 1)[0];
            let operand = expr.operand(program.ty(place));
            let place_read = expr.read(operand, vec![Index::axis(axis), Index::constant(0)]);
            let named = expr.operand(program.ty(labels));
            let at = expr.indirect(&place_read, self.labels.len());
            (expr.read(named, vec![at]), self.transform.lower(program, sums), place)
        };
        vec![program.compute(expr.map(ElementType::I64, class), &[operand, labels]), scores]
    }
}
