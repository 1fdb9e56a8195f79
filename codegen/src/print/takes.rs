//! What kernels take beside memory, operands and tile.

use warpweave_plan::tables::HELD_OPERANDS;

use crate::kernel_ir::effects::Memory;
use crate::kernel_ir::location::visit;
use crate::kernel_ir::{Block, Kernel};

/// What a kernel takes beside memory, operands and tile.
#[derive(Clone, Copy)]
pub(super) struct Takes {
    /// What polls, tags and waits need.
    pub exchange: bool,
    /// The table of operands, beside those that the entry has fetched.
    pub table: bool,
    /// Its own waits; it then returns whether they gave up.
    pub waits: bool,
}

impl Takes {
    pub fn of(kernel: &Kernel) -> Self {
        let waits = kernel.awaits();
        let table = kernel.operands() as usize > HELD_OPERANDS;
        Self { exchange: waits || exchanges(&kernel.body), table, waits }
    }
}

/// Whether a block tags or polls.
fn exchanges(block: &Block) -> bool {
    let mut exchanges = false;
    visit(block, &mut |statement, _| {
        exchanges |= statement.effects().accesses.iter().any(|access| access.memory == Memory::Tagged);
    });
    exchanges
}
