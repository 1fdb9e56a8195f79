//! Which rTasks' completion implies that another rTask has finished with its memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plan::{MemoryPlan, RTask};
use crate::streams::completion::Completions;
use crate::streams::polls::Polls;
use crate::verify::clocks::Clocks;
use crate::verify::operators::Operators;

/// Per rTask whose outputs are all polled, the rTasks whose completion together implies its own.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskCompletions(BTreeMap<RTask, Arc<[RTask]>>);

impl TaskCompletions {
    /// The completions of the rTasks of a segment, whose order is `clocks`.
    pub(super) fn new(operators: &Operators, memory: &MemoryPlan, polls: &Polls, clocks: &Clocks) -> Self {
        let known = Completions::of(operators, memory);
        let mut pollers: BTreeMap<RTask, Vec<RTask>> = BTreeMap::new();
        for (reader, writer) in polls.all().filter(|(_, writer)| known.are_others(writer.operator)) {
            pollers.entry(writer).or_default().push(reader);
        }
        let mut found = Self::default();
        // A poller comes after the rTask that it polls, so its own completions are found first.
        for (task, pollers) in pollers.into_iter().rev() {
            let mut lasts: BTreeMap<usize, RTask> = BTreeMap::new();
            for poller in &pollers {
                let stays = operators[poller.operator].kernel.rules().holds_residents();
                let completions = if stays { std::slice::from_ref(poller) } else { found.of(poller) };
                for &completion in completions {
                    let moment = clocks.moment(completion);
                    let last = lasts.entry(moment.unit).or_insert(completion);
                    if clocks.moment(*last).position < moment.position {
                        *last = completion;
                    }
                }
            }
            found.0.insert(task, lasts.into_values().collect());
        }
        found
    }

    /// The rTasks whose completion together implies that of `task`: itself, or per unit the last of its pollers, each replaced by
    /// its own completions.
    pub(super) fn of<'a>(&'a self, task: &'a RTask) -> &'a [RTask] {
        self.0.get(task).map_or(std::slice::from_ref(task), |completions| completions)
    }
}
