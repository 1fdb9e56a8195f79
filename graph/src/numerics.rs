//! What element types are made of, and the types of a computation.
//!
//! One table says of every element type what all others ask: its name, its size and its class. A computation has three types:
//! values are *stored* in one, *computed* in one, and what is reduced is *accumulated* in one.

use std::fmt;

use crate::minifloat::{Format, Overflow};
use crate::types::ElementType;

/// Bytes of the widest access to memory of a thread.
pub const ACCESS_BYTES: usize = 16;

/// Bytes of a word: of a register, of a bank of shared memory, and of what is exchanged between lanes.
pub const WORD_BYTES: usize = 4;

/// What the bits of an element mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A truth value.
    Boolean,
    /// A signed integer in two's complement.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// Floating point.
    Float(FloatFormat),
}

/// A format of floating point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatFormat {
    /// IEEE binary16.
    Half,
    /// The upper half of a single.
    BFloat16,
    /// IEEE binary32.
    Single,
    /// IEEE binary64.
    Double,
    /// A sign, an exponent and a mantissa in 8 bits or fewer.
    Minifloat(Format),
    /// An exponent alone: a power of two.
    PowerOfTwo,
}

/// Whether values are computed with in a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Values are computed with.
    Computed,
    /// Elements are kept, moved, chosen among and converted, and nothing else.
    StorageOnly,
}

/// The type of the register that holds an element in a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegisterClass {
    Predicate,
    /// A 32-bit integer, which an element's code of fewer bits extends to.
    Word,
    /// A 64-bit integer.
    DoubleWord,
    Single,
    Double,
}

/// What there is to know of an element type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Properties {
    pub element: ElementType,
    /// The short name: `f32`, `i64`, `bool`.
    pub name: &'static str,
    /// Bits of one element; an element takes whole bytes in memory.
    pub bits: usize,
    /// What the bits mean.
    pub class: Class,
    /// Whether values are computed with.
    pub used: Use,
}

const fn computed(element: ElementType, name: &'static str, bits: usize, class: Class) -> Properties {
    Properties { element, name, bits, class, used: Use::Computed }
}

const fn stored(element: ElementType, name: &'static str, bits: usize, class: Class) -> Properties {
    Properties { element, name, bits, class, used: Use::StorageOnly }
}

const fn minifloat(mantissa_bits: u32, bias: i32, largest: u8, overflow: Overflow) -> Class {
    Class::Float(FloatFormat::Minifloat(Format::new(mantissa_bits, bias, largest, overflow)))
}

/// Every element type, in declaration order.
const TABLE: [Properties; ElementType::ALL.len()] = {
    use Class::{Boolean, Float, Signed, Unsigned};
    use ElementType as E;
    [
        computed(E::Bool, "bool", 8, Boolean),
        computed(E::I8, "i8", 8, Signed),
        computed(E::I16, "i16", 16, Signed),
        computed(E::I32, "i32", 32, Signed),
        computed(E::I64, "i64", 64, Signed),
        computed(E::U8, "u8", 8, Unsigned),
        computed(E::U16, "u16", 16, Unsigned),
        computed(E::U32, "u32", 32, Unsigned),
        computed(E::U64, "u64", 64, Unsigned),
        computed(E::F16, "f16", 16, Float(FloatFormat::Half)),
        computed(E::BF16, "bf16", 16, Float(FloatFormat::BFloat16)),
        computed(E::F32, "f32", 32, Float(FloatFormat::Single)),
        computed(E::F64, "f64", 64, Float(FloatFormat::Double)),
        stored(E::F8E4M3FN, "f8e4m3fn", 8, minifloat(3, 7, 0x7e, Overflow::SignedNan)),
        stored(E::F8E4M3FNUZ, "f8e4m3fnuz", 8, minifloat(3, 8, 0x7f, Overflow::NegativeZeroIsNan)),
        stored(E::F8E5M2, "f8e5m2", 8, minifloat(2, 15, 0x7b, Overflow::Infinity)),
        stored(E::F8E5M2FNUZ, "f8e5m2fnuz", 8, minifloat(2, 16, 0x7f, Overflow::NegativeZeroIsNan)),
        stored(E::F8E8M0, "f8e8m0", 8, Float(FloatFormat::PowerOfTwo)),
        stored(E::F4E2M1, "f4e2m1", 4, minifloat(1, 1, 0x07, Overflow::Largest)),
        stored(E::I4, "i4", 4, Signed),
        stored(E::U4, "u4", 4, Unsigned),
        stored(E::I2, "i2", 2, Signed),
        stored(E::U2, "u2", 2, Unsigned),
    ]
};

const _: () = {
    let mut at = 0;
    while at < TABLE.len() {
        assert!(TABLE[at].element as usize == at && ElementType::ALL[at] as usize == at, "the table is in order");
        at += 1;
    }
};

impl ElementType {
    /// What there is to know of the type.
    pub const fn properties(self) -> &'static Properties {
        &TABLE[self as usize]
    }

    /// What the bits of an element mean.
    pub const fn class(self) -> Class {
        self.properties().class
    }

    /// The short name: `f32`, `i64`, `bool`.
    pub const fn name(self) -> &'static str {
        self.properties().name
    }

    /// Bits of one element.
    pub const fn bits(self) -> usize {
        self.properties().bits
    }

    /// Bytes of one element in memory.
    pub const fn bytes(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// Elements of the widest access of a thread.
    pub const fn access_elements(self) -> usize {
        ACCESS_BYTES / self.bytes()
    }

    /// Whether elements are only kept, moved, chosen among and converted: nothing is computed in the type.
    pub fn is_storage(self) -> bool {
        self.properties().used == Use::StorageOnly
    }

    /// Whether values are floating point.
    pub const fn is_float(self) -> bool {
        matches!(self.class(), Class::Float(_))
    }

    /// Whether values are floating point of 16 bits.
    pub const fn is_half(self) -> bool {
        self.is_float() && self.bits() == 16
    }

    /// Whether values are integers; truth values are not.
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), Class::Signed | Class::Unsigned)
    }

    /// The type of the register that holds an element in a kernel. Unsigned integers of 32 bits take a signed register of 64.
    pub fn register(self) -> RegisterClass {
        match (self.class(), self.bits()) {
            (Class::Boolean, _) => RegisterClass::Predicate,
            (Class::Signed, ..=32) | (Class::Unsigned, ..=16) => RegisterClass::Word,
            (Class::Signed | Class::Unsigned, _) => RegisterClass::DoubleWord,
            (Class::Float(FloatFormat::Minifloat(_) | FloatFormat::PowerOfTwo), _) => RegisterClass::Word,
            (Class::Float(FloatFormat::Half | FloatFormat::BFloat16 | FloatFormat::Single), _) => RegisterClass::Single,
            (Class::Float(FloatFormat::Double), _) => RegisterClass::Double,
        }
    }

    /// Whether values are floating point that is computed in singles, whatever they are stored as.
    pub fn is_single(self) -> bool {
        self.compute() == Self::F32
    }

    /// The type in which values stored as this type are computed and accumulated: singles for floating point of fewer bits.
    pub fn compute(self) -> Self {
        match self.register() {
            RegisterClass::Single => Self::F32,
            RegisterClass::Predicate | RegisterClass::Word | RegisterClass::DoubleWord | RegisterClass::Double => self,
        }
    }
}

/// The three types of a computation. Prints as `f16/f32/f32`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Numerics {
    /// The type in memory.
    pub storage: ElementType,
    /// The type of every operation.
    pub compute: ElementType,
    /// The type of what a reduction combines.
    pub accumulate: ElementType,
}

impl Numerics {
    /// Singles throughout.
    pub const SINGLE: Self = Self::of(ElementType::F32);

    /// One type throughout.
    pub const fn of(element: ElementType) -> Self {
        Self { storage: element, compute: element, accumulate: element }
    }

    /// Values stored as a type, computed and accumulated as [`ElementType::compute`] says.
    pub fn stored_as(storage: ElementType) -> Self {
        Self { storage, compute: storage.compute(), accumulate: storage.compute() }
    }

    /// Bytes of so many elements in memory.
    pub const fn storage_bytes(self, elements: usize) -> usize {
        elements * self.storage.bytes()
    }

    /// Elements of the widest access to what is stored.
    pub const fn access_elements(self) -> usize {
        self.storage.access_elements()
    }
}

impl fmt::Display for Numerics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.storage, self.compute, self.accumulate)
    }
}
