//! What it costs virtual execution units to wait for one another.

use serde::{Deserialize, Serialize};

use crate::cost::arch::{Constant, Provenance, assumed, measured};
use crate::cost::cpu::CpuArch;
use warpweave_plan::plan::backend::Backend;

/// The part of a processor's memory bandwidth that one of its threads has beside others.
const KEPT_SHARE: f64 = 0.25;

/// Clock of an H200 in cycles a microsecond.
const H200_CLOCK: f64 = 1980.0;
/// Clock of an A100 in cycles a microsecond.
const A100_CLOCK: f64 = 1410.0;
/// Numbers of units whose exchange has an entry of its own.
const EXCHANGES: usize = 5;
/// The shortest and the longest time that a cost may be, in microseconds.
const TIMES: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Costs of signals, waits and launches, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SyncCosts {
    /// From the release of the last signal to the end of a wait that polls for it, by the number of units that signal
    /// or wait at the counter. Between two entries it is a straight line.
    pub exchange: Constant<[(u32, f64); EXCHANGES]>,
    /// Until what an rTask has stored is visible to others, before the signal that follows it.
    pub drain: Constant<f64>,
    /// Of the unit that signals.
    pub release: Constant<f64>,
    /// A wait that finds its signals there.
    pub poll: Constant<f64>,
    /// One way through a value that carries its own validity, polled by the load that fetches it.
    pub tagged_value: Constant<f64>,
    /// Bytes a microsecond from device memory into the shared memory of one unit, while all units bring theirs.
    pub keep: Constant<f64>,
    /// A kernel launched into a stream.
    pub stream_launch: Constant<f64>,
    /// A graph launched as a whole.
    pub graph_launch: Constant<f64>,
    /// A kernel as a node of a graph, after the node before it.
    pub graph_node: Constant<f64>,
}

impl SyncCosts {
    /// An NVIDIA H200, one block of 256 threads a multiprocessor.
    pub fn h200() -> Self {
        Self {
            exchange: measured([(2, 0.586), (8, 0.607), (32, 0.878), (64, 0.895), (132, 0.936)]),
            drain: assumed(0.3),
            release: assumed(0.1),
            poll: measured(287.0 / H200_CLOCK),
            tagged_value: assumed(0.35),
            keep: measured(4.47e6 / 132.0),
            stream_launch: measured(3.629),
            graph_launch: measured(1.406),
            graph_node: measured(0.545),
        }
    }

    /// An NVIDIA H100: those of an H200, whose multiprocessors and second-level cache it shares, with its own bandwidth of
    /// device memory in bytes a microsecond.
    pub fn h100(memory_bytes_per_microsecond: f64, multiprocessors: usize) -> Self {
        let h200 = Self::h200();
        Self { keep: assumed(memory_bytes_per_microsecond / multiprocessors as f64), ..h200.taken_over(1.0) }
    }

    /// An NVIDIA A100: what an H200 does on the device takes as many cycles of the slower clock, and the host's part of a launch
    /// takes as long.
    pub fn a100(memory_bytes_per_microsecond: f64, multiprocessors: usize) -> Self {
        let h200 = Self::h200();
        Self {
            poll: assumed(200.0 / A100_CLOCK),
            keep: assumed(memory_bytes_per_microsecond / multiprocessors as f64),
            stream_launch: assumed(h200.stream_launch.value),
            graph_launch: assumed(h200.graph_launch.value),
            ..h200.taken_over(H200_CLOCK / A100_CLOCK)
        }
    }

    /// The same for another device, `times` as slow: all of it assumed.
    fn taken_over(self, times: f64) -> Self {
        // What is assumed has no more than tenths of nanoseconds.
        let rounded = |time: f64| (time * times * 1e4).round() / 1e4;
        let scaled = |constant: Constant<f64>| assumed(rounded(constant.value));
        Self {
            exchange: assumed(self.exchange.value.map(|(units, time)| (units, rounded(time)))),
            drain: scaled(self.drain),
            release: scaled(self.release),
            poll: scaled(self.poll),
            tagged_value: scaled(self.tagged_value),
            keep: assumed(self.keep.value),
            stream_launch: scaled(self.stream_launch),
            graph_launch: scaled(self.graph_launch),
            graph_node: scaled(self.graph_node),
        }
    }

    /// Whether every cost is a time or a rate that a device can have, and exchanges are listed by rising numbers of units.
    pub fn is_sound(&self) -> bool {
        let times = [
            self.drain,
            self.release,
            self.poll,
            self.tagged_value,
            self.stream_launch,
            self.graph_launch,
            self.graph_node,
        ];
        let exchange = &self.exchange.value;
        let rises = exchange.windows(2).all(|pair| pair[0].0 < pair[1].0);
        rises
            && exchange.iter().all(|(_, time)| TIMES.contains(time))
            && times.iter().all(|time| TIMES.contains(&time.value))
            && (1e-3..=1e12).contains(&self.keep.value)
    }

    /// The names of the costs that were assumed, in the order of the fields.
    pub fn assumptions(&self) -> Vec<&'static str> {
        let costs = [
            ("exchange", self.exchange.provenance),
            ("drain", self.drain.provenance),
            ("release", self.release.provenance),
            ("poll", self.poll.provenance),
            ("tagged_value", self.tagged_value.provenance),
            ("keep", self.keep.provenance),
            ("stream_launch", self.stream_launch.provenance),
            ("graph_launch", self.graph_launch.provenance),
            ("graph_node", self.graph_node.provenance),
        ];
        costs.into_iter().filter(|(_, from)| *from == Provenance::Assumed).map(|(name, _)| name).collect()
    }

    /// Threads of a processor that share its last cache, a signal a line of it. Many threads find a line in turn.
    pub fn of_processor(arch: &CpuArch) -> Self {
        let (hand_over, wake_up) = (arch.hand_over_microseconds, arch.wake_up_microseconds);
        let exchange = [(2, 1.0), (8, 2.0), (32, 6.7), (64, 13.3), (132, 26.7)];
        Self {
            exchange: assumed(exchange.map(|(units, times)| (units, times * hand_over.value))),
            drain: assumed(0.02),
            release: assumed(0.02),
            poll: assumed(0.01),
            tagged_value: hand_over,
            keep: assumed(arch.memory_bytes_per_microsecond.value * KEPT_SHARE),
            stream_launch: wake_up,
            graph_launch: wake_up,
            graph_node: wake_up,
        }
    }

    /// The same with everything assumed multiplied by `factor`.
    pub fn with_assumed(self, factor: f64) -> Self {
        let scaled = |constant: Constant<f64>| match constant.provenance {
            Provenance::Assumed => Constant { value: constant.value * factor, ..constant },
            Provenance::Measured | Provenance::Datasheet => constant,
        };
        Self {
            exchange: self.exchange,
            drain: scaled(self.drain),
            release: scaled(self.release),
            poll: scaled(self.poll),
            tagged_value: scaled(self.tagged_value),
            keep: self.keep,
            stream_launch: scaled(self.stream_launch),
            graph_launch: scaled(self.graph_launch),
            graph_node: scaled(self.graph_node),
        }
    }

    /// Microseconds of an exchange between this many units.
    pub fn exchange_microseconds(&self, units: usize) -> f64 {
        let table = &self.exchange.value;
        let units = units as f64;
        let after = table.iter().position(|(known, _)| f64::from(*known) >= units);
        match after {
            None => table[table.len() - 1].1,
            Some(0) => table[0].1,
            Some(after) => {
                let ((x0, y0), (x1, y1)) = (table[after - 1], table[after]);
                y0 + (units - f64::from(x0)) / f64::from(x1 - x0) * (y1 - y0)
            }
        }
    }

    /// What a signal after an rTask costs the unit that gives it.
    pub fn signal_microseconds(&self) -> f64 {
        self.drain.value + self.release.value
    }

    /// From the end of a kernel node to the start of the next: until what it has stored is visible, and the launch.
    pub fn node_microseconds(&self) -> f64 {
        self.drain.value + self.graph_node.value
    }

    /// What a plan's launch takes.
    pub fn launch_microseconds(&self, backend: Backend) -> f64 {
        match backend {
            Backend::Persistent => self.stream_launch.value,
            Backend::CudaGraph => self.graph_launch.value,
        }
    }
}
