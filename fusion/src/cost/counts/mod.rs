//! What kernels do, as numbers.

pub mod evaluation;
pub mod operations;
pub mod tiles;

use std::ops::{Add, AddAssign, Mul};

/// What all tiles of a group do together.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct KernelCounts {
    /// Operations on `F32` that lanes execute, two a fused multiply-add, results that several lanes compute included (COMP).
    pub operations: f64,
    /// The same on `I32`, of the products of contractions alone.
    pub integer_operations: f64,
    /// Sectors of global memory that loads touch, summed over warp instructions (NUM_trans).
    pub load_sectors: f64,
    /// The same of stores.
    pub store_sectors: f64,
    /// Elements that lanes load from global memory (N_load of a kernel without a shared-memory stage).
    pub global_loads: f64,
    /// Instructions of warps that load from global memory, where a template counts them.
    pub warp_loads: f64,
    /// Of these, those that lanes make only under a condition.
    pub guarded_loads: f64,
    /// Lines of 128 bytes that these touch, summed over instructions: their passes through the first-level cache.
    pub load_lines: f64,
    /// Elements that lanes load from shared memory, of matrices words (N_load of one with it).
    pub shared_loads: f64,
    /// Wavefronts of these loads, bank conflicts included.
    pub shared_wavefronts: f64,
    /// What they would be without bank conflicts.
    pub shared_ideal: f64,
}

impl KernelCounts {
    /// Wavefronts a load from shared memory against the ideal (COEF_bc); 1 without such loads.
    pub fn conflict_degree(&self) -> f64 {
        if self.shared_ideal == 0.0 { 1.0 } else { self.shared_wavefronts / self.shared_ideal }
    }
}

impl AddAssign for KernelCounts {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.integer_operations += other.integer_operations;
        self.load_sectors += other.load_sectors;
        self.store_sectors += other.store_sectors;
        self.global_loads += other.global_loads;
        self.shared_loads += other.shared_loads;
        self.warp_loads += other.warp_loads;
        self.guarded_loads += other.guarded_loads;
        self.load_lines += other.load_lines;
        self.shared_wavefronts += other.shared_wavefronts;
        self.shared_ideal += other.shared_ideal;
    }
}

impl Add for KernelCounts {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Mul<f64> for KernelCounts {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self {
            operations: self.operations * factor,
            integer_operations: self.integer_operations * factor,
            load_sectors: self.load_sectors * factor,
            store_sectors: self.store_sectors * factor,
            global_loads: self.global_loads * factor,
            shared_loads: self.shared_loads * factor,
            warp_loads: self.warp_loads * factor,
            guarded_loads: self.guarded_loads * factor,
            load_lines: self.load_lines * factor,
            shared_wavefronts: self.shared_wavefronts * factor,
            shared_ideal: self.shared_ideal * factor,
        }
    }
}

/// How much of a kernel is followed; the rest counts as what was followed does on average.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// Tiles of the grid, evenly spaced.
    pub tiles: usize,
    /// Warps of a block, or what each thread does again and again, evenly spaced.
    pub warps: usize,
    /// Points or steps of a reduction, evenly spaced.
    pub steps: usize,
}

impl Sampling {
    /// Everything.
    pub const EXACT: Self = Self { tiles: usize::MAX, warps: usize::MAX, steps: usize::MAX };
    /// What an estimate needs.
    pub const COARSE: Self = Self { tiles: 2, warps: 2, steps: 2 };
    /// One of everything.
    pub const SINGLE: Self = Self { tiles: 1, warps: 1, steps: 1 };

    /// At most `limit` of `total` numbers, evenly spaced, and how many of all each stands for.
    pub(crate) fn picks(total: usize, limit: usize) -> (impl Iterator<Item = usize>, f64) {
        let count = total.min(limit);
        ((0..count).map(move |at| at * total / count), total as f64 / count.max(1) as f64)
    }
}
