//! What registers hold when a body is entered.

use super::execute::Core;
use super::lanes::Frame;
use crate::emulate::bytecode::{CompiledBody, Preset};
use crate::emulate::report::Fault;
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
            Preset::Operand(number) => {
                let index = core.operands + i64::from(number);
                let words = &world.tables.operands;
                let length = words.len();
                match usize::try_from(index).ok().and_then(|index| words.get(index)) {
                    Some(&word) => [word as u32; 32],
                    None => {
                        let table = Table::Operands;
                        world.fault(|| core.site(body, 0, 0), Fault::TableOutOfBounds { table, index, length });
                        [POISON; 32]
                    }
                }
            }
            Preset::Bits(_) | Preset::Thread | Preset::Block | Preset::Grid | Preset::FirstOperand => continue,
        };
    }
}
