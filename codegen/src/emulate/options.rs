//! How launches are run, and what a session keeps between them.

use warpweave_plan::tensor_core::sum::TensorCore;

/// The control words of a persistent segment in a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// The launch number, from 1.
    pub epoch: u32,
    /// Blocks that have left, over all launches.
    pub left: u32,
    /// Not 0 after an abort.
    pub abort: u32,
}

/// How a launch is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchOptions {
    /// Chooses the interleaving.
    pub seed: u64,
    /// Instructions that all warps together may execute.
    pub step_budget: u64,
    /// The wait, by order of execution from 0, whose time limit passes at its first poll. It raises the abort flag; no
    /// other wait ever runs out of time.
    pub time_out_wait: Option<u64>,
    /// The poll, by order of those that find no tag, from 0, whose time limit passes then. It raises the abort flag.
    pub time_out_poll: Option<u64>,
    /// Whether the dearer statistics are taken.
    pub count: bool,
    /// What an access gives that nothing orders; it is reported in any case.
    pub unordered: UnorderedValue,
    /// The block that runs only while no other can; one chosen by the seed, or none, unless given.
    pub starved: Option<u32>,
    /// Whose sums products of matrices have.
    pub tensor_core: TensorCore,
}

/// What an access of the arena gives that nothing orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnorderedValue {
    /// A pattern that shows wherever it gets.
    Poison,
    /// What memory holds in this interleaving, as on a device.
    Found,
}

impl LaunchOptions {
    /// The interleaving of `seed`, 2⁴⁰ instructions, no time-out, no statistics, tensor cores of compute capability 9.0.
    pub fn seeded(seed: u64) -> Self {
        Self {
            seed,
            step_budget: 1 << 40,
            time_out_wait: None,
            time_out_poll: None,
            count: false,
            unordered: UnorderedValue::Poison,
            starved: None,
            tensor_core: TensorCore::Hopper,
        }
    }
}
