//! What a plan is as a whole, whatever its segments.

use std::borrow::Cow;

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::typed_id;

use crate::plan::backend::PlanBackend;
use crate::plan::{ExecutionPlan, OperatorId, PersistentSegment, ROperator, RTask, Segment};

typed_id!(
    /// A segment of a plan.
    SegmentId, "g"
);

impl ExecutionPlan {
    /// The segments with their ids.
    pub fn numbered(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        self.segments.iter().enumerate().map(|(at, segment)| (SegmentId::from_index(at), segment))
    }

    /// The plan's segment if it has only one.
    pub fn only_segment(&self) -> Option<&Segment> {
        match self.segments.as_slice() {
            [segment] => Some(segment),
            [] | [_, ..] => None,
        }
    }

    /// The plan's segment if it has only one and that is persistent.
    pub fn only_persistent(&self) -> Option<&PersistentSegment> {
        match self.only_segment()? {
            Segment::Persistent(segment) => Some(segment),
            Segment::CudaGraph(_) => None,
        }
    }

    /// The only segment of a plan that is known to have one.
    ///
    /// # Panics
    /// If it has none or several.
    pub fn segment(&self) -> &Segment {
        self.only_segment().expect("the plan was made as one segment")
    }

    /// The only segment of a plan that is known to be one persistent segment.
    ///
    /// # Panics
    /// If it is anything else.
    pub fn persistent(&self) -> &PersistentSegment {
        self.only_persistent().expect("the plan was made as one persistent segment")
    }

    /// What runs it.
    pub fn backend(&self) -> PlanBackend {
        PlanBackend::of(self.segments.iter().map(Segment::backend))
    }

    /// Per segment, the number of its first rOperator where those of the plan are numbered through.
    pub fn first_operators(&self) -> Vec<usize> {
        let counts = self.segments.iter().map(|segment| segment.operators().len());
        counts.scan(0, |next, count| Some(std::mem::replace(next, *next + count))).collect()
    }

    /// The rOperators of all segments, numbered through.
    pub fn operators(&self) -> Cow<'_, Arena<OperatorId, ROperator>> {
        match self.only_segment() {
            Some(segment) => Cow::Borrowed(segment.operators()),
            None => {
                Cow::Owned(self.segments.iter().flat_map(|segment| segment.operators().values()).cloned().collect())
            }
        }
    }

    /// The most virtual execution units of a segment, or multiprocessors that a graph is planned for.
    pub fn units(&self) -> usize {
        self.segments.iter().map(Segment::units).max().unwrap_or(0)
    }

    /// Blocks of the persistent segments, in their order.
    pub fn grids(&self) -> Vec<u32> {
        self.segments.iter().filter_map(Segment::blocks).collect()
    }

    /// Signals a launch of the counters of all segments, numbered through.
    pub fn arrivals(&self) -> Vec<i32> {
        self.segments.iter().flat_map(Segment::arrivals).collect()
    }

    /// Kernels that the device launches.
    pub fn launches(&self) -> usize {
        self.segments.iter().map(Segment::launches).sum()
    }

    /// The number of rTasks.
    pub fn tasks(&self) -> usize {
        self.segments.iter().map(Segment::tasks).sum()
    }

    /// rTasks that load constants before they wait.
    pub fn prefetches(&self) -> usize {
        self.segments.iter().map(Segment::prefetches).sum()
    }

    /// The number of waits in all streams.
    pub fn waits(&self) -> usize {
        self.segments.iter().map(Segment::waits).sum()
    }
}

impl RTask {
    /// The same rTask where the first rOperator of its segment has this number.
    pub fn numbered_from(self, first: usize) -> Self {
        Self { operator: OperatorId::from_index(first + self.operator.index()), ..self }
    }
}
