//! Tensors from and as arrays of `ndarray`.

use std::borrow::Cow;

use ndarray::{Array, ArrayD, ArrayRef, ArrayViewD, CowArray, Dimension, IxDyn};

use crate::tensor::{Element, Tensor};

impl Tensor {
    /// The elements as an array of the tensor's shape; `None` if `T` is not their type. Nothing is copied where the bytes are
    /// aligned for `T`.
    pub fn view<T: Element>(&self) -> Option<CowArray<'_, T, IxDyn>> {
        const WHOLE: &str = "a tensor has as many elements as its shape";
        let shape = IxDyn(self.shape());
        Some(match self.elements::<T>()? {
            Cow::Borrowed(elements) => ArrayViewD::from_shape(shape, elements).expect(WHOLE).into(),
            Cow::Owned(elements) => ArrayD::from_shape_vec(shape, elements).expect(WHOLE).into(),
        })
    }

    fn of_array<T: Element, D: Dimension>(array: &ArrayRef<T, D>) -> Self {
        let rows = array.as_standard_layout();
        let elements = rows.as_slice().expect("an array in standard layout is a slice");
        Self::new(array.shape(), elements)
    }
}

/// The elements of an array, in rows, whatever order it has them in.
impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    fn from(array: Array<T, D>) -> Self {
        Self::of_array(&array)
    }
}

/// The elements of an array, in rows, whatever order it has them in.
impl<T: Element, D: Dimension> From<&Array<T, D>> for Tensor {
    fn from(array: &Array<T, D>) -> Self {
        Self::of_array(array)
    }
}
