//! Which rTasks witness the end of another.

use std::collections::BTreeMap;

use super::super::plan::{MemoryPlan, RTask};
use super::super::polls::Polls;
use super::super::witnesses::Witnesses;
use super::structure::Operators;

/// Per rTask whose end others know of by polling what it writes, all that do.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskWitnesses(BTreeMap<RTask, Vec<RTask>>);

impl TaskWitnesses {
    /// Of a segment's rTasks.
    pub(super) fn new(operators: &Operators, memory: &MemoryPlan, polls: &Polls) -> Self {
        let known = Witnesses::of(operators, memory);
        let mut found: BTreeMap<RTask, Vec<RTask>> = BTreeMap::new();
        for (reader, writer) in polls.all().filter(|(_, writer)| known.are_others(writer.operator)) {
            found.entry(writer).or_default().push(reader);
        }
        Self(found)
    }

    /// Those whose ends together show that an rTask has ended: itself, or all that poll it.
    pub(super) fn of<'a>(&'a self, task: &'a RTask) -> &'a [RTask] {
        self.0.get(task).map_or(std::slice::from_ref(task), Vec::as_slice)
    }
}
