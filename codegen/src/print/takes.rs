//! What kernels take beside memory, operands and tile.

use warpweave_plan::tables::HELD_OPERANDS;

use crate::kernel_ir::effects::Memory;
use crate::kernel_ir::location::visit;
use crate::kernel_ir::{Block, Function};

/// How kernels take their arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Convention {
    /// Words in registers, the same for every kernel, so that one call serves all; what lasts for the launch is in shared memory.
    Launch,
    /// The parameters that the kernel needs, from its only caller, the entry into which it is inlined.
    Node,
}

/// What a kernel takes beside memory, operands and tile.
#[derive(Clone, Copy)]
pub(super) struct Takes {
    /// What polls, tags and waits need.
    pub exchange: bool,
    /// The table of operands, beside those that the entry has fetched: of many operands, or of several rTasks.
    pub table: bool,
    /// Its own instructions.
    pub waits: bool,
}

impl Takes {
    pub fn of(kernel: &Function) -> Self {
        let waits = kernel.owns_instructions();
        let table = kernel.operands() as usize > HELD_OPERANDS || kernel.takes_steps();
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
