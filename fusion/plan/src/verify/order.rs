//! What happens before what in a plan: a segment before the next, and within one what its clocks say.

use warpweave_graph::arena::Id;

use crate::plan::{OperatorId, RTask};
use crate::verify::clocks::{Clocks, Moment};
use crate::verify::completion::TaskCompletions;

/// The order of the rTasks of a plan, whose rOperators are numbered through its segments.
#[derive(Debug)]
pub(super) struct Order {
    segments: Vec<SegmentOrder>,
    /// Per rOperator, its segment.
    owners: Vec<usize>,
}

#[derive(Debug)]
struct SegmentOrder {
    clocks: Clocks,
    completions: TaskCompletions,
    first_operator: usize,
    first_unit: usize,
    units: usize,
}

/// Where an rTask stands in a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlanMoment {
    segment: usize,
    inner: Moment,
    /// The unit, where those of all segments are numbered through.
    pub(super) unit: usize,
    /// The position in the unit's stream.
    pub(super) position: usize,
}

impl Order {
    /// The order of segments that run one after another, given their clocks and completions.
    pub(super) fn of(segments: Vec<(Clocks, TaskCompletions)>) -> Self {
        let (mut owners, mut first_unit, mut found) = (Vec::new(), 0, Vec::new());
        for (number, (clocks, completions)) in segments.into_iter().enumerate() {
            let (first_operator, units) = (owners.len(), clocks.units());
            owners.resize(first_operator + clocks.operators(), number);
            found.push(SegmentOrder { clocks, completions, first_operator, first_unit, units });
            first_unit += units;
        }
        Self { segments: found, owners }
    }

    /// The moment of an rTask.
    pub(super) fn moment(&self, task: RTask) -> PlanMoment {
        let (segment, own) = self.own(task);
        self.within(segment, own)
    }

    /// The moments after which an rTask has finished with its memory: its own, or those of its completions.
    pub(super) fn ends(&self, task: RTask) -> Vec<PlanMoment> {
        let (segment, own) = self.own(task);
        let completions = self.segments[segment].completions.of(&own);
        completions.iter().map(|completion| self.within(segment, *completion)).collect()
    }

    /// The segment of an rTask, and the rTask as that segment numbers it.
    fn own(&self, task: RTask) -> (usize, RTask) {
        let segment = self.owners[task.operator.index()];
        let first = self.segments[segment].first_operator;
        (segment, RTask { operator: OperatorId::from_index(task.operator.index() - first), ..task })
    }

    fn within(&self, segment: usize, own: RTask) -> PlanMoment {
        let SegmentOrder { clocks, first_unit, .. } = &self.segments[segment];
        let inner = clocks.moment(own);
        PlanMoment { segment, inner, unit: first_unit + inner.unit, position: inner.position }
    }

    /// Per unit, how many instructions of its stream happen before a moment; more than there are if all do.
    pub(super) fn before_moment(&self, moment: PlanMoment) -> impl Iterator<Item = usize> {
        let whole = |from: usize, to: usize, count: usize| {
            let units: usize = self.segments[from..to].iter().map(|segment| segment.units).sum();
            std::iter::repeat_n(count, units)
        };
        let own = self.segments[moment.segment].clocks.before_moment(moment.inner);
        let later = whole(moment.segment + 1, self.segments.len(), 0);
        whole(0, moment.segment, usize::MAX).chain(own).chain(later)
    }

    /// Whether one rTask happens before another.
    pub(super) fn before(&self, earlier: PlanMoment, later: PlanMoment) -> bool {
        match earlier.segment == later.segment {
            true => self.segments[later.segment].clocks.before(earlier.inner, later.inner),
            false => earlier.segment < later.segment,
        }
    }
}
