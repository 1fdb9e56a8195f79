//! Streams that have work, so that no thread takes part in a run without any.

use std::borrow::Cow;

use warpweave_plan::plan::{ExecutionPlan, Instruction, PersistentSegment, Segment};

/// The plan without streams that run no rTask. A segment keeps its first stream where none runs any. Must be verified again.
pub(in crate::host) fn with_busy_streams(plan: &ExecutionPlan) -> Cow<'_, ExecutionPlan> {
    let is_busy = |segment: &Segment| match segment {
        Segment::Persistent(segment) => segment.streams.iter().all(|stream| has_work(stream)),
        Segment::CudaGraph(_) => true,
    };
    if plan.segments.iter().all(is_busy) {
        return Cow::Borrowed(plan);
    }
    let segments = plan.segments.iter().map(|segment| match segment {
        Segment::Persistent(segment) => {
            let busy = segment.streams.iter().filter(|stream| has_work(stream));
            let mut streams: Vec<Vec<Instruction>> = busy.cloned().collect();
            if streams.is_empty() {
                streams.extend(segment.streams.first().cloned());
            }
            let (operators, counters) = (segment.operators.clone(), segment.counters.clone());
            Segment::Persistent(PersistentSegment { operators, counters, streams })
        }
        Segment::CudaGraph(_) => segment.clone(),
    });
    Cow::Owned(ExecutionPlan { segments: segments.collect(), memory: plan.memory.clone() })
}

/// Whether a stream does something that others could wait for.
fn has_work(stream: &[Instruction]) -> bool {
    stream.iter().any(|instruction| match instruction {
        Instruction::Run(_) | Instruction::Signal(_) => true,
        Instruction::Wait { .. } | Instruction::Hold(_) | Instruction::Prefetch(_) => false,
    })
}
