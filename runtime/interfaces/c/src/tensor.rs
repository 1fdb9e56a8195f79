//! Tensors in the caller's memory, and structures that grow from version to version.
#![expect(unsafe_code, reason = "reads and writes structures of C")]

use std::ffi::c_void;

use warpweave_graph::{ElementType, TensorType};

use crate::error::Failure;

/// The type of an element. The numbers are ONNX's.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementCode {
    /// A single.
    WwF32 = 1,
    /// An unsigned byte.
    WwU8 = 2,
    /// A signed byte.
    WwI8 = 3,
    /// An unsigned integer of 16 bits.
    WwU16 = 4,
    /// A signed integer of 16 bits.
    WwI16 = 5,
    /// A signed integer of 32 bits.
    WwI32 = 6,
    /// A signed integer of 64 bits.
    WwI64 = 7,
    /// A truth value, a byte that is 0 or 1.
    WwBool = 9,
    /// An IEEE half.
    WwF16 = 10,
    /// A double.
    WwF64 = 11,
    /// An unsigned integer of 32 bits.
    WwU32 = 12,
    /// An unsigned integer of 64 bits.
    WwU64 = 13,
    /// A bfloat16.
    WwBf16 = 16,
    /// 8 bits: a sign, 4 exponent and 3 mantissa bits without infinities.
    WwF8E4m3fn = 17,
    /// The same without −0, whose code is NaN.
    WwF8E4m3fnuz = 18,
    /// 8 bits: a sign, 5 exponent and 2 mantissa bits.
    WwF8E5m2 = 19,
    /// The same without infinities and without −0, whose code is NaN.
    WwF8E5m2fnuz = 20,
    /// An unsigned integer of 4 bits, in a byte of its own.
    WwU4 = 21,
    /// A signed integer of 4 bits, in a byte of its own.
    WwI4 = 22,
    /// 4 bits of floating point, in a byte of their own.
    WwF4E2m1 = 23,
    /// 8 exponent bits.
    WwF8E8m0 = 24,
    /// An unsigned integer of 2 bits, in a byte of its own.
    WwU2 = 25,
    /// A signed integer of 2 bits, in a byte of its own.
    WwI2 = 26,
}

impl From<ElementType> for ElementCode {
    fn from(element: ElementType) -> Self {
        match element {
            ElementType::Bool => Self::WwBool,
            ElementType::I8 => Self::WwI8,
            ElementType::I16 => Self::WwI16,
            ElementType::I32 => Self::WwI32,
            ElementType::I64 => Self::WwI64,
            ElementType::U8 => Self::WwU8,
            ElementType::U16 => Self::WwU16,
            ElementType::U32 => Self::WwU32,
            ElementType::U64 => Self::WwU64,
            ElementType::F16 => Self::WwF16,
            ElementType::BF16 => Self::WwBf16,
            ElementType::F32 => Self::WwF32,
            ElementType::F64 => Self::WwF64,
            ElementType::F8E4M3FN => Self::WwF8E4m3fn,
            ElementType::F8E4M3FNUZ => Self::WwF8E4m3fnuz,
            ElementType::F8E5M2 => Self::WwF8E5m2,
            ElementType::F8E5M2FNUZ => Self::WwF8E5m2fnuz,
            ElementType::F8E8M0 => Self::WwF8E8m0,
            ElementType::F4E2M1 => Self::WwF4E2m1,
            ElementType::I4 => Self::WwI4,
            ElementType::U4 => Self::WwU4,
            ElementType::I2 => Self::WwI2,
            ElementType::U2 => Self::WwU2,
        }
    }
}

/// A tensor in memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TensorView {
    /// `sizeof(ww_tensor)`.
    pub size: usize,
    /// The type of its elements, a `ww_type`.
    pub element: i32,
    /// How many dimensions it has.
    pub rank: usize,
    /// The extents of its dimensions.
    pub shape: *const i64,
    /// Elements from one to the next along each dimension; null where they stand side by side, the last dimension innermost.
    pub strides: *const i64,
    /// Its elements.
    pub data: *mut c_void,
    /// How many elements it has. The library sets it, and does not read it.
    pub elements: usize,
}

impl TensorView {
    /// What this view is of.
    pub(crate) fn of(ty: &TensorType, shape: &[i64], data: *mut u8) -> Self {
        Self {
            size: size_of::<Self>(),
            element: ElementCode::from(ty.element) as i32,
            rank: shape.len(),
            shape: shape.as_ptr(),
            strides: std::ptr::null(),
            data: data.cast(),
            elements: shape.iter().product::<i64>() as usize,
        }
    }

    /// Whether it has this type, its elements side by side.
    ///
    /// # Safety
    /// Shape and strides are null, or have as many numbers as the rank says.
    pub(crate) unsafe fn check(&self, name: &str, ty: &TensorType) -> Result<(), Failure> {
        let wanted = ElementCode::from(ty.element);
        if self.element != wanted as i32 {
            let message = format!("`{name}` is {ty}, and the tensor has elements of type {}", self.element);
            return Err(Failure::memory(message, &format!("give elements of type {}", wanted as i32)));
        }
        let has_shape = self.rank == ty.shape.len() && (self.rank == 0 || !self.shape.is_null());
        // SAFETY: by this function's contract; the rank is that of a type.
        let shape = has_shape.then(|| unsafe { numbers(self.shape, self.rank) });
        let is_same = |shape: &[i64]| shape.iter().zip(&ty.shape[..]).all(|(found, wanted)| *found == *wanted as i64);
        if !shape.is_some_and(is_same) {
            let found =
                shape.map_or_else(|| format!("{} dimensions", self.rank), |shape| format!("the shape {shape:?}"));
            let message = format!("`{name}` is {ty}, and the tensor has {found}");
            return Err(Failure::memory(message, "give that shape, or compile the model for another"));
        }
        if self.strides.is_null() {
            return Ok(());
        }
        // SAFETY: by this function's contract.
        let strides = unsafe { numbers(self.strides, self.rank) };
        let own = ty.shape.strides();
        let is_packed = |(at, stride): (usize, &i64)| ty.shape[at] <= 1 || *stride == own[at] as i64;
        match strides.iter().enumerate().all(is_packed) || ty.shape.elements() == 0 {
            true => Ok(()),
            false => {
                let message =
                    format!("the elements of `{name}` do not stand side by side: its strides are {strides:?}");
                Err(Failure::memory(message, "give a contiguous copy"))
            }
        }
    }
}

unsafe fn numbers<'n>(start: *const i64, count: usize) -> &'n [i64] {
    if start.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: callers say that there are as many.
    unsafe { std::slice::from_raw_parts(start, count) }
}

/// Puts what `make` gives where the caller asks for it. Nothing is made where that is null.
///
/// # Safety
/// `place` is null or may be written.
pub(crate) unsafe fn put<T>(what: &str, place: *mut T, make: impl FnOnce() -> T) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::argument(format!("{what} is null"), "give the address of a variable"));
    }
    // SAFETY: by this function's contract.
    unsafe { place.write(make()) };
    Ok(())
}

/// A structure that begins with its size, and that zeros are a value of.
///
/// # Safety
/// The first field is a `usize`, and all bits zero are a value.
pub(crate) unsafe trait Structure: Copy {}

// SAFETY: it begins with its size; integers and addresses may be zero.
unsafe impl Structure for TensorView {}

/// Writes a structure as far as the caller's version has it, which says so.
///
/// # Safety
/// `place` is null, or as many bytes may be read and written as the size says with which they begin.
pub(crate) unsafe fn put_structure<T: Structure>(what: &str, place: *mut T, value: T) -> Result<(), Failure> {
    // SAFETY: by this function's contract.
    let size = unsafe { stated_size(what, place) }?;
    let bytes = size.min(size_of::<T>()) - size_of::<usize>();
    let from = (&raw const value).cast::<u8>().wrapping_add(size_of::<usize>());
    // SAFETY: both structures have so many bytes behind their sizes, and the value is none of the caller's.
    unsafe { std::ptr::copy_nonoverlapping(from, place.cast::<u8>().wrapping_add(size_of::<usize>()), bytes) };
    Ok(())
}

/// Reads a structure; what the caller's version lacks is zero. What a newer version has must be zero.
///
/// # Safety
/// `place` is null, or as many bytes may be read as the size says with which they begin.
pub(crate) unsafe fn read_structure<T: Structure>(what: &str, place: *const T) -> Result<T, Failure> {
    // SAFETY: by this function's contract.
    let size = unsafe { stated_size(what, place) }?;
    // SAFETY: zeros are a value by the trait's contract.
    let mut value: T = unsafe { std::mem::zeroed() };
    // SAFETY: both structures have so many bytes; the value is none of the caller's.
    unsafe {
        let bytes = size.min(size_of::<T>());
        std::ptr::copy_nonoverlapping(place.cast::<u8>(), (&raw mut value).cast::<u8>(), bytes);
    }
    let newer = (size_of::<T>()..size).any(|at| {
        // SAFETY: the byte lies inside of the stated size.
        unsafe { *place.cast::<u8>().wrapping_add(at) != 0 }
    });
    match newer {
        true => {
            Err(Failure::argument(format!("{what} asks for what this version does not have"), "use a newer library"))
        }
        false => Ok(value),
    }
}

unsafe fn stated_size<T: Structure>(what: &str, place: *const T) -> Result<usize, Failure> {
    if place.is_null() {
        return Err(Failure::argument(format!("{what} is null"), "give the address of a structure"));
    }
    // SAFETY: by the callers' contracts the structure begins with its size.
    let size = unsafe { place.cast::<usize>().read() };
    /// No structure is larger; a size that was not set may be anything.
    const MOST: usize = 4096;
    match (2 * size_of::<usize>()..=MOST).contains(&size) {
        true => Ok(size),
        false => {
            Err(Failure::argument(format!("{what} states a size of {size} bytes"), "set its size to its `sizeof`"))
        }
    }
}
