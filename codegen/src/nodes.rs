//! The entries of kernels as nodes of a graph.

use warpweave_graph::arena::Arena;
use warpweave_plan::tables::HELD_OPERANDS;

use crate::kernel_ir::{
    Builtin, CallOperands, Expression, Function, KernelId, MemoryType, SharedArray, Statement, Table,
};

/// The entry of one of these kernels: a block runs the tile of its own index, once the node before has ended. The block
/// fetches the operands before.
///
/// Every block waits before it lets the next node's blocks in. So at most two nodes are resident, and a node that has
/// ended has all nodes before it behind it.
pub fn entry(kernel: KernelId, kernels: &Arena<KernelId, Function>) -> Function {
    let (first, tile) = (Expression::Builtin(Builtin::FirstOperand), Expression::Builtin(Builtin::Block));
    let words = held_words(kernels.values());
    let mut entry = Function::default();
    let array = entry.shared.push(SharedArray { memory: MemoryType::I32, length: words });
    let index = Expression::i32(0);
    let fetch = Statement::Fetch { array, index: index.clone(), table: Table::Operands, first: first.clone(), words };
    let operands = CallOperands { array, index, first };
    let call = Statement::Call { kernel, operands, tile };
    entry.body = vec![
        fetch,
        Statement::AsyncCommit,
        Statement::AsyncWait { pending: 0 },
        Statement::BlockBarrier,
        Statement::DependencyWait,
        Statement::DependentLaunch,
        call,
    ];
    entry
}

/// Words that are fetched of the operands of any of these kernels: whole lines of shared memory, so that what follows is
/// aligned.
pub(crate) fn held_words<'k>(kernels: impl Iterator<Item = &'k Function>) -> u32 {
    let most = kernels.map(Function::operands).max().unwrap_or(0);
    most.clamp(1, HELD_OPERANDS as u32).next_multiple_of(LINE_WORDS)
}

/// Words of a line of shared memory.
const LINE_WORDS: u32 = 32;
