//! Up to which vector extensions the host uses what the processor has.

use std::sync::OnceLock;

/// The variable that names the widest extensions.
pub(super) const VARIABLE: &str = "WARPWEAVE_CPU";

/// Vector extensions, each with those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum VectorLimit {
    /// What every processor of the architecture has.
    Base,
    /// Vectors of 256 bits.
    Avx2,
    /// Vectors of 512 bits.
    Avx512,
}

impl VectorLimit {
    /// What `WARPWEAVE_CPU` says, as it was found first; all extensions where it says nothing that can be read.
    pub(crate) fn get() -> Self {
        Self::said().clone().unwrap_or(Self::Avx512)
    }

    /// The same; the text where that names no extensions.
    pub(super) fn said() -> &'static Result<Self, String> {
        static SAID: OnceLock<Result<VectorLimit, String>> = OnceLock::new();
        SAID.get_or_init(|| Self::parse(std::env::var_os(VARIABLE).unwrap_or_default().to_string_lossy().as_ref()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" | "avx512" => Ok(Self::Avx512),
            "avx2" => Ok(Self::Avx2),
            "base" => Ok(Self::Base),
            other => Err(other.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_extensions() {
        assert_eq!(VectorLimit::parse(""), Ok(VectorLimit::Avx512));
        assert_eq!(VectorLimit::parse("avx2"), Ok(VectorLimit::Avx2));
        assert_eq!(VectorLimit::parse("base"), Ok(VectorLimit::Base));
        assert_eq!(VectorLimit::parse("AVX"), Err("AVX".to_owned()));
    }
}
