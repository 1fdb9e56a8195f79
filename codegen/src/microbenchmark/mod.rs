//! Microbenchmarks in CUDA, by which a device's constants and the price of machine code are measured: loops of one kind of work,
//! exchanges between blocks, and code of given sizes.

mod code;
mod edges;

use std::fmt;

pub use code::{CodeProbe, INSTRUCTIONS_PER_KILOBYTE};
pub use edges::{EDGE_ELEMENTS, EMPTY, EMPTY_NODE, EdgeProbe, GAVE_UP, MOST_BLOCKS, empty_kernels};

const STAMPS: &str = include_str!("stamps.cuh");
const LOOPS: &str = include_str!("loops.cuh");

/// A text with one entry, [`ENTRY`], that takes stamps, data, the number of its elements, and a number of rounds.
pub trait Stamped: fmt::Display {
    /// The translation unit for NVRTC.
    fn source(&self) -> String;

    /// Threads of a block.
    fn threads(&self) -> usize;

    /// Bytes of dynamic shared memory of a block.
    fn shared_bytes(&self) -> usize;
}

/// The name of every entry.
pub const ENTRY: &str = "ww_microbenchmark";
/// Words of a block's stamp: start and end in nanoseconds on the clock of all blocks, and cycles.
pub const STAMP_WORDS: usize = 3;

/// A tile of a product: what each of 16 × 16 threads sums, and how it reads its factors from shared memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TileLoop {
    /// Sums a thread, along rows.
    pub rows: usize,
    /// Sums a thread, along columns.
    pub columns: usize,
    /// Elements of a load of shared memory: 2 or 4.
    pub width: usize,
    /// Where the factors come from.
    pub factors: Factors,
}

/// Where the factors of a tile come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Factors {
    /// They stay in shared memory.
    Resident,
    /// Those of the next round are brought from global memory while those of this one are used.
    Staged,
}

/// A loop that is timed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Microbenchmark {
    /// Independent chains of multiply-adds in registers.
    MultiplyAdds,
    /// Loads of 16 bytes of shared memory.
    SharedReads,
    /// A tile of a product.
    Tile(TileLoop),
    /// Loads of 16 bytes of global memory by all blocks together.
    Stream,
}

const fn tile(rows: usize, columns: usize, width: usize, factors: Factors) -> Microbenchmark {
    Microbenchmark::Tile(TileLoop { rows, columns, width, factors })
}

impl Microbenchmark {
    /// Those whose cycles are reported.
    pub const OF_CYCLES: [Self; 8] = [
        Self::MultiplyAdds,
        Self::SharedReads,
        tile(2, 2, 2, Factors::Resident),
        tile(4, 4, 2, Factors::Resident),
        tile(4, 4, 4, Factors::Resident),
        tile(4, 8, 4, Factors::Resident),
        tile(8, 8, 4, Factors::Resident),
        tile(4, 8, 4, Factors::Staged),
    ];

    fn body(self) -> String {
        match self {
            Self::MultiplyAdds => "ww_multiply_adds<0>(stamps, data, rounds);".to_owned(),
            Self::SharedReads => "ww_shared_reads<0>(stamps, data, rounds);".to_owned(),
            Self::Tile(TileLoop { rows, columns, width, factors }) => {
                let staged = factors == Factors::Staged;
                format!("ww_tile<{rows}, {columns}, {width}, {staged}>(stamps, data, elements, rounds);")
            }
            Self::Stream => "ww_stream<0>(stamps, data, elements, rounds);".to_owned(),
        }
    }

    /// What a block does in a round: multiply-adds, or bytes of shared memory that it loads; `None` of [`Self::Stream`], in
    /// whose round all blocks together read all elements.
    pub fn work_per_round(self) -> Option<usize> {
        match self {
            Self::MultiplyAdds => Some(self.threads() * 16 * 16),
            Self::SharedReads => Some(self.threads() * 16 * 16),
            Self::Tile(TileLoop { rows, columns, .. }) => Some(self.threads() * rows * columns * STEPS),
            Self::Stream => None,
        }
    }
}

impl Stamped for Microbenchmark {
    fn source(&self) -> String {
        let (threads, body) = (self.threads(), self.body());
        format!("{STAMPS}{LOOPS}WW_ENTRY({ENTRY}, {threads}) {{\n  (void)elements;\n  {body}\n}}\n")
    }

    fn threads(&self) -> usize {
        match self {
            Self::MultiplyAdds | Self::SharedReads | Self::Tile(_) => 256,
            Self::Stream => 1024,
        }
    }

    fn shared_bytes(&self) -> usize {
        match self {
            Self::MultiplyAdds | Self::SharedReads | Self::Stream => 0,
            Self::Tile(tile) => tile.buffers() * tile.elements() * size_of::<f32>(),
        }
    }
}

/// Steps along the reduction in a tile's round.
const STEPS: usize = 32;

impl TileLoop {
    fn elements(self) -> usize {
        STEPS * 16 * (self.rows + self.columns)
    }

    fn buffers(self) -> usize {
        match self.factors {
            Factors::Resident => 1,
            Factors::Staged => 2,
        }
    }
}

impl fmt::Display for Microbenchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MultiplyAdds => f.write_str("multiply-adds"),
            Self::SharedReads => f.write_str("shared-memory reads"),
            Self::Tile(TileLoop { rows, columns, width, factors }) => {
                let staged = if *factors == Factors::Staged { ", staged" } else { "" };
                write!(f, "tile {rows}×{columns}, {}-bit loads{staged}", 32 * width)
            }
            Self::Stream => f.write_str("global-memory stream"),
        }
    }
}
