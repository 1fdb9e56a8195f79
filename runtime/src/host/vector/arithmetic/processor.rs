//! What the processor at hand can do, and functions compiled for each answer.

#[cfg(target_arch = "x86_64")]
use crate::host::vector_limit::VectorLimit;

/// What a loop is compiled for.
pub(crate) trait Instructions {
    /// Whether a product and a sum are one instruction with one rounding.
    const IS_FUSED: bool;
}

/// What every processor of the architecture can do.
pub(crate) struct Portable;

impl Instructions for Portable {
    const IS_FUSED: bool = cfg!(target_arch = "aarch64");
}

/// Vectors of 256 bits and fused multiply-adds.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx2 {
    const IS_FUSED: bool = true;
}

/// Vectors of 512 bits as well.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx512 {
    const IS_FUSED: bool = true;
}

/// What the processor at hand can do; nothing but [`Processor::detect`] says more than the default.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Processor {
    has_avx2: bool,
    has_avx512: bool,
}

impl Processor {
    /// Asks the processor for what it may use.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        let has_avx2 = VectorLimit::get() >= VectorLimit::Avx2
            && std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("fma");
        #[cfg(target_arch = "x86_64")]
        let has_avx512 =
            has_avx2 && VectorLimit::get() >= VectorLimit::Avx512 && std::arch::is_x86_feature_detected!("avx512f");
        #[cfg(not(target_arch = "x86_64"))]
        let (has_avx2, has_avx512) = (false, false);
        Self { has_avx2, has_avx512 }
    }

    /// This processor with no vector extension, without AVX-512, and with all that it has.
    #[cfg(test)]
    pub(crate) fn all() -> [Self; 3] {
        let found = Self::detect();
        [Self::default(), Self { has_avx512: false, ..found }, found]
    }

    /// Whether it has vectors of 256 bits and fused multiply-adds.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn has_avx2(self) -> bool {
        self.has_avx2
    }

    /// Whether it has vectors of 512 bits as well.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn has_avx512(self) -> bool {
        self.has_avx512
    }
}

/// A function that is compiled for each kind of processor, for vectors of 512 bits if it asks for `Avx512`; its first argument says for
/// which it is called. `I` is the [`Instructions`].
macro_rules! vectorised {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident<I>($processor:ident $(, $argument:ident: $ty:ty)* $(,)?) $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($processor: $crate::host::vector::processor::Processor $(, $argument: $ty)*) {
            #[inline(always)]
            fn body<I: $crate::host::vector::processor::Instructions>($($argument: $ty),*) $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($argument: $ty),*) {
                body::<$crate::host::vector::processor::Avx2>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            if $processor.has_avx2() {
                #[expect(unsafe_code, reason = "the function is compiled for features that were detected")]
                // SAFETY: the processor was asked for both features.
                return unsafe { avx2($($argument),*) };
            }
            body::<$crate::host::vector::processor::Portable>($($argument),*)
        }
    };
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident<I, Avx512>($processor:ident $(, $argument:ident: $ty:ty)* $(,)?) $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($processor: $crate::host::vector::processor::Processor $(, $argument: $ty)*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx2,fma")]
            fn avx512($($argument: $ty),*) {
                #[inline(always)]
                fn body<I: $crate::host::vector::processor::Instructions>($($argument: $ty),*) $body
                body::<$crate::host::vector::processor::Avx512>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            if $processor.has_avx512() {
                #[expect(unsafe_code, reason = "the function is compiled for features that were detected")]
                // SAFETY: the processor was asked for the features.
                return unsafe { avx512($($argument),*) };
            }
            $crate::host::vector::processor::vectorised! {
                fn narrower<I>($processor $(, $argument: $ty)*) $body
            }
            narrower($processor $(, $argument)*);
        }
    };
}

/// A function that is compiled for the vectors of each kind of processor; its first argument says for which it is called. `V` is
/// the [`Vector`](crate::host::simd::Vector).
macro_rules! of_vectors {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident<V>($processor:ident $(, $argument:ident: $ty:ty)* $(,)?) $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($processor: $crate::host::vector::processor::Processor $(, $argument: $ty)*) {
            #[inline(always)]
            fn body<V: $crate::host::simd::Vector>($($argument: $ty),*) $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f")]
            fn avx512($($argument: $ty),*) {
                body::<std::arch::x86_64::__m512>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($argument: $ty),*) {
                body::<std::arch::x86_64::__m256>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            if $processor.has_avx2() {
                #[expect(unsafe_code, reason = "the functions are compiled for features that were detected")]
                // SAFETY: the processor was asked for the features.
                return unsafe {
                    match $processor.has_avx512() {
                        true => avx512($($argument),*),
                        false => avx2($($argument),*),
                    }
                };
            }
            body::<[f32; 4]>($($argument),*)
        }
    };
}

pub(crate) use {of_vectors, vectorised};
