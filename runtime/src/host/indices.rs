//! Elements that name places, checked when they are read.

use std::sync::{Mutex, PoisonError};

use warpweave_graph::expr::{Guard, Index, IndirectIndex, ReadId};
use warpweave_graph::index_check::{FaultyElement, FaultyIndex, IndexCheck, IndexFault};
use warpweave_plan::body::{GroupBody, Stage, StageSource};

/// The first fault that the threads of a run have found, until it is taken.
#[derive(Debug, Default)]
pub(super) struct IndexFaults(Mutex<Option<IndexFault>>);

impl IndexFaults {
    fn note(&self, fault: IndexFault) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *first = Some(first.map_or(fault, |known| known.min(fault)));
    }

    /// The first, which is forgotten.
    pub(super) fn take(&self) -> Option<IndexFault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What a stage checks.
#[derive(Default)]
pub(super) struct HostIndexChecks(Vec<HostIndexCheck>);

struct HostIndexCheck {
    index: IndirectIndex,
    check: IndexCheck,
    /// The number of the element that is read, and where it is read.
    element: Index,
    guard: Guard,
}

impl HostIndexChecks {
    /// The checks of a stage of a verified plan.
    pub(super) fn new(body: &GroupBody, stage: &Stage) -> Self {
        let check = |index: IndirectIndex| {
            let read = &stage.expr.reads[index.read];
            let StageSource::Operand(operand) = stage.sources[read.operand] else {
                unreachable!("a verified plan reads indices from memory")
            };
            HostIndexCheck {
                index,
                check: IndexCheck { tensor: body.operands[operand], extent: index.extent },
                element: Index::linear(&read.index, &stage.expr.operands[read.operand].shape.strides(), 0),
                guard: read.guard.clone(),
            }
        };
        Self(stage.expr.indirect_indices().into_iter().map(check).collect())
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the values that a read has between these two all name places.
    pub(super) fn hold(&self, read: ReadId, (least, most): (i64, i64)) -> bool {
        let mut own = self.0.iter().filter(|check| check.index.read == read);
        own.all(|HostIndexCheck { index, .. }| [least, most].iter().all(|&value| index.place(value).is_some()))
    }

    /// Checks the values that a read has along a run, where `at` gives an index' value at a lane.
    pub(super) fn check(&self, read: ReadId, values: &[i64], at: impl Fn(&Index, usize) -> i64, faults: &IndexFaults) {
        for HostIndexCheck { index, check, element, guard } in self.0.iter().filter(|check| check.index.read == read) {
            let faulty = values.iter().enumerate().filter(|(_, value)| index.place(**value).is_none());
            for (lane, &value) in faulty {
                let mut conditions = guard.conditions().iter();
                let is_read = conditions.all(|of| (of.lower..of.upper).contains(&at(&of.index, lane)));
                let element = usize::try_from(at(element, lane)).ok().filter(|_| is_read);
                let element = element.map_or(FaultyElement::Padding, FaultyElement::Element);
                faults.note(IndexFault { check: *check, found: FaultyIndex { element, value } });
            }
        }
    }
}
