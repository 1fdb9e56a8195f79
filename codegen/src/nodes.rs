//! The entries of kernels as nodes of a graph.

use crate::kernel_ir::{Builtin, Expression, Kernel, KernelId, Statement};

/// The entry of a kernel: a block runs the tile of its own index, once the node before has ended.
///
/// Every block waits before it lets the next node's blocks in, so at most two nodes are resident, and a node that has
/// ended has all nodes before it behind it.
pub fn entry(kernel: KernelId) -> Kernel {
    let (operands, tile) = (Expression::Builtin(Builtin::FirstOperand), Expression::Builtin(Builtin::Block));
    let call = Statement::Call { kernel, operands, tile, waits: None };
    Kernel { body: vec![Statement::DependencyWait, Statement::DependentLaunch, call], ..Kernel::default() }
}
