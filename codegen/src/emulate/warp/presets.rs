//! What registers hold when a body is entered.

use warpweave_plan::tables::HELD_OPERANDS;

use super::copies::fault_of_conflict;
use super::execute::{Core, HeldOperands};
use super::lanes::Frame;
use crate::emulate::bytecode::{CompiledBody, Preset, SharedWords};
use crate::emulate::report::{Fault, Site};
use crate::emulate::world::World;
use crate::emulate::world::memory::global::POISON;
use crate::kernel_ir::Table;

/// Gives a frame its registers, with garbage in those that the body has to write.
pub fn prepare(frame: &mut Frame, body: &CompiledBody, core: &Core, world: &mut World) {
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
    prepare_operands(frame, body, core, world);
}

/// Gives the registers of operands and tile the values of this call.
pub fn prepare_operands(frame: &mut Frame, body: &CompiledBody, core: &Core, world: &mut World) {
    for &(slot, preset) in &body.presets {
        frame.narrow[slot.0 as usize] = match preset {
            Preset::Tile => [core.tile as u32; 32],
            Preset::FirstWait => [core.waits.first; 32],
            Preset::Waits => [core.waits.count; 32],
            Preset::Epoch => [world.control.epoch; 32],
            Preset::Operand(number) => [operand(number, body, core, world); 32],
            Preset::Bits(_) | Preset::Thread | Preset::Block | Preset::Grid | Preset::FirstOperand => continue,
        };
    }
}

/// An operand of the call: what was fetched, or, of a kernel with many, what its table holds.
fn operand(number: u32, body: &CompiledBody, core: &Core, world: &mut World) -> u32 {
    let HeldOperands { array, index, first } = core.operands;
    let site = || core.site(body, 0, 0);
    if (number as usize) < HELD_OPERANDS {
        return fetched(array, index + i64::from(number), (0, core), site, world);
    }
    let index = first + i64::from(number);
    let words = &world.tables.operands;
    let length = words.len();
    match usize::try_from(index).ok().and_then(|index| words.get(index)) {
        Some(&word) => word as u32,
        None => {
            let table = Table::Operands;
            world.fault(site, Fault::TableOutOfBounds { table, index, length });
            POISON
        }
    }
}

/// A word that the entry has fetched, as a lane of a warp sees it.
pub fn fetched(
    array: SharedWords,
    index: i64,
    (lane, core): (usize, &Core),
    site: impl FnOnce() -> Site,
    world: &mut World,
) -> u32 {
    if index < 0 || index >= i64::from(array.length) {
        world.fault(site, Fault::SharedOutOfBounds { index, count: 1, length: array.length });
        return POISON;
    }
    let word = array.base as usize + index as usize;
    let by = core.accessor(world).of_kept();
    let shared = &mut world.blocks[core.block].shared;
    if let Some((_, conflict)) = shared.read(word..word + 1, lane as u32, &by) {
        world.fault(site, fault_of_conflict(conflict, index));
        return POISON;
    }
    shared.words[word]
}
