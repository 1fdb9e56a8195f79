//! Which rTasks completion the end of another.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plan::{MemoryPlan, RTask};
use crate::streams::completion::Completions;
use crate::streams::polls::Polls;
use crate::verify::clocks::Clocks;
use crate::verify::operators::Operators;

/// Per rTask whose end others know of by polling what it writes, those whose ends together show it.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskCompletions(BTreeMap<RTask, Arc<[RTask]>>);

impl TaskCompletions {
    /// Of a segment's rTasks, which run under these clocks.
    pub(super) fn new(operators: &Operators, memory: &MemoryPlan, polls: &Polls, clocks: &Clocks) -> Self {
        let known = Completions::of(operators, memory);
        let mut pollers: BTreeMap<RTask, Vec<RTask>> = BTreeMap::new();
        for (reader, writer) in polls.all().filter(|(_, writer)| known.are_others(writer.operator)) {
            pollers.entry(writer).or_default().push(reader);
        }
        let mut found = Self::default();
        // Whoever polls runs later, so that its completions are known first.
        for (task, pollers) in pollers.into_iter().rev() {
            let mut lasts: BTreeMap<usize, RTask> = BTreeMap::new();
            for poller in &pollers {
                let stays = operators[poller.operator].params.rules().holds_residents();
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

    /// Those whose ends together show that an rTask has ended: itself, or the last on every unit of those that poll it or, in
    /// their place, of their own completions.
    pub(super) fn of<'a>(&'a self, task: &'a RTask) -> &'a [RTask] {
        self.0.get(task).map_or(std::slice::from_ref(task), |completions| completions)
    }
}
