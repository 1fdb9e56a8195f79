//! Matrices that the lanes of a warp hold together: loads from shared memory, and products.

use warpweave_graph::halves::{bf16_of_single, f16_of_single};
use warpweave_plan::tensor_core::fragment::{COLUMNS, FragmentKind, ROWS, RegisterWords};

use super::access::{self, Agent};
use super::execute::Core;
use super::lanes::{Frame, lanes};
use super::statistics;
use crate::emulate::bytecode::{CompiledBody, Instruction, MatricesAccess, ProductAccess, Registers};
use crate::emulate::world::World;
use crate::emulate::world::memory::global::POISON;
use crate::kernel_ir::{MemoryType, WARP_SIZE};

/// Rows of a matrix that is loaded, and elements of a row.
const SIDE: usize = 8;

/// Bytes of a word of a bank, and words of a row.
const WORD_BYTES: i64 = 4;
const ROW_WORDS: i64 = 4;

/// A matrix that is loaded, as codes of 16 bits.
struct Loaded {
    codes: [[u16; SIDE]; SIDE],
    /// Whether a row holds what memory holds.
    is_sound: [bool; SIDE],
}

impl Core {
    /// Loads or multiplies matrices; lanes that are missing are a fault.
    pub(super) fn matrices(
        &self,
        instruction: Instruction,
        body: &CompiledBody,
        pc: u32,
        frame: &mut Frame,
        world: &mut World,
    ) {
        match instruction {
            Instruction::LoadMatrices(number) => {
                self.all_lanes("a load of matrices", body, pc, world);
                let shared = self.accessor(world);
                let site = |lane| self.site(body, pc, lane);
                let agent = Agent { warp: self.id, active: self.active, shared, site: &site };
                load(&body.matrices[number as usize], frame, agent, self.block, world);
            }
            Instruction::MultiplyMatrices(number) => {
                self.all_lanes("a product of matrices", body, pc, world);
                multiply(&body.products[number as usize], self.active, frame, world);
            }
            _ => unreachable!("the instruction is of no matrices"),
        }
    }
}

/// Loads matrices. Elements count as read by the lanes that receive them, so that a barrier must stand before them even if
/// the lane that names a row has written it.
fn load(access: &MatricesAccess, frame: &mut Frame, agent: Agent, block: usize, world: &mut World) {
    let MatricesAccess { rows, transposed } = access;
    let accessor = if rows.kept { agent.shared.of_kept() } else { agent.shared };
    let indices = *frame.lanes(rows.index);
    for (matrix, &slot) in rows.registers.slots[..rows.registers.count as usize].iter().enumerate() {
        let mut loaded = Loaded { codes: [[0; SIDE]; SIDE], is_sound: [false; SIDE] };
        let mut first_words = [None; SIDE];
        for (row, first_word) in first_words.iter_mut().enumerate() {
            let lane = matrix * SIDE + row;
            if agent.active >> lane & 1 == 0 {
                continue;
            }
            let index = indices[lane];
            // A negative index is a large unsigned one.
            let is_inside = u64::from(index) + SIDE as u64 <= u64::from(rows.length);
            if !is_inside || !index.is_multiple_of(SIDE as u32) {
                let fault = access::outside_shared(index, SIDE as u32, rows.length);
                world.fault(|| (agent.site)(lane as u32), fault);
                continue;
            }
            *first_word =
                Some((i64::from(rows.base_bytes) + i64::from(rows.memory.bytes()) * i64::from(index)) / WORD_BYTES);
            let first = rows.base as usize + index as usize;
            let memory = &mut world.blocks[block].shared;
            let mut problem = None;
            for column in 0..SIDE {
                let reader = receiver(row, column, *transposed);
                let found = memory.read(first + column..first + column + 1, reader as u32, &accessor);
                problem = problem.or(found);
                loaded.codes[row][column] = code(rows.memory, memory.words[first + column]);
            }
            loaded.is_sound[row] = problem.is_none();
            if let Some((word, conflict)) = problem {
                let fault = access::shared_fault(i64::from(index) + (word - first) as i64, conflict);
                world.fault(|| (agent.site)(lane as u32), fault);
            }
        }
        for lane in lanes(agent.active) {
            frame.narrow[slot as usize][lane] = loaded.received(lane, *transposed);
        }
        if world.options.count {
            let wavefronts = statistics::wavefronts_of_rows(&first_words, ROW_WORDS);
            let counts = world.counts();
            counts.shared_wavefronts += wavefronts;
            counts.shared_loads += u64::from(WARP_SIZE);
            counts.shared_load_wavefronts += wavefronts;
            counts.shared_load_ideal += 1;
        }
    }
}

/// The lane that receives an element of a matrix.
fn receiver(row: usize, column: usize, transposed: bool) -> usize {
    let (row, column) = if transposed { (column, row) } else { (row, column) };
    row * SIDE / 2 + column / 2
}

/// The code of an element as the emulator holds it; all NaN that it holds as singles have one code.
fn code(memory: MemoryType, held: u32) -> u16 {
    let single = f32::from_bits(held);
    match memory {
        MemoryType::F16 => f16_of_single(single),
        MemoryType::BF16 => bf16_of_single(single),
        _ => held as u16,
    }
}

impl Loaded {
    /// The two elements that a lane receives.
    fn received(&self, lane: usize, transposed: bool) -> u32 {
        let (major, minor) = (lane / (SIDE / 2), lane % (SIDE / 2) * 2);
        let places = [0, 1].map(|part| if transposed { (minor + part, major) } else { (major, minor + part) });
        if places.iter().any(|(row, _)| !self.is_sound[*row]) {
            return POISON;
        }
        let [low, high] = places.map(|(row, column)| u32::from(self.codes[row][column]));
        low | high << 16
    }
}

/// Adds a product of matrices to sums.
fn multiply(access: &ProductAccess, active: u32, frame: &mut Frame, world: &mut World) {
    let ProductAccess { kind, to, left, right, sums } = access;
    let [left, right, sums] = [left, right, sums].map(|registers| gathered(frame, registers, active));
    let results = kind.multiply_add(world.options.tensor_core, &left, &right, &sums);
    for (slot, result) in to.slots[..to.count as usize].iter().zip(results) {
        frame.narrow[*slot as usize] = merged(&frame.narrow[*slot as usize], &result, active);
    }
    if world.options.count {
        let products = products(*kind);
        let counts = world.counts();
        counts.tensor_products += products;
        counts.float_operations += 2 * products;
    }
}

/// Products of elements that a product of matrices has.
fn products(kind: FragmentKind) -> u64 {
    (ROWS * kind.depth * COLUMNS) as u64
}

/// The registers; lanes that are not active hold poison.
fn gathered(frame: &Frame, registers: &Registers, active: u32) -> Vec<RegisterWords> {
    let slots = registers.slots[..registers.count as usize].iter();
    slots.map(|slot| merged(&[POISON; 32], &frame.narrow[*slot as usize], active)).collect()
}

/// `new` in the active lanes, `old` in the others.
fn merged(old: &RegisterWords, new: &RegisterWords, active: u32) -> RegisterWords {
    std::array::from_fn(|lane| if active >> lane & 1 != 0 { new[lane] } else { old[lane] })
}
