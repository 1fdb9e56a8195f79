//! `Einsum`: sums of products by Einstein's convention.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The product of the operands at equal labels, summed over the labels that the output lacks. Several operands are multiplied
/// from left to right, each label summed as soon as nothing later has it. Ellipses are not supported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Einsum {
    operands: Vec<String>,
    output: String,
}

impl Einsum {
    fn parse(equation: &str) -> Result<Self, String> {
        let text: String = equation.chars().filter(|letter| !letter.is_whitespace()).collect();
        let (operands, output) = match text.split_once("->") {
            Some((operands, output)) => (operands.to_owned(), Some(output.to_owned())),
            None => (text, None),
        };
        let operands: Vec<String> = operands.split(',').map(str::to_owned).collect();
        let all = operands.concat();
        if !all.chars().chain(output.iter().flat_map(|output| output.chars())).all(|label| label.is_ascii_alphabetic())
        {
            return Err(format!("`{equation}` has other labels than letters"));
        }
        let alone = |label: &char| all.matches(*label).count() == 1;
        let implied = || {
            let mut labels: Vec<char> = all.chars().filter(alone).collect();
            labels.sort_unstable();
            labels.into_iter().collect()
        };
        let output: String = output.unwrap_or_else(implied);
        let once = output.chars().all(|label| output.matches(label).count() == 1 && all.contains(label));
        if once { Ok(Self { operands, output }) } else { Err(format!("`{equation}` has an impossible output")) }
    }

    /// The extent of each label.
    fn extents(&self, context: &Context) -> Result<(ElementType, BTreeMap<char, usize>), InferError> {
        let mismatch = |reason: String| Err(InferError::Mismatch(reason));
        if context.inputs() != self.operands.len() {
            return mismatch(format!("{} operands are named, {} are given", self.operands.len(), context.inputs()));
        }
        let element = context.tensor(0)?.element;
        let mut extents: BTreeMap<char, usize> = BTreeMap::new();
        for (input, labels) in self.operands.iter().enumerate() {
            let ty = context.tensor(input)?;
            if ty.shape.len() != labels.len() || ty.element != element || element == ElementType::Bool {
                return mismatch(format!("{ty} does not go with the labels `{labels}`"));
            }
            for (label, &extent) in labels.chars().zip(ty.shape.iter()) {
                if *extents.entry(label).or_insert(extent) != extent {
                    return mismatch(format!("label `{label}` has two extents"));
                }
            }
        }
        Ok((element, extents))
    }
}

impl Operator for Einsum {
    const NAME: &'static str = "Einsum";
    const OPSETS: RangeInclusive<i64> = 12..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=26;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let equation = attributes.string("equation")?.ok_or(AttributeError::Missing("equation"))?;
        Self::parse(&equation).map_err(|reason| AttributeError::Value { name: "equation", reason })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let equation = format!("{}->{}", self.operands.join(","), self.output);
        vec![("equation", Attribute::String(equation))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (element, extents) = self.extents(context)?;
        let shape: Shape = self.output.chars().map(|label| extents[&label]).collect();
        Ok(vec![TensorType { element, shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (element, extents) = self.extents(context).expect("inference accepted the operands");
        let mut operands = inputs.iter().flatten().copied().zip(self.operands.clone());
        let mut so_far: Vec<(TensorId, String)> = operands.next().into_iter().collect();
        for position in 1..=self.operands.len() {
            let next = operands.next();
            if next.is_none() && self.operands.len() > 1 {
                break;
            }
            let wanted = |label: &char| {
                let later = self.operands.get(position + 1..).unwrap_or_default();
                self.output.contains(*label) || later.iter().any(|labels| labels.contains(*label))
            };
            so_far.extend(next);
            let is_last = position + 1 >= self.operands.len();
            let labels = if is_last {
                self.output.clone()
            } else {
                let mut labels: Vec<char> =
                    so_far.iter().flat_map(|(_, labels)| labels.chars()).filter(wanted).collect();
                labels.sort_unstable();
                labels.dedup();
                labels.into_iter().collect()
            };
            let product = multiplied(program, element, &so_far, &labels, &extents);
            so_far = vec![(product, labels)];
        }
        so_far.into_iter().map(|(tensor, _)| tensor).collect()
    }
}

/// The product of operands at equal labels, summed over those that `output` lacks.
fn multiplied(
    program: &mut ProgramBuilder,
    element: ElementType,
    operands: &[(TensorId, String)],
    output: &str,
    extents: &BTreeMap<char, usize>,
) -> TensorId {
    let mut expr = ExprBuilder::new();
    let mut axes: BTreeMap<char, AxisId> =
        output.chars().map(|label| (label, expr.parallel(extents[&label]))).collect();
    let summed = operands.iter().flat_map(|(_, labels)| labels.chars());
    for label in summed {
        axes.entry(label).or_insert_with(|| expr.reduced(extents[&label]));
    }
    let reads: Vec<Scalar> = operands
        .iter()
        .map(|(tensor, labels)| {
            let operand = expr.operand(program.ty(*tensor));
            expr.read(operand, labels.chars().map(|label| Index::axis(axes[&label])).collect())
        })
        .collect();
    let body = super::elementwise::fold(BinaryOp::Multiply, reads);
    let reduces = axes.len() > output.len();
    let expr = if reduces { expr.reduce(element, Reducer::Sum, body, None) } else { expr.map(element, body) };
    let tensors: Vec<TensorId> = operands.iter().map(|(tensor, _)| *tensor).collect();
    program.compute(expr, &tensors)
}
