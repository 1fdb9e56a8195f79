//! What all warps of a launch share.

pub mod clock;
pub mod memory;

use std::collections::BTreeMap;

use warpweave_plan::tables::{STREAM_WORDS, Tables};

use crate::kernel_ir::{ControlWord, Table};

use crate::emulate::options::{Control, LaunchOptions};
use crate::emulate::random::Random;
use crate::emulate::report::{Counts, Fault, LaunchReport, Site, Violation};
use clock::{Clocks, Snapshot};
use memory::global::Arena;
use memory::shared::Shared;

/// Violations that a report lists.
const LISTED: usize = 64;

/// A counter during a launch.
pub struct Counter {
    pub value: u32,
    start: u32,
    /// What each signal of the launch released, in the order of the values.
    releases: Vec<Option<Snapshot>>,
    /// The join of the first `joined_releases`.
    joined: Vec<u32>,
    joined_releases: usize,
    /// Warps that wait for it.
    pub waiting: Vec<u32>,
}

impl Counter {
    /// A counter that stands at `value`.
    pub fn new(value: u32) -> Self {
        Self { value, start: value, releases: Vec::new(), joined: Vec::new(), joined_releases: 0, waiting: Vec::new() }
    }

    /// Adds one.
    pub fn signal(&mut self, released: Option<Snapshot>) {
        self.value = self.value.wrapping_add(1);
        self.releases.push(released);
    }

    /// Whether the counter has reached `target`.
    pub fn reached(&self, target: u32) -> bool {
        self.value.wrapping_sub(target) as i32 >= 0
    }

    /// What an acquire of a value of at least `target` is sure to see: the signals up to that value. It may see no
    /// more, whatever the counter holds by now.
    pub fn seen(&mut self, target: u32, warps: usize) -> &[u32] {
        let signals = (target.wrapping_sub(self.start) as i32).max(0) as usize;
        let signals = signals.min(self.releases.len());
        if signals < self.joined_releases || self.joined.is_empty() {
            self.joined = vec![0; warps];
            self.joined_releases = 0;
        }
        for release in self.releases[self.joined_releases..signals].iter().flatten() {
            release.join_into(&mut self.joined);
        }
        self.joined_releases = signals;
        &self.joined
    }
}

/// A block during a launch.
pub struct BlockState {
    pub shared: Shared,
    /// Barriers passed, plus 1.
    pub phase: u32,
    /// Warps at the barrier.
    pub arrived: u32,
    /// Warps that have left.
    pub done: u32,
}

/// Everything but the warps.
pub struct World<'a> {
    pub arena: &'a mut Arena,
    pub weights: &'a [u8],
    pub tables: &'a Tables,
    pub control: &'a mut Control,
    pub counters: Vec<Counter>,
    /// Per control word, what additions to it have released.
    pub control_seen: Vec<Vec<u32>>,
    pub blocks: Vec<BlockState>,
    pub clocks: Clocks,
    pub warps_per_block: usize,
    pub random: Random,
    pub options: LaunchOptions,
    /// Statistics by body: the entry, then the kernels.
    pub counts: Vec<Counts>,
    /// Where the streams of the persistent segment that is launched begin.
    pub first_stream: usize,
    /// The first operand of the node that is launched.
    pub first_operand: u32,
    /// The body that runs now, as a position there.
    pub running: usize,
    pub report: LaunchReport,
    /// Warps that may go on, which the scheduler has not seen yet.
    pub woken: Vec<u32>,
    /// Whether the launch must end now.
    pub stopped: bool,
    /// Waits executed so far.
    pub waits: u64,
    /// Polls so far that have found no tag.
    pub polls: u64,
    /// Per byte address where warps poll, which.
    pub polling: BTreeMap<usize, Vec<u32>>,
}

impl World<'_> {
    /// Adds a violation.
    pub fn fault(&mut self, site: impl FnOnce() -> Site, fault: Fault) {
        self.report.total += 1;
        if self.report.violations.len() < LISTED {
            self.report.violations.push(Violation { site: site(), fault });
        }
    }

    /// Statistics of the body that runs now.
    pub fn counts(&mut self) -> &mut Counts {
        &mut self.counts[self.running]
    }

    /// The words of a plan table.
    pub fn table(&self, table: Table) -> &[i32] {
        match table {
            Table::StreamStart => self.tables.stream_start.get(STREAM_WORDS * self.first_stream..).unwrap_or_default(),
            Table::Instructions => &self.tables.instructions,
            Table::Operands => &self.tables.operands,
        }
    }

    pub fn control(&mut self, word: ControlWord) -> &mut u32 {
        match word {
            ControlWord::Epoch => &mut self.control.epoch,
            ControlWord::Left => &mut self.control.left,
            ControlWord::Abort => &mut self.control.abort,
        }
    }

    /// Lets all waiting warps poll again.
    pub fn wake_all(&mut self) {
        for counter in &mut self.counters {
            self.woken.append(&mut counter.waiting);
        }
        self.woken.extend(std::mem::take(&mut self.polling).into_values().flatten());
    }
}
