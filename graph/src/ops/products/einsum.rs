//! `Einsum`: sums of products by Einstein's convention.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The product of the operands at equal labels, summed over the labels that the output lacks. Several operands are multiplied
/// from left to right, each label summed as soon as nothing later has it. A label twice in an operand is its diagonal; the
/// dimensions of ellipses broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Einsum {
    operands: Vec<String>,
    output: String,
}

/// What stands for dimensions without labels.
const ELLIPSIS: &str = "...";

/// The first of the labels that stand for the dimensions of an ellipsis.
const FIRST_OWN: u32 = 0xe000;

impl Einsum {
    fn parse(equation: &str) -> Result<Self, String> {
        let text: String = equation.chars().filter(|letter| !letter.is_whitespace()).collect();
        let (operands, output) = match text.split_once("->") {
            Some((operands, output)) => (operands.to_owned(), Some(output.to_owned())),
            None => (text, None),
        };
        let operands: Vec<String> = operands.split(',').map(str::to_owned).collect();
        let terms = operands.iter().chain(&output);
        if !terms
            .into_iter()
            .all(|term| term.replacen(ELLIPSIS, "", 1).chars().all(|label| label.is_ascii_alphabetic()))
        {
            return Err(format!("`{equation}` has other labels than letters and an ellipsis"));
        }
        let has_ellipsis = operands.iter().any(|term| term.contains(ELLIPSIS));
        if output.as_ref().is_some_and(|output| output.contains(ELLIPSIS) != has_ellipsis) {
            return Err(format!("`{equation}` has an ellipsis in its operands or in its output alone"));
        }
        let all = operands.concat().replace('.', "");
        let alone = |label: &char| all.matches(*label).count() == 1;
        let implied = || {
            let mut labels: Vec<char> = all.chars().filter(alone).collect();
            labels.sort_unstable();
            let ellipsis = if has_ellipsis { ELLIPSIS } else { "" };
            ellipsis.chars().chain(labels).collect()
        };
        let output: String = output.unwrap_or_else(implied);
        let once = output
            .chars()
            .filter(char::is_ascii_alphabetic)
            .all(|label| output.matches(label).count() == 1 && all.contains(label));
        if once { Ok(Self { operands, output }) } else { Err(format!("`{equation}` has an impossible output")) }
    }

    /// The same with a label of its own for each dimension of an ellipsis, the last ones being those that all operands have.
    fn spelt_out(&self, context: &Context) -> Result<Self, InferError> {
        let mut most = 0;
        let mut spelt = |term: &String, rank: Option<usize>| {
            let letters = term.replace('.', "").chars().count();
            let count = rank.map_or(most, |rank| rank.saturating_sub(letters));
            most = most.max(count);
            let labels: String = (0..count).rev().filter_map(|at| char::from_u32(FIRST_OWN + at as u32)).collect();
            term.replacen(ELLIPSIS, &labels, 1)
        };
        let mut operands = Vec::with_capacity(self.operands.len());
        for (input, term) in self.operands.iter().enumerate() {
            let rank = context.optional(input)?.map_or(0, |ty| ty.shape.len());
            operands.push(if term.contains(ELLIPSIS) { spelt(term, Some(rank)) } else { term.clone() });
        }
        Ok(Self { output: spelt(&self.output, None), operands })
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
            if ty.shape.len() != labels.chars().count() || ty.element != element || element == ElementType::Bool {
                return mismatch(format!("{ty} does not go with the labels `{labels}`"));
            }
            for (label, &extent) in labels.chars().zip(ty.shape.iter()) {
                let known = extents.entry(label).or_insert(extent);
                if !label.is_ascii_alphabetic() && *known == 1 {
                    *known = extent;
                }
                let repeats = !label.is_ascii_alphabetic() && extent == 1;
                if *known != extent && !repeats {
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
        let spelt = self.spelt_out(context)?;
        let (element, extents) = spelt.extents(context)?;
        let shape: Shape = spelt.output.chars().map(|label| extents[&label]).collect();
        Ok(vec![TensorType { element, shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let spelt = self.spelt_out(context).expect("inference accepted the operands");
        let (element, extents) = spelt.extents(context).expect("inference accepted the operands");
        let mut operands = inputs.iter().flatten().copied().zip(spelt.operands.clone());
        let mut so_far: Vec<(TensorId, String)> = operands.next().into_iter().collect();
        for position in 1..=self.operands.len() {
            let next = operands.next();
            if next.is_none() && self.operands.len() > 1 {
                break;
            }
            let wanted = |label: &char| {
                let later = spelt.operands.get(position + 1..).unwrap_or_default();
                spelt.output.contains(*label) || later.iter().any(|labels| labels.contains(*label))
            };
            so_far.extend(next);
            let is_last = position + 1 >= self.operands.len();
            let labels = if is_last {
                spelt.output.clone()
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
            let ty = program.ty(*tensor);
            let operand = expr.operand(ty);
            // Dimensions of ellipses repeat.
            let place = |(label, &extent): (char, &usize)| match extent == extents[&label] {
                true => Index::axis(axes[&label]),
                false => Index::constant(0),
            };
            expr.read(operand, labels.chars().zip(ty.shape.iter()).map(place).collect())
        })
        .collect();
    let body = crate::ops::elementwise::fold(BinaryOp::Multiply, reads);
    let reduces = axes.len() > output.chars().count();
    let expr = if reduces { expr.reduce(element, Reducer::Sum, body, None) } else { expr.map(element, body) };
    let tensors: Vec<TensorId> = operands.iter().map(|(tensor, _)| *tensor).collect();
    program.compute(expr, &tensors)
}
