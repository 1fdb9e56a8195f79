//! Constant tensors: a type and shared, immutable bytes.

use std::borrow::Cow;

use bytes::Bytes;
use half::{bf16, f16};

use crate::arithmetic::{bfloat, half, truncate, wrap};
use crate::minifloat;
use crate::numerics::{Class, FloatFormat};
use crate::types::{ElementType, Shape, TensorType};

/// A constant tensor, row-major and little-endian. Cloning shares the bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    ty: TensorType,
    data: Bytes,
}

/// A Rust type that tensors hold.
pub trait Element: bytemuck::Pod {
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($rust:ty => $element:ident),*) => {
        $(impl Element for $rust {
            const TYPE: ElementType = ElementType::$element;
        })*
    };
}
elements!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64);

impl Tensor {
    /// A tensor over `data`; `None` if the length is not that of the type.
    pub fn from_bytes(ty: TensorType, data: Bytes) -> Option<Self> {
        (ty.checked_bytes() == Some(data.len())).then_some(Self { ty, data })
    }

    /// A tensor of these elements.
    ///
    /// # Panics
    /// If the number of elements is not that of the shape.
    pub fn new<T: Element>(shape: impl Into<Shape>, elements: &[T]) -> Self {
        let ty = TensorType::new(T::TYPE, shape);
        assert_eq!(elements.len(), ty.shape.elements(), "as many elements as the shape has");
        Self { ty, data: Bytes::copy_from_slice(bytemuck::cast_slice(elements)) }
    }

    /// A tensor of truth values.
    pub fn from_bools(shape: impl Into<Shape>, elements: &[bool]) -> Self {
        let data: Vec<u8> = elements.iter().map(|&element| u8::from(element)).collect();
        let ty = TensorType::new(ElementType::Bool, shape);
        Self::from_bytes(ty, data.into()).expect("as many elements as the shape has")
    }

    /// A rank-0 tensor.
    pub fn scalar<T: Element>(element: T) -> Self {
        Self::new(Shape::scalar(), &[element])
    }

    /// A rank-1 tensor of 64-bit integers: how ONNX writes shapes and axes.
    pub fn vector_i64(elements: &[i64]) -> Self {
        Self::new([elements.len()], elements)
    }

    /// A tensor of `ty` from doubles, each converted; integers truncate and saturate.
    pub fn from_f64(ty: TensorType, elements: &[f64]) -> Self {
        let mut data = Vec::with_capacity(ty.bytes());
        for &element in elements {
            push_f64(&mut data, ty.element, element);
        }
        Self::from_bytes(ty, data.into()).expect("as many elements as the shape has")
    }

    /// The tensor with each slice of its first dimension multiplied by a factor, as doubles.
    ///
    /// # Panics
    /// If there are not as many factors as slices.
    pub fn with_slices_scaled(&self, factors: &[f64]) -> Self {
        assert_eq!(self.shape().first(), Some(&factors.len()), "a factor for each slice");
        let slice = (self.shape().elements() / factors.len().max(1)).max(1);
        let Some(elements) = self.elements::<f32>() else {
            let scaled = self.to_f64().into_iter().enumerate().map(|(at, element)| element * factors[at / slice]);
            return Self::from_f64(self.ty.clone(), &scaled.collect::<Vec<_>>());
        };
        // Weights are large: singles take no detour through a tensor of doubles.
        let mut scaled = Vec::with_capacity(elements.len());
        for (slice, factor) in elements.chunks_exact(slice).zip(factors) {
            scaled.extend(slice.iter().map(|element| ((f64::from(*element) * factor) as f32).to_le_bytes()));
        }
        Self::from_bytes(self.ty.clone(), scaled.into_flattened().into()).expect("as many elements as before")
    }

    /// Whether no element is infinite or not a number.
    pub fn is_finite(&self) -> bool {
        match self.elements::<f32>() {
            Some(elements) => elements.iter().all(|element| element.is_finite()),
            None => self.to_f64().into_iter().all(f64::is_finite),
        }
    }

    /// A tensor of `ty` from integers, each converted; narrower integers wrap.
    pub fn from_i64(ty: TensorType, elements: &[i64]) -> Self {
        let mut data = Vec::with_capacity(ty.bytes());
        for &element in elements {
            push_i64(&mut data, ty.element, element);
        }
        Self::from_bytes(ty, data.into()).expect("as many elements as the shape has")
    }

    /// Element type and shape.
    pub fn ty(&self) -> &TensorType {
        &self.ty
    }

    /// The extents.
    pub fn shape(&self) -> &Shape {
        &self.ty.shape
    }

    pub fn element(&self) -> ElementType {
        self.ty.element
    }

    /// The bytes, row-major, little-endian.
    pub fn bytes(&self) -> &Bytes {
        &self.data
    }

    /// The same bytes under another shape; `None` if the number of elements differs.
    pub fn reshape(&self, shape: impl Into<Shape>) -> Option<Self> {
        Self::from_bytes(TensorType::new(self.ty.element, shape), self.data.clone())
    }

    /// The tensor with a dimension behind all others.
    ///
    /// # Panics
    /// If it has no such dimension.
    pub fn with_dimension_last(&self, dimension: usize) -> Self {
        let bytes = match self.element().bytes() {
            1 => self.moved_last::<1>(dimension),
            2 => self.moved_last::<2>(dimension),
            4 => self.moved_last::<4>(dimension),
            _ => self.moved_last::<8>(dimension),
        };
        let shape = self.shape();
        let others = shape.iter().enumerate().filter(|(at, _)| *at != dimension).map(|(_, extent)| *extent);
        let moved: Shape = others.chain([shape[dimension]]).collect();
        Self::from_bytes(TensorType::new(self.element(), moved), bytes.into()).expect("as many bytes as before")
    }

    /// The bytes of [`Self::with_dimension_last`], of elements of `SIZE` bytes.
    fn moved_last<const SIZE: usize>(&self, dimension: usize) -> Vec<u8> {
        let (shape, (elements, rest)) = (self.shape(), self.data.as_chunks::<SIZE>());
        assert!(rest.is_empty(), "elements have {SIZE} bytes");
        let inner: usize = shape[dimension + 1..].iter().product();
        let mut moved = Vec::with_capacity(elements.len());
        for block in elements.chunks_exact((inner * shape[dimension]).max(1)) {
            for at in 0..inner {
                moved.extend(block[at..].iter().step_by(inner));
            }
        }
        moved.into_flattened()
    }

    /// The elements, if `T` is their type; borrowed where the bytes are aligned.
    pub fn elements<T: Element>(&self) -> Option<Cow<'_, [T]>> {
        (T::TYPE == self.ty.element).then(|| match bytemuck::try_cast_slice(&self.data) {
            Ok(slice) => Cow::Borrowed(slice),
            Err(_) => Cow::Owned(bytemuck::allocation::pod_collect_to_vec(&self.data)),
        })
    }

    /// The elements as doubles; 64-bit integers round.
    pub fn to_f64(&self) -> Vec<f64> {
        let at = |bytes: &[u8]| match self.ty.element.class() {
            Class::Float(FloatFormat::Half) => f64::from(f16::from_le_bytes(array(bytes))),
            Class::Float(FloatFormat::BFloat16) => f64::from(bf16::from_le_bytes(array(bytes))),
            Class::Float(FloatFormat::Single) => f64::from(f32::from_le_bytes(array(bytes))),
            Class::Float(FloatFormat::Double) => f64::from_le_bytes(array(bytes)),
            Class::Float(FloatFormat::Minifloat(_) | FloatFormat::PowerOfTwo) => {
                minifloat::decode(self.ty.element, bytes[0])
            }
            Class::Unsigned => integer(self.ty.element, bytes) as u64 as f64,
            Class::Boolean | Class::Signed => integer(self.ty.element, bytes) as f64,
        };
        self.data.chunks_exact(self.ty.element.bytes()).map(at).collect()
    }

    /// The elements as singles; doubles and integers round.
    pub fn to_f32(&self) -> Vec<f32> {
        match self.elements::<f32>() {
            Some(elements) => elements.into_owned(),
            None => self.to_f64().into_iter().map(|element| element as f32).collect(),
        }
    }

    /// The elements as 64-bit integers; floating point truncates and saturates.
    pub fn to_i64(&self) -> Vec<i64> {
        if self.ty.element.is_float() {
            return self.to_f64().into_iter().map(|element| element as i64).collect();
        }
        self.data.chunks_exact(self.ty.element.bytes()).map(|bytes| integer(self.ty.element, bytes)).collect()
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("a chunk is as long as an element")
}

/// The integer in the bytes of an element that is not floating point.
fn integer(element: ElementType, bytes: &[u8]) -> i64 {
    let mut word = [0; size_of::<i64>()];
    word[..bytes.len()].copy_from_slice(bytes);
    wrap(element, i64::from_le_bytes(word))
}

fn push_f64(data: &mut Vec<u8>, element: ElementType, value: f64) {
    match element.class() {
        Class::Float(FloatFormat::Half) => data.extend(half(value).to_le_bytes()),
        Class::Float(FloatFormat::BFloat16) => data.extend(bfloat(value).to_le_bytes()),
        Class::Float(FloatFormat::Single) => data.extend((value as f32).to_le_bytes()),
        Class::Float(FloatFormat::Double) => data.extend(value.to_le_bytes()),
        Class::Float(FloatFormat::Minifloat(_) | FloatFormat::PowerOfTwo) => {
            data.push(minifloat::encode(element, value));
        }
        Class::Boolean | Class::Signed | Class::Unsigned => push_i64(data, element, truncate(element, value)),
    }
}

fn push_i64(data: &mut Vec<u8>, element: ElementType, value: i64) {
    match element.class() {
        Class::Float(_) => push_f64(data, element, value as f64),
        Class::Boolean | Class::Signed | Class::Unsigned => {
            data.extend(&wrap(element, value).to_le_bytes()[..element.bytes()]);
        }
    }
}
