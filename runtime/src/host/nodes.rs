//! The nodes of a graph on threads, one node after another.

use warpweave_graph::arena::Arena;
use warpweave_plan::plan::{GraphSegment, KernelNode, OperatorId, RTask};

use super::HostError;
use super::memory::Memory;
use super::operator::HostOperator;

/// Runs the nodes; the rTasks that were executed, each thread's in order.
pub(super) fn run(
    segment: &GraphSegment,
    operators: &Arena<OperatorId, HostOperator>,
    memory: &Memory,
    threads: usize,
) -> Result<Vec<RTask>, HostError> {
    let mut executed = Vec::new();
    for &KernelNode { operator, blocks } in &segment.nodes {
        let threads = threads.clamp(1, (blocks as usize).max(1)) as u32;
        let run_some = |thread: u32| {
            let tasks: Vec<RTask> =
                (thread..blocks).step_by(threads as usize).map(|tile| RTask { operator, tile }).collect();
            tasks.iter().for_each(|task| operators[operator].run(task.tile, memory));
            tasks
        };
        let ran: Vec<Option<Vec<RTask>>> = std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run_some(thread))).collect();
            running.into_iter().map(|thread| thread.join().ok()).collect()
        });
        executed.extend(ran.into_iter().collect::<Option<Vec<_>>>().ok_or(HostError::Thread)?.into_iter().flatten());
    }
    Ok(executed)
}
