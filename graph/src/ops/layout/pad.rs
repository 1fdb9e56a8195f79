//! `Pad`: more elements around a tensor.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, ExprBuilder, Index, Literal, Range};
use crate::ops::{
    ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The input with elements added, or with negative counts removed, before and after it along each dimension. Counts and
/// fill are attributes before opset 11 and inputs from then on.
#[derive(Clone, PartialEq, Debug)]
pub struct Pad {
    mode: Mode,
    pads: Option<Vec<i64>>,
    value: Option<f32>,
}

/// What the new elements are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Constant,
    Edge,
    Reflect,
    Wrap,
}

impl Pad {
    /// For each dimension the elements added before, and the output's extent.
    fn extents(&self, context: &Context) -> Result<(Vec<i64>, Vec<usize>), InferError> {
        let data = context.tensor(0)?;
        let rank = data.shape.len();
        let pads = axes::given(self.pads.as_deref(), context, 1)?.ok_or(InferError::Missing(1))?;
        let dimensions = match context.integers(3)? {
            Some(named) => axes::dimensions(&named, rank)?,
            None => (0..rank).collect(),
        };
        let mismatch = || InferError::Mismatch(format!("{data} cannot be padded by {pads:?}"));
        if pads.len() != 2 * dimensions.len() {
            return Err(mismatch());
        }
        let (mut before, mut extents) = (vec![0; rank], data.shape.to_vec());
        for (at, &dimension) in dimensions.iter().enumerate() {
            let (front, back) = (pads[at], pads[at + dimensions.len()]);
            let limit = 1 << 40;
            if !(-limit..limit).contains(&front) || !(-limit..limit).contains(&back) {
                return Err(mismatch());
            }
            before[dimension] = front;
            extents[dimension] = usize::try_from(extents[dimension] as i64 + front + back).map_err(|_| mismatch())?;
            if self.mode != Mode::Constant && Kept::of(data.shape[dimension], front, back).extent < 1 {
                return Err(mismatch());
            }
        }
        Ok((before, extents))
    }
}

/// What counts below 0 leave of a dimension. What is padded is made of this alone.
struct Kept {
    first: i64,
    extent: i64,
}

impl Kept {
    fn of(extent: usize, front: i64, back: i64) -> Self {
        let first = (-front).max(0);
        Self { first, extent: extent as i64 - first - (-back).max(0) }
    }
}

/// An index that runs back at both ends of an extent, which it meets once each time: … 2 1 0 1 2 …
fn reflected(index: &Index, extent: i64, range: &impl Fn(AxisId) -> Range) -> Index {
    if extent == 1 {
        return Index::constant(0);
    }
    let last = extent - 1;
    let there = index.modulo(2 * last, range);
    let beyond = there.plus(-last).clamped(0, last, range);
    // It never leaves the extent, which its range alone does not say.
    there.add(&beyond.times(-2)).clamped(0, last, range)
}

impl Operator for Pad {
    const NAME: &'static str = "Pad";
    const INPUTS: RangeInclusive<usize> = 1..=4;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let mode = match attributes.string("mode")?.as_deref() {
            None | Some("constant") => Mode::Constant,
            Some("edge") => Mode::Edge,
            Some("reflect") => Mode::Reflect,
            Some("wrap") => Mode::Wrap,
            Some(other) => {
                return Err(AttributeError::Value { name: "mode", reason: format!("`{other}` is not supported") });
            }
        };
        let pads = attributes.ints(if attributes.opset() < 2 { "paddings" } else { "pads" })?;
        Ok(Self { mode, pads, value: attributes.float("value")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mode = match self.mode {
            Mode::Constant => "constant",
            Mode::Edge => "edge",
            Mode::Reflect => "reflect",
            Mode::Wrap => "wrap",
        };
        let pads = self.pads.clone().map(|pads| ("pads", Attribute::Ints(pads)));
        let value = self.value.map(|value| ("value", Attribute::Float(value)));
        [("mode", Attribute::String(mode.to_owned()))].into_iter().chain(pads).chain(value).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (_, extents) = self.extents(context)?;
        if context.constant(2)?.is_some_and(|value| value.shape().checked_elements() != Some(1)) {
            return Err(InferError::Mismatch("the fill is not one element".to_owned()));
        }
        Ok(vec![TensorType::new(context.tensor(0)?.element, extents).into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (before, extents) = self.extents(context).expect("inference accepted the counts");
        let data = context.accepted(0);
        let fill = match context.constant(2) {
            Ok(Some(value)) => elementwise::literal(value),
            Ok(None) | Err(_) => Literal::new(data.element, f64::from(self.value.unwrap_or(0.0))),
        };
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&extents);
        let operand = expr.operand(data);
        let index = (0..axes.len()).map(|dimension| {
            let (front, extent) = (before[dimension], data.shape[dimension]);
            let kept = Kept::of(extent, front, extents[dimension] as i64 - extent as i64 - front);
            let place = Index::axis(axes[dimension]).plus(-front - kept.first);
            let range = |axis| expr.range(axis);
            let inside = match self.mode {
                Mode::Constant => place,
                Mode::Edge => place.clamped(0, kept.extent - 1, &range),
                Mode::Reflect => reflected(&place, kept.extent, &range),
                Mode::Wrap => place.modulo(kept.extent, &range),
            };
            inside.plus(kept.first)
        });
        let index = index.collect();
        let body = expr.padded_read(operand, index, fill);
        vec![program.compute(expr.map(data.element, body), &[inputs[0].expect("inference found the input")])]
    }
}
