//! `Slice`: every so many elements between bounds.

use std::ops::RangeInclusive;

use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The elements from `starts` to before `ends` along the named axes, in steps that may go backwards. The bounds are
/// attributes before opset 10 and inputs from then on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    starts: Option<Vec<i64>>,
    ends: Option<Vec<i64>>,
    axes: Option<Vec<i64>>,
}

/// Along a dimension: the first element, the one before which it ends, as the model names them, and the step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bounds {
    /// The first element; negative from the back.
    pub start: i64,
    /// The element before which it ends; negative from the back.
    pub end: i64,
    pub step: i64,
}

impl Bounds {
    /// Whether these are all of so many elements, in their order.
    pub fn is_all(self, extent: i64) -> bool {
        self.start == 0 && self.end >= extent && self.step == 1
    }
}

/// For each dimension of the input: the first element, the step, and how many.
struct Window {
    starts: Vec<i64>,
    steps: Vec<i64>,
    extents: Vec<usize>,
}

impl Slice {
    /// The bounds along a dimension, if it is sliced and they are known.
    pub fn bounds(&self, context: &Context, dimension: usize) -> Option<Bounds> {
        let named = self.named(context).ok()?;
        named.into_iter().find(|(named, _)| *named == dimension).map(|(_, bounds)| bounds)
    }

    fn named(&self, context: &Context) -> Result<Vec<(usize, Bounds)>, InferError> {
        let rank = context.tensor(0)?.shape.len();
        let starts = axes::given(self.starts.as_deref(), context, 1)?.ok_or(InferError::Missing(1))?;
        let ends = axes::given(self.ends.as_deref(), context, 2)?.ok_or(InferError::Missing(2))?;
        let named = axes::given(self.axes.as_deref(), context, 3)?;
        let named = named.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let dimensions = axes::dimensions(&named, rank)?;
        let steps = context.integers(4)?.unwrap_or_else(|| vec![1; starts.len()]);
        if ends.len() != starts.len() || dimensions.len() != starts.len() || steps.len() != starts.len() {
            return Err(InferError::Mismatch("starts, ends, axes and steps differ in number".to_owned()));
        }
        if steps.contains(&0) {
            return Err(InferError::Mismatch("a step is 0".to_owned()));
        }
        let bounds = |at: usize| Bounds { start: starts[at], end: ends[at], step: steps[at] };
        Ok(dimensions.into_iter().enumerate().map(|(at, dimension)| (dimension, bounds(at))).collect())
    }

    fn window(&self, context: &Context) -> Result<Window, InferError> {
        let data = context.tensor(0)?;
        let rank = data.shape.len();
        let mut window = Window { starts: vec![0; rank], steps: vec![1; rank], extents: data.shape.to_vec() };
        for (dimension, bounds) in self.named(context)? {
            let extent = data.shape[dimension] as i64;
            let step = bounds.step.clamp(-extent - 1, extent + 1);
            let place = |value: i64| if value < 0 { value.saturating_add(extent) } else { value };
            let (start, count) = if step > 0 {
                let (start, end) = (place(bounds.start).clamp(0, extent), place(bounds.end).clamp(0, extent));
                (start, (end - start + step - 1).div_euclid(step))
            } else {
                let last = (extent - 1).max(0);
                let (start, end) = (place(bounds.start).clamp(0, last), place(bounds.end).clamp(-1, last));
                let end = if extent == 0 { start } else { end };
                (start, (start - end - step - 1).div_euclid(-step))
            };
            window.starts[dimension] = start;
            window.steps[dimension] = step;
            window.extents[dimension] = count.max(0) as usize;
        }
        Ok(window)
    }
}

impl Operator for Slice {
    const NAME: &'static str = "Slice";
    const INPUTS: RangeInclusive<usize> = 1..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let (starts, ends) = (attributes.ints("starts")?, attributes.ints("ends")?);
        Ok(Self { starts, ends, axes: attributes.ints("axes")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let all = [("starts", &self.starts), ("ends", &self.ends), ("axes", &self.axes)];
        all.into_iter().filter_map(|(name, values)| Some((name, Attribute::Ints(values.clone()?)))).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let window = self.window(context)?;
        Ok(vec![TensorType::new(context.tensor(0)?.element, window.extents).into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let window = self.window(context).ok()?;
        let is_whole = window.extents[dimension] == context.accepted(0).shape[dimension];
        (input == 0 && is_whole && window.steps[dimension] > 0).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let window = self.window(context).expect("inference accepted the bounds");
        let data = inputs[0].expect("inference found the input");
        vec![movement::slice(program, data, &window.starts, &window.steps, &window.extents)]
    }
}
