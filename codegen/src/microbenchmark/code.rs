//! Code of a given size: loops of it, and kernels of it that take turns.

use std::fmt;

use super::{ENTRY, STAMPS, Stamped};

const CODE: &str = include_str!("code.cuh");

/// Multiply-adds of a kilobyte of code: an instruction has 16 bytes.
pub const INSTRUCTIONS_PER_KILOBYTE: usize = 64;

/// Straight-line multiply-adds of a given size, run again and again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CodeProbe {
    /// A loop whose body has this size.
    Loop {
        /// Kilobytes of the body.
        kilobytes: usize,
    },
    /// Kernels that are called in turn through a table of functions.
    Rotation {
        /// Kilobytes of each kernel.
        kilobytes: usize,
        /// How many there are.
        kernels: usize,
    },
}

impl CodeProbe {
    /// Loops of all sizes, then rotations.
    pub const ALL: [Self; 14] = [
        Self::Loop { kilobytes: 2 },
        Self::Loop { kilobytes: 4 },
        Self::Loop { kilobytes: 8 },
        Self::Loop { kilobytes: 12 },
        Self::Loop { kilobytes: 16 },
        Self::Loop { kilobytes: 24 },
        Self::Loop { kilobytes: 48 },
        Self::Loop { kilobytes: 96 },
        Self::Loop { kilobytes: 128 },
        Self::Loop { kilobytes: 192 },
        Self::Rotation { kilobytes: 8, kernels: 4 },
        Self::Rotation { kilobytes: 8, kernels: 8 },
        Self::Rotation { kilobytes: 8, kernels: 16 },
        Self::Rotation { kilobytes: 8, kernels: 24 },
    ];

    /// Kilobytes of a loop's body, or of a kernel.
    pub fn kilobytes(self) -> usize {
        match self {
            Self::Loop { kilobytes } | Self::Rotation { kilobytes, .. } => kilobytes,
        }
    }

    /// Kernels that take turns; `None` of a loop.
    pub fn kernels(self) -> Option<usize> {
        match self {
            Self::Loop { .. } => None,
            Self::Rotation { kernels, .. } => Some(kernels),
        }
    }

    /// Multiply-adds of a warp in a round.
    pub fn instructions(self) -> usize {
        INSTRUCTIONS_PER_KILOBYTE * self.kilobytes() * self.kernels().unwrap_or(1)
    }
}

impl Stamped for CodeProbe {
    fn source(&self) -> String {
        match *self {
            Self::Loop { kilobytes } => {
                let body = "      WW_KILOBYTE\n".repeat(kilobytes);
                let entry = format!(
                    "WW_ENTRY({ENTRY}, {}) {{\n  (void)elements;\n  WW_FACTORS\n  WW_CHAINS\n  ww_timed(stamps, [&] {{\n    #pragma unroll 1\n    \
                     for (ww_u32 round = 0u; round < rounds; ++round) {{\n{body}    }}\n  }});\n  ww_keep(data, ww_sum(sums));\n}}\n",
                    self.threads()
                );
                [STAMPS, CODE, &entry].concat()
            }
            Self::Rotation { kilobytes, kernels } => rotation(kilobytes, kernels, self.threads()),
        }
    }

    fn threads(&self) -> usize {
        256
    }

    fn shared_bytes(&self) -> usize {
        0
    }
}

/// Kernels and an entry that calls them in turn through a table, as the entry of linked programs does.
fn rotation(kilobytes: usize, kernels: usize, threads: usize) -> String {
    let body = "  WW_KILOBYTE\n".repeat(kilobytes);
    let kernel = |number: usize| {
        format!(
            "static __device__ __noinline__ float ww_code{number}(float x, float y) {{\n  WW_CHAINS\n{body}  return ww_sum(sums) + {number}.0f;\n}}\n"
        )
    };
    let all: String = (0..kernels).map(kernel).collect();
    let names: Vec<String> = (0..kernels).map(|number| format!("ww_code{number}")).collect();
    let entry = format!(
        "__constant__ float (*ww_codes[])(float, float) = {{{}}};\n\
         WW_ENTRY({ENTRY}, {threads}) {{\n  (void)elements;\n  WW_FACTORS\n  float sum = 0.0f;\n  ww_timed(stamps, [&] {{\n    #pragma unroll 1\n    \
         for (ww_u32 round = 0u; round < rounds; ++round) {{\n      #pragma unroll 1\n      \
         for (ww_u32 number = 0u; number < {kernels}u; ++number) {{\n        sum += ww_codes[number](x, y);\n      }}\n    }}\n  }});\n  ww_keep(data, sum);\n}}\n",
        names.join(", ")
    );
    [STAMPS, CODE, &all, &entry].concat()
}

impl fmt::Display for CodeProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop { kilobytes } => write!(f, "loop of {kilobytes} KB"),
            Self::Rotation { kilobytes, kernels } => write!(f, "{kernels} kernels of {kilobytes} KB in turn"),
        }
    }
}
