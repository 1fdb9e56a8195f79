//! The figures of a streaming multiprocessor that the timing model takes, each with where it comes from.

use super::operation::Pipe;

/// Where a figure comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// A publication or the vendor's documents.
    Documented(&'static str),
    /// Measured on a device of this kind.
    Measured(&'static str),
    /// Computed from measured figures.
    Derived(&'static str),
    /// Chosen so that a micro-kernel takes the time that was measured.
    Fitted(&'static str),
    /// Taken over without a source for this device.
    Assumed(&'static str),
}

/// A figure and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Figure {
    /// The value, in the unit that the field's name states.
    pub value: u64,
    /// Where it comes from.
    pub source: Source,
}

const fn figure(value: u64, source: Source) -> Figure {
    Figure { value, source }
}

/// Bytes of a row of a factor along the reduction of `mma.sync` m16n8k16 in 16 bits. Products of other shapes and types take
/// time in proportion: the H100 white paper has half the rate for TF32 and twice that for 8 bits, and one rate for sums in 16
/// and 32 bits. Those were not measured.
pub const TENSOR_BYTES: u64 = 32;

/// A streaming multiprocessor. Rates are cycles that an instruction of a warp keeps a pipe of one scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MachineModel {
    /// Multiprocessors of the device.
    pub multiprocessors: Figure,
    /// Warp schedulers, each with pipes of its own.
    pub schedulers: Figure,
    /// Cycles of a half of the pipe for singles; there are two, and integer multiplication has one of them.
    pub fma_half_cycles: Figure,
    /// Cycles of the integer and logic pipe.
    pub alu_cycles: Figure,
    /// Cycles of the pipe for doubles.
    pub double_cycles: Figure,
    /// Cycles of the pipe for transcendental functions and slow conversions.
    pub special_cycles: Figure,
    /// Cycles of the uniform pipe.
    pub uniform_cycles: Figure,
    /// Cycles of the pipe for matrix products, for an instruction whose factors have [`TENSOR_BYTES`] along the reduction.
    pub tensor_cycles: Figure,
    /// Cycles of the port to constant memory and special registers.
    pub constant_cycles: Figure,
    /// Cycles until a transcendental function or a slow conversion is there, where a scoreboard waits for it.
    pub special_latency: Figure,
    /// Cycles until a double is there, where a scoreboard waits for it.
    pub double_latency: Figure,
    /// Cycles until a product of matrices is there, where a scoreboard waits for it.
    pub tensor_latency: Figure,
    /// Cycles until a load from constant memory is there.
    pub constant_latency: Figure,
    /// Cycles until a special register is there.
    pub special_register_latency: Figure,
    /// Cycles between memory instructions of one scheduler.
    pub address_cycles: Figure,
    /// Memory instructions that wait for that in each scheduler before it stops to issue them.
    pub queue_entries: Figure,
    /// Bytes a cycle through the data path of shared memory and the first-level cache; a pass has 128.
    pub data_path_bytes: Figure,
    /// Cycles until a load from shared memory that takes one pass is there.
    pub shared_latency: Figure,
    /// Cycles in which one register of all lanes comes back to a scheduler's register file.
    pub return_cycles: Figure,
    /// Cycles until a shuffle is there.
    pub shuffle_latency: Figure,
    /// Cycles until a load that hits the first-level cache is there.
    pub first_level_latency: Figure,
    /// Cycles until a load that hits the second-level cache is there.
    pub second_level_latency: Figure,
    /// Cycles until a load from device memory is there.
    pub memory_latency: Figure,
    /// Bytes a cycle from the second-level cache while the other multiprocessors are silent.
    pub second_level_bytes_alone: Figure,
    /// Bytes a cycle from the second-level cache while all multiprocessors load.
    pub second_level_bytes_shared: Figure,
    /// Cycles until a memory instruction has read its registers.
    pub operand_latency: Figure,
    /// Cycles from the last warp's arrival at a barrier of the block until all go on.
    pub barrier_latency: Figure,
    /// Cycles between the arrivals of warps at a barrier.
    pub barrier_cycles: Figure,
    /// Cycles of a fence for the device, beyond the end of the stores before it.
    pub fence_latency: Figure,
    /// Cycles until the instruction behind a taken jump can be issued.
    pub jump_cycles: Figure,
    /// Registers that each of the two banks of a scheduler's register file gives in the window of an instruction.
    pub port_window: Figure,
}

impl MachineModel {
    /// An H200, and as far as known any device of its generation.
    pub const fn h200() -> Self {
        use Source::{Assumed, Derived, Documented, Fitted, Measured};
        const GUIDE: Source = Documented("CUDA C++ programming guide, arithmetic throughput, compute capability 9.0");
        const HUERTA: Source = Documented("Huerta et al., Analyzing Modern NVIDIA GPU Cores, 2025, on an RTX A6000");
        const QUOTED: Source =
            Assumed("as quoted from Huerta et al., 2025, for an RTX A6000, not checked with the text");
        const LOADS: Source = Measured("pointer chase on an H200");
        const PULLS: Source = Measured("bandwidth of one persistent block a multiprocessor on an H200");
        Self {
            multiprocessors: figure(132, Documented("attributes of an H200")),
            schedulers: figure(4, Documented("H100 white paper")),
            fma_half_cycles: figure(2, GUIDE),
            alu_cycles: figure(2, GUIDE),
            double_cycles: figure(2, GUIDE),
            special_cycles: figure(8, GUIDE),
            uniform_cycles: figure(2, Assumed("as the integer pipe: compilers leave two cycles between")),
            tensor_cycles: figure(6, Measured("mma.sync m16n8k16 from registers on an H200, 1,322 products a cycle")),
            constant_cycles: figure(4, Assumed("as memory instructions")),
            special_latency: figure(23, Assumed("as reported for Volta to Ampere, 18 to 26")),
            double_latency: figure(16, Assumed("as reported for A100 and H100")),
            tensor_latency: figure(24, Measured("dependent chain of mma.sync on an H200")),
            constant_latency: figure(26, QUOTED),
            special_register_latency: figure(26, Assumed("as constant memory")),
            address_cycles: figure(4, QUOTED),
            queue_entries: figure(5, QUOTED),
            data_path_bytes: figure(125, Measured("reads of shared memory by 1,024 threads of an H200")),
            shared_latency: figure(29, LOADS),
            return_cycles: figure(2, QUOTED),
            shuffle_latency: figure(24, Assumed("shared memory without the access to the banks")),
            first_level_latency: figure(41, Assumed("as reported for an H100 by Luo et al., 2024")),
            second_level_latency: figure(287, LOADS),
            memory_latency: figure(695, LOADS),
            second_level_bytes_alone: figure(119, PULLS),
            second_level_bytes_shared: figure(33, PULLS),
            operand_latency: figure(11, QUOTED),
            barrier_latency: figure(22, Assumed("as reported for a V100 by Zhang et al., 2020")),
            barrier_cycles: figure(2, Assumed("as reported for a V100 by Zhang et al., 2020")),
            fence_latency: figure(
                594,
                Derived("one-way signal on an H200, 1,168 cycles, less a poll, a store's way and half a poll's period"),
            ),
            jump_cycles: figure(10, Fitted("FFMA loop of one warp a scheduler on an H200")),
            port_window: figure(3, HUERTA),
        }
    }

    /// Cycles that an instruction of a warp keeps a pipe.
    pub fn cycles(&self, pipe: Pipe) -> u64 {
        match pipe {
            Pipe::Fma | Pipe::FmaHeavy => self.fma_half_cycles.value,
            Pipe::Alu => self.alu_cycles.value,
            Pipe::Double => self.double_cycles.value,
            Pipe::Special => self.special_cycles.value,
            Pipe::Uniform => self.uniform_cycles.value,
            Pipe::Tensor => self.tensor_cycles.value,
            Pipe::Constant => self.constant_cycles.value,
            Pipe::Memory | Pipe::Control => 1,
        }
    }

    /// Bytes a cycle that each of `active` multiprocessors has from the second-level cache while all of them load: an equal
    /// share of what all together have, and no more than one alone has.
    pub fn second_level_bytes(&self, active: u64) -> f64 {
        let all = (self.second_level_bytes_shared.value * self.multiprocessors.value) as f64;
        (all / active.clamp(1, self.multiprocessors.value) as f64).min(self.second_level_bytes_alone.value as f64)
    }

    /// Cycles from a store until a reader elsewhere sees it, beyond the successful poll. They are half a round trip to
    /// the second-level cache, and on average half of a poll that misses it.
    pub fn exchange_cycles(&self) -> u64 {
        self.second_level_latency.value
    }
}
