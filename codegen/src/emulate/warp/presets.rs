//! What registers hold when a body is entered.

use warpweave_plan::tables::HELD_OPERANDS;

use super::copies::fault_of_conflict;
use super::execute::Core;
use super::lanes::Frame;
use crate::emulate::bytecode::{CompiledBody, Preset, SharedWords, Slot};
use crate::emulate::report::Fault;
use crate::emulate::world::World;
use crate::emulate::world::memory::global::POISON;
use crate::kernel_ir::Table;

/// The operands of a call: those that were fetched, and the first one's place in its table.
#[derive(Clone, Copy, Default)]
pub struct HeldOperands {
    pub array: SharedWords,
    pub index: i64,
    pub first: i64,
    /// Whether all are read from their table.
    pub from_table: bool,
}

/// The waits of a call.
#[derive(Clone, Copy, Default)]
pub struct OwnWaits {
    /// Where their instructions were fetched to.
    pub ring: SharedWords,
    pub first: u32,
    pub count: u32,
    /// Where the entry learns whether they gave up.
    pub stopped: Option<Slot>,
}

/// Gives a frame its registers, with garbage in those that the body has to write. An operand that is not there is an error:
/// what a kernel does with another may take forever.
pub fn prepare(frame: &mut Frame, body: &CompiledBody, core: &Core, world: &mut World) -> Result<(), Fault> {
    frame.narrow.resize(body.narrow as usize, [POISON; 32]);
    frame.wide.resize(body.wide as usize, [i64::from(POISON); 32]);
    for &(slot, value) in &body.presets_wide {
        frame.wide[slot.0 as usize] = [value; 32];
    }
    for &(slot, preset) in &body.presets {
        frame.narrow[slot.0 as usize] = match preset {
            Preset::Bits(bits) => [bits; 32],
            Preset::Thread => std::array::from_fn(|lane| (core.index * 32 + lane) as u32),
            Preset::Block => [core.block as u32; 32],
            Preset::Grid => [core.grid; 32],
            Preset::FirstOperand => [world.first_operand; 32],
            Preset::Tile | Preset::FirstWait | Preset::Waits | Preset::Epoch | Preset::Operand(_) => continue,
        };
    }
    prepare_operands(frame, body, core, world)
}

/// Gives the registers of operands and tile the values of this call.
pub fn prepare_operands(frame: &mut Frame, body: &CompiledBody, core: &Core, world: &mut World) -> Result<(), Fault> {
    for &(slot, preset) in &body.presets {
        frame.narrow[slot.0 as usize] = match preset {
            Preset::Tile => [core.tile as u32; 32],
            Preset::FirstWait => [core.waits.first; 32],
            Preset::Waits => [core.waits.count; 32],
            Preset::Epoch => [world.control.epoch; 32],
            Preset::Operand(number) => [operand(number, core, world)?; 32],
            Preset::Bits(_) | Preset::Thread | Preset::Block | Preset::Grid | Preset::FirstOperand => continue,
        };
    }
    Ok(())
}

/// An operand of the call: what was fetched, or, of a kernel with many, what its table holds.
fn operand(number: u32, core: &Core, world: &mut World) -> Result<u32, Fault> {
    let HeldOperands { array, index, first, from_table } = core.operands;
    if !from_table && (number as usize) < HELD_OPERANDS {
        return fetched(array, index + i64::from(number), (0, core), world);
    }
    let index = first + i64::from(number);
    let words = &world.tables.operands;
    let word = usize::try_from(index).ok().and_then(|index| words.get(index));
    let fault = Fault::TableOutOfBounds { table: Table::Operands, index, length: words.len() };
    word.map(|&word| word as u32).ok_or(fault)
}

/// A word that the entry has fetched, as a lane of a warp sees it.
pub fn fetched(array: SharedWords, index: i64, (lane, core): (usize, &Core), world: &mut World) -> Result<u32, Fault> {
    if index < 0 || index >= i64::from(array.length) {
        return Err(Fault::SharedOutOfBounds { index, count: 1, length: array.length });
    }
    let word = array.base as usize + index as usize;
    let by = core.accessor(world).of_kept();
    let shared = &mut world.blocks[core.block].shared;
    match shared.read(word..word + 1, lane as u32, &by) {
        Some((_, conflict)) => Err(fault_of_conflict(conflict, index)),
        None => Ok(shared.words[word]),
    }
}
