//! Sliding windows over spatial dimensions, shared by convolution and pooling.

use crate::expr::{AxisId, Index};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError};

/// The window attributes of a convolution or pooling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    kernel: Option<Vec<i64>>,
    strides: Option<Vec<i64>>,
    dilations: Option<Vec<i64>>,
    padding: Padding,
}

/// How the input is padded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Padding {
    /// The elements before each dimension, then those after each.
    Explicit(Option<Vec<i64>>),
    /// As many as make the output ⌈input / stride⌉; the odd one comes after.
    SameUpper,
    /// As many as make the output ⌈input / stride⌉; the odd one comes before.
    SameLower,
    /// None.
    Valid,
}

/// A window along one spatial dimension of known extents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Extent of the input.
    pub input: usize,
    /// Extent of the output.
    pub output: usize,
    /// Taps of the window.
    pub taps: usize,
    /// Input elements from one window to the next.
    pub stride: i64,
    /// Input elements from one tap to the next.
    pub dilation: i64,
    /// Elements added before the input.
    pub before: i64,
    /// Elements added after the input.
    pub after: i64,
}

/// Largest accepted stride, dilation, padding or number of taps.
const LIMIT: i64 = 1 << 30;

impl Window {
    /// A window after every element, as large as the weight, without padding.
    pub const SINGLE: Self = Self { kernel: None, strides: None, dilations: None, padding: Padding::Valid };

    /// Takes the attributes that describe a window.
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let mut positive = |name: &'static str| bounded(name, attributes.ints(name)?, 1);
        let (kernel, strides, dilations) = (positive("kernel_shape")?, positive("strides")?, positive("dilations")?);
        let pads = bounded("pads", attributes.ints("pads")?, 0)?;
        let padding = match attributes.string("auto_pad")?.as_deref() {
            None | Some("NOTSET" | "") => Padding::Explicit(pads),
            Some("SAME_UPPER") => Padding::SameUpper,
            Some("SAME_LOWER") => Padding::SameLower,
            Some("VALID") => Padding::Valid,
            Some(other) => {
                return Err(AttributeError::Value { name: "auto_pad", reason: format!("`{other}` is unknown") });
            }
        };
        Ok(Self { kernel, strides, dilations, padding })
    }

    /// The attributes that describe the window.
    pub fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let lists = [("kernel_shape", &self.kernel), ("strides", &self.strides), ("dilations", &self.dilations)];
        let mut attributes: Vec<_> =
            lists.into_iter().filter_map(|(name, list)| Some((name, Attribute::Ints(list.clone()?)))).collect();
        let mode = match &self.padding {
            Padding::Explicit(pads) => {
                attributes.extend(pads.clone().map(|pads| ("pads", Attribute::Ints(pads))));
                return attributes;
            }
            Padding::SameUpper => "SAME_UPPER",
            Padding::SameLower => "SAME_LOWER",
            Padding::Valid => "VALID",
        };
        attributes.push(("auto_pad", Attribute::String(mode.to_owned())));
        attributes
    }

    /// How the input is padded.
    pub fn padding(&self) -> &Padding {
        &self.padding
    }

    /// The taps along each dimension: the attribute's, or the weight's where it is given.
    pub fn taps(&self, weight: Option<&[usize]>) -> Result<Vec<usize>, InferError> {
        let named = self.kernel.as_ref().map(|kernel| kernel.iter().map(|&taps| taps as usize).collect::<Vec<_>>());
        match (weight, named) {
            (Some(weight), Some(named)) if weight != named => {
                Err(InferError::Mismatch(format!("kernel_shape {named:?} is not the weight's {weight:?}")))
            }
            (Some(weight), _) => Ok(weight.to_vec()),
            (None, Some(named)) => Ok(named),
            (None, None) => Err(InferError::Mismatch("kernel_shape is missing".to_owned())),
        }
    }

    /// Stride along each of `rank` dimensions.
    pub fn strides(&self, rank: usize) -> Result<Vec<i64>, InferError> {
        filled(self.strides.as_deref(), rank, 1, "strides")
    }

    /// Dilation along each of `rank` dimensions.
    pub fn dilations(&self, rank: usize) -> Result<Vec<i64>, InferError> {
        filled(self.dilations.as_deref(), rank, 1, "dilations")
    }

    /// Explicit padding, all befores and then all afters.
    pub fn pads(&self, rank: usize) -> Result<Vec<i64>, InferError> {
        match &self.padding {
            Padding::Explicit(pads) => filled(pads.as_deref(), 2 * rank, 0, "pads"),
            Padding::SameUpper | Padding::SameLower | Padding::Valid => Ok(vec![0; 2 * rank]),
        }
    }

    /// The window along each spatial dimension. With `round_up`, a last window that starts inside the padded input
    /// counts even where it sticks out.
    pub fn spans(&self, spatial: &[usize], taps: &[usize], round_up: bool) -> Result<Vec<Span>, InferError> {
        let rank = spatial.len();
        if taps.len() != rank {
            return Err(InferError::Mismatch(format!("a window of {taps:?} does not slide over {spatial:?}")));
        }
        let (strides, dilations, pads) = (self.strides(rank)?, self.dilations(rank)?, self.pads(rank)?);
        let span = |at: usize| {
            let (input, stride, dilation) = (spatial[at] as i64, strides[at], dilations[at]);
            let reach = dilation.saturating_mul(taps[at] as i64 - 1).saturating_add(1);
            let same = |odd_before: bool| {
                let output = (input + stride - 1) / stride;
                let total = (output - 1).saturating_mul(stride).saturating_add(reach).saturating_sub(input).max(0);
                if odd_before { (total - total / 2, total / 2) } else { (total / 2, total - total / 2) }
            };
            let (before, after) = match &self.padding {
                Padding::Explicit(_) | Padding::Valid => (pads[at], pads[at + rank]),
                Padding::SameUpper => same(false),
                Padding::SameLower => same(true),
            };
            let room = input.saturating_add(before).saturating_add(after) - reach;
            let mut output = room.div_euclid(stride) + 1;
            if round_up && room.rem_euclid(stride) != 0 && output.saturating_mul(stride) < input + before {
                output += 1;
            }
            if output < 1 {
                return Err(InferError::Mismatch(format!("a window of reach {reach} does not fit into {input}")));
            }
            let output = output as usize;
            Ok(Span { input: spatial[at], output, taps: taps[at], stride, dilation, before, after })
        };
        (0..rank).map(span).collect()
    }
}

impl Span {
    /// The input element under a tap of a window; outside the input in the padding.
    pub fn place(&self, window: AxisId, tap: AxisId) -> Index {
        self.start(window).add(&Index::axis(tap).times(self.dilation))
    }

    /// The input element under the first tap of a window.
    pub fn start(&self, window: AxisId) -> Index {
        Index::axis(window).times(self.stride).plus(-self.before)
    }
}

fn bounded(name: &'static str, values: Option<Vec<i64>>, least: i64) -> Result<Option<Vec<i64>>, AttributeError> {
    match &values {
        Some(list) if list.iter().any(|value| !(least..LIMIT).contains(value)) => {
            Err(AttributeError::Value { name, reason: format!("{list:?} has values outside {least}..{LIMIT}") })
        }
        Some(_) | None => Ok(values),
    }
}

/// The values, or `default` for each of `count` if there are none.
pub fn filled(values: Option<&[i64]>, count: usize, default: i64, name: &str) -> Result<Vec<i64>, InferError> {
    match values {
        None => Ok(vec![default; count]),
        Some(values) if values.len() == count => Ok(values.to_vec()),
        Some(values) => Err(InferError::Mismatch(format!("{name} has {} values, not {count}", values.len()))),
    }
}
