//! Element types, shapes and the types of values.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Largest rank of any tensor.
pub const MAX_RANK: usize = 16;

/// The type of one tensor element.
///
/// In memory an element takes whole bytes: those of two and four bits one byte each, which ONNX packs into bytes. A byte of a
/// floating-point type of 8 bits or fewer is its code in the low bits, that of a signed integer is extended by its sign.
/// [`crate::numerics`] has a table of what there is to know of each type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementType {
    /// A truth value, one byte.
    Bool,
    /// A signed byte.
    I8,
    /// A signed 16-bit integer.
    I16,
    /// A signed 32-bit integer.
    I32,
    /// A signed 64-bit integer.
    I64,
    /// An unsigned byte.
    U8,
    /// An unsigned 16-bit integer.
    U16,
    /// An unsigned 32-bit integer.
    U32,
    /// An unsigned 64-bit integer.
    U64,
    /// An IEEE half.
    F16,
    /// A bfloat16.
    BF16,
    /// An IEEE single.
    F32,
    /// An IEEE double.
    F64,
    /// Storage only: a sign, 4 exponent and 3 mantissa bits without infinities.
    F8E4M3FN,
    /// Storage only: a sign, 4 exponent and 3 mantissa bits without infinities and without −0, whose code is NaN.
    F8E4M3FNUZ,
    /// Storage only: a sign, 5 exponent and 2 mantissa bits, as an IEEE half has them.
    F8E5M2,
    /// Storage only: a sign, 5 exponent and 2 mantissa bits without infinities and without −0, whose code is NaN.
    F8E5M2FNUZ,
    /// Storage only: 8 exponent bits, a power of two.
    F8E8M0,
    /// Storage only: a sign, 2 exponent bits and a mantissa bit, neither infinities nor NaN.
    F4E2M1,
    /// Storage only: a signed 4-bit integer.
    I4,
    /// Storage only: an unsigned 4-bit integer.
    U4,
    /// Storage only: a signed 2-bit integer.
    I2,
    /// Storage only: an unsigned 2-bit integer.
    U2,
}

impl ElementType {
    /// Every element type, in declaration order.
    pub const ALL: [Self; 23] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
        Self::F8E4M3FN,
        Self::F8E4M3FNUZ,
        Self::F8E5M2,
        Self::F8E5M2FNUZ,
        Self::F8E8M0,
        Self::F4E2M1,
        Self::I4,
        Self::U4,
        Self::I2,
        Self::U2,
    ];
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ElementType {
    type Err = UnknownElementType;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|ty| ty.name() == text).ok_or_else(|| UnknownElementType(text.to_owned()))
    }
}

/// A name that is no element type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no element type")]
pub struct UnknownElementType(pub String);

/// The extents of a tensor, outermost first; a scalar has none. Prints as `1x3x224x224`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shape(Vec<usize>);

impl Shape {
    /// The shape with these extents.
    pub fn new(extents: impl Into<Vec<usize>>) -> Self {
        Self(extents.into())
    }

    /// The shape of a scalar.
    pub fn scalar() -> Self {
        Self::default()
    }

    /// The number of elements, 1 for a scalar.
    ///
    /// # Panics
    /// If the product overflows: imported shapes are checked against [`Shape::checked_elements`] first.
    pub fn elements(&self) -> usize {
        self.checked_elements().expect("imported shapes have a checked number of elements")
    }

    /// The number of elements, or `None` if the product overflows `isize`.
    pub fn checked_elements(&self) -> Option<usize> {
        if self.0.contains(&0) {
            return Some(0);
        }
        let product = self.0.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent))?;
        isize::try_from(product).is_ok().then_some(product)
    }

    /// Row-major strides in elements.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.0.len()];
        for dimension in (1..self.0.len()).rev() {
            strides[dimension - 1] = strides[dimension] * self.0[dimension].max(1);
        }
        strides
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(extents: I) -> Self {
        Self(extents.into_iter().collect())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (dimension, extent) in self.0.iter().enumerate() {
            let separator = if dimension == 0 { "" } else { "x" };
            write!(f, "{separator}{extent}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

impl FromStr for Shape {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(Self::scalar());
        }
        text.split('x').map(str::parse).collect::<Result<Vec<_>, _>>().map(Self)
    }
}

/// Element type and shape. Prints as `f32[1x3x224x224]`, a scalar as `f32[]`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct TensorType {
    /// The type of every element.
    pub element: ElementType,
    pub shape: Shape,
}

impl TensorType {
    /// A tensor type.
    pub fn new(element: ElementType, shape: impl Into<Shape>) -> Self {
        Self { element, shape: shape.into() }
    }

    /// Bytes of a contiguous tensor.
    pub fn bytes(&self) -> usize {
        self.shape.elements() * self.element.bytes()
    }

    /// The same, or `None` if the product overflows `isize`.
    pub fn checked_bytes(&self) -> Option<usize> {
        let bytes = self.shape.checked_elements()?.checked_mul(self.element.bytes())?;
        isize::try_from(bytes).is_ok().then_some(bytes)
    }
}

impl From<Vec<usize>> for Shape {
    fn from(extents: Vec<usize>) -> Self {
        Self(extents)
    }
}

impl From<&[usize]> for Shape {
    fn from(extents: &[usize]) -> Self {
        Self(extents.to_vec())
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(extents: [usize; N]) -> Self {
        Self(extents.to_vec())
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.element, self.shape)
    }
}

/// The type of a value of the graph.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ValueType {
    /// A tensor of known element type and shape.
    Tensor(TensorType),
    /// A list of values of one type.
    Sequence(Box<ValueType>),
    /// A value or nothing.
    Optional(Box<ValueType>),
}

impl ValueType {
    /// The tensor type, if it is one.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Self::Tensor(ty) => Some(ty),
            Self::Sequence(_) | Self::Optional(_) => None,
        }
    }
}

impl From<TensorType> for ValueType {
    fn from(ty: TensorType) -> Self {
        Self::Tensor(ty)
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(ty) => write!(f, "{ty}"),
            Self::Sequence(inner) => write!(f, "sequence({inner})"),
            Self::Optional(inner) => write!(f, "optional({inner})"),
        }
    }
}
